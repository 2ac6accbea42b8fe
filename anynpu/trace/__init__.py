# SPDX-License-Identifier: BSD-3-Clause
"""Traces: what `torch_npu.profiler`, `aclprof…` and `torch.profiler` record on this CANN, read and shown.

    from anynpu.trace import load
    profile = load("result_dir")             # newest trace at or below the folder
    for cost in profile.costs()[:10]:
        print(cost.name, cost.count, cost.total)

Needs NumPy.
"""

from .profile import Profile
from .read import NotATrace, Trace, find

__all__ = ["NotATrace", "Profile", "Trace", "find", "load"]


def load(path: str) -> Profile:
    """The newest trace at or below `path`.

    Raises:
        FileNotFoundError: there is none.
        NotATrace: the file is none.
    """
    found = find(path)
    if not found:
        raise FileNotFoundError(f"no trace (*.trace) at or below {path}")
    return Profile(Trace(found[-1]))

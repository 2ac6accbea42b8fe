# SPDX-License-Identifier: BSD-3-Clause
"""Traces: what `torch_npu.profiler`, `aclprof…` and `torch.profiler` record on this CANN, read and shown.

    from anynpu.trace import load
    profile = load("result_dir")             # newest trace at or below the folder
    for cost in profile.costs()[:10]:
        print(cost.name, cost.count, cost.total)

Needs NumPy.
"""

from .figures import Figures, gather
from .profile import Profile
from .read import NotATrace, Trace, find

__all__ = ["Figures", "NotATrace", "Profile", "Trace", "find", "load", "summarize"]


def _newest(path: str) -> str:
    found = find(path)
    if not found:
        raise FileNotFoundError(f"no trace (*.trace) at or below {path}")
    return found[-1]


def load(path: str) -> Profile:
    """The newest trace at or below `path`, all of it in memory.

    Raises:
        FileNotFoundError: there is none.
        NotATrace: the file is none.
    """
    return Profile(Trace(_newest(path)))


def summarize(path: str) -> Figures:
    """What `anynpu trace` shows of the newest trace at or below `path`; of any size, in the memory of one window.

    Raises:
        FileNotFoundError: there is none.
        NotATrace: the file is none.
    """
    return gather(Trace(_newest(path), rows=False))

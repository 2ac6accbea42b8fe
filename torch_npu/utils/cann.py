# SPDX-License-Identifier: BSD-3-Clause
"""The CANN that this process uses: its version."""


def get_cann_version(module: str = "CANN") -> str:
    """Version of the CANN in use, as "9.1.0"; "" if it does not tell.

    Args:
        module: "CANN" for the toolkit as a whole, or one of its parts ("ops_math", "runtime", …).
    """
    from .. import _C  # here, not above: this package is imported before libtorch_npu.so is loaded

    return _C._cann_version(module)

# SPDX-License-Identifier: BSD-3-Clause
"""acl: AscendCL for Python programs, in the form of pyACL. Addresses and handles are integers.

A function returns the status (0: success), or the values and then the status: `pointer, ret = acl.rt.malloc(1024, 0)`.
get_recent_err_msg() has the text of the last failure of the calling thread.
"""

from . import rt, util
from ._library import call, text

__all__ = ["finalize", "get_recent_err_msg", "get_soc_name", "get_version", "init", "rt", "util"]


def init(config_path: str | None = None) -> int:
    """aclInit. `config_path` names a JSON file."""
    return call("aclInit", config_path.encode() if config_path else None)


def finalize() -> int:
    """aclFinalize."""
    return call("aclFinalize")


def get_recent_err_msg() -> str:
    """Text of the last failure of this thread; "" if there was none."""
    return text("aclGetRecentErrMsg")


def get_soc_name() -> str:
    """The chip's name, "Ascend910B3"."""
    return text("aclrtGetSocName")


def get_version() -> tuple[int, int, int, int]:
    """(major, minor, patch, status) of the interface."""
    from ctypes import byref, c_int32

    parts = [c_int32() for _ in range(3)]
    status = call("aclrtGetVersion", *map(byref, parts))
    return *(part.value for part in parts), status

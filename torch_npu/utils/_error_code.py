# SPDX-License-Identifier: BSD-3-Clause
"""The line that ends every error of torch_npu: when, where, and a code that can be searched for.

    [ERROR] 2026-08-01-12:00:00 (PID:4242, Device:0, RankID:-1) ERR00003 PTA invalid value

ERR, two digits for the part, three for the kind. TORCH_NPU_COMPACT_ERROR_OUTPUT=1 leaves the line away.
"""

import os
import sys
import time
from enum import Enum

from .. import _variables


class ErrCode(Enum):
    """Kinds of error: (number, words)."""

    SUCCESS = (0, "success")
    PARAM = (1, "invalid parameter")
    TYPE = (2, "invalid type")
    VALUE = (3, "invalid value")
    PTR = (4, "invalid pointer")
    INTERNAL = (5, "internal error")
    MEMORY = (6, "memory error")
    NOT_SUPPORT = (7, "feature not supported")
    NOT_FOUND = (8, "resource not found")
    UNAVAIL = (9, "resource unavailable")
    SYSCALL = (10, "system call failed")
    TIMEOUT = (11, "timeout error")
    PERMISSION = (12, "permission error")
    ACL = (100, "call acl api failed")
    HCCL = (200, "call hccl api failed")
    GE = (300, "call ge api failed")

    @property
    def code(self) -> int:
        return self.value[0]

    @property
    def msg(self) -> str:
        return self.value[1]


def _device() -> int:
    """The current device's index, or -1 where none is in use (never initialises one)."""
    bridge = sys.modules.get("torch_npu._C")
    try:
        return bridge._npu_getDevice() if bridge and bridge._npu_isInitialized() else -1
    except Exception:
        return -1


def _rank() -> int:
    dist = sys.modules.get("torch.distributed")
    try:
        return dist.get_rank() if dist and dist.is_initialized() else -1
    except Exception:
        return -1


def _suffix(part: int, name: str, error: ErrCode) -> str:
    if _variables.on("TORCH_NPU_COMPACT_ERROR_OUTPUT"):
        return ""
    when = time.strftime("%Y-%m-%d-%H:%M:%S")
    return (
        f"\n[ERROR] {when} (PID:{os.getpid()}, Device:{_device()}, RankID:{_rank()}) "
        f"ERR{part:02d}{error.code:03d} {name} {error.msg}"
    )


def pta_error(error: ErrCode) -> str:
    """The line for an error of the adapter itself."""
    return _suffix(0, "PTA", error)


def ops_error(error: ErrCode) -> str:
    """The line for an error of an operator."""
    return _suffix(1, "OPS", error)


def dist_error(error: ErrCode) -> str:
    """The line for an error of torch.distributed on NPUs."""
    return _suffix(2, "DIST", error)


def graph_error(error: ErrCode) -> str:
    """The line for an error of graph mode."""
    return _suffix(3, "GRAPH", error)


def prof_error(error: ErrCode) -> str:
    """The line for an error of the profiler."""
    return _suffix(4, "PROF", error)

# SPDX-License-Identifier: BSD-3-Clause
"""torch.npu.utils: what ran on the CPU instead, overflow checks, and the device functions under their official path."""

import atexit
import os
import sys
import warnings

import torch
import torch_npu._C as _C

from .. import _variables
from ..utils._error_code import ErrCode, pta_error
from ..utils.cann import get_cann_version
from ._devices import current_blas_handle, current_device, device, device_of, set_device, synchronize
from ._lazy import _is_in_bad_fork, _lazy_init
from ._utils import _get_device_index as _get_device_index
from .streams import StreamContext, current_stream, default_stream, set_stream, stream

__all__ = [
    "synchronize",
    "set_device",
    "current_device",
    "device",
    "device_of",
    "StreamContext",
    "stream",
    "set_stream",
    "current_stream",
    "default_stream",
    "is_support_inf_nan",
    "is_bf16_supported",
    "get_npu_overflow_flag",
    "npu_check_overflow",
    "clear_npu_overflow_flag",
    "current_blas_handle",
    "get_cann_version",
    "ipc_collect",
    "set_op_timeout_ms",
    "cpu_fallback_count",
    "reset_cpu_fallback_count",
]


# ---- operators that ran on the CPU ----
def cpu_fallback_count() -> dict[str, int]:
    """Operators that had no kernel of the NPU and ran on the CPU in this process: {"aten::name.overload": times}."""
    return _C._npu_fallback_count()


def reset_cpu_fallback_count() -> None:
    """Sets all counts of cpu_fallback_count to 0."""
    _C._npu_fallback_reset()


def _report_fallbacks() -> None:
    counts = sorted(cpu_fallback_count().items(), key=lambda item: (-item[1], item[0]))
    total = sum(times for _, times in counts)
    lines = [f"torch_npu: {len(counts)} operators ran on the CPU, {total} calls in all"]
    lines += [f"{times:>10}  {name}" for name, times in counts]
    print("\n".join(lines), file=sys.stderr)


if _variables.on("ANYNPU_FALLBACK_REPORT"):
    _process = os.getpid()
    atexit.register(lambda: os.getpid() == _process and not _is_in_bad_fork() and _report_fallbacks())


# ---- number formats and overflow ----
def is_support_inf_nan() -> bool:
    """Whether results overflow to inf, as IEEE 754 has it: True unless INF_NAN_MODE_ENABLE=0 asks for saturation."""
    return _variables.on("INF_NAN_MODE_ENABLE")


def is_bf16_supported(including_emulation: bool = False) -> bool:
    """Whether bfloat16 works: True on every device here."""
    return True


def npu_check_overflow(grad: torch.Tensor | float) -> bool:
    """Whether a number, or the sum of a tensor taken in float32, is inf or NaN.

    Raises:
        RuntimeError: neither float nor tensor.
    """
    if isinstance(grad, torch.Tensor):
        value = grad.float().sum()
        return not bool(torch.isfinite(value))
    if isinstance(grad, float):
        return grad != grad or grad in (float("inf"), -float("inf"))
    raise RuntimeError("Unsupported type." + pta_error(ErrCode.TYPE))


def get_npu_overflow_flag() -> bool:
    """Only chips that saturate have this flag.

    Raises:
        RuntimeError: always, where results overflow to inf: use npu_check_overflow.
    """
    raise RuntimeError(
        "Unsupported api when soc_version >= Ascend910B1, please use npu_check_overflow" + pta_error(ErrCode.NOT_SUPPORT)
    )


def clear_npu_overflow_flag() -> None:
    """Does nothing, with a warning, where results overflow to inf: there is no flag to clear."""
    warnings.warn("When soc_version >= Ascend910B1, clear_npu_overflow_flag is useless. Please remove it.", stacklevel=2)


def ipc_collect() -> None:
    """Frees memory that was sent to other processes and that they no longer use."""
    from ..multiprocessing import reductions

    reductions.collect()


def set_op_timeout_ms(timeout: int) -> None:
    """How long one operator may run, in milliseconds, before it is an error; 0 means for ever.

    Raises:
        ValueError: a negative number.
    """
    if not isinstance(timeout, int) or timeout < 0:
        raise ValueError(f"timeout must be a number of milliseconds >= 0, but got {timeout!r}" + pta_error(ErrCode.VALUE))
    _lazy_init()
    _C._npu_set_op_timeout_ms(timeout)

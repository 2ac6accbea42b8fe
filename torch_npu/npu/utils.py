# SPDX-License-Identifier: BSD-3-Clause
"""torch.npu.utils: what ran on the CPU instead, overflow checks, and the device functions under their official path."""

import warnings

import torch
import torch_npu._C as _C

from .. import _variables
from ..utils._error_code import ErrCode, pta_error
from ..utils.cann import get_cann_version
from ._devices import (
    _checked,
    current_blas_handle,
    current_device,
    device,
    device_of,
    set_device,
    synchronize,
)
from ._devices import get_soc_version as get_soc_version
from ._lazy import _lazy_init
from ._utils import _get_device_index as _get_device_index
from .npu_config import finalize_dump, get_task_queue_enable, init_dump, set_dump, set_task_queue_enable
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
    "set_sync_debug_mode",
    "get_sync_debug_mode",
    "init_dump",
    "set_dump",
    "finalize_dump",
    "set_task_queue_enable",
    "get_task_queue_enable",
    "is_force_overflow_check",
    "check_uce_in_memory",
    "stress_detect",
    "obfuscation_initialize",
    "obfuscation_finalize",
    "obfuscation_calculate",
    "cpu_fallback_count",
    "reset_cpu_fallback_count",
]


# ---- operators that ran on the CPU ----
def _is_gte_cann_version(version: str, module: str = "CANN") -> bool:
    """Whether the CANN in use, or a part of it, has this version or a newer one; patch levels are not compared."""
    from .._checks import minor

    return minor(get_cann_version(module)) >= minor(version)


def cpu_fallback_count() -> dict[str, int]:
    """Operators that had no kernel of the NPU and ran on the CPU in this process: {"aten::name.overload": times}."""
    return _C._npu_fallback_count()


def reset_cpu_fallback_count() -> None:
    """Sets all counts of cpu_fallback_count to 0."""
    _C._npu_fallback_reset()


# ---- number formats and overflow ----
def is_support_inf_nan() -> bool:
    """Whether results overflow to inf, as IEEE 754 has it: True unless INF_NAN_MODE_FORCE_DISABLE=1 asks for saturation.

    Raises:
        RuntimeError: INF_NAN_MODE_ENABLE=0 without INF_NAN_MODE_FORCE_DISABLE=1.
    """
    forced = _variables.on("INF_NAN_MODE_FORCE_DISABLE")
    if not forced and not _variables.on("INF_NAN_MODE_ENABLE"):
        raise RuntimeError(
            "INF_NAN_MODE_ENABLE shouldn't be set to 0 on the current device. If you want to disable inf-nan mode, please export "
            "INF_NAN_MODE_FORCE_DISABLE=1" + pta_error(ErrCode.VALUE)
        )
    return not forced


def is_bf16_supported(including_emulation: bool = False) -> bool:
    """Whether bfloat16 works: True on every device here."""
    return True


def npu_check_overflow(grad: torch.Tensor | float) -> bool:
    """Whether a number, or the sum of a tensor taken in float32, is inf or NaN. Where results saturate: whether any has since the
    last call.

    Raises:
        RuntimeError: neither float nor tensor.
    """
    if not is_support_inf_nan():
        overflowed = get_npu_overflow_flag()
        if overflowed:
            clear_npu_overflow_flag()
        return overflowed
    if isinstance(grad, torch.Tensor):
        value = grad.float().sum()
        return not bool(torch.isfinite(value))
    if isinstance(grad, float):
        return grad != grad or grad in (float("inf"), -float("inf"))
    raise RuntimeError("Unsupported type." + pta_error(ErrCode.TYPE))


def get_npu_overflow_flag() -> bool:
    """Whether a result has saturated (overflowed, or had no value) since the flag was cleared; waits for the current stream.

    Raises:
        RuntimeError: where results overflow to inf (the default) there is no flag: use npu_check_overflow.
    """
    if is_support_inf_nan():
        raise RuntimeError(
            "Unsupported api when soc_version >= Ascend910B1, please use npu_check_overflow" + pta_error(ErrCode.NOT_SUPPORT)
        )
    return bool(torch.ops.npu.npu_get_float_status(torch.zeros(8, device="npu"))[0])


def clear_npu_overflow_flag() -> None:
    """Clears that flag. Does nothing, with a warning, where results overflow to inf: there is no flag to clear."""
    if is_support_inf_nan():
        warnings.warn("When soc_version >= Ascend910B1, clear_npu_overflow_flag is useless. Please remove it.", stacklevel=2)
        return
    torch.ops.npu.npu_clear_float_status(torch.zeros(8, device="npu"))


def is_force_overflow_check() -> bool:
    """Whether gradients are checked for overflow by the chip's flag. Never: results here overflow to inf."""
    return False


# ---- who waits for the device ----
_SYNC_MODES = {"default": 0, "warn": 1, "error": 2}


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """What happens where an operator waits for the device (item(), nonzero(), a copy to the host): 0 or "default"
    nothing, 1 or "warn" a warning, 2 or "error" a RuntimeError. Explicit waits (synchronize) are not meant.

    Raises:
        RuntimeError: another mode.
    """
    mode = _SYNC_MODES.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if isinstance(mode, bool) or not isinstance(mode, int) or mode not in (0, 1, 2):
        known = "`default`, `warn`, `error`" if isinstance(debug_mode, str) else "0,1,2"
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of {known}, but got {debug_mode!r}" + pta_error(ErrCode.PARAM)
        )
    _C._npu_set_sync_debug_mode(mode)


def get_sync_debug_mode() -> int:
    """The mode of set_sync_debug_mode as a number; 0 at first."""
    return _C._npu_get_sync_debug_mode()


# ---- health of a device ----
def check_uce_in_memory(device_id: int) -> int:
    """Number of uncorrectable memory errors of a device; 0 is none."""
    index = _checked(device_id)
    _lazy_init()
    return _C._npu_check_uce_in_memory(index)


def stress_detect(detect_type: str = "aic") -> int:
    """Checks the device by work with a known result: 0 is fine, 1 is not, or that it could not be checked (with a warning).

    Args:
        detect_type: "aic" computes; "hccs" exchanges with the other processes of the job.
    """
    if detect_type not in ("aic", "hccs"):
        warnings.warn("Detect_type should be `aic` or `hccs`. `aic` computes on the device, `hccs` exchanges data.", stacklevel=2)
        return 1
    _lazy_init()
    steps = torch.arange(1 << 16, device="npu").remainder_(7).float().view(256, 256)
    if detect_type == "hccs":
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            warnings.warn("torch.distributed should be initialized for p2p detection.", stacklevel=2)
            return 1
        share = steps.clone()
        torch.distributed.all_reduce(share)
        return int(not torch.equal(share, steps * torch.distributed.get_world_size()))
    exact = steps.cpu().double() @ steps.cpu().double()  # small integers: any correct sum is exact
    return int(not torch.equal((steps @ steps).cpu().double(), exact))


# ---- model obfuscation ----
def _no_obfuscation(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name}: this CANN has no service for model obfuscation (it runs beside a real NPU's driver); run the model as it is"
        + pta_error(ErrCode.NOT_SUPPORT)
    )


def obfuscation_initialize(
    hidden_size: int,
    tp_rank: int,
    cmd: int,
    *,
    data_type: torch.dtype | None = None,
    model_obf_seed_id: int = 0,
    data_obf_seed_id: int = 0,
    thread_num: int = 4,
    obf_coefficient: float = 1.0,
) -> torch.Tensor:
    """Opens the obfuscation service.

    Raises:
        RuntimeError: always: there is none.
    """
    raise _no_obfuscation("obfuscation_initialize")


def obfuscation_finalize(fd_to_close: torch.Tensor) -> torch.Tensor:
    """Closes the obfuscation service.

    Raises:
        RuntimeError: always: there is none.
    """
    raise _no_obfuscation("obfuscation_finalize")


def obfuscation_calculate(
    fd: torch.Tensor, x: torch.Tensor, param: torch.Tensor, *, obf_coefficient: float = 1.0
) -> torch.Tensor:
    """Obfuscates a tensor.

    Raises:
        RuntimeError: always: there is no service.
    """
    raise _no_obfuscation("obfuscation_calculate")


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

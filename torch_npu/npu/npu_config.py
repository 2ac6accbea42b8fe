# SPDX-License-Identifier: BSD-3-Clause
"""Options of the NPU that programs set: checked here, kept, and handed to the CANN where it knows them.

Most steer a compiler or a precision mode of the chip; on the software NPU, which computes float32 in float32 and has no
compiler, a right value is accepted and changes nothing, and a wrong one is an error all the same.
"""

import os
import warnings
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import torch_npu._C as _C

from .. import _variables
from ..utils._error_code import ErrCode, pta_error
from ._lazy import _lazy_init, is_initialized

__all__ = [
    "set_option",
    "set_aoe",
    "set_compile_mode",
    "is_jit_compile_false",
    "set_mm_bmm_format_nd",
    "get_mm_bmm_format_nd",
    "init_dump",
    "set_dump",
    "finalize_dump",
    "set_device_limit",
    "get_device_limit",
    "set_stream_limit",
    "get_stream_limit",
    "reset_stream_limit",
    "set_task_queue_enable",
    "get_task_queue_enable",
    "use_compatible_impl",
    "are_compatible_impl_enabled",
]


class CubeMathType(IntEnum):
    """How matrix products may round: values of torch.npu.matmul.cube_math_type."""

    KEEP_DTYPE = 0
    ALLOW_FP32_DOWN_PRECISION = 1
    USE_FP16 = 2
    USE_HF32 = 3
    FORCE_GRP_ACC_FOR_FP32 = 4
    USE_FP32_ADD = 4


def _cores(value: str) -> bool:
    return value.isdigit() and 1 <= int(value) <= 32


_CHOICES: dict[str, list[str] | Callable[[str], bool] | None] = {
    "ACL_PRECISION_MODE": ["allow_fp32_to_fp16", "must_keep_origin_dtype"],
    "ACL_OP_SELECT_IMPL_MODE": ["high_performance", "high_precision"],
    "ACL_AICORE_NUM": _cores,
    "ACL_OPTYPELIST_FOR_IMPLMODE": None,
    "ACL_OP_DEBUG_LEVEL": ["0", "1", "2", "3", "4"],
    "ACL_DEBUG_DIR": None,
    "ACL_OP_COMPILER_CACHE_MODE": ["disable", "enable", "force"],
    "ACL_OP_COMPILER_CACHE_DIR": None,
    "ACL_OP_DEBUG_OPTION": None,
    "NPU_FUZZY_COMPILE_BLACKLIST": None,
    "MM_BMM_ND_ENABLE": ["enable", "disable"],
    "ALLOW_INTERNAL_FORMAT": ["enable", "disable"],
    "ALLOW_MATMUL_HF32": ["enable", "disable"],
    "ALLOW_CONV_HF32": ["enable", "disable"],
    "jitCompile": ["enable", "disable"],
    "FORCE_ACLNN_OP_LIST": None,
}
_DEPRECATED = {"ACL_OP_SELECT_IMPL_MODE", "ACL_OPTYPELIST_FOR_IMPLMODE"}


def set_option(option: dict[str, Any]) -> None:
    """Sets options by name; values are taken as text.

    Raises:
        TypeError: not a dictionary.
        ValueError: an unknown name, or a value out of the list that the text shows. Nothing is set then.
    """
    if not isinstance(option, dict):
        raise TypeError("npu option must be a dict." + pta_error(ErrCode.PARAM))
    checked = {}
    for name, value in option.items():
        if name not in _CHOICES:
            known = ", ".join(sorted(_CHOICES))
            raise ValueError(f"unknown npu option {name!r}; known are {known}" + pta_error(ErrCode.PARAM))
        choice, text = _CHOICES[name], str(value)
        if choice is None or (choice(text) if callable(choice) else text in choice):
            checked[name] = text
            continue
        allowed = "1 to 32" if callable(choice) else choice
        raise ValueError(f"value of {name} should be in {allowed} but got {value}" + pta_error(ErrCode.PARAM))
    for name in checked.keys() & _DEPRECATED:
        warnings.warn(
            f"{name} will be deprecated in a future version. The accuracy or performance may not be optimal when configuring "
            "this option. We do not recommend setting it.",
            stacklevel=2,
        )
    _C._npu_setOption(checked)


def _enabled(name: str, default: bool) -> bool:
    value = _C._npu_getOption(name)
    return default if not value else value == "enable"


def _switch(name: str, value: bool, what: str) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{what} must be a bool, but got {type(value).__name__}" + pta_error(ErrCode.TYPE))
    _C._npu_setOption({name: "enable" if value else "disable"})


def set_compile_mode(jit_compile: bool = False) -> None:
    """Whether operators are compiled for each shape (chips of the first generation). The software NPU compiles nothing."""
    if is_initialized():
        from ._devices import synchronize

        synchronize()
    _C._npu_setOption({"jitCompile": "enable" if jit_compile else "disable"})


def is_jit_compile_false() -> bool:
    """Whether set_compile_mode is off, as it is at first."""
    return not _enabled("jitCompile", False)


def set_aoe(dump_path: str) -> None:
    """Where an operator tuner would write; the folder is made if need be.

    Raises:
        TypeError, OSError: not a path, or it cannot be made.
    """
    try:
        os.makedirs(dump_path, exist_ok=True)
    except TypeError:
        raise TypeError("Type of dump_path is invalid." + pta_error(ErrCode.TYPE)) from None
    except OSError as error:
        raise OSError(f"Value of dump_path is invalid: {error}." + pta_error(ErrCode.SYSCALL)) from None
    _C._npu_setOption({"autotune": "enable", "autotunegraphdumppath": dump_path})


def set_mm_bmm_format_nd(is_nd: bool = True) -> None:
    """Whether mm and bmm take plain (ND) layouts, as they do at first."""
    _C._npu_setOption({"MM_BMM_ND_ENABLE": "enable" if is_nd else "disable"})


def get_mm_bmm_format_nd() -> bool:
    """What set_mm_bmm_format_nd was last given; True at first."""
    return _enabled("MM_BMM_ND_ENABLE", True)


# ---- how operators are queued and which implementations they have ----
def set_task_queue_enable(mode: int) -> None:
    """0, 1 or 2, as TASK_QUEUE_ENABLE. Operators of this backend go straight to the stream, so the mode is kept and no more.

    Raises:
        RuntimeError: another mode.
    """
    if isinstance(mode, bool) or mode not in (0, 1, 2):
        raise RuntimeError(f"TASK_QUEUE_ENABLE should be 0, 1 or 2, but got {mode!r}" + pta_error(ErrCode.VALUE))
    _C._npu_setOption({"TASK_QUEUE_ENABLE": str(mode)})


def get_task_queue_enable() -> int:
    """The mode of set_task_queue_enable, at first that of TASK_QUEUE_ENABLE; 0 with ASCEND_LAUNCH_BLOCKING=1."""
    if _variables.on("ASCEND_LAUNCH_BLOCKING"):
        return 0
    return int(_C._npu_getOption("TASK_QUEUE_ENABLE") or _variables.text("TASK_QUEUE_ENABLE"))


def use_compatible_impl(is_enable: bool) -> None:
    """Whether operators keep to PyTorch's own semantics where Ascend's differ. Those of the software NPU always do."""
    _C._npu_setOption({"TORCH_NPU_USE_COMPATIBLE_IMPL": "1" if is_enable else "0"})


def are_compatible_impl_enabled() -> bool:
    """What use_compatible_impl was last given; at first whether TORCH_NPU_USE_COMPATIBLE_IMPL is 1."""
    value = _C._npu_getOption("TORCH_NPU_USE_COMPATIBLE_IMPL")
    return value == "1" if value else _variables.on("TORCH_NPU_USE_COMPATIBLE_IMPL")


# ---- dump of operators' tensors ----
def init_dump() -> None:
    """Prepares the dump of operators' inputs and outputs.

    Raises:
        RuntimeError: dumping was started before.
    """
    _lazy_init()
    _C._npu_initDump()


def set_dump(cfg_file: str) -> None:
    """Starts the dump that the file describes: {"dump": {"dump_path": "out", "dump_op_switch": "on", "dump_mode": "all"}}.

    Raises:
        AssertionError: no such file.
        RuntimeError: init_dump was not called, or the file is wrong; it says where.
    """
    if not os.path.exists(cfg_file):
        raise AssertionError(f"cfg_file {cfg_file} path does not exists." + pta_error(ErrCode.NOT_FOUND))
    _lazy_init()
    _C._npu_setDump(os.path.realpath(cfg_file))


def finalize_dump() -> None:
    """Ends the dump.

    Raises:
        RuntimeError: init_dump was not called.
    """
    _lazy_init()
    _C._npu_finalizeDump()


# ---- limits of cores ----
_CUBE, _VECTOR = 0, 1
_limited = False


def _limit_device(device: int) -> int:
    from ._devices import device_count

    if isinstance(device, bool) or not isinstance(device, int):
        raise TypeError(f"device must be an int, but got {type(device).__name__}" + pta_error(ErrCode.TYPE))
    if not 0 <= device < device_count():
        raise AssertionError(f"Invalid device id: {device}, there are {device_count()} NPUs" + pta_error(ErrCode.VALUE))
    _lazy_init()
    return device


def _limit_stream(stream: Any) -> tuple[int, int]:
    from .streams import Stream

    if stream is None:
        raise AssertionError("stream cannot be None" + pta_error(ErrCode.PARAM))
    if not isinstance(stream, Stream):
        raise AssertionError(f"stream should be torch_npu.npu.Stream, could not be {type(stream)}" + pta_error(ErrCode.TYPE))
    _lazy_init()
    return stream.stream_id, stream.device_index


def set_device_limit(device: int, cube_num: int = -1, vector_num: int = -1) -> None:
    """How many cores of each kind the process may use of a device; -1 leaves a kind as it is. Once in a process.

    The software NPU checks and keeps the numbers; its speed follows OMP_NUM_THREADS.

    Raises:
        TypeError, AssertionError: not a device.
        RuntimeError: not in 1 to the device's number of cores, or called before.
    """
    global _limited
    if _limited:
        raise RuntimeError("Function 'set_device_limit' has already been called, You can only set this interface once.")
    index = _limit_device(device)
    for kind, number in ((_CUBE, cube_num), (_VECTOR, vector_num)):
        if number != -1:
            _C._npu_set_device_res_limit(index, kind, number)
    _limited = True


def get_device_limit(device: int) -> dict[str, int]:
    """{"cube_core_num": …, "vector_core_num": …} that the process may use of the device."""
    index = _limit_device(device)
    return {
        "cube_core_num": _C._npu_get_device_res_limit(index, _CUBE),
        "vector_core_num": _C._npu_get_device_res_limit(index, _VECTOR),
    }


def set_stream_limit(stream: Any, cube_num: int = -1, vector_num: int = -1) -> None:
    """The same for a stream.

    Raises:
        AssertionError: not a stream.
        RuntimeError: not in 1 to the device's number of cores.
    """
    where = _limit_stream(stream)
    for kind, number in ((_CUBE, cube_num), (_VECTOR, vector_num)):
        if number != -1:
            _C._npu_set_stream_res_limit(*where, kind, number)


def get_stream_limit(stream: Any) -> dict[str, int]:
    """{"cube_core_num": …, "vector_core_num": …} that work on the stream may use."""
    where = _limit_stream(stream)
    return {
        "cube_core_num": _C._npu_get_stream_res_limit(*where, _CUBE),
        "vector_core_num": _C._npu_get_stream_res_limit(*where, _VECTOR),
    }


def reset_stream_limit(stream: Any) -> None:
    """Takes set_stream_limit back: the device's limits hold."""
    _C._npu_reset_stream_res_limit(*_limit_stream(stream))


class _Config:
    """torch.npu.config: allow_internal_format, whether tensors may take a chip's private layouts."""

    @property
    def allow_internal_format(self) -> bool:
        return _enabled("ALLOW_INTERNAL_FORMAT", False)

    @allow_internal_format.setter
    def allow_internal_format(self, value: bool) -> None:
        _C._npu_setOption({"ALLOW_INTERNAL_FORMAT": "enable" if value else "disable"})


class _Matmul:
    """torch.npu.matmul: allow_hf32 (off at first) and cube_math_type. The software NPU multiplies float32 in float32."""

    __slots__ = ()

    @property
    def allow_hf32(self) -> bool:
        return _enabled("ALLOW_MATMUL_HF32", False)

    @allow_hf32.setter
    def allow_hf32(self, value: bool) -> None:
        _switch("ALLOW_MATMUL_HF32", value, "allow_hf32")

    @property
    def cube_math_type(self) -> CubeMathType | None:
        value = _C._npu_getOption("CUBE_MATH_TYPE")
        return CubeMathType(int(value)) if value else None

    @cube_math_type.setter
    def cube_math_type(self, value: CubeMathType) -> None:
        if not isinstance(value, CubeMathType):
            raise TypeError(
                f"value should be one of Enum CubeMathType when setting cube_math_type, but got {type(value)}"
                + pta_error(ErrCode.TYPE)
            )
        _C._npu_setOption({"CUBE_MATH_TYPE": str(int(value))})


class _Conv:
    """torch.npu.conv: allow_hf32 (on at first, as on the chip). The software NPU convolves float32 in float32."""

    __slots__ = ()

    @property
    def allow_hf32(self) -> bool:
        return _enabled("ALLOW_CONV_HF32", True)

    @allow_hf32.setter
    def allow_hf32(self, value: bool) -> None:
        _switch("ALLOW_CONV_HF32", value, "allow_hf32")


config = _Config()
matmul = _Matmul()
conv = _Conv()

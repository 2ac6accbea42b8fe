# SPDX-License-Identifier: BSD-3-Clause
"""Devices: how many, which is current, what they are.

device_count, is_available, why_not_available and get_device_name only ask; they never open the NPU, so that a process may
still fork and use it in the child. Until the first use ASCEND_RT_VISIBLE_DEVICES is read anew at each question.
"""

import platform
import re
import uuid
import warnings
from typing import Any

import torch
import torch_npu._C as _C

from .. import _variables
from ..utils._error_code import ErrCode, pta_error
from ._lazy import _is_in_bad_fork, _lazy_init
from ._utils import _get_device_index

_warned: set[str] = set()


def _ask_count() -> tuple[int, str]:
    """(number of devices, why there is none)."""
    try:
        return _C._npu_getDeviceCount(), ""
    except Exception as error:
        return 0, str(error)


def device_count() -> int:
    """Number of visible NPUs. Does not open them.

    Where the devices cannot be counted (a bad id in ASCEND_RT_VISIBLE_DEVICES, say) the answer is 0, with one warning
    that holds the reason.
    """
    count, reason = _ask_count()
    if count == 0 and _variables.raw("ASCEND_RT_VISIBLE_DEVICES") and reason not in _warned:
        _warned.add(reason)
        warnings.warn(f"no NPU is visible: {reason}", stacklevel=2)
    return count


def is_available() -> bool:
    """Whether there is an NPU to use. Never raises and opens nothing; why_not_available() has the reason for False."""
    return _ask_count()[0] > 0


def why_not_available() -> str:
    """Why is_available() is False, in words; "" when it is True or, in a forked child, when the NPU cannot be used."""
    if _is_in_bad_fork():
        from ._lazy import FORKED

        return FORKED
    return _ask_count()[1]


why_unavailable = why_not_available


def _checked(device: Any) -> int:
    index = _get_device_index(device, optional=True)
    count = device_count()
    if not 0 <= index < count:
        raise AssertionError(f"Invalid device id: {index}, there are {count} NPUs" + pta_error(ErrCode.VALUE))
    return index


def set_device(device: Any) -> None:
    """Makes `device` (index, "npu:1", torch.device) the current one of this thread; a negative index does nothing."""
    index = _get_device_index(device, optional=True)
    if index >= 0:
        _lazy_init()
        _C._npu_setDevice(index)


def current_device() -> int:
    """Index of this thread's current device."""
    _lazy_init()
    return _C._npu_getDevice()


class device:
    """Context manager: the current device inside is `device`; a negative index or None changes nothing.

    Args:
        device: index, "npu:1", torch.device or None.
    """

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            _lazy_init()
            self.prev_idx = _C._npu_exchangeDevice(self.idx)

    def __exit__(self, *exception: object) -> bool:
        if self.prev_idx >= 0:
            _C._npu_maybeExchangeDevice(self.prev_idx)
        return False


class device_of(device):
    """Context manager: the current device inside is that of a tensor or storage; nothing for one that is not on an NPU."""

    def __init__(self, obj: torch.Tensor | torch.UntypedStorage | torch.TypedStorage) -> None:
        super().__init__(obj.get_device() if obj.device.type == "npu" else -1)


def _exchange_device(index: int) -> int:
    """Makes `index` current and returns the former one; a negative index changes nothing and gives -1."""
    if index < 0:
        return -1
    _lazy_init()
    return _C._npu_exchangeDevice(index)


def _maybe_exchange_device(index: int) -> int:
    """Like _exchange_device, without opening a device that is not open yet."""
    return -1 if index < 0 else _C._npu_maybeExchangeDevice(index)


def synchronize(device: Any = None) -> None:
    """Waits until all streams of the device (default: the current one) are done. The first error of a task is raised here."""
    _lazy_init()
    _C._npu_synchronize(_get_device_index(device, optional=True))


def get_device_name(device_name: Any = None) -> str:
    """Name of the device's chip, "Ascend910B3". Does not open it."""
    return _C._npu_getDeviceName(_checked(device_name))


class _NPUDeviceProperties:
    """What a device is; get_device_properties makes it. Sizes in bytes; what a software NPU lacks has the chip's values."""

    name: str
    total_memory: int
    cube_core_num: int
    vector_core_num: int
    L2_cache_size: int
    major: int
    minor: int
    multi_processor_count: int
    warp_size: int
    max_threads_per_multi_processor: int
    regs_per_multiprocessor: int
    is_integrated: int
    is_multi_gpu_board: int
    gcnArchName: str
    uuid: str

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)

    def __repr__(self) -> str:
        return (
            f"_NPUDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // (1 << 20)}MB, cube_core_num={self.cube_core_num}, "
            f"vector_core_num={self.vector_core_num}, L2_cache_size={self.L2_cache_size // (1 << 20)}MB, uuid={self.uuid})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NPUDeviceProperties) and self.__dict__ == other.__dict__

    __hash__ = None


def get_device_properties(device_name: Any = None) -> _NPUDeviceProperties:
    """Properties of a device: name, total_memory in bytes, core counts, …

    Raises:
        AssertionError: no such device.
    """
    index = _checked(device_name)
    _lazy_init()
    fields = _C._npu_getDeviceProperties(index)
    fields["uuid"] = fields["uuid"] or str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{fields['name']}.{index}.{platform.node()}"))
    return _NPUDeviceProperties(fields)


def get_device_capability(device: Any = None) -> tuple[int, int] | None:
    """(major, minor) from TORCH_NPU_DEVICE_CAPABILITY ("8.0"), for programs written for CUDA; None if it is not set.

    An NPU has no such number: the answer says nothing about the chip. `device` is ignored.
    """
    given = _variables.raw("TORCH_NPU_DEVICE_CAPABILITY")
    if not given:
        _warn_once(
            "get_device_capability is None: an NPU has no CUDA capability; TORCH_NPU_DEVICE_CAPABILITY=8.0 makes it (8, 0)"
        )
        return None
    found = re.fullmatch(r"(\d+)\.(\d+)", given)
    if not found:
        _warn_once(
            f"torch.npu.get_device_capability can't parse TORCH_NPU_DEVICE_CAPABILITY environment variable: {given}. Expected "
            "format is 'major.minor' where major and minor are non-negative integers (e.g., '8.0')."
        )
        return None
    return int(found[1]), int(found[2])


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, stacklevel=3)


_SOC_NUMBERS = {
    name: first + at
    for first, names in (
        (100, "Ascend910PremiumA Ascend910ProA Ascend910A Ascend910ProB Ascend910B"),
        (200, "Ascend310P1 Ascend310P2 Ascend310P3 Ascend310P4 Ascend310P5 Ascend310P7"),
        (220, "Ascend910B1 Ascend910B2 Ascend910B2C Ascend910B3 Ascend910B4 Ascend910B4-1"),
        (240, "Ascend310B1 Ascend310B2 Ascend310B3 Ascend310B4"),
        (250, "Ascend910_9391 Ascend910_9392 Ascend910_9381 Ascend910_9382 Ascend910_9372 Ascend910_9362 Ascend910_9363"),
    )
    for at, name in enumerate(names.split())
}


def get_soc_version() -> int:
    """Number of the chip's kind, as programs for Ascend compare it: 220 to 225 for Ascend910B1 to Ascend910B4-1, 260 for
    Ascend950…; -1 for one without a number."""
    name = _C._npu_getDeviceName(0)
    return 260 if name.startswith("Ascend950") else _SOC_NUMBERS.get(name, -1)


def can_device_access_peer(device_id: Any, peer_device_id: Any) -> bool:
    """Whether a copy between the two devices is direct.

    Raises:
        AssertionError: no such device.
    """
    return _C._npu_canDeviceAccessPeer(_checked(device_id), _checked(peer_device_id))


def utilization(device: Any = None) -> int:
    """How busy the device is, in percent of its compute units."""
    index = _checked(device)
    _lazy_init()
    return _C._npu_getDeviceUtilizationRate(index)


def current_blas_handle() -> None:
    """None, with a warning: an NPU has no BLAS handle."""
    _warn_once("NPU does not use blas handle.")

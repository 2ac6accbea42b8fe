# SPDX-License-Identifier: BSD-3-Clause
"""Stopping and restarting a device, and torch.npu.npurt(): what recovery and libraries of others ask for."""

from types import SimpleNamespace
from typing import Any

import torch
import torch_npu._C as _C

from ..utils._error_code import ErrCode, pta_error
from ._devices import _checked, synchronize
from ._lazy import _lazy_init

__all__ = ["stop_device", "restart_device", "npurt"]


def stop_device(device_id: int) -> int:
    """Drops the work that waits on the device's streams and returns 0; what runs at this moment is finished first.

    Raises:
        AssertionError: no such device.
        RuntimeError: the CANN could not.
    """
    index = _checked(device_id)
    _lazy_init()
    _C._npu_stopDevice(index)
    return 0


def restart_device(device_id: int, rebuild_all_resources: bool = False, disable_tensor_unsafe_check: bool = False) -> None:
    """Makes a stopped device usable again. Tensors keep their memory; what dropped work should have written is undefined.

    Args:
        device_id: index.
        rebuild_all_resources, disable_tensor_unsafe_check: for a chip whose memory was lost, which a software NPU's never is.

    Raises:
        AssertionError: no such device.
    """
    index = _checked(device_id)
    _lazy_init()
    try:
        synchronize(index)  # takes the errors of the dropped work
    except RuntimeError:
        synchronize(index)


def _host_pointer(data: Any) -> tuple[int, int]:
    if isinstance(data, torch.Tensor):
        if data.device.type != "cpu":
            raise ValueError(f"expected memory of the host, but got a tensor on {data.device}" + pta_error(ErrCode.VALUE))
        return data.data_ptr(), data.untyped_storage().nbytes()
    return int(data), -1


def _register(ptr: Any, size: int, flags: int = 0) -> int:
    """Makes host memory visible to the device; returns 0, or the CANN's error code. ptr: address or CPU tensor."""
    return _C._npu_hostRegister(_host_pointer(ptr)[0], size, flags)


def _unregister(ptr: Any) -> int:
    """Takes npuHostRegister back; returns 0, or the CANN's error code."""
    return _C._npu_hostUnregister(_host_pointer(ptr)[0])


_runtime = SimpleNamespace(
    npuHostRegister=_register,
    npuHostUnregister=_unregister,
    npuStreamCreate=_C._npu_streamCreate,
    npuStreamDestroy=_C._npu_streamDestroy,
)


def npurt() -> SimpleNamespace:
    """A few functions of the CANN's runtime: npuHostRegister(ptr, size, flags), npuHostUnregister(ptr), npuStreamCreate()
    and npuStreamDestroy(stream), where a stream is the aclrtStream as an integer. Opens the NPU."""
    _lazy_init()
    return _runtime

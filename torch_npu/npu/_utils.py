# SPDX-License-Identifier: BSD-3-Clause
"""From what a user may give as a device to an index. PyTorch's torch.load looks for this module by name."""

from typing import Any

import torch
import torch_npu._C as _C

from ..utils._error_code import ErrCode, pta_error

cuda_means_npu = False
"""Set by torch_npu.contrib.transfer_to_npu."""


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Index of an NPU given as int, "npu:1", torch.device or torch.npu.device.

    Args:
        device: None and "npu" without index mean the current device, if `optional`.
        optional: whether a device without index is allowed.
        allow_cpu: whether a CPU device is allowed; it gives -1.

    Raises:
        ValueError: another kind of device, or no index where one is needed.
    """
    if isinstance(device, bool):
        raise ValueError(f"Expected a npu device or an index, but got: {device}" + pta_error(ErrCode.VALUE))
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type == "cpu" and allow_cpu:
            return -1
        if device.type != "npu" and not (cuda_means_npu and device.type == "cuda"):
            wanted = "npu or cpu" if allow_cpu else "npu"
            raise ValueError(f"Expected a {wanted} device, but got: {device}" + pta_error(ErrCode.VALUE))
        if device.index is not None:
            return device.index
    elif device is not None:
        index = getattr(device, "idx", None)  # torch.npu.device
        if isinstance(index, int):
            return index
        raise ValueError(f"Expected a npu device or an index, but got: {device!r}" + pta_error(ErrCode.VALUE))
    if not optional:
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got: {device}" + pta_error(ErrCode.VALUE)
        )
    return _C._npu_getDevice()

# SPDX-License-Identifier: BSD-3-Clause
"""Tensors of one dtype in one piece of memory, so that one operator does the work of many."""

from collections.abc import Sequence

import torch

from ._error_code import ErrCode, pta_error

__all__ = ["npu_combine_tensors", "get_part_combined_tensor", "is_combined_tensor_valid"]


def npu_combine_tensors(list_of_tensor: Sequence[torch.Tensor], require_copy_value: bool = True) -> torch.Tensor | None:
    """Moves the tensors into one new 1-D tensor, in order, and returns it; they stay the same objects. None for none.

    A view that was taken of one of them before keeps the old memory.

    Args:
        list_of_tensor: contiguous NPU tensors of one dtype.
        require_copy_value: False: what they hold afterwards is undefined.

    Raises:
        RuntimeError: they cannot be combined.
    """
    if not list_of_tensor:
        return None
    if any(tensor is None for tensor in list_of_tensor):
        raise RuntimeError("Tensors to combine must not have `None`." + pta_error(ErrCode.PARAM))
    first = list_of_tensor[0]
    for tensor in list_of_tensor:
        if tensor.dtype != first.dtype:
            raise RuntimeError("Tensors to combine must have the same dtype." + pta_error(ErrCode.TYPE))
        if tensor.device.type != "npu":
            raise RuntimeError(f"Tensors to combine must be on NPU, got {tensor.device.type}." + pta_error(ErrCode.VALUE))
        if not tensor.is_contiguous():
            raise RuntimeError("Tensors to combine must be contiguous." + pta_error(ErrCode.VALUE))
    total = sum(tensor.numel() for tensor in list_of_tensor)
    if not total:
        return None
    with torch.no_grad():
        if require_copy_value:
            combined = torch.cat([tensor.detach().reshape(-1) for tensor in list_of_tensor])
        else:
            combined = torch.empty(total, dtype=first.dtype, device=first.device)
        storage, at = combined.untyped_storage(), 0
        for tensor in list_of_tensor:
            tensor.set_(storage, at, tensor.shape, tensor.stride())
            at += tensor.numel()
    return combined


def get_part_combined_tensor(combined_tensor: torch.Tensor | None, index: int, size: int) -> torch.Tensor | None:
    """`size` elements from number `index` on, as a 1-D tensor on the same memory; None for none.

    Raises:
        RuntimeError: beyond the end.
    """
    if combined_tensor is None or size == 0:
        return None
    held = combined_tensor.untyped_storage().nbytes() // combined_tensor.element_size()
    if index + size > held:
        raise RuntimeError(
            f"(index + size) ({index + size}) > torch_npu.get_storage_size(combined_tensor) ({held})" + pta_error(ErrCode.VALUE)
        )
    return combined_tensor.detach().as_strided((size,), (1,), index)


def is_combined_tensor_valid(combined_tensor: torch.Tensor | None, list_of_tensor: Sequence[torch.Tensor | None]) -> bool:
    """Whether all the tensors are contiguous and in the memory of `combined_tensor`."""
    if not list_of_tensor:
        return True
    if combined_tensor is None:
        return False
    begin = combined_tensor.data_ptr()
    end = begin + combined_tensor.untyped_storage().nbytes()
    return all(tensor is not None and begin <= tensor.data_ptr() < end and tensor.is_contiguous() for tensor in list_of_tensor)

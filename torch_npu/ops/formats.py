# SPDX-License-Identifier: BSD-3-Clause
"""Storage formats. On a software device every tensor is stored row-major; a format is a tag that programs can set and read."""

from __future__ import annotations

from enum import IntEnum

import torch
import torch_npu
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from ..utils._error_code import ErrCode, pta_error


class Format(IntEnum):
    """Storage formats (aclFormat) that torch_npu programs use."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33


_PLAIN = (Format.NCHW, Format.NHWC, Format.ND, Format.HWCN, Format.NDHWC, Format.NCDHW)
_BASE = {3: 2, 4: 0, 5: 30}  # rank → default format, as the aclnn tensors get it: 3 is ND here, 4 NCHW, 5 NCDHW
_tags: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


def _check(name: str, number: int) -> None:
    if number not in set(Format):
        known = ", ".join(f"{known.value} {known.name}" for known in Format)
        raise RuntimeError(f"{name}: acl_format {number} is not known; known formats: {known}.")


def get_npu_format(self: Tensor) -> Format:
    """The tensor's format tag: the one set by npu_format_cast, or the default of its rank."""
    return Format(_tags.get(self, _BASE.get(self.dim(), 2)))


def _wanted(self: Tensor, operator: str, acl_format: int | Tensor) -> int:
    """The format that a cast gives: the tensor's for a tensor; ND from a chip's own format is the default of self's rank."""
    number = get_npu_format(acl_format) if isinstance(acl_format, Tensor) else acl_format
    _check(operator, number)
    if number == Format.ND and get_npu_format(self) not in _PLAIN:
        return _BASE.get(self.dim(), Format.ND)
    return number


def npu_format_cast(
    self: Tensor, acl_format: int | Tensor, *, customize_dtype: int | None = None, input_dtype: int | None = None
) -> Tensor:
    """A tensor with the same values and the format tag acl_format, or that of a tensor (self when it has it already)."""
    wanted = _wanted(self, "npu_format_cast", acl_format)
    if get_npu_format(self) == wanted:
        return self
    result = self.clone(memory_format=torch.contiguous_format)
    _tags[result] = wanted
    return result


def npu_format_cast_(self: Tensor, acl_format: int | Tensor) -> Tensor:
    """Sets the format tag in place."""
    _tags[self] = _wanted(self, "npu_format_cast_", acl_format)
    return self


def get_storage_size(self: Tensor) -> int:
    """Elements that the tensor's storage has room for."""
    return self.untyped_storage().nbytes() // self.element_size()


def npu_change_data_ptr(dst: Tensor, src: Tensor, index: int) -> int:
    """Puts the storage of dst, and all its views, into that of src, from element `index` on. What dst held is dropped.

    Args:
        dst, src: NPU tensors of one dtype: float32, float16 or bfloat16.

    Returns:
        0.

    Raises:
        RuntimeError: other tensors, or dst's storage does not fit there.
    """
    if dst.device != src.device or dst.device.type != "npu":
        raise RuntimeError(
            f"Expect src and dst tensors on one NPU, got: src on {src.device}, dst on {dst.device}" + pta_error(ErrCode.VALUE)
        )
    if src.dtype != dst.dtype:
        raise RuntimeError(
            f"Expect src and dst tensors having the same dtype, got: src with dtype {src.dtype}, dst with dtype {dst.dtype}"
            + pta_error(ErrCode.TYPE)
        )
    if src.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise RuntimeError(
            f"Only supports src and dst tensors with dtype float32, float16 or bfloat16, got: {src.dtype}"
            + pta_error(ErrCode.TYPE)
        )
    return torch_npu._C._npu_change_data_ptr(dst, src, index)


# Tags belong to Python tensors, so these are functions rather than dispatcher operators.
OPERATORS: dict[str, object] = {}
_ALL = (Format, get_npu_format, get_storage_size, npu_change_data_ptr, npu_format_cast, npu_format_cast_)
FUNCTIONS = {f.__name__: f for f in _ALL}

# SPDX-License-Identifier: BSD-3-Clause
"""Storage formats. On a software device every tensor is stored row-major; a format is a tag that programs can set and read."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

# aclFormat by number: the ones that torch_npu programs use.
FORMATS = {-1: "UNDEFINED", 0: "NCHW", 1: "NHWC", 2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z", 29: "FRACTAL_NZ", 30: "NCDHW",
           32: "NDC1HWC0", 33: "FRACTAL_Z_3D"}
_BASE = {3: 2, 4: 0, 5: 30}  # rank → default format, as the aclnn tensors get it: 3 is ND here, 4 NCHW, 5 NCDHW
_tags: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


def _check(name: str, number: int) -> None:
    if number not in FORMATS:
        known = ", ".join(f"{k} {v}" for k, v in FORMATS.items())
        raise RuntimeError(f"{name}: acl_format {number} is not known; known formats: {known}.")


def get_npu_format(self: Tensor) -> int:
    """The tensor's format tag: the one set by npu_format_cast, or the default of its rank."""
    return _tags.get(self, _BASE.get(self.dim(), 2))


def npu_format_cast(
    self: Tensor, acl_format: int, *, customize_dtype: int | None = None, input_dtype: int | None = None
) -> Tensor:
    """A tensor with the same values and the format tag acl_format (self when it has it already)."""
    _check("npu_format_cast", acl_format)
    if get_npu_format(self) == acl_format:
        return self
    result = self.clone(memory_format=torch.contiguous_format)
    _tags[result] = acl_format
    return result


def npu_format_cast_(self: Tensor, acl_format: int) -> Tensor:
    """Sets the format tag in place."""
    _check("npu_format_cast_", acl_format)
    _tags[self] = acl_format
    return self


# Tags belong to Python tensors, so these are functions rather than dispatcher operators.
OPERATORS: dict[str, object] = {}
FUNCTIONS = {f.__name__: f for f in (get_npu_format, npu_format_cast, npu_format_cast_)}

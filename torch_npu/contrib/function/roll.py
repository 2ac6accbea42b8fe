# SPDX-License-Identifier: BSD-3-Clause
"""Rolling pictures, as Swin Transformer does."""

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__ = ["roll"]


def roll(x: Tensor, shifts: tuple[int, int], dims: tuple[int, int]) -> Tensor:
    """torch.roll over two dimensions of a 4-D tensor.

    Raises:
        ValueError: another number of dimensions.
    """
    for what, number, wanted in (("x.dim()", x.dim(), 4), ("len(shifts)", len(shifts), 2), ("len(dims)", len(dims), 2)):
        if number != wanted:
            raise ValueError(f"Expected {what} == {wanted}, but it is {number}" + ops_error(ErrCode.VALUE))
    return torch.roll(x, tuple(shifts), tuple(dims))

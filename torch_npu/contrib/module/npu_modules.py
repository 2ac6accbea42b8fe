# SPDX-License-Identifier: BSD-3-Clause
"""Dropout under its NPU name, as a module."""

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error
from ..function.npu_functional import dropout_with_byte_mask

__all__ = ["DropoutWithByteMask"]


class DropoutWithByteMask(torch.nn.Module):
    """torch.nn.Dropout.

    Args:
        p: probability of an element to become 0.
        inplace: not supported: an error at the first call.
        max_seed: not used; random numbers come from torch.npu's generator.

    Raises:
        ValueError: p not in [0, 1].
    """

    def __init__(self, p: float = 0.5, inplace: bool = False, max_seed: int = 2**10 - 1) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}" + ops_error(ErrCode.VALUE))
        self.p = p
        self.inplace = inplace

    def forward(self, input1: Tensor) -> Tensor:
        return dropout_with_byte_mask(input1, self.p, self.training, self.inplace)

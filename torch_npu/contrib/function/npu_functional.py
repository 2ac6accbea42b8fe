# SPDX-License-Identifier: BSD-3-Clause
"""Dropout under its NPU name."""

import torch.nn.functional as F
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__ = ["dropout_with_byte_mask"]


def dropout_with_byte_mask(input1: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """torch.nn.functional.dropout.

    Raises:
        ValueError: p not in [0, 1], or inplace.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}" + ops_error(ErrCode.VALUE))
    if inplace:
        raise ValueError("dropout_with_byte_mask has no in-place form" + ops_error(ErrCode.VALUE))
    return F.dropout(input1, p, training)

# SPDX-License-Identifier: BSD-3-Clause
"""Assignment under a mask, as a new tensor."""

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__ = ["npu_fast_condition_index_put"]


def npu_fast_condition_index_put(x: Tensor, condition: Tensor, value: float) -> Tensor:
    """What x[condition] = value would make of x, which stays as it is.

    Raises:
        TypeError: condition is not bool.
    """
    if condition.dtype is not torch.bool:
        raise TypeError(f"Expected condition.dtype in [torch.bool], but got {condition.dtype}" + ops_error(ErrCode.TYPE))
    return torch.where(condition, torch.full_like(x, value), x)

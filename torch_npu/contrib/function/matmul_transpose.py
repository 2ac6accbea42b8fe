# SPDX-License-Identifier: BSD-3-Clause
"""Products with the second factor transposed."""

from torch import Tensor

__all__ = ["matmul_transpose"]


def matmul_transpose(tensor1: Tensor, tensor2: Tensor) -> Tensor:
    """tensor1 @ tensor2.transpose(-2, -1)."""
    return tensor1 @ tensor2.transpose(-2, -1)

# SPDX-License-Identifier: BSD-3-Clause
"""Root mean square normalisation (Zhang and Sennrich, 2019) and its fusion with a residual sum."""

from __future__ import annotations

import torch
from torch import Tensor


def npu_rms_norm(self: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, Tensor]:
    """y = x · rstd · gamma with rstd = 1 / sqrt(mean(x²) + epsilon) over the trailing dimensions that gamma has.

    self: (…, *gamma.shape). Returns y in self's dtype and rstd in float32 with 1 for each normalised dimension. 16-bit
    floats are computed in float32.
    """
    if gamma.dim() == 0 or tuple(self.shape[self.dim() - gamma.dim() :]) != tuple(gamma.shape):
        raise RuntimeError(
            f"npu_rms_norm: gamma of shape {tuple(gamma.shape)} must be the trailing dimensions of self, which has shape "
            f"{tuple(self.shape)}."
        )
    dims = list(range(self.dim() - gamma.dim(), self.dim()))
    wide = self.float() if self.dtype in (torch.float16, torch.bfloat16) else self
    rstd = torch.rsqrt(wide.square().mean(dims, keepdim=True) + epsilon)
    return (wide * rstd * gamma).to(self.dtype), rstd.float()


def npu_add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, Tensor, Tensor]:
    """npu_rms_norm of x = x1 + x2 (same shape and dtype); returns (y, rstd, x)."""
    if x1.shape != x2.shape or x1.dtype != x2.dtype:
        raise RuntimeError(
            f"npu_add_rms_norm: x1 ({x1.dtype}, {tuple(x1.shape)}) and x2 ({x2.dtype}, {tuple(x2.shape)}) must have the same "
            "dtype and shape."
        )
    x = x1 + x2
    y, rstd = npu_rms_norm(x, gamma, epsilon)
    return y, rstd, x


OPERATORS = {
    "npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)": npu_rms_norm,
    "npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)": npu_add_rms_norm,
}

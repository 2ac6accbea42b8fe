# SPDX-License-Identifier: BSD-3-Clause
"""A linear layer with a quantised weight, for inference."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

__all__ = ["LinearWeightQuant"]


class LinearWeightQuant(torch.nn.Module):
    """npu_weight_quant_batchmatmul of the input, in float16 or bfloat16, with `weight`, whose parameters a program fills: weight
    (out_features, in_features) of int8, or of int32 with eight int4 each, antiquant_scale (out_features,), …

    Args:
        in_features, out_features: sizes of a row before and after.
        bias, antiquant_offset, quant_scale, quant_offset: whether there is such a parameter.
        device: where the parameters are made.
        dtype: reserved.
        antiquant_group_size: rows of the weight that share a scale; 0: all of them.
        inner_precise: 0 or 1; the result is the same.
        weight_dtype: None, for what the weight says itself.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
        antiquant_offset: bool = False,
        quant_scale: bool = False,
        quant_offset: bool = False,
        antiquant_group_size: int = 0,
        inner_precise: int = 0,
        weight_dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()

        def parameter(wanted: bool, *size: int) -> Parameter | None:
            return Parameter(torch.empty(size, device=device), requires_grad=False) if wanted else None

        self.weight = parameter(True, out_features, in_features)
        self.antiquant_scale = parameter(True, out_features)
        self.antiquant_offset = parameter(antiquant_offset, out_features)
        self.quant_scale = parameter(quant_scale, out_features)
        self.quant_offset = parameter(quant_offset, out_features)
        self.bias = parameter(bias, out_features)
        self.antiquant_group_size = antiquant_group_size
        self.inner_precise = inner_precise
        self.weight_dtype = weight_dtype

    def forward(self, x: Tensor) -> Tensor:
        def by_row(values: Tensor | None) -> Tensor | None:
            return values.transpose(-1, -2) if values is not None and values.dim() == 2 else values

        return torch.ops.npu.npu_weight_quant_batchmatmul(
            x,
            self.weight.transpose(-1, -2),
            by_row(self.antiquant_scale),
            by_row(self.antiquant_offset),
            self.quant_scale,
            self.quant_offset,
            self.bias,
            self.antiquant_group_size,
            self.inner_precise,
            weight_dtype=self.weight_dtype,
        )

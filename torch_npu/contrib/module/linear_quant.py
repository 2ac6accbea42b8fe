# SPDX-License-Identifier: BSD-3-Clause
"""A linear layer of quantised numbers, for inference."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from ...utils._error_code import ErrCode, ops_error

__all__ = ["LinearQuant"]


class LinearQuant(torch.nn.Module):
    """npu_quant_matmul of the input with `weight`, whose parameters a program fills: weight (out_features, in_features) of
    int8, or of int32 with eight int4 each, scale (out_features,) or (1,), bias (out_features,).

    Args:
        in_features, out_features: sizes of a row before and after.
        bias, offset, pertoken_scale: whether there is such a parameter.
        device, dtype: reserved.
        output_dtype: torch.int8 (None), float16, bfloat16 or int32.

    Raises:
        ValueError: at the call, input and weight are not both int8 or both int32.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = True,
        offset: bool = False,
        pertoken_scale: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
        output_dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()

        def parameter(wanted: bool, *size: int, kind: torch.dtype = torch.float32) -> Parameter | None:
            return Parameter(torch.empty(size, dtype=kind), requires_grad=False) if wanted else None

        self.in_features = in_features
        self.out_features = out_features
        self.output_dtype = output_dtype
        self.weight = parameter(True, out_features, in_features)
        self.scale = parameter(True, out_features)
        self.offset = parameter(offset, out_features)
        self.pertoken_scale = parameter(pertoken_scale, out_features)
        self.bias = parameter(bias, out_features, kind=torch.int32)

    def forward(self, linear_quant_input: Tensor) -> Tensor:
        kinds = (linear_quant_input.dtype, self.weight.dtype)
        if kinds not in ((torch.int8, torch.int8), (torch.int32, torch.int32)):
            raise ValueError(
                "input and weight should be both torch.int32 or both torch.int8 datatype, but now input is "
                f"{kinds[0]}, weight is {kinds[1]}." + ops_error(ErrCode.TYPE)
            )
        scale = self.scale
        if (
            self.pertoken_scale is None
            and scale.dtype == torch.float32
            and self.output_dtype not in (torch.bfloat16, torch.int32)
        ):
            scale = torch.ops.npu.npu_trans_quant_param(scale, self.offset)
        return torch.ops.npu.npu_quant_matmul(
            linear_quant_input,
            self.weight.transpose(-1, -2),
            scale,
            offset=self.offset,
            pertoken_scale=self.pertoken_scale,
            bias=self.bias,
            output_dtype=self.output_dtype,
        )

# SPDX-License-Identifier: BSD-3-Clause
"""A 2-d convolution of quantised numbers, for inference."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.modules.utils import _pair

from ...utils._error_code import ErrCode, ops_error

__all__ = ["QuantConv2d"]


class QuantConv2d(torch.nn.Module):
    """npu_quant_conv2d of the input with `weight`, whose parameters a program fills: weight (out_channels, in_channels / groups,
    height, width) of int8, scale (out_channels,) of float32 or packed, bias (out_channels,) of int32.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias: as torch.nn.Conv2d.
        output_dtype: torch.float16, bfloat16 or float32.
        offset: reserved, False.
        offset_x: the number that padding is made of.
        round_mode: "rint".
        input_dtype, weight_dtype: None, for what the tensors say themselves.
        device, dtype: reserved.

    Raises:
        ValueError: offset is True.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        output_dtype: torch.dtype,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        offset: bool = False,
        offset_x: int = 0,
        round_mode: str = "rint",
        input_dtype: torch.dtype | None = None,
        weight_dtype: torch.dtype | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if offset:
            raise ValueError("offset must be False" + ops_error(ErrCode.VALUE))
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride)
        self.padding = _pair(padding)
        self.dilation = _pair(dilation)
        self.groups = groups
        self.offset_x = offset_x
        self.round_mode = round_mode
        self.input_dtype = input_dtype
        self.weight_dtype = weight_dtype
        self.output_dtype = output_dtype
        self.weight = Parameter(torch.empty(out_channels, in_channels // groups, *self.kernel_size), requires_grad=False)
        self.scale = Parameter(torch.empty(out_channels, dtype=torch.int64), requires_grad=False)
        self.bias = Parameter(torch.empty(out_channels), requires_grad=False) if bias else None
        self.offset = None

    def forward(self, quant_conv2d_input: Tensor) -> Tensor:
        scale = self.scale
        if scale.dtype == torch.float32:
            scale = torch.ops.npu.npu_trans_quant_param(scale)
        return torch.ops.npu.npu_quant_conv2d(
            quant_conv2d_input,
            self.weight,
            scale,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
            self.offset_x,
            self.round_mode,
            self.output_dtype,
            self.bias,
            self.offset,
            self.input_dtype,
            self.weight_dtype,
        )

# SPDX-License-Identifier: BSD-3-Clause
"""Modulated deformable convolution (Zhu et al., Deformable ConvNets v2, 2018), with the interface that mmcv has."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.utils import _pair

__all__ = ["ModulatedDeformConv2dFunction", "ModulatedDeformConv"]


class ModulatedDeformConv2dFunction(torch.autograd.Function):
    """The convolution with its gradients: npu_deformable_conv2d and npu_deformable_conv2dbk.

    offset_ori: (N, 2 · groups · taps, H, W) with y and x of each tap side by side; sort_index_for_npu_fp brings all x before
    all y, as the operator has them, and sort_index_for_npu_bp takes the gradient back.
    """

    @staticmethod
    def forward(
        ctx: Any,
        input_tensor: Tensor,
        offset_ori: Tensor,
        mask: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        with_bias: bool = False,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        deformable_groups: int = 1,
        sort_index_for_npu_fp: Tensor | None = None,
        sort_index_for_npu_bp: Tensor | None = None,
    ) -> Tensor:
        moves = offset_ori.float().index_select(1, sort_index_for_npu_fp)
        offset = torch.cat([moves, mask.float()], 1)
        ctx.settings = {
            "kernel_size": list(weight.shape[2:]),
            "stride": [1, 1, stride, stride],
            "padding": [padding] * 4,
            "dilation": [1, 1, dilation, dilation],
            "groups": groups,
            "deformable_groups": deformable_groups,
            "modulated": True,
        }
        wide = input_tensor.float()
        output, moved = torch.ops.npu.npu_deformable_conv2d(wide, weight, offset, bias, **ctx.settings)
        ctx.with_bias = with_bias
        ctx.moves = moves.shape[1]
        ctx.save_for_backward(wide, weight, moved, offset, sort_index_for_npu_bp)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        wide, weight, moved, offset, back = ctx.saved_tensors
        grad_input, grad_weight, grad_all, grad_bias = torch.ops.npu.npu_deformable_conv2dbk(
            wide, grad_output, moved, weight, offset, **ctx.settings
        )
        grad_offset = grad_all[:, : ctx.moves].index_select(1, back)
        grad_mask = grad_all[:, ctx.moves :]
        return grad_input, grad_offset, grad_mask, grad_weight, grad_bias if ctx.with_bias else None, *[None] * 8


class ModulatedDeformConv(nn.Module):
    """A 2-d convolution whose taps move and are weighted, as an inner convolution says for each place; in float32.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias: as torch.nn.Conv2d; stride, padding and
            dilation are one number each.
        deformable_groups: parts of the channels that move on their own.
        pack: False: no inner convolution; the input is (features, offset, mask).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        deformable_groups: int = 1,
        bias: bool = True,
        pack: bool = True,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        self.deformable_groups = deformable_groups
        self.with_bias = bias
        self.pack = pack
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // groups, *self.kernel_size))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        taps = self.kernel_size[0] * self.kernel_size[1]
        if pack:
            self.conv_offset = nn.Conv2d(
                in_channels, deformable_groups * 3 * taps, self.kernel_size, stride, padding, dilation, bias=True
            )
        self.split_num = deformable_groups * 2 * taps
        order = [*range(1, self.split_num, 2), *range(0, self.split_num, 2)]
        back = sorted(range(self.split_num), key=order.__getitem__)
        self.register_buffer("sort_index_for_npu_fp", torch.tensor(order), persistent=False)
        self.register_buffer("sort_index_for_npu_bp", torch.tensor(back), persistent=False)
        self.init_param()

    def init_param(self) -> None:
        """Weights uniform within 1 / sqrt(inputs of a place); no bias, no moves, all taps weighted 1/2."""
        bound = 1 / math.sqrt(self.in_channels * self.kernel_size[0] * self.kernel_size[1])
        nn.init.uniform_(self.weight, -bound, bound)
        inner = (self.conv_offset.weight, self.conv_offset.bias) if self.pack else ()
        for parameter in (self.bias, *inner):
            if parameter is not None:
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor | tuple[Tensor, Tensor, Tensor]) -> Tensor:
        if self.pack:
            out = self.conv_offset(x)
            offset, mask = out[:, : self.split_num], torch.sigmoid(out[:, self.split_num :])
        else:
            x, offset, mask = x
        return ModulatedDeformConv2dFunction.apply(
            x,
            offset,
            mask,
            self.weight,
            self.bias,
            self.with_bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
            self.deformable_groups,
            self.sort_index_for_npu_fp,
            self.sort_index_for_npu_bp,
        )


DCNv2 = ModulatedDeformConv

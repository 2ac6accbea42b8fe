# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions under their NPU names, and their backward passes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def _padded(input: Tensor, padding: list[int], spatial: int) -> tuple[Tensor, list[int]]:
    """The input and padding of one number a dimension; two for each (before and after) are padded here where they differ."""
    if len(padding) != 2 * spatial or spatial == 1:
        return input, padding
    pairs = [padding[i : i + 2] for i in range(0, len(padding), 2)]
    if all(before == after for before, after in pairs):
        return input, [before for before, _ in pairs]
    return F.pad(input, [n for pair in reversed(pairs) for n in pair]), [0] * spatial


Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]


def npu_convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: list[int], padding: list[int], dilation: list[int], groups: int
) -> Tensor:
    """torch.conv2d or conv3d, by the rank. padding: one number a dimension, or two, before and after."""
    input, padding = _padded(input, padding, weight.dim() - 2)
    return torch.convolution(input, weight, bias, stride, padding, dilation, False, [0] * (weight.dim() - 2), groups)


def _out(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: list[int], padding: list[int], dilation: list[int], groups: int,
    *, out: Tensor,
) -> Tensor:  # fmt: skip
    return out.copy_(npu_convolution(input, weight, bias, stride, padding, dilation, groups))


def npu_convolution_transpose(
    input: Tensor, weight: Tensor, bias: Tensor | None, padding: list[int], output_padding: list[int], stride: list[int],
    dilation: list[int], groups: int,
) -> Tensor:  # fmt: skip
    """torch.conv_transpose2d or conv_transpose3d, by the rank."""
    return torch.convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def _backward(
    grad: Tensor, input: Tensor, weight: Tensor, stride: list[int], padding: list[int], dilation: list[int], transposed: bool,
    output_padding: list[int], groups: int, mask: list[bool],
) -> Gradients:  # fmt: skip
    bias = [weight.size(1) * groups if transposed else weight.size(0)]
    backward = torch.ops.aten.convolution_backward
    return backward(grad, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, mask)


def npu_convolution_backward(
    input: Tensor, grad_output: Tensor, weight: Tensor, stride: list[int], padding: list[int], dilation: list[int], groups: int,
    output_mask: list[bool],
) -> Gradients:  # fmt: skip
    """Gradients of npu_convolution: of input, weight and bias, those that output_mask asks for."""
    none = [0] * (weight.dim() - 2)
    wide, numbers = _padded(input, padding, weight.dim() - 2)
    dx, dw, db = _backward(grad_output, wide, weight, stride, numbers, dilation, False, none, groups, output_mask)
    if dx is not None and wide is not input:
        for d in range(2, input.dim()):
            dx = dx.narrow(d, padding[2 * (d - 2)], input.size(d))
    return dx, dw, db


def npu_convolution_transpose_backward(
    input: Tensor, grad: Tensor, weight: Tensor, padding: list[int], output_padding: list[int], stride: list[int],
    dilation: list[int], groups: int, grad_input_mask: list[bool],
) -> Gradients:  # fmt: skip
    """Gradients of npu_convolution_transpose: of input, weight and bias."""
    return _backward(grad, input, weight, stride, padding, dilation, True, output_padding, groups, grad_input_mask)


def _conv_depthwise2d_backward(
    grad_output: Tensor, self: Tensor, weight: Tensor, kernel_size: list[int], stride: list[int], padding: list[int],
    dilation: list[int], output_mask: list[bool],
) -> tuple[Tensor | None, Tensor | None]:  # fmt: skip
    """Gradients of a depthwise convolution: of self and weight."""
    mask = [*output_mask, False]
    return _backward(grad_output, self, weight, stride, padding, dilation, False, [0, 0], self.size(1), mask)[:2]


OPERATORS = {
    "npu_conv2d(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> "
    "Tensor": npu_convolution,
    "npu_conv3d(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> "
    "Tensor": npu_convolution,
    "npu_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) "
    "-> Tensor": npu_convolution,
    "npu_conv2d.out(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups, "
    "*, Tensor(a!) out) -> Tensor(a!)": _out,
    "npu_conv3d.out(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups, "
    "*, Tensor(a!) out) -> Tensor(a!)": _out,
    "npu_conv_transpose2d(Tensor input, Tensor weight, Tensor? bias, int[] padding, int[] output_padding, int[] stride, "
    "int[] dilation, int groups) -> Tensor": npu_convolution_transpose,
    "npu_convolution_transpose(Tensor input, Tensor weight, Tensor? bias, int[] padding, int[] output_padding, int[] "
    "stride, int[] dilation, int groups) -> Tensor": npu_convolution_transpose,
    "npu_conv2d_backward(Tensor input, Tensor grad_output, Tensor weight, int[] stride, int[] padding, int[] dilation, "
    "int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)": npu_convolution_backward,
    "npu_conv3d_backward(Tensor input, Tensor grad, Tensor weight, int[] stride, int[] padding, int[] dilation, int "
    "groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)": npu_convolution_backward,
    "npu_convolution_backward(Tensor input, Tensor grad_output, Tensor weight, int[] stride, int[] padding, int[] "
    "dilation, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)": npu_convolution_backward,
    "npu_conv_transpose2d_backward(Tensor input, Tensor grad_output, Tensor weight, int[] padding, int[] output_padding, "
    "int[] stride, int[] dilation, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)":
    npu_convolution_transpose_backward,
    "npu_conv_transpose3d_backward(Tensor input, Tensor grad_output, Tensor weight, int[] padding, int[] output_padding, "
    "int[] stride, int[] dilation, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)":
    npu_convolution_transpose_backward,
    "npu_convolution_transpose_backward(Tensor input, Tensor grad, Tensor weight, int[] padding, int[] output_padding, "
    "int[] stride, int[] dilation, int groups, bool[3] grad_input_mask) -> (Tensor, Tensor, Tensor)":
    npu_convolution_transpose_backward,
    "_conv_depthwise2d_backward(Tensor grad_output, Tensor self, Tensor weight, int[2] kernel_size, int[2] stride, "
    "int[2] padding, int[2] dilation, bool[2] output_mask) -> (Tensor grad_input, Tensor grad_weight)":
    _conv_depthwise2d_backward,
}  # fmt: skip

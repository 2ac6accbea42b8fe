# SPDX-License-Identifier: BSD-3-Clause
"""Backward passes of the activations of basic.py, gated units with limits, and gated units with quantised results."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .basic import fast_gelu, npu_geglu, npu_swiglu
from .gradient import gradients
from .quant import _dtype, _rounded


def npu_silu_(self: Tensor) -> Tensor:
    return F.silu(self, inplace=True)


def npu_silu_backward(grad_output: Tensor, x0: Tensor, x1: Tensor) -> Tensor:
    """The gradient of silu at x0; x1 is its result, which is not needed."""
    return torch.ops.aten.silu_backward(grad_output, x0)


def npu_gelu_backward(grad_output: Tensor, self: Tensor, *, approximate: str = "none") -> Tensor:
    return torch.ops.aten.gelu_backward(grad_output, self, approximate=approximate)


def npu_fast_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    return gradients(fast_gelu, [self], grad)[0]


def npu_mish_backward(grad: Tensor, input: Tensor) -> Tensor:
    return torch.ops.aten.mish_backward(grad, input)


def npu_swiglu_backward(grad_output: Tensor, self: Tensor, dim: int = -1) -> Tensor:
    return gradients(lambda x: npu_swiglu(x, dim), [self], grad_output)[0]


def npu_geglu_grad(
    grad_output: Tensor, self: Tensor, gelu: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> Tensor:
    """The gradient of npu_geglu's product; gelu is its second result, which is not needed."""
    return gradients(lambda x: npu_geglu(x, dim, approximate, activate_left)[0], [self], grad_output)[0]


def npu_gelu_mul(input: Tensor, *, approximate: str = "none") -> Tensor:
    """gelu(a) · b with a, b the halves of the last dimension."""
    if input.size(-1) % 2:
        raise RuntimeError(f"npu_gelu_mul: the last dimension of input must be even, but its size is {input.size(-1)}.")
    a, b = input.chunk(2, -1)
    return F.gelu(a, approximate=approximate) * b


def npu_scaled_masked_softmax_backward(
    y_grad: Tensor, y: Tensor, mask: Tensor, scale: float, fixed_triu_mask: bool
) -> Tensor:
    """The gradient of npu_scaled_masked_softmax's x; y is its result."""
    if fixed_triu_mask:
        mask = torch.ones(y.shape[-2:], dtype=torch.bool, device=y.device).triu(1)
    grad, wide = y_grad.float(), y.float()
    inner = wide * (grad - (wide * grad).sum(-1, keepdim=True))
    return (inner * scale).masked_fill(mask.bool(), 0.0).to(y.dtype)


def npu_attn_softmax_(self: Tensor) -> Tensor:
    """softmax over the last dimension, in place."""
    return self.copy_(self.float().softmax(-1))


def npu_attn_softmax_backward_(self: Tensor, grad_output: Tensor, values: Tensor) -> Tensor:
    """self, a softmax, becomes the gradient of what it is of; the softmax's own gradient is grad_output · valuesᵀ."""
    grad = torch.matmul(grad_output.float(), values.float().transpose(-1, -2))
    wide = self.float()
    return self.copy_(wide * (grad - (wide * grad).sum(-1, keepdim=True)))


# ---- gated units with limits and groups ----
def _clipped(gate: Tensor, x: Tensor, alpha: float, limit: float, bias: float) -> Tensor:
    """g · sigmoid(alpha · g) · (x + bias) with g at most limit and x within ± limit (as in gpt-oss)."""
    gate, x = gate.clamp(max=limit), x.clamp(-limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (x + bias)


def npu_clipped_swiglu(
    x: Tensor, *, group_index: Tensor | None = None, dim: int = -1, alpha: float = 1.702, limit: float = 7.0, bias: float = 1.0,
    interleaved: bool = True,
) -> Tensor:  # fmt: skip
    """g · sigmoid(alpha · g) · (u + bias), g at most limit, u within ± limit.

    g and u: the even and odd places of dim if interleaved, else its halves. group_index: counts of rows (of the dimensions
    before dim, flattened); those after their sum are 0.
    """
    if x.size(dim) % 2:
        raise RuntimeError(f"npu_clipped_swiglu: dimension {dim} of x has odd size {x.size(dim)}; it is split in two halves.")
    dim %= x.dim()
    shape = x.shape
    wide = x.reshape(shape[:dim].numel(), shape[dim], shape[dim + 1 :].numel()).float()
    gate, up = (wide[:, ::2], wide[:, 1::2]) if interleaved else wide.chunk(2, 1)
    result = _clipped(gate, up, alpha, limit, bias)
    if group_index is not None:
        used = torch.arange(result.shape[0], device=x.device) < group_index.sum()
        result = result * used.view(-1, 1, 1)
    return result.to(x.dtype).reshape(*shape[:dim], shape[dim] // 2, *shape[dim + 1 :])


def _groups(rows: int, group_index: Tensor | None, counts: bool, device: torch.device) -> tuple[Tensor, Tensor]:
    """(group of each row, whether it is in one); group_index: the groups' counts, or their ends."""
    place = torch.arange(rows, device=device)
    if group_index is None:
        return torch.zeros_like(place), torch.ones_like(place, dtype=torch.bool)
    ends = group_index.long().cumsum(0) if counts else group_index.long()
    return torch.searchsorted(ends, place, right=True).clamp(max=ends.numel() - 1), place < ends[-1]


def _row_scales(wide: Tensor, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """(rows rounded to the type by a scale each, the scales)."""
    scale = wide.abs().amax(-1) / (127 if kind == torch.int8 else 7)
    return _rounded(wide / torch.where(scale > 0, scale, torch.ones_like(scale)).unsqueeze(-1), kind), scale


def npu_swiglu_quant(
    x: Tensor, *, smooth_scales: Tensor | None = None, offsets: Tensor | None = None, group_index: Tensor | None = None,
    activate_left: bool = False, quant_mode: int = 0, group_list_type: int = 0, dst_type: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Gated unit, times the group's smooth_scales, as int8 (or int4): (values, scales of the rows).

    x: (…, 2n); the silu is of the left half with activate_left, else of the right. quant_mode 0 (static): round(y · smooth_scales
    + offsets), scales empty; 1 (dynamic): a scale for each row. smooth_scales: (groups, n) or (groups,); group_index: the
    groups' ends (group_list_type 0) or counts (1). Rows outside of all groups are 0.
    """
    kind = torch.int8 if dst_type is None else dst_type
    if kind not in (torch.int8, torch.quint4x2):
        raise RuntimeError(f"npu_swiglu_quant: dst_type must be torch.int8 or torch.quint4x2, but is {dst_type}.")
    if x.size(-1) % 2:
        raise RuntimeError(f"npu_swiglu_quant: the last dimension of x must be even, but its size is {x.size(-1)}.")
    left, right = x.float().flatten(0, -2).chunk(2, -1)
    y = F.silu(left) * right if activate_left else F.silu(right) * left
    group, used = _groups(y.shape[0], group_index, group_list_type == 1, x.device)

    def by_row(values: Tensor) -> Tensor:
        values = values.float().reshape(values.shape[0], -1) if values.dim() else values.float().reshape(1, 1)
        return values[group if values.shape[0] > 1 else torch.zeros_like(group)]

    if smooth_scales is not None:
        y = y * by_row(smooth_scales)
    y = y * used.unsqueeze(-1)
    shape = x.shape[:-1]
    if quant_mode == 0:
        result = _rounded(y if offsets is None else y + by_row(offsets), kind)
        return result.reshape(*shape, -1), x.new_empty(0, dtype=torch.float32)
    result, scale = _row_scales(y, kind)
    return result.reshape(*shape, -1), scale.reshape(shape)


def npu_dequant_swiglu_quant(
    x: Tensor, *, weight_scale: Tensor | None = None, activation_scale: Tensor | None = None, bias: Tensor | None = None,
    quant_scale: Tensor | None = None, quant_offset: Tensor | None = None, group_index: Tensor | None = None,
    activate_left: bool = False, quant_mode: int = 0, dst_type: int | None = None, round_mode: int | None = None,
    activate_dim: int | None = None, swiglu_mode: int = 0, clamp_limit: float = 7.0, glu_alpha: float = 1.702,
    glu_bias: float = 1.0,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """int32 sums times their scales, a gated unit, and int8 again: (values, scales of the rows).

    x: (tokens, 2n) of int32, times weight_scale (groups, 2n) and activation_scale (tokens,), or floats as they are; bias is added
    before the scales if it is int32, else after. quant_scale (groups, n): multiplied before rounding; quant_mode 0 (static)
    rounds y / quant_scale + quant_offset, 1 (dynamic) by a scale for each row. group_index: counts. swiglu_mode 1: the unit of
    npu_clipped_swiglu, of even and odd places.
    """
    if round_mode not in (None, 0):
        raise RuntimeError(f"npu_dequant_swiglu_quant: round_mode must be 0 (to nearest), but is {round_mode}.")
    if activate_dim not in (None, -1, x.dim() - 1):
        raise RuntimeError(f"npu_dequant_swiglu_quant: activate_dim must be the last dimension, but is {activate_dim}.")
    kind = _dtype("npu_dequant_swiglu_quant", dst_type, torch.int8, (torch.int8, torch.quint4x2))
    rows = x.flatten(0, -2)
    group, used = _groups(rows.shape[0], group_index, True, x.device)

    def by_row(values: Tensor) -> Tensor:
        values = values.float().reshape(-1, values.shape[-1])
        return values[group if values.shape[0] > 1 else torch.zeros_like(group)]

    wide = rows.float()
    if bias is not None and bias.dtype == torch.int32:
        wide = wide + by_row(bias)
    if weight_scale is not None:
        wide = wide * by_row(weight_scale)
    if activation_scale is not None:
        wide = wide * activation_scale.float().reshape(-1, 1)
    if bias is not None and bias.dtype != torch.int32:
        wide = wide + by_row(bias)
    if swiglu_mode == 1:
        y = _clipped(wide[:, ::2], wide[:, 1::2], glu_alpha, clamp_limit, glu_bias)
    else:
        left, right = wide.chunk(2, -1)
        y = F.silu(left) * right if activate_left else F.silu(right) * left
    y = y * used.unsqueeze(-1)
    shape = x.shape[:-1]
    if quant_mode == 0:
        y = y / by_row(quant_scale) if quant_scale is not None else y
        result = _rounded(y if quant_offset is None else y + by_row(quant_offset), kind)
        return result.reshape(*shape, -1), x.new_empty(0, dtype=torch.float32)
    result, scale = _row_scales(y if quant_scale is None else y * by_row(quant_scale), kind)
    return result.reshape(*shape, -1), scale.reshape(shape)


OPERATORS = {
    "npu_silu_(Tensor(a!) self) -> Tensor(a!)": npu_silu_,
    "npu_silu_backward(Tensor grad_output, Tensor x0, Tensor x1) -> Tensor": npu_silu_backward,
    "npu_gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor": npu_gelu_backward,
    "npu_fast_gelu_backward(Tensor grad, Tensor self) -> Tensor": npu_fast_gelu_backward,
    "npu_mish_backward(Tensor grad, Tensor input) -> Tensor": npu_mish_backward,
    "npu_swiglu_backward(Tensor grad_output, Tensor self, int dim=-1) -> Tensor": npu_swiglu_backward,
    "npu_geglu_grad(Tensor grad_output, Tensor self, Tensor gelu, int dim=-1, int approximate=1, bool "
    "activate_left=False) -> Tensor": npu_geglu_grad,
    "npu_gelu_mul(Tensor input, *, str approximate='none') -> Tensor": npu_gelu_mul,
    "npu_scaled_masked_softmax_backward(Tensor y_grad, Tensor y, Tensor mask, Scalar scale, bool fixed_triu_mask) -> "
    "Tensor": npu_scaled_masked_softmax_backward,
    "npu_attn_softmax_(Tensor(a!) self) -> Tensor(a!)": npu_attn_softmax_,
    "npu_attn_softmax_backward_(Tensor(a!) self, Tensor grad_output, Tensor values) -> Tensor(a!)": npu_attn_softmax_backward_,
    "npu_clipped_swiglu(Tensor x, *, Tensor? group_index=None, int dim=-1, float alpha=1.702, float limit=7.0, float "
    "bias=1.0, bool interleaved=True) -> Tensor": npu_clipped_swiglu,
    "npu_swiglu_quant(Tensor x, *, Tensor? smooth_scales=None, Tensor? offsets=None, Tensor? group_index=None, bool "
    "activate_left=False, int quant_mode=0, int group_list_type=0, ScalarType? dst_type=None) -> (Tensor, Tensor)":
    npu_swiglu_quant,
    "npu_dequant_swiglu_quant(Tensor x, *, Tensor? weight_scale=None, Tensor? activation_scale=None, Tensor? bias=None, "
    "Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? group_index=None, bool activate_left=False, int "
    "quant_mode=0, int? dst_type=None, int? round_mode=None, int? activate_dim=None, int swiglu_mode=0, float "
    "clamp_limit=7.0, float glu_alpha=1.702, float glu_bias=1.0) -> (Tensor, Tensor)": npu_dequant_swiglu_quant,
}  # fmt: skip

# SPDX-License-Identifier: BSD-3-Clause
"""Root mean square normalisation (Zhang and Sennrich, 2019), layer and group normalisation, fused with residual sums,
activations and quantisation.

Computed in float32; results in the inputs' type, mean and rstd in float32.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .quant import _dtype, _rounded


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


def npu_rms_norm_backward(dy: Tensor, self: Tensor, gamma: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of npu_rms_norm's self and gamma (in float32); rstd is its second result."""
    dims = list(range(self.dim() - gamma.dim(), self.dim()))
    normal, scaled = self.float() * rstd, dy.float() * gamma.float()
    dx = (scaled - normal * (scaled * normal).mean(dims, keepdim=True)) * rstd
    dgamma = (dy.float() * normal).sum(list(range(self.dim() - gamma.dim())))
    return dx.to(self.dtype), dgamma


def npu_gemma_rms_norm(self: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, Tensor]:
    """npu_rms_norm with 1 + gamma as its gamma."""
    return npu_rms_norm(self, gamma.float() + 1, epsilon)


def npu_add_rms_norm_v2(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> Tensor:
    """npu_add_rms_norm in place: x1 becomes y and x2 becomes x1 + x2; returns rstd."""
    y, rstd, x = npu_add_rms_norm(x1, x2, gamma, epsilon)
    x1.copy_(y)
    x2.copy_(x)
    return rstd


def npu_add_rms_norm_v2_functional(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-06
) -> tuple[Tensor, Tensor, Tensor]:
    """(rstd, y, x1 + x2): npu_add_rms_norm_v2 with its new x1 and x2 as results."""
    y, rstd, x = npu_add_rms_norm(x1, x2, gamma, epsilon)
    return rstd, y, x


def npu_add_rms_norm_cast(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(y in float32, y, rstd, x1 + x2) of npu_add_rms_norm."""
    y, rstd, x = npu_add_rms_norm(x1, x2, gamma, epsilon)
    return y.float(), y, rstd, x


# ---- with quantised results ----
def _quantised(y: Tensor, scale: Tensor | None, offset: Tensor | None, divide: bool, kind: torch.dtype) -> Tensor:
    """round(y / scale + offset), or y · scale + offset, in the type."""
    if scale is not None:
        y = y / scale.float() if divide else y * scale.float()
    return _rounded(y if offset is None else y + offset.float(), kind)


def npu_rms_norm_quant(
    x: Tensor, gamma: Tensor, beta: Tensor, scale: Tensor, offset: Tensor, epsilon: float = 1e-06, *, dst_dtype: int | None = None
) -> Tensor:
    """round((rms_norm(x) · gamma + beta) / scale + offset) as int8 (the default), or int4 eight to an int32."""
    return npu_rms_norm_quant_v2(x, gamma, scale, offset=offset, beta=beta, epsilon=epsilon, dst_dtype=dst_dtype)[0]


def npu_rms_norm_quant_v2(
    x: Tensor, gamma: Tensor, scale: Tensor, *, offset: Tensor | None = None, beta: Tensor | None = None, epsilon: float = 1e-06,
    div_mode: bool = True, dst_dtype: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(npu_rms_norm_quant, rstd); without div_mode times scale instead."""
    kind = _dtype("npu_rms_norm_quant", dst_dtype, torch.int8, (torch.int8, torch.quint4x2))
    y, rstd = npu_rms_norm(x.float(), gamma, epsilon)
    return _quantised(y if beta is None else y + beta.float(), scale, offset, div_mode, kind), rstd


def npu_add_rms_norm_quant(
    x1: Tensor, x2: Tensor, gamma: Tensor, scales1: Tensor, zero_points1: Tensor | None, beta: Tensor | None = None,
    scales2: Tensor | None = None, zero_points2: Tensor | None = None, *, axis: int = -1, epsilon: float = 1e-06,
    div_mode: bool = True, dst_type: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(y quantised by the first scales, by the second, x1 + x2); int8. Without second scales the second result is 0."""
    kind = _dtype("npu_add_rms_norm_quant", dst_type, torch.int8, (torch.int8, torch.quint4x2))
    x = x1 + x2
    y = npu_rms_norm(x.float(), gamma, epsilon)[0]
    y = y if beta is None else y + beta.float()
    first = _quantised(y, scales1, zero_points1, div_mode, kind)
    second = torch.zeros_like(first) if scales2 is None else _quantised(y, scales2, zero_points2, div_mode, kind)
    return first, second, x


def npu_add_rms_norm_dynamic_quant(
    x1: Tensor, x2: Tensor, gamma: Tensor, *, smooth_scale1: Tensor | None = None, smooth_scale2: Tensor | None = None,
    beta: Tensor | None = None, epsilon: float = 1e-6, output_mask: list[bool] | None = None, y_dtype: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """(y1, y2, x1 + x2, scale1, scale2): y times each smooth_scale, rounded to int8 by a scale for each row.

    output_mask says which of the two are wanted; by default the first, and the second if there is a smooth_scale2.
    """
    kind = _dtype("npu_add_rms_norm_dynamic_quant", y_dtype, torch.int8, (torch.int8, torch.quint4x2))
    x = x1 + x2
    y = npu_rms_norm(x.float(), gamma, epsilon)[0]
    y = y if beta is None else y + beta.float()
    results: list[tuple[Tensor, Tensor]] = []
    for wanted, smooth in zip(output_mask or (True, smooth_scale2 is not None), (smooth_scale1, smooth_scale2)):
        if not wanted:
            results.append((x.new_empty(0, dtype=torch.int8), x.new_empty(0, dtype=torch.float32)))
            continue
        wide = y if smooth is None else y * smooth.float()
        scale = wide.abs().amax(-1) / (127 if kind == torch.int8 else 7)
        results.append((_rounded(wide / torch.where(scale > 0, scale, torch.ones_like(scale)).unsqueeze(-1), kind), scale))
    return results[0][0], results[1][0], x, results[0][1], results[1][1]


# ---- layer normalisation ----
def _layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """(y, mean, rstd) of float32 x over the trailing dimensions that gamma has."""
    return torch.native_layer_norm(x, gamma.shape, gamma.float(), beta.float(), epsilon)


def npu_deep_norm(
    x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor, alpha: float = 0.3, epsilon: float = 1e-06
) -> tuple[Tensor, Tensor, Tensor]:
    """(mean, rstd, y): layer normalisation of alpha · x + gx (Wang et al., DeepNet, 2022) over the dimensions of gamma."""
    y, mean, rstd = _layer_norm(alpha * x.float() + gx.float(), gamma, beta, epsilon)
    return mean, rstd, y.to(x.dtype)


def _layer_norm_gradients(dy: Tensor, x: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of x, gamma and beta in float32, of given mean and rstd."""
    wide = gamma.float()
    backward = torch.ops.aten.native_layer_norm_backward
    return backward(dy.float().contiguous(), x, gamma.shape, mean, rstd, wide, torch.zeros_like(wide), [True] * 3)


def npu_deep_norm_backward(
    dy: Tensor, x: Tensor, gx: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor, alpha: float = 0.3
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of npu_deep_norm: of x, gx, beta and gamma (the last two in float32)."""
    dgx, dgamma, dbeta = _layer_norm_gradients(dy, alpha * x.float() + gx.float(), gamma, mean, rstd)
    return (alpha * dgx).to(x.dtype), dgx.to(x.dtype), dbeta, dgamma


def npu_add_layer_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor, epsilon: float = 1e-05, additional_output: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(y, mean, rstd, x1 + x2): layer normalisation of the sum, which is empty unless additional_output is set."""
    x = x1 + x2
    y, mean, rstd = _layer_norm(x.float(), gamma, beta, epsilon)
    return y.to(x.dtype), mean, rstd, x if additional_output else x.new_empty(0)


def npu_add_layer_norm_backward(
    dy_opt: Tensor | None, x1: Tensor, x2: Tensor, rstd: Tensor, mean: Tensor, gamma: Tensor, dsum_opt: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of npu_add_layer_norm: of x1, x2, gamma and beta; dsum_opt is that of its fourth result."""
    x = (x1 + x2).float()
    if dy_opt is None:
        dx, dgamma, dbeta = torch.zeros_like(x), torch.zeros_like(gamma), torch.zeros_like(gamma)
    else:
        dx, dgamma, dbeta = _layer_norm_gradients(dy_opt, x, gamma, mean, rstd)
    dx = dx if dsum_opt is None else dx + dsum_opt.float()
    return dx.to(x1.dtype), dx.to(x2.dtype), dgamma.float(), dbeta.float()


def npu_layer_norm_eval(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """torch.nn.functional.layer_norm."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def npu_layernorm_grad(
    grad_out: Tensor, input: Tensor, normalized_shape: list[int], mean: Tensor, rstd: Tensor, weight: Tensor | None,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of layer normalisation: of input, weight and bias."""
    return torch.ops.aten.native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, [True] * 3)


# ---- group normalisation ----
def npu_group_norm_silu(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, group: int, eps: float = 0.00001
) -> tuple[Tensor, Tensor, Tensor]:
    """(silu(y), mean, rstd) of group normalisation (Wu and He, 2018); input: (N, C, …), mean and rstd: (N, group)."""
    return npu_group_norm_swish(input, group, weight, bias, eps)


def npu_group_norm_swish(
    input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5, swish_scale: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    """(y · sigmoid(swish_scale · y), mean, rstd) of group normalisation."""
    n, c = input.shape[:2]
    if num_groups < 1 or c % num_groups:
        raise RuntimeError(f"npu_group_norm_swish: {c} channels cannot be divided into {num_groups} groups.")
    area = input.numel() // (n * c) if n * c else 0
    y, mean, rstd = torch.native_group_norm(input.contiguous(), weight, bias, n, c, area, num_groups, eps)
    return y * torch.sigmoid(y * swish_scale), mean, rstd


def npu_group_norm_swish_grad(
    grad: Tensor, input: Tensor, num_groups: int, weight: Tensor, bias: Tensor, mean: Tensor, rstd: Tensor,
    grad_input_mask: list[bool], swish_scale: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of npu_group_norm_swish: of input, weight and bias; mean and rstd are its results."""
    n, c = input.shape[:2]
    shape = (1, -1) + (1,) * (input.dim() - 2)
    normal = ((input.reshape(n, num_groups, -1) - mean.unsqueeze(-1)) * rstd.unsqueeze(-1)).view_as(input)
    y = normal * weight.view(shape) + bias.view(shape)
    gate = torch.sigmoid(y * swish_scale)
    dy = grad * gate * (1 + y * swish_scale * (1 - gate))
    return torch.ops.aten.native_group_norm_backward(
        dy, input, mean, rstd, weight, n, c, input.numel() // (n * c), num_groups, grad_input_mask
    )


# ---- batch normalisation over several devices ----
def batch_norm_reduce(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Sums of input (N, C, …) and of its squares for each channel, in float32."""
    if input.dim() < 2:
        raise RuntimeError(f"batch_norm_reduce: the dim of input tensor must more than 1, but it is {input.dim()}.")
    dims = [d for d in range(input.dim()) if d != 1]
    wide = input.float()
    return wide.sum(dims), wide.square().sum(dims)


def npu_normalize_batch(self: Tensor, seq_len: Tensor, normalize_type: int = 0) -> Tensor:
    """(self − mean) / (std + 1e-5) over the first seq_len[i] steps of row i: for each feature (0), or all features together (1).

    self: (N, features, steps).
    """
    if self.dim() != 3 or normalize_type not in (0, 1):
        raise RuntimeError(
            f"npu_normalize_batch: self must be (N, features, steps) and normalize_type 0 or 1, but they are {tuple(self.shape)} "
            f"and {normalize_type}."
        )
    dims = [2] if normalize_type == 0 else [1, 2]
    inside = (torch.arange(self.shape[2], device=self.device) < seq_len.view(-1, 1)).unsqueeze(1).expand_as(self)
    count = inside.sum(dims, keepdim=True)
    mean = (self * inside).sum(dims, keepdim=True) / count
    var = ((self - mean).square() * inside).sum(dims, keepdim=True) / (count - 1)
    return (self - mean) / (var.sqrt() + 1e-5)


OPERATORS = {
    "npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)": npu_rms_norm,
    "npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)": npu_add_rms_norm,
    "npu_rms_norm_backward(Tensor dy, Tensor self, Tensor gamma, Tensor rstd) -> (Tensor, Tensor)": npu_rms_norm_backward,
    "npu_gemma_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)": npu_gemma_rms_norm,
    "npu_add_rms_norm_v2(Tensor(a!) x1, Tensor(b!) x2, Tensor gamma, float epsilon=1e-06) -> Tensor": npu_add_rms_norm_v2,
    "npu_add_rms_norm_v2_functional(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)":
    npu_add_rms_norm_v2_functional,
    "npu_add_rms_norm_cast(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor, Tensor)":
    npu_add_rms_norm_cast,
    "npu_rms_norm_quant(Tensor x, Tensor gamma, Tensor beta, Tensor scale, Tensor offset, float epsilon=1e-06, *, int? "
    "dst_dtype=None) -> Tensor": npu_rms_norm_quant,
    "npu_rms_norm_quant_v2(Tensor x, Tensor gamma, Tensor scale, *, Tensor? offset=None, Tensor? beta=None, float "
    "epsilon=1e-06, bool div_mode=True, int? dst_dtype=None) -> (Tensor, Tensor)": npu_rms_norm_quant_v2,
    "npu_add_rms_norm_quant(Tensor x1, Tensor x2, Tensor gamma, Tensor scales1, Tensor? zero_points1, Tensor? beta=None, "
    "Tensor? scales2=None, Tensor? zero_points2=None, *, int axis=-1, float epsilon=1e-06, bool div_mode=True, int? "
    "dst_type=None) -> (Tensor, Tensor, Tensor)": npu_add_rms_norm_quant,
    "npu_add_rms_norm_dynamic_quant(Tensor x1, Tensor x2, Tensor gamma, *, Tensor? smooth_scale1=None, Tensor? "
    "smooth_scale2=None, Tensor? beta=None, float epsilon=1e-6, bool[2]? output_mask=None, int? y_dtype=None) -> "
    "(Tensor, Tensor, Tensor, Tensor, Tensor)": npu_add_rms_norm_dynamic_quant,
    "npu_deep_norm(Tensor x, Tensor gx, Tensor beta, Tensor gamma, float alpha=0.3, float epsilon=1e-06) -> (Tensor, "
    "Tensor, Tensor)": npu_deep_norm,
    "npu_deep_norm_backward(Tensor dy, Tensor x, Tensor gx, Tensor gamma, Tensor mean, Tensor rstd, float alpha=0.3) -> "
    "(Tensor, Tensor, Tensor, Tensor)": npu_deep_norm_backward,
    "npu_add_layer_norm(Tensor x1, Tensor x2, Tensor gamma, Tensor beta, float epsilon=1e-05, bool "
    "additional_output=False) -> (Tensor, Tensor, Tensor, Tensor)": npu_add_layer_norm,
    "npu_add_layer_norm_backward(Tensor? dy_opt, Tensor x1, Tensor x2, Tensor rstd, Tensor mean, Tensor gamma, Tensor? "
    "dsum_opt) -> (Tensor, Tensor, Tensor, Tensor)": npu_add_layer_norm_backward,
    "npu_layer_norm_eval(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) "
    "-> Tensor": npu_layer_norm_eval,
    "npu_layernorm_grad(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, "
    "Tensor? bias) -> (Tensor, Tensor, Tensor)": npu_layernorm_grad,
    "npu_group_norm_silu(Tensor input, Tensor? weight, Tensor? bias, int group, float eps=0.00001) -> (Tensor, Tensor, "
    "Tensor)": npu_group_norm_silu,
    "npu_group_norm_swish(Tensor input, int num_groups, Tensor weight, Tensor bias, float? eps=1e-5, float? "
    "swish_scale=1.0) -> (Tensor, Tensor, Tensor)": npu_group_norm_swish,
    "npu_group_norm_swish_grad(Tensor grad, Tensor input, int num_groups, Tensor weight, Tensor bias, Tensor mean, "
    "Tensor rstd, bool[3] grad_input_mask, float? swish_scale=1.0) -> (Tensor, Tensor, Tensor)": npu_group_norm_swish_grad,
    "batch_norm_reduce(Tensor input, float eps) -> (Tensor, Tensor)": batch_norm_reduce,
    "npu_normalize_batch(Tensor self, Tensor seq_len, int normalize_type=0) -> Tensor": npu_normalize_batch,
}  # fmt: skip

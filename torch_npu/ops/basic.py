# SPDX-License-Identifier: BSD-3-Clause
"""Activations, rotary embedding, casts and small products under their NPU names."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torch_npu._C as _C
from torch import Tensor


def npu_swiglu(self: Tensor, dim: int = -1) -> Tensor:
    """silu(a) · b with a, b the halves of self along dim (Shazeer, 2020); that dimension must be even."""
    if self.size(dim) % 2:
        raise RuntimeError(f"npu_swiglu: dimension {dim} of self has odd size {self.size(dim)}; it is split in two halves.")
    a, b = self.chunk(2, dim)
    return F.silu(a) * b


def npu_geglu(
    self: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> tuple[Tensor, Tensor]:
    """gelu(gate) · x over the halves of self along dim; returns (product, gelu(gate)). approximate: 1 tanh, 0 exact."""
    if self.size(dim) % 2:
        raise RuntimeError(f"npu_geglu: dimension {dim} of self has odd size {self.size(dim)}; it is split in two halves.")
    left, right = self.chunk(2, dim)
    gate, x = (left, right) if activate_left else (right, left)
    active = F.gelu(gate, approximate="tanh" if approximate == 1 else "none")
    return x * active, active


def npu_gelu(self: Tensor, *, approximate: str = "none") -> Tensor:
    return F.gelu(self, approximate=approximate)


def fast_gelu(self: Tensor) -> Tensor:
    """x · sigmoid(1.702 x) (Hendrycks and Gimpel, 2016)."""
    return self * torch.sigmoid(self * 1.702)


def npu_silu(self: Tensor) -> Tensor:
    return F.silu(self)


def npu_dtype_cast(self: Tensor, dtype: torch.dtype, input_dtype: torch.dtype | None = None) -> Tensor:
    return self.to(dtype)


def npu_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(input, weight, bias)


def npu_rotary_mul(
    self: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half", rotate: Tensor | None = None
) -> Tensor:
    """x · r1 + rotate(x) · r2 (Su et al., 2021), r1 the cosines and r2 the sines, broadcast against self.

    rotary_mode "half": rotate(x) = (−x₂, x₁) with x₁, x₂ the halves of the last dimension; "interleave": the even and odd
    elements instead. The last dimension must be even.
    """
    if self.size(-1) % 2:
        raise RuntimeError(f"npu_rotary_mul: the last dimension of self must be even, but its size is {self.size(-1)}.")
    if rotary_mode == "half":
        a, b = self.chunk(2, -1)
        turned = torch.cat((-b, a), -1)
    elif rotary_mode == "interleave":
        turned = torch.stack((-self[..., 1::2], self[..., ::2]), -1).flatten(-2)
    else:
        raise RuntimeError(f"npu_rotary_mul: rotary_mode must be 'half' or 'interleave', but it is '{rotary_mode}'.")
    return (self * r1 + turned * r2).to(self.dtype)


def npu_confusion_transpose(self: Tensor, perm: list[int], shape: list[int], transpose_first: bool) -> Tensor:
    """permute then reshape (transpose_first), or reshape then permute."""
    if transpose_first:
        return self.permute(perm).reshape(shape)
    return self.reshape(shape).permute(perm)


def npu_bmmV2(self: Tensor, mat2: Tensor, output_sizes: list[int]) -> Tensor:
    """torch.matmul, reshaped to output_sizes unless that is empty."""
    product = torch.matmul(self, mat2)
    return product.reshape(output_sizes) if output_sizes else product


def npu_scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float = 1, fixed_triu_mask: bool = False) -> Tensor:
    """softmax(x · scale) over the last dimension, positions where mask is true left out (as −10000).

    x: (B, N, S1, S2); mask broadcasts to it. fixed_triu_mask: the mask is the strict upper triangle instead.
    """
    if fixed_triu_mask:
        mask = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    return torch.softmax((x.float() * scale).masked_fill(mask.bool(), -10000.0), -1).to(x.dtype)


def npu_scatter_nd_update(self: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of self with self[indices[i]] = updates[i]; indices: (…, k), k leading dimensions of self."""
    return npu_scatter_nd_update_(self.clone(), indices, updates)


def npu_scatter_nd_update_(self: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """npu_scatter_nd_update in place."""
    if indices.size(-1) > self.dim():
        raise RuntimeError(
            f"npu_scatter_nd_update: the last dimension of indices ({indices.size(-1)}) is larger than the rank of self "
            f"({self.dim()})."
        )
    return self.index_put_(tuple(indices.long().unbind(-1)), updates.to(self.dtype))


def npu_alloc_float_status(self: Tensor) -> Tensor:
    """Eight zeros for the two operators below."""
    return torch.zeros(8, device=self.device)


def npu_get_float_status(self: Tensor, mode: int = 0) -> Tensor:
    """Eight numbers, the first not 0 if a result has saturated since the status was cleared; INF_NAN_MODE_FORCE_DISABLE=1."""
    status = torch.zeros(8, device=self.device)
    status[0] = _C._npu_overflow_status(self.get_device())
    return status


def npu_clear_float_status(self: Tensor, mode: int = 0) -> Tensor:
    """Clears the status that npu_get_float_status tells."""
    _C._npu_overflow_reset(self.get_device())
    return torch.zeros(8, device=self.device)


def scatter_update(self: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """A copy of self with updates written at positions of one axis: see scatter_update_."""
    return scatter_update_(self.clone(), indices, updates, axis)


def scatter_update_(self: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Writes updates[i] into self[i] (a cache of keys or values) from position indices[i] of the axis on, in place.

    indices: (n,), or (n, 2) with the row of self before the position. axis is not the first; updates (n, …) has self's other
    sizes.
    """
    axis %= self.dim()
    if axis == 0 or updates.dim() != self.dim() or indices.dim() not in (1, 2) or indices.size(0) != updates.size(0):
        raise RuntimeError(
            f"scatter_update: indices {tuple(indices.shape)} and updates {tuple(updates.shape)} do not fit axis {axis} of a "
            f"tensor of size {tuple(self.shape)}."
        )
    n, steps = updates.size(0), updates.size(axis)
    if indices.dim() == 1:
        rows, start = torch.arange(n, device=self.device), indices.long()
    else:
        rows, start = indices.long().unbind(1)
    places = start[:, None] + torch.arange(steps, device=self.device)
    self.movedim(axis, 1).index_put_((rows[:, None], places), updates.movedim(axis, 1).to(self.dtype))
    return self


def npu_one_hot(
    self: Tensor, num_classes: int = -1, depth: int = 1, on_value: float = 1, off_value: float = 0
) -> Tensor:
    """float32 with on_value where the new axis of size depth equals self's element, off_value elsewhere.

    num_classes is where the axis goes (-1: behind the others). Elements outside of 0 … depth − 1 are on nowhere.
    """
    axis = num_classes if num_classes >= 0 else self.dim() + 1 + num_classes
    on = self.unsqueeze(-1) == torch.arange(depth, device=self.device)
    hot = torch.full(on.shape, float(off_value), device=self.device).masked_fill(on, float(on_value))
    return hot.movedim(-1, axis)


def npu_top_k_top_p(logits: Tensor, p: Tensor | None = None, k: Tensor | None = None) -> Tensor:
    """logits (batch, words) with −inf for all but the k largest of a row, and of those but the fewest whose probabilities
    reach p (Holtzman et al., 2020); p and k have one element a row. The largest always stays.
    """
    if logits.dim() != 2 or any(t is not None and t.shape != logits.shape[:1] for t in (p, k)):
        raise RuntimeError(
            f"npu_top_k_top_p: logits {tuple(logits.shape)} must be (batch, words), p and k must have one element a row."
        )
    ordered, order = logits.sort(-1)
    if k is not None:
        last = ordered.gather(1, (logits.size(1) - k.long().clamp(1, logits.size(1))).unsqueeze(1))
        ordered = ordered.masked_fill(ordered < last, float("-inf"))
    if p is not None:
        left_out = ordered.float().softmax(-1).cumsum(-1) <= 1 - p.float().unsqueeze(1)
        left_out = left_out & (torch.arange(logits.size(1), device=logits.device) < logits.size(1) - 1)
        ordered = ordered.masked_fill(left_out, float("-inf"))
    return torch.empty_like(logits).scatter(1, order, ordered)


def npu_mish(self: Tensor) -> Tensor:
    return F.mish(self)


def npu_transpose(self: Tensor, perm: list[int], require_contiguous: bool = True) -> Tensor:
    turned = self.permute(perm)
    return turned.contiguous() if require_contiguous else turned


def npu_broadcast(self: Tensor, size: list[int]) -> Tensor:
    return self.expand(size).clone()


def npu_sort_v2(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """The sorted values alone."""
    return self.sort(dim, descending).values


OPERATORS = {
    "npu_alloc_float_status(Tensor self) -> Tensor": npu_alloc_float_status,
    "npu_get_float_status(Tensor self, int mode=0) -> Tensor": npu_get_float_status,
    "npu_clear_float_status(Tensor self, int mode=0) -> Tensor": npu_clear_float_status,
    "scatter_update(Tensor self, Tensor indices, Tensor updates, int axis) -> Tensor": scatter_update,
    "scatter_update_(Tensor(a!) self, Tensor indices, Tensor updates, int axis) -> Tensor(a!)": scatter_update_,
    "npu_one_hot(Tensor self, int num_classes=-1, int depth=1, Scalar on_value=1, Scalar off_value=0) -> Tensor": npu_one_hot,
    "npu_top_k_top_p(Tensor logits, Tensor? p=None, Tensor? k=None) -> Tensor": npu_top_k_top_p,
    "npu_mish(Tensor self) -> Tensor": npu_mish,
    "npu_transpose(Tensor self, int[] perm, bool require_contiguous=True) -> Tensor": npu_transpose,
    "npu_broadcast(Tensor self, int[] size) -> Tensor": npu_broadcast,
    "npu_sort_v2(Tensor self, int dim=-1, bool descending=False) -> Tensor": npu_sort_v2,
    "npu_swiglu(Tensor self, int dim=-1) -> Tensor": npu_swiglu,
    "npu_geglu(Tensor self, int dim=-1, int approximate=1, bool activate_left=False) -> (Tensor, Tensor)": npu_geglu,
    "npu_gelu(Tensor self, *, str approximate='none') -> Tensor": npu_gelu,
    "fast_gelu(Tensor self) -> Tensor": fast_gelu,
    "npu_fast_gelu(Tensor self) -> Tensor": fast_gelu,
    "npu_silu(Tensor self) -> Tensor": npu_silu,
    "npu_dtype_cast(Tensor self, ScalarType dtype, ScalarType? input_dtype=None) -> Tensor": npu_dtype_cast,
    "npu_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor": npu_linear,
    "npu_rotary_mul(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half', Tensor? rotate=None) -> Tensor": npu_rotary_mul,
    "npu_confusion_transpose(Tensor self, int[] perm, int[] shape, bool transpose_first) -> Tensor": npu_confusion_transpose,
    "npu_bmmV2(Tensor self, Tensor mat2, int[] output_sizes) -> Tensor": npu_bmmV2,
    "npu_scaled_masked_softmax(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False) -> Tensor":
        npu_scaled_masked_softmax,
    "npu_scatter_nd_update(Tensor self, Tensor indices, Tensor updates) -> Tensor": npu_scatter_nd_update,
    "npu_scatter_nd_update_(Tensor(a!) self, Tensor indices, Tensor updates) -> Tensor(a!)": npu_scatter_nd_update_,
}

# SPDX-License-Identifier: BSD-3-Clause
"""Slices, strided views, masks of ranges, bits of signs, extreme values with their places, and their backward passes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .gradient import gradients


def one_(self: Tensor) -> Tensor:
    """Fills with 1."""
    return self.fill_(1)


def npu_slice(self: Tensor, offsets: list[int], size: list[int]) -> Tensor:
    """A copy of `size` elements of each dimension from `offsets` on."""
    return self[tuple(slice(start, start + n) for start, n in zip(offsets, size))].contiguous()


def _slice_out(self: Tensor, offsets: list[int], size: list[int], *, out: Tensor) -> Tensor:
    return out.copy_(npu_slice(self, offsets, size))


def npu_pad(input: Tensor, paddings: list[int]) -> Tensor:
    """Zeros around: paddings are before and after for each dimension, the first dimension first."""
    if len(paddings) != 2 * input.dim():
        raise RuntimeError(f"npu_pad: paddings must have {2 * input.dim()} numbers, two a dimension, but has {len(paddings)}.")
    pairs = [paddings[i : i + 2] for i in range(0, len(paddings), 2)]
    return F.pad(input, [n for pair in reversed(pairs) for n in pair])


def npu_reshape(self: Tensor, shape: list[int], can_refresh: bool = False) -> Tensor:
    return self.reshape(shape).clone()


def _reshape_out(self: Tensor, shape: list[int], can_refresh: bool = False, *, out: Tensor) -> Tensor:
    return out.copy_(self.reshape(shape))


def npu_indexing(
    self: Tensor, begin: list[int], end: list[int], strides: list[int], begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Tensor:  # fmt: skip
    """self[begin:end:strides, …] as a copy; bit i of a mask says of the i-th entry: no begin, no end, “…”, a new dimension, or a
    single element."""
    named = sum(not (new_axis_mask >> i & 1 or ellipsis_mask >> i & 1) for i in range(len(begin)))
    result, dim = self, 0
    for i, (first, last, step) in enumerate(zip(begin, end, strides)):
        if ellipsis_mask >> i & 1:
            dim += self.dim() - named
        elif new_axis_mask >> i & 1:
            result, dim = result.unsqueeze(dim), dim + 1
        elif shrink_axis_mask >> i & 1:
            result = result.select(dim, first)
        else:
            chosen = slice(None if begin_mask >> i & 1 else first, None if end_mask >> i & 1 else last, step)
            places = list(range(result.size(dim)))[chosen]
            result = result.index_select(dim, torch.tensor(places, dtype=torch.long, device=self.device))
            dim += 1
    return result.clone(memory_format=torch.contiguous_format)


def _indexing_out(
    self: Tensor, begin: list[int], end: list[int], strides: list[int], begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, *, out: Tensor,
) -> Tensor:  # fmt: skip
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return out.copy_(npu_indexing(self, begin, end, strides, *masks))


def npu_stride_copy(self: Tensor, shape: list[int], stride: list[int], storage_offset: int) -> Tensor:
    """torch.as_strided as a copy."""
    return self.as_strided(shape, stride, int(storage_offset)).clone(memory_format=torch.contiguous_format)


def _stride_copy_out(self: Tensor, shape: list[int], stride: list[int], storage_offset: int, *, out: Tensor) -> Tensor:
    return out.copy_(self.as_strided(shape, stride, int(storage_offset)))


def npu_stride_add(self: Tensor, other: Tensor, offset1: int, offset2: int, c1_len: int) -> Tensor:
    """The sum of c1_len blocks of the second dimension, from offset1 of self and offset2 of other on, in the first of 16 places:
    (N, C1, H, W, C0) gives (N, 16 · c1_len, H, W, C0)."""
    offset1, offset2, c1_len = int(offset1), int(offset2), int(c1_len)
    total = self[:, offset1 : offset1 + c1_len] + other[:, offset2 : offset2 + c1_len]
    shape = list(total.shape)
    shape[1] = 16 * c1_len
    result = self.new_zeros(shape)
    result[:, :c1_len] = total
    return result


def npu_view_copy(self: Tensor, other: Tensor, non_blocking: bool) -> Tensor:
    return self.copy_(other, non_blocking)


def npu_masked_fill_range(self: Tensor, start: Tensor, end: Tensor, value: Tensor, axis: int = -1) -> Tensor:
    """A copy of self with value[i] at the places from start[i, j] to end[i, j] of axis, for row j of the first dimension where
    axis is another one. start, end: (values, rows)."""
    axis %= self.dim()
    place = torch.arange(self.size(axis), device=self.device)
    result = self.clone()
    for i in range(start.shape[0]):
        inside = (place >= start[i].unsqueeze(1)) & (place < end[i].unsqueeze(1))
        if axis == 0 or inside.shape[0] != self.size(0):
            inside = inside.any(0, keepdim=True)
        shape = [1] * self.dim()
        shape[axis] = -1
        if inside.shape[0] > 1:
            shape[0] = inside.shape[0]
        result = torch.where(inside.view(shape), value[i].to(self.dtype), result)
    return result


def npu_sign_bits_pack(self: Tensor, size: int) -> Tensor:
    """Eight signs in a byte, 1 for not negative, the first in the lowest bit; the last byte is filled up with the sign of −1. The
    bytes make `size` rows."""
    if self.dim() != 1:
        raise RuntimeError(f"npu_sign_bits_pack: self must have one dimension, but has {self.dim()}.")
    count = -(-self.numel() // 8)
    if size < 1 or count % size:
        raise RuntimeError(f"npu_sign_bits_pack: {count} bytes cannot be divided into size={size} rows.")
    bits = F.pad((self >= 0).to(torch.int32), (0, 8 * count - self.numel())).view(count, 8)
    weight = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.int32, device=self.device)
    return (bits * weight).sum(1).to(torch.uint8).view(size, -1)


def npu_sign_bits_unpack(input: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """1 for each set bit and −1 for the others, in `size` rows."""
    if size < 1 or 8 * input.numel() % size:
        raise RuntimeError(f"npu_sign_bits_unpack: {8 * input.numel()} bits cannot be divided into size={size} rows.")
    shifts = torch.arange(8, dtype=torch.int32, device=input.device)
    bits = (input.flatten().to(torch.int32).unsqueeze(1) >> shifts) & 1
    return (bits * 2 - 1).to(dtype).view(size, -1)


# ---- extreme values ----
def _max(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    values, indices = self.max(dim, keepdim)
    return values, indices.to(torch.int32)


def _min(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    values, indices = self.min(dim, keepdim)
    return values, indices.to(torch.int32)


def npu_max_backward(grad: Tensor, dim: int, indices: Tensor, sizes: list[int], keepdim: bool) -> Tensor:
    """grad at the places `indices` along dim of zeros of the shape `sizes`."""
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(sizes).scatter(dim, indices.long(), grad)


def npu_gather_backward(grad: Tensor, self_size: list[int], dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
    """The gradient of torch.gather."""
    return grad.new_zeros(self_size).scatter_add(dim, index, grad)


def npu_scatter(self: Tensor, indices: Tensor, updates: Tensor, dim: int) -> Tensor:
    """A copy of self with updates at the places `indices` along dim; both have one place of dim."""
    if indices.dim() < self.dim():
        indices, updates = indices.unsqueeze(dim), updates.unsqueeze(dim)
    return self.scatter(dim, indices.long(), updates.to(self.dtype))


def npu_confusion_transpose_backward(grad: Tensor, perm: list[int], shape: list[int], transpose_first: bool) -> Tensor:
    """The gradient of npu_confusion_transpose; shape: that of its input."""
    back = sorted(range(len(perm)), key=lambda i: perm[i])
    if transpose_first:
        return grad.reshape([shape[i] for i in perm]).permute(back)
    return grad.permute(back).reshape(shape)


def repeat_interleave_backward_int(grad: Tensor, self: Tensor, repeats: int, dim: int | None = None) -> Tensor:
    """The gradient of torch.repeat_interleave with one number."""
    return gradients(lambda x: x.repeat_interleave(repeats, dim), [self], grad)[0]


def repeat_interleave_backward_tensor(grad: Tensor, self: Tensor, repeats: Tensor, dim: int | None = None) -> Tensor:
    """The gradient of torch.repeat_interleave with a number for each place."""
    return gradients(lambda x: x.repeat_interleave(repeats, dim), [self], grad)[0]


def npu_renorm_backward(grad: Tensor, self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The gradient of torch.renorm."""
    return gradients(lambda x: x.renorm(p, dim, maxnorm), [self], grad)[0]


def _npu_index_add(self: Tensor, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """self[index[i]] += alpha · source[i] along the first dimension, as a copy."""
    return self.index_add(0, index.flatten(), source, alpha=alpha)


def _npu_index_add_(self: Tensor, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    return self.index_add_(0, index.flatten(), source, alpha=alpha)


def npu_linear_backward(grad: Tensor, input: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of npu_linear: of input and weight."""
    return torch.matmul(grad, weight), torch.matmul(grad.flatten(0, -2).t(), input.flatten(0, -2))


def npu_dtype_cast_(self: Tensor, src: Tensor) -> Tensor:
    """self becomes src in its own dtype."""
    return self.copy_(src)


def _npu_dtype_cast(self: Tensor, dtype: torch.dtype) -> Tensor:
    return self.to(dtype)


def npu_transpose_batchmatmul(
    input: Tensor, weight: Tensor, *, bias: Tensor | None = None, scale: Tensor | None = None, perm_x1: list[int] | None = None,
    perm_x2: list[int] | None = None, perm_y: list[int] | None = None, batch_split_factor: int = 1,
) -> Tensor:  # fmt: skip
    """matmul of permuted (batch, m, k) and (batch, k, n), permuted by perm_y ((1, 0, 2) by default), and with
    batch_split_factor f as (f, m, batch · n / f). With scale (batch · n) the result is int8."""
    left = input.permute(perm_x1) if perm_x1 else input
    right = weight.permute(perm_x2) if perm_x2 else weight
    product = torch.matmul(left, right)
    if bias is not None:
        product = product + bias
    result = product.permute(perm_y or (1, 0, 2))
    if scale is not None:
        from .quant import _rounded, _unpacked_scale

        result = result.reshape(result.shape[0], 1, -1).float() * _unpacked_scale(scale)[0]
        return _rounded(result, torch.int8)
    if batch_split_factor > 1:
        rows = result.reshape(result.shape[0], batch_split_factor, -1)
        return rows.transpose(0, 1).contiguous()
    return result.contiguous()


def npu_fused_matmul(
    x1: Tensor, x2: Tensor, *, bias: Tensor | None = None, x3: Tensor | None = None, fused_op_type: str = ""
) -> Tensor:
    """x1 @ x2 (+ bias), then what fused_op_type says: nothing for "" and "16cast32" (of float32), "add" + x3, "mul" · x3,
    "relu", "gelu_erf" or "gelu_tanh"."""
    product = torch.matmul(x1.float(), x2.float())
    product = product if bias is None else product + bias.float()
    if fused_op_type in ("add", "mul"):
        if x3 is None:
            raise RuntimeError(f"npu_fused_matmul: fused_op_type '{fused_op_type}' needs x3.")
        product = product + x3.float() if fused_op_type == "add" else product * x3.float()
    elif fused_op_type == "relu":
        product = product.relu()
    elif fused_op_type in ("gelu_erf", "gelu_tanh"):
        product = F.gelu(product, approximate="tanh" if fused_op_type == "gelu_tanh" else "none")
    elif fused_op_type not in ("", "16cast32"):
        raise RuntimeError(f"npu_fused_matmul: fused_op_type '{fused_op_type}' is not known.")
    return product if fused_op_type == "16cast32" else product.to(x1.dtype)


OPERATORS = {
    "one_(Tensor(a!) self) -> Tensor(a!)": one_,
    "npu_slice(Tensor self, int[] offsets, int[] size) -> Tensor": npu_slice,
    "npu_slice.out(Tensor self, int[] offsets, int[] size, *, Tensor(a!) out) -> Tensor(a!)": _slice_out,
    "npu_pad(Tensor input, int[] paddings) -> Tensor": npu_pad,
    "npu_reshape(Tensor self, int[] shape, bool can_refresh=False) -> Tensor": npu_reshape,
    "npu_reshape.out(Tensor self, int[] shape, bool can_refresh=False, *, Tensor(a!) out) -> Tensor(a!)": _reshape_out,
    "npu_indexing(Tensor self, int[] begin, int[] end, int[] strides, int begin_mask=0, int end_mask=0, int "
    "ellipsis_mask=0, int new_axis_mask=0, int shrink_axis_mask=0) -> Tensor": npu_indexing,
    "npu_indexing.out(Tensor self, int[] begin, int[] end, int[] strides, int begin_mask=0, int end_mask=0, int "
    "ellipsis_mask=0, int new_axis_mask=0, int shrink_axis_mask=0, *, Tensor(a!) out) -> Tensor(a!)": _indexing_out,
    "npu_stride_copy(Tensor self, int[] shape, int[] stride, Scalar storage_offset) -> Tensor": npu_stride_copy,
    "npu_stride_copy.out(Tensor self, int[] shape, int[] stride, Scalar storage_offset, *, Tensor(a!) out) -> Tensor(a!)":
    _stride_copy_out,
    "npu_stride_add(Tensor self, Tensor other, Scalar offset1, Scalar offset2, Scalar c1_len) -> Tensor": npu_stride_add,
    "npu_view_copy(Tensor(a!) self, Tensor other, bool non_blocking) -> Tensor(a!)": npu_view_copy,
    "npu_masked_fill_range(Tensor self, Tensor start, Tensor end, Tensor value, int axis=-1) -> Tensor": npu_masked_fill_range,
    "npu_sign_bits_pack(Tensor self, int size) -> Tensor": npu_sign_bits_pack,
    "npu_sign_bits_unpack(Tensor input, int size, ScalarType dtype) -> Tensor": npu_sign_bits_unpack,
    "npu_max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)": _max,
    "npu_min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)": _min,
    "npu_max_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor": npu_max_backward,
    "npu_min_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor": npu_max_backward,
    "npu_gather_backward(Tensor grad, SymInt[] self_size, int dim, Tensor index, bool sparse_grad) -> Tensor":
    npu_gather_backward,
    "npu_scatter(Tensor self, Tensor indices, Tensor updates, int dim) -> Tensor": npu_scatter,
    "npu_confusion_transpose_backward(Tensor grad, int[] perm, SymInt[] shape, bool transpose_first) -> Tensor":
    npu_confusion_transpose_backward,
    "repeat_interleave_backward_int(Tensor grad, Tensor self, SymInt repeats, int? dim=None) -> Tensor":
    repeat_interleave_backward_int,
    "repeat_interleave_backward_tensor(Tensor grad, Tensor self, Tensor repeats, int? dim=None) -> Tensor":
    repeat_interleave_backward_tensor,
    "npu_renorm_backward(Tensor grad, Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor": npu_renorm_backward,
    "_npu_index_add(Tensor self, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor": _npu_index_add,
    "_npu_index_add_(Tensor(a!) self, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)": _npu_index_add_,
    "npu_linear_backward(Tensor grad, Tensor input, Tensor weight) -> (Tensor, Tensor)": npu_linear_backward,
    "npu_dtype_cast_(Tensor(a!) self, Tensor src) -> Tensor(a!)": npu_dtype_cast_,
    "_npu_dtype_cast(Tensor self, ScalarType dtype) -> Tensor": _npu_dtype_cast,
    "npu_transpose_batchmatmul(Tensor input, Tensor weight, *, Tensor? bias=None, Tensor? scale=None, int[]? "
    "perm_x1=None, int[]? perm_x2=None, int[]? perm_y=None, int? batch_split_factor=1) -> Tensor": npu_transpose_batchmatmul,
    "npu_fused_matmul(Tensor x1, Tensor x2, *, Tensor? bias=None, Tensor? x3=None, str fused_op_type='') -> Tensor":
    npu_fused_matmul,
}  # fmt: skip

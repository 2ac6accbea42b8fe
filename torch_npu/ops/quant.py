# SPDX-License-Identifier: BSD-3-Clause
"""Quantised numbers: int8 and int4 tensors with scales, their products, and the way back.

int4 numbers travel eight in an int32, the first in the lowest bits, signed. Formulas are those of the official documentation
of each operator; products of integers are exact.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_TYPES = {
    int(code): dtype
    for code, dtype in (
        (0, torch.uint8), (1, torch.int8), (3, torch.int32), (5, torch.float16), (6, torch.float32), (12, torch.qint8),
        (13, torch.quint8), (14, torch.qint32), (15, torch.bfloat16), (16, torch.quint4x2),
    )
}  # fmt: skip
"""torch.dtype by the number that a schema's `int` has for it."""

_RANGE = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int32: (-(2**31), 2**31 - 1), torch.quint4x2: (-8, 7)}
_STORED = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}
EXACT = 1024
"""Products of int8 that float32 sums exactly: 128 · 128 · 1024 = 2^24."""


def _dtype(operator: str, code: int | None, default: torch.dtype, allowed: tuple[torch.dtype, ...]) -> torch.dtype:
    dtype = default if code is None else _TYPES.get(int(code))
    dtype = _STORED.get(dtype, dtype)
    if dtype not in allowed:
        names = ", ".join(str(known).removeprefix("torch.") for known in allowed)
        raise RuntimeError(f"{operator}: the result's type must be one of {names}, but is {_TYPES.get(code, code)}.")
    return dtype


def _pack(values: Tensor) -> Tensor:
    """int4 numbers in int32, eight of the last dimension in one."""
    if values.shape[-1] % 8:
        raise RuntimeError(
            f"int4 numbers are packed by eight: the last dimension must be a multiple of 8, but is {values.shape[-1]}."
        )
    nibbles = (values.to(torch.int64) & 15).unflatten(-1, (-1, 8))
    shifts = torch.arange(0, 32, 4, device=values.device)
    word = (nibbles << shifts).sum(-1)
    return torch.where(word >= 2**31, word - 2**32, word).to(torch.int32)


def _unpack(words: Tensor) -> Tensor:
    """The int4 numbers of int32 as int8; the last dimension becomes eight times as long."""
    shifts = torch.arange(0, 32, 4, device=words.device)
    nibbles = (words.to(torch.int64).unsqueeze(-1) >> shifts) & 15
    return torch.where(nibbles > 7, nibbles - 16, nibbles).to(torch.int8).flatten(-2)


def _unpack_matrix(words: Tensor) -> Tensor:
    """The same of a right matrix: one that was transposed after packing is packed along its second last dimension."""
    if words.stride(-2) == 1 and words.stride(-1) != 1:
        return _unpack(words.transpose(-1, -2)).transpose(-1, -2)
    return _unpack(words)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a @ b of int8 as int32, exactly."""
    total = None
    for k in range(0, a.shape[-1], EXACT):
        part = (a[..., k : k + EXACT].float() @ b[..., k : k + EXACT, :].float()).to(torch.int32)
        total = part if total is None else total + part
    return total


def _rounded(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Rounded to the nearest (even) number of the type, the largest or smallest beyond it."""
    low, high = _RANGE[dtype]
    whole = values.float().round().clamp(low, high)
    return _pack(whole) if dtype == torch.quint4x2 else whole.to(dtype)


def _cut(scale: Tensor) -> Tensor:
    """float32 with the 19 bits that a packed scale keeps."""
    return (scale.float().contiguous().view(torch.int32) & -8192).view(torch.float32)


def npu_trans_quant_param(scale: Tensor, offset: Tensor | None = None, round_mode: int = 0) -> Tensor:
    """Packs scales (float32, of which 19 bits stay) and offsets (9 bits) into int64, as npu_quant_matmul takes them.

    scale, offset: (1,), (n,) or (1, n). round_mode 1 rounds to those 19 bits, 0 cuts.
    """
    if scale.dtype != torch.float32 or round_mode not in (None, 0, 1):
        raise RuntimeError(
            f"npu_trans_quant_param: scale must be float32 and round_mode 0 or 1, but they are {scale.dtype} and {round_mode}."
        )
    bits = scale.contiguous().view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    if round_mode:
        bits = bits + 0xFFF + ((bits >> 13) & 1)
    packed = (bits & 0xFFFFE000) | (1 << 46)
    if offset is None:
        return packed
    whole = offset.float().round().clamp(-256, 255).to(torch.int64) & 0x1FF
    return (packed & 0x4000FFFFFFFF) | (whole << 37)


def _unpacked_scale(scale: Tensor) -> tuple[Tensor, Tensor | None]:
    """Scale and offset of what npu_trans_quant_param gave; other scales as they are."""
    if scale.dtype != torch.int64:
        return scale.float(), None
    bits = scale & 0xFFFFFFFF
    value = torch.where(bits >= 2**31, bits - 2**32, bits).to(torch.int32).view(torch.float32)
    offset = (scale >> 37) & 0x1FF
    return value, torch.where(offset > 255, offset - 512, offset).float()


def npu_quantize(
    self: Tensor, scales: Tensor, zero_points: Tensor | None, dtype: int, axis: int = 1, div_mode: bool = True
) -> Tensor:
    """round(self / scales + zero_points), or self · scales + … without div_mode, in dtype: qint8, quint8, int32 or quint4x2.

    scales, zero_points: one number, or one for each of self's places along `axis`, or of self's rank. Without div_mode the
    axis is the last one, or the last but one for axis = -2. quint4x2 gives int32 with eight numbers each.
    """
    kind = _dtype("npu_quantize", dtype, torch.int8, (torch.int8, torch.uint8, torch.int32, torch.quint4x2))
    if not div_mode:
        axis = -2 if axis == -2 else -1
    shape = [1] * self.dim()
    shape[axis] = -1

    def along(values: Tensor) -> Tensor:
        return (values.reshape(shape) if values.dim() == 1 else values).float()

    result = self.float() / along(scales) if div_mode else self.float() * along(scales)
    return _rounded(result if zero_points is None else result + along(zero_points), kind)


def npu_quant_matmul(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    *,
    offset: Tensor | None = None,
    pertoken_scale: Tensor | None = None,
    bias: Tensor | None = None,
    output_dtype: int | None = None,
    x1_dtype: int | None = None,
    x2_dtype: int | None = None,
    pertoken_scale_dtype: int | None = None,
    scale_dtype: int | None = None,
    group_sizes: list[int] | None = None,
    y_scale: Tensor | None = None,
) -> Tensor:
    """(x1 @ x2 + bias) · scale + offset for a bias of int32, x1 @ x2 · scale + bias for one of floats.

    x1: (…, m, k), x2: (…, k, n), both int8, or both int32 with eight int4 each. scale, offset: (1,) or (n,), float, or scale
    packed by npu_trans_quant_param. pertoken_scale: (m,). scale of (k / group, n) with group_sizes [1, 1, group] scales each
    group of k, and offset of that shape is taken from x2. output_dtype: int8 (the default), float16, bfloat16, float32 or
    int32.
    """
    if x1.dtype != x2.dtype or x1.dtype not in (torch.int8, torch.int32):
        raise RuntimeError(
            f"npu_quant_matmul: x1 and x2 must both be int8, or both int32 (int4), but are {x1.dtype} and {x2.dtype}."
        )
    kind = _dtype(
        "npu_quant_matmul", output_dtype, torch.int8, (torch.int8, torch.float16, torch.bfloat16, torch.float32, torch.int32)
    )
    if x1.dtype == torch.int32:
        x1, x2 = _unpack(x1), _unpack_matrix(x2)
    if x1.shape[-1] != x2.shape[-2]:
        raise RuntimeError(
            f"npu_quant_matmul: x1 {tuple(x1.shape)} has {x1.shape[-1]} columns and x2 {tuple(x2.shape)} {x2.shape[-2]} rows."
        )
    if scale.dim() == 2 and scale.shape[0] > 1:
        result = _grouped(x1, x2, scale, offset)
    else:
        factor, packed = _unpacked_scale(scale)
        product = _product(x1, x2)
        whole = bias is not None and bias.dtype == torch.int32
        if whole:
            product = product + bias
        if kind == torch.int32:
            return product
        result = product.float() * factor
        if pertoken_scale is not None:
            result = result * pertoken_scale.float()[:, None]
        if bias is not None and not whole:
            result = result + bias.float()
        shift = offset.float() if offset is not None else packed if kind == torch.int8 else None
        return _finished(result if shift is None else result + shift, kind)
    if pertoken_scale is not None:
        result = result * pertoken_scale.float().reshape(-1, 1)
    return _finished(result if bias is None else result + bias.float(), kind)


def _grouped(x1: Tensor, x2: Tensor, scale: Tensor, offset: Tensor | None) -> Tensor:
    """The product with a scale (and an offset of x2) for each group of k."""
    group = x1.shape[-1] // scale.shape[0]
    total = 0
    for i in range(scale.shape[0]):
        left = x1[..., i * group : (i + 1) * group]
        part = _product(left, x2[..., i * group : (i + 1) * group, :]).float()
        if offset is not None:
            part = part - left.float().sum(-1, keepdim=True) * offset[i].float()
        total = total + part * scale[i].float()
    return total


def _finished(result: Tensor, dtype: torch.dtype) -> Tensor:
    return _rounded(result, dtype) if dtype == torch.int8 else result.to(dtype)


def npu_convert_weight_to_int4pack(weight: Tensor, inner_k_tiles: int = 0) -> Tensor:
    """A matrix of int32 numbers in [-8, 7] as int4, eight of the last dimension in one int32."""
    if weight.dtype != torch.int32:
        raise RuntimeError(f"npu_convert_weight_to_int4pack: weight must be int32, but is {weight.dtype}.")
    return _pack(weight)


def npu_weight_quant_batchmatmul(
    x: Tensor,
    weight: Tensor,
    antiquant_scale: Tensor,
    antiquant_offset: Tensor | None = None,
    quant_scale: Tensor | None = None,
    quant_offset: Tensor | None = None,
    bias: Tensor | None = None,
    antiquant_group_size: int = 0,
    inner_precise: int = 0,
    weight_dtype: int | None = None,
) -> Tensor:
    """x @ ((weight + antiquant_offset) · antiquant_scale) + bias; then · quant_scale + quant_offset as int8.

    x: (…, m, k) in float16 or bfloat16; weight: (…, k, n) in int8, or int32 with eight int4 each. antiquant_scale,
    antiquant_offset: one number, (n,), (1, n), or (k / antiquant_group_size, n), or packed by npu_trans_quant_param. Computed
    in float32.
    """
    if not x.is_floating_point() or weight.dtype not in (torch.int8, torch.int32):
        raise RuntimeError(
            f"npu_weight_quant_batchmatmul: x must be of floats and weight int8 or int32 (int4), but they are {x.dtype} and "
            f"{weight.dtype}."
        )
    if weight.dtype == torch.int32:
        weight = _unpack_matrix(weight)
    rows = weight.shape[-2]
    if x.shape[-1] != rows:
        raise RuntimeError(
            f"npu_weight_quant_batchmatmul: x {tuple(x.shape)} has {x.shape[-1]} columns and weight {tuple(weight.shape)} "
            f"{rows} rows."
        )

    def by_row(values: Tensor) -> Tensor:
        values = _unpacked_scale(values)[0] if values.dtype == torch.int64 else values.float()
        if antiquant_group_size and values.dim() > 1 and values.shape[-2] > 1:
            return values.repeat_interleave(antiquant_group_size, -2)[..., :rows, :]
        return values

    wide = weight.float()
    if antiquant_offset is not None:
        wide = wide + by_row(antiquant_offset)
    result = x.float() @ (wide * by_row(antiquant_scale))
    if bias is not None:
        result = result + bias.float()
    if quant_scale is None:
        return result.to(x.dtype)
    factor, packed = _unpacked_scale(quant_scale)
    shift = quant_offset.float() if quant_offset is not None else packed
    return _rounded(result * factor if shift is None else result * factor + shift, torch.int8)


def npu_quant_conv2d(
    input: Tensor,
    weight: Tensor,
    scale: Tensor,
    strides: list[int] = (1, 1),
    pads: list[int] = (0, 0),
    dilations: list[int] = (1, 1),
    groups: int = 1,
    offset_x: int = 0,
    round_mode: str = "rint",
    output_dtype: int | None = None,
    bias: Tensor | None = None,
    offset: Tensor | None = None,
    input_dtype: int | None = None,
    weight_dtype: int | None = None,
) -> Tensor:
    """(conv2d(input, weight) + bias) · scale, of int8; padded with offset_x.

    input: (N, C, H, W); weight: (out, C / groups, kernel_H, kernel_W); scale: (out,), float32 or packed by
    npu_trans_quant_param; bias: (out,) of int32. output_dtype: float16 (the default), bfloat16, float32 or int32.
    """
    kind = _dtype("npu_quant_conv2d", output_dtype, torch.float16, (torch.float16, torch.bfloat16, torch.float32, torch.int32))
    if input.dtype != torch.int8 or weight.dtype != torch.int8 or input.dim() != 4:
        raise RuntimeError(
            f"npu_quant_conv2d: input (N, C, H, W) and weight must be int8, but they are {input.dtype} {tuple(input.shape)} and "
            f"{weight.dtype}."
        )
    if offset is not None:
        raise RuntimeError("npu_quant_conv2d: offset must be None, it is reserved.")
    if round_mode != "rint":
        raise RuntimeError(f"npu_quant_conv2d: round_mode must be 'rint', but is {round_mode!r}.")
    padded = functional.pad(input.double(), [pads[-1], pads[-1], pads[0], pads[0]], value=offset_x)
    result = functional.conv2d(padded, weight.double(), None, list(strides), 0, list(dilations), groups)
    if bias is not None:
        result = result + bias.double()[:, None, None]
    if kind == torch.int32:
        return result.to(torch.int32)
    return (result.float() * _unpacked_scale(scale)[0].reshape(-1, 1, 1)).to(kind)


def npu_anti_quant(
    x: Tensor, scale: Tensor, *, offset: Tensor | None = None, dst_dtype: int | None = None, src_dtype: int | None = None
) -> Tensor:
    """(x + offset) · scale of int8, or of int32 with eight int4 each, in float16 (the default) or bfloat16.

    scale, offset: (1,) or (n,).
    """
    kind = _dtype("npu_anti_quant", dst_dtype, torch.float16, (torch.float16, torch.bfloat16))
    wide = (_unpack(x) if x.dtype == torch.int32 else x).float()
    return ((wide if offset is None else wide + offset.float()) * scale.float()).to(kind)


def npu_dynamic_quant(
    input: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    group_index: Tensor | None = None,
    dst_type: int | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Each row divided by its own scale, max |row| / the type's largest number: (rounded rows, scales).

    input: (…, k); smooth_scales: (k,), by which input is multiplied first, or (groups, k) with group_index the rows' ends.
    dst_type: int8 (the default) or quint4x2. quant_mode: "pertoken", or "pertensor" for one scale.
    """
    kind = _dtype("npu_dynamic_quant", dst_type, torch.int8, (torch.int8, torch.quint4x2))
    if quant_mode not in ("pertoken", "pertensor"):
        raise RuntimeError(f"npu_dynamic_quant: quant_mode must be 'pertoken' or 'pertensor', but is {quant_mode!r}.")
    wide = input.float()
    if smooth_scales is not None and group_index is not None:
        rows = torch.arange(wide.numel() // wide.shape[-1], device=wide.device)
        group = torch.searchsorted(group_index.to(torch.int64), rows, right=True)
        wide = wide * smooth_scales.float()[group].view_as(wide)
    elif smooth_scales is not None:
        wide = wide * smooth_scales.float()
    largest = wide.abs().amax(-1) if quant_mode == "pertoken" else wide.abs().amax().reshape(1)
    scale = largest / float(_RANGE[kind][1])
    safe = torch.where(scale > 0, scale, torch.ones_like(scale))
    return _rounded(wide / (safe.unsqueeze(-1) if quant_mode == "pertoken" else safe), kind), scale


OPERATORS = {
    "npu_trans_quant_param(Tensor scale, Tensor? offset=None, int? round_mode=0) -> Tensor": npu_trans_quant_param,
    "npu_quantize(Tensor self, Tensor scales, Tensor? zero_points, int dtype, int axis=1, bool div_mode=True) -> Tensor":
    npu_quantize,
    "npu_quant_matmul(Tensor x1, Tensor x2, Tensor scale, *, Tensor? offset=None, Tensor? pertoken_scale=None, "
    "Tensor? bias=None, int? output_dtype=None, int? x1_dtype=None, int? x2_dtype=None, int? pertoken_scale_dtype=None, "
    "int? scale_dtype=None, int[]? group_sizes=None, Tensor? y_scale=None) -> Tensor": npu_quant_matmul,
    "npu_convert_weight_to_int4pack(Tensor weight, int inner_k_tiles=0) -> Tensor": npu_convert_weight_to_int4pack,
    "npu_weight_quant_batchmatmul(Tensor x, Tensor weight, Tensor antiquant_scale, Tensor? antiquant_offset=None, "
    "Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? bias=None, int antiquant_group_size=0, int inner_precise=0, "
    "int? weight_dtype=None) -> Tensor": npu_weight_quant_batchmatmul,
    "npu_quant_conv2d(Tensor input, Tensor weight, Tensor scale, int[2] strides=1, int[2] pads=0, int[2] dilations=1, "
    "int groups=1, int offset_x=0, str round_mode='rint', int? output_dtype=None, Tensor? bias=None, Tensor? offset=None, "
    "int? input_dtype=None, int? weight_dtype=None) -> Tensor": npu_quant_conv2d,
    "npu_anti_quant(Tensor x, Tensor scale, *, Tensor? offset=None, int? dst_dtype=None, int? src_dtype=None) -> Tensor":
    npu_anti_quant,
    "npu_dynamic_quant(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, int? dst_type=None, "
    "str quant_mode=\"pertoken\", float dst_type_max=0.0) -> (Tensor, Tensor)": npu_dynamic_quant,
}  # fmt: skip

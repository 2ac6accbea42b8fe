# SPDX-License-Identifier: BSD-3-Clause
"""Fused attention for training: npu_fusion_attention, scores in float32.

On the NPU it is one operator that stores no scores (csrc/ops/fusion_attention.c); elsewhere, and for the few arguments that
the operator does not take, products and a softmax. Masks say what is left OUT where they are true (the reverse of
PyTorch's). Rows that a mask leaves without any key give 0.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "TND")
SPARSE_MODES = {0: "the mask given", 1: "the mask given, all of it", 2: "causal from the upper left",
                3: "causal to the lower right", 4: "a band"}


def _to_bnsd(x: Tensor, layout: str, heads: int) -> Tensor:
    if layout == "BSH":
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)
    if layout == "SBH":
        return x.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3)
    return x.transpose(1, 2) if layout == "BSND" else x


def _from_bnsd(x: Tensor, layout: str) -> Tensor:
    if layout == "BSH":
        return x.transpose(1, 2).flatten(-2)
    if layout == "SBH":
        return x.permute(2, 0, 1, 3).flatten(-2)
    return x.transpose(1, 2).contiguous() if layout == "BSND" else x


def _left_out(
    rows: int, columns: int, mode: int, mask: Tensor | None, before: int, after: int, device: torch.device
) -> Tensor | None:
    """What sparse_mode leaves out: a bool tensor that broadcasts to (B, N, rows, columns), or None."""
    place = torch.arange(columns, device=device) - torch.arange(rows, device=device).unsqueeze(1)
    if mode == 2:
        return place > 0
    if mode == 3:
        return place > columns - rows
    if mode == 4:
        shifted = place - (columns - rows)
        return (shifted > after) | (shifted < -before)
    if mask is None:
        return None
    if mask.dim() >= 2 and (mask.size(-2) not in (1, rows) or mask.size(-1) not in (1, columns)):
        raise RuntimeError(
            f"npu_fusion_attention: atten_mask of shape {tuple(mask.shape)} does not fit scores of {rows} queries and "
            f"{columns} keys (sparse_mode {mode})."
        )
    left_out = mask.bool()
    if mode == 0 and (before < rows or after < columns):
        left_out = left_out | (place > after) | (place < -before)
    return left_out


def _attend(q: Tensor, k: Tensor, v: Tensor, pse: Tensor | None, left_out: Tensor | None, scale: float, keep_prob: float,
            dropout_mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """q (B, N, S, D), k and v (B, Nkv, Skv, D or Dv) → output (B, N, S, Dv), row maxima and sums (B, N, S, 8) in float32."""
    groups = q.size(1) // k.size(1)
    if groups > 1:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    score = torch.matmul(q.float(), k.float().transpose(-1, -2)) * scale
    if pse is not None:
        score = score + pse.float()
    if left_out is not None:
        score = score.masked_fill(left_out, float("-inf"))
    if score.size(-1):
        top = score.detach().amax(-1, keepdim=True)
    else:
        top = score.new_full((*score.shape[:-1], 1), float("-inf"))
    safe = top.masked_fill(top == float("-inf"), 0.0)
    weight = torch.exp(score - safe)
    total = weight.sum(-1, keepdim=True)
    weight = weight / total.masked_fill(total == 0, 1.0)
    if dropout_mask is not None:
        weight = weight * dropout_mask / keep_prob
    elif keep_prob < 1.0:
        weight = torch.dropout(weight, 1.0 - keep_prob, True)
    out = torch.matmul(weight, v.float()).to(q.dtype)
    eight = (*top.shape[:-1], 8)
    return out, top.expand(eight).contiguous(), total.detach().expand(eight).contiguous()


class _Fused(torch.autograd.Function):
    """The operator and its derivative; options are its arguments from head_num on."""

    @staticmethod
    def forward(ctx: FunctionCtx, query: Tensor, key: Tensor, value: Tensor, *options: object) -> tuple[Tensor, Tensor, Tensor]:
        out, top, total, drop = torch.ops.npu._fusion_attention(query, key, value, *options)
        tensors = [x for x in options if isinstance(x, Tensor)]
        ctx.save_for_backward(query, key, value, out, top, total, drop, *tensors)
        ctx.options = [None if isinstance(x, Tensor) else x for x in options]
        ctx.places = [i for i, x in enumerate(options) if isinstance(x, Tensor)]
        ctx.mark_non_differentiable(top, total)
        return out, top, total

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor, *_: object) -> tuple[Tensor | None, ...]:
        query, key, value, out, top, total, drop, *tensors = ctx.saved_tensors
        options = list(ctx.options)
        for place, tensor in zip(ctx.places, tensors):
            options[place] = tensor
        grads = torch.ops.npu._fusion_attention_backward(query, key, value, *options, grad, out, top, total, drop)
        return *grads, *(None for _ in options)


def _one_operator(
    query: Tensor, key: Tensor, value: Tensor, layout: str, pse: Tensor | None, mask: Tensor | None, keep_prob: float, mode: int,
    q_ends: list[int] | None, k_ends: list[int] | None, dropout_mask: Tensor | None,
) -> bool:
    """Does the NPU's operator take this?"""
    types = (torch.float32, torch.float16, torch.bfloat16)
    if query.device.type != "npu" or query.dtype not in types or not (query.dtype == key.dtype == value.dtype):
        return False
    if dropout_mask is not None or not (query.numel() and key.numel() and value.numel()):
        return False
    if pse is not None and (pse.requires_grad or pse.dim() not in (2, 3, 4)):
        return False
    if mask is not None and mode < 2 and mask.dim() not in (2, 3, 4):
        return False
    if layout != "TND":
        return True
    one_length = all(len({b - a for a, b in zip([0, *ends], ends)}) == 1 for ends in (q_ends, k_ends))
    return pse is None and keep_prob == 1.0 and (mask is None or mode > 1 or one_length) and not (mode == 1 and mask is None)


def npu_fusion_attention(
    query: Tensor, key: Tensor, value: Tensor, head_num: int, input_layout: str, pse: Tensor | None = None,
    padding_mask: Tensor | None = None, atten_mask: Tensor | None = None, scale: float = 1.0, keep_prob: float = 1.0,
    pre_tockens: int = 2147483647, next_tockens: int = 2147483647, inner_precise: int = 0, prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None, actual_seq_kvlen: list[int] | None = None, sparse_mode: int = 0,
    gen_mask_parallel: bool = True, sync: bool = False, softmax_layout: str = "", sink: Tensor | None = None,
    dropout_mask: Tensor | None = None, seed: int = 0, offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    """dropout(softmax(scale · Q Kᵀ + pse, masked)) V (Vaswani et al., 2017), the official arguments.

    query, key, value by input_layout: BSH (B, S, N·D), SBH (S, B, N·D), BSND, BNSD, or TND (ΣS, N, D) with cumulated lengths in
    actual_seq_qlen and actual_seq_kvlen. head_num: heads of the query; key and value may have fewer (a divisor). atten_mask:
    True leaves out. sparse_mode 0 to 4; the prefix modes (5 and up) raise NotImplementedError. Returns (attention, softmax
    maxima, softmax sums, an empty tensor, 0, 0, 0): the seed and offset are the generator's business here.
    """
    if input_layout not in LAYOUTS:
        raise RuntimeError(f"npu_fusion_attention: input_layout must be one of {', '.join(LAYOUTS)}, but it is '{input_layout}'.")
    if sparse_mode not in SPARSE_MODES:
        raise NotImplementedError(f"npu_fusion_attention: sparse_mode {sparse_mode} is not implemented for NPU; 0 to 4 are.")
    if sink is not None or padding_mask is not None:
        raise NotImplementedError("npu_fusion_attention: sink and padding_mask are not implemented for NPU.")
    if not 0.0 < keep_prob <= 1.0:
        raise RuntimeError(f"npu_fusion_attention: keep_prob must be in (0, 1], but it is {keep_prob}.")
    options = (scale, keep_prob)
    empty = query.new_empty(0)
    if input_layout == "TND" and (
        actual_seq_qlen is None or actual_seq_kvlen is None or len(actual_seq_qlen) != len(actual_seq_kvlen)
    ):
        raise RuntimeError("npu_fusion_attention: layout TND needs actual_seq_qlen and actual_seq_kvlen of the same length.")
    if _one_operator(query, key, value, input_layout, pse, atten_mask, keep_prob, sparse_mode, actual_seq_qlen,
                     actual_seq_kvlen, dropout_mask):  # fmt: skip
        mode = 0 if sparse_mode == 1 and atten_mask is None else sparse_mode
        mask = None if atten_mask is None or mode > 1 else atten_mask.bool()
        fused = _Fused.apply(query, key, value, head_num, input_layout, pse, mask, scale, keep_prob, pre_tockens,
                             next_tockens, actual_seq_qlen, actual_seq_kvlen, mode)  # fmt: skip
        return *fused, empty, 0, 0, 0
    if input_layout == "TND":
        parts, q0, k0 = [], 0, 0
        for q1, k1 in zip(actual_seq_qlen, actual_seq_kvlen):
            q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (query[q0:q1], key[k0:k1], value[k0:k1]))
            left_out = _left_out(q1 - q0, k1 - k0, sparse_mode, atten_mask, pre_tockens, next_tockens, query.device)
            parts.append([x.squeeze(0).transpose(0, 1) for x in _attend(q, k, v, pse, left_out, *options, None)])
            q0, k0 = q1, k1
        out, top, total = (torch.cat(column) for column in zip(*parts))
        return out, top, total, empty, 0, 0, 0
    kv_heads = head_num
    if input_layout in ("BSH", "SBH"):
        kv_heads = head_num * key.size(-1) // query.size(-1) or 1
    q = _to_bnsd(query, input_layout, head_num)
    k, v = (_to_bnsd(x, input_layout, kv_heads) for x in (key, value))
    if q.size(1) != head_num or q.size(1) % k.size(1):
        raise RuntimeError(
            f"npu_fusion_attention: head_num {head_num} does not fit query {tuple(query.shape)} and key "
            f"{tuple(key.shape)} in layout {input_layout}."
        )
    left_out = _left_out(q.size(2), k.size(2), sparse_mode, atten_mask, pre_tockens, next_tockens, query.device)
    out, top, total = _attend(q, k, v, pse, left_out, *options, dropout_mask)
    return _from_bnsd(out, input_layout), top, total, empty, 0, 0, 0


OPERATORS = {
    "npu_fusion_attention(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? pse=None, "
    "Tensor? padding_mask=None, Tensor? atten_mask=None, float scale=1., float keep_prob=1., int pre_tockens=2147483647, "
    "int next_tockens=2147483647, int inner_precise=0, int[]? prefix=None, int[]? actual_seq_qlen=None, "
    "int[]? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, str softmax_layout='', "
    "Tensor? sink=None, Tensor? dropout_mask=None, int seed=0, int offset=0) "
    "-> (Tensor, Tensor, Tensor, Tensor, int, int, int)": npu_fusion_attention,
}

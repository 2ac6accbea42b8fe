# SPDX-License-Identifier: BSD-3-Clause
"""Fused attention for inference: whole prompts, single steps, and keys and values in blocks of a cache (Kwon et al., 2023).

A sequence at a time, scores in float32. Masks say what is left OUT where they are true. Rows without any key give 0. What a
chip computes on quantised tensors is refused.
"""

from __future__ import annotations

import torch
from torch import Tensor

LAYOUTS = ("BSH", "BSND", "BNSD", "TND", "NTD")


def _refuse(operator: str, **given: object) -> None:
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise NotImplementedError(f"{operator}: {', '.join(names)} is not implemented for NPU.")


def _rows(x: Tensor, layout: str, heads: int, ends: list[int] | None) -> list[Tensor]:
    """Each sequence as (N, S, D). ends: where sequences of the layouts with T end."""
    if layout == "BSH":
        return list(x.unflatten(-1, (heads, -1)).transpose(1, 2))
    if layout == "BSND":
        return list(x.transpose(1, 2))
    if layout == "BNSD":
        return list(x)
    packed = x.transpose(0, 1) if layout == "TND" else x
    ends = ends or [packed.shape[1]]
    return [packed[:, start:end] for start, end in zip([0, *ends], ends)]


def _together(rows: list[Tensor], layout: str) -> Tensor:
    """The inverse of _rows."""
    if layout in ("TND", "NTD"):
        whole = torch.cat(rows, 1)
        return whole.transpose(0, 1).contiguous() if layout == "TND" else whole
    whole = torch.stack(rows)
    if layout == "BNSD":
        return whole
    turned = whole.transpose(1, 2).contiguous()
    return turned if layout == "BSND" else turned.flatten(-2)


def _from_blocks(cache: Tensor, table: Tensor, lengths: list[int], heads: int) -> list[Tensor]:
    """Each sequence's (N, L, D) of a cache (blocks, size, N · D) or (blocks, N, size, D); table: (batch, blocks of each)."""
    if cache.dim() == 3:
        cache = cache.unflatten(-1, (heads, -1)).transpose(1, 2)
    elif cache.dim() != 4:
        raise NotImplementedError(f"A cache of {cache.dim()} dimensions is not implemented for NPU; 3 and 4 are.")
    size, sequences = cache.shape[2], []
    for row, length in zip(table.long(), lengths):
        blocks = cache.index_select(0, row[: -(-length // size)])
        sequences.append(blocks.transpose(0, 1).flatten(1, 2)[:, :length])
    return sequences


def _left_out(
    mode: int, mask: Tensor | None, b: int, rows: int, columns: int, before: int, after: int, device: torch.device
) -> Tensor | None:
    """What sparse_mode leaves out of sequence b's scores: (…, rows, columns) of bool, or None."""
    if mode not in (0, 1, 2, 3, 4):
        raise NotImplementedError(f"sparse_mode {mode} is not implemented for NPU; 0 to 4 are.")
    place = torch.arange(columns, device=device) - torch.arange(rows, device=device).unsqueeze(1)
    if mode == 2:
        return place > 0
    if mode in (3, 4):
        place = place - (columns - rows)
        return place > 0 if mode == 3 else (place > after) | (place < -before)
    if mask is None:
        return None
    own = mask[b if mask.shape[0] > 1 else 0] if mask.dim() > 2 else mask
    own = own.bool()[..., : max(rows, 1), :columns]
    if mode == 0 and (before < rows or after < columns):
        own = own | (place > after) | (place < -before)
    return own


def _one(
    q: Tensor, k: Tensor, v: Tensor, scale: float, left_out: Tensor | None, pse: Tensor | None, sink: Tensor | None
) -> tuple[Tensor, Tensor]:
    """q (N, S, D), k (Nkv, L, D), v (Nkv, L, Dv) → (N, S, Dv) and log-sum-exp (N, S, 1) in float32."""
    heads, steps, size = q.shape
    groups = heads // k.shape[0]
    score = torch.matmul(q.float().reshape(k.shape[0], groups * steps, size), k.float().transpose(-1, -2))
    score = score.view(heads, steps, k.shape[1]) * scale
    if pse is not None:
        score = score + pse.float()
    if left_out is not None:
        score = score.masked_fill(left_out, float("-inf"))
    if sink is not None:
        score = torch.cat((score, sink.float().view(heads, 1, 1).expand(heads, steps, 1)), -1)
    lse = score.logsumexp(-1, keepdim=True)
    weight = torch.exp(score - lse.masked_fill(lse == float("-inf"), 0.0))
    weight = weight[..., : k.shape[1]].reshape(k.shape[0], groups * steps, k.shape[1])
    return torch.matmul(weight, v.float()).view(heads, steps, v.shape[-1]), lse


def _attention(
    operator: str, query: Tensor, key: Tensor, value: Tensor, *, layout: str, heads: int, kv_heads: int, scale: float,
    mask: Tensor | None = None, pse: Tensor | None = None, q_lengths: list[int] | None = None,
    kv_lengths: list[int] | None = None, table: Tensor | None = None, mode: int = 0, before: int = 2147483647,
    after: int = 2147483647, query_rope: Tensor | None = None, key_rope: Tensor | None = None, sink: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(attention in the output's layout, log-sum-exp (B, N, S, 1) or (T, N, 1))."""
    taken, _, given = layout.partition("_")
    given = given or taken
    if taken not in LAYOUTS or given not in LAYOUTS:
        raise RuntimeError(f"{operator}: input_layout must be of {', '.join(LAYOUTS)}, but it is '{layout}'.")
    kv_heads = kv_heads or heads
    if heads < 1 or heads % kv_heads:
        raise RuntimeError(f"{operator}: {heads} heads of the query cannot be shared among {kv_heads} of the keys.")
    packed = taken in ("TND", "NTD")
    if packed and table is None and (q_lengths is None) != (kv_lengths is None):
        raise RuntimeError(f"{operator}: layout {taken} needs the lengths of both queries and keys.")
    if query_rope is not None:
        query = torch.cat((query, query_rope), -1)
    queries = _rows(query, taken, heads, q_lengths if packed else None)
    if table is None:
        ends = kv_lengths if packed else None
        keys, values = (_rows(x, taken, kv_heads, ends) for x in (key, value))
        if query_rope is not None:
            keys = [torch.cat(pair, -1) for pair in zip(keys, _rows(key_rope, taken, kv_heads, ends))]
    else:
        if kv_lengths is None:
            raise RuntimeError(f"{operator}: block_table needs the lengths of the keys.")
        keys, values = (_from_blocks(x, table, kv_lengths, kv_heads) for x in (key, value))
        if query_rope is not None:
            keys = [torch.cat(pair, -1) for pair in zip(keys, _from_blocks(key_rope, table, kv_lengths, kv_heads))]
    outs, sums = [], []
    for b, q in enumerate(queries):
        k, v, rows = keys[b], values[b], q.shape[1]
        if not packed and table is None and kv_lengths:
            k, v = (x[:, : kv_lengths[b if len(kv_lengths) > 1 else 0]] for x in (k, v))
        steps = q_lengths[b if len(q_lengths) > 1 else 0] if q_lengths and not packed else rows
        left_out = _left_out(mode, mask, b, steps, k.shape[1], before, after, q.device)
        bias = None if pse is None else (pse[b if pse.shape[0] > 1 else 0] if pse.dim() > 3 else pse)[..., :steps, : k.shape[1]]
        out, lse = _one(q[:, :steps], k, v, scale, left_out, bias, sink)
        if steps < rows:
            out = torch.cat((out, out.new_zeros(heads, rows - steps, out.shape[-1])), 1)
            lse = torch.cat((lse, lse.new_full((heads, rows - steps, 1), float("inf"))), 1)
        outs.append(out.to(query.dtype))
        sums.append(lse)
    total = torch.cat(sums, 1).transpose(0, 1).contiguous() if packed else torch.stack(sums)
    return _together(outs, given), total


def npu_prompt_flash_attention(
    query: Tensor, key: Tensor, value: Tensor, *, padding_mask: Tensor | None = None, atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None, actual_seq_lengths: list[int] | None = None, deq_scale1: Tensor | None = None,
    quant_scale1: Tensor | None = None, deq_scale2: Tensor | None = None, quant_scale2: Tensor | None = None,
    quant_offset2: Tensor | None = None, num_heads: int = 1, scale_value: float = 1.0, pre_tokens: int = 2147483647,
    next_tokens: int = 0, input_layout: str = "BSH", num_key_value_heads: int = 0, actual_seq_lengths_kv: list[int] | None = None,
    sparse_mode: int = 0,
) -> Tensor:  # fmt: skip
    """softmax(scale · Q Kᵀ + pse, masked) V of whole prompts.

    query, key, value by input_layout: BSH (B, S, N · D), BSND, BNSD, or BNSD_BSND, whose result is BSND. atten_mask: True leaves
    out; sparse_mode 0 with it also leaves out what is beyond pre_tokens and next_tokens, 2 and 3 are causal (upper left, lower
    right), 4 a band. actual_seq_lengths(_kv): what of each sequence counts.
    """
    _refuse("npu_prompt_flash_attention", padding_mask=padding_mask, deq_scale1=deq_scale1, quant_scale1=quant_scale1,
            deq_scale2=deq_scale2, quant_scale2=quant_scale2, quant_offset2=quant_offset2)  # fmt: skip
    return _attention(
        "npu_prompt_flash_attention", query, key, value, layout=input_layout, heads=num_heads, kv_heads=num_key_value_heads,
        scale=scale_value, mask=atten_mask, pse=pse_shift, q_lengths=actual_seq_lengths, kv_lengths=actual_seq_lengths_kv,
        mode=sparse_mode, before=pre_tokens, after=next_tokens,
    )[0]  # fmt: skip


def npu_incre_flash_attention(
    query: Tensor, key: Tensor, value: Tensor, *, padding_mask: Tensor | None = None, atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None, actual_seq_lengths: list[int] | None = None, antiquant_scale: Tensor | None = None,
    antiquant_offset: Tensor | None = None, block_table: Tensor | None = None, dequant_scale1: Tensor | None = None,
    quant_scale1: Tensor | None = None, dequant_scale2: Tensor | None = None, quant_scale2: Tensor | None = None,
    quant_offset2: Tensor | None = None, kv_padding_size: Tensor | None = None, num_heads: int = 1, scale_value: float = 1.0,
    input_layout: str = "BSH", num_key_value_heads: int = 0, block_size: int = 0, inner_precise: int = 1,
) -> Tensor:  # fmt: skip
    """Attention of one new step to all keys so far: see npu_prompt_flash_attention.

    actual_seq_lengths: those of the keys. block_table (B, blocks of a sequence): key and value are caches of blocks,
    (blocks, block_size, N · D) or (blocks, N, block_size, D).
    """
    _refuse("npu_incre_flash_attention", padding_mask=padding_mask, antiquant_scale=antiquant_scale,
            antiquant_offset=antiquant_offset, dequant_scale1=dequant_scale1, quant_scale1=quant_scale1,
            dequant_scale2=dequant_scale2, quant_scale2=quant_scale2, quant_offset2=quant_offset2,
            kv_padding_size=kv_padding_size)  # fmt: skip
    return _attention(
        "npu_incre_flash_attention", query, key, value, layout=input_layout, heads=num_heads, kv_heads=num_key_value_heads,
        scale=scale_value, mask=atten_mask, pse=pse_shift, kv_lengths=actual_seq_lengths, table=block_table,
    )[0]  # fmt: skip


def npu_fused_infer_attention_score(
    query: Tensor, key: Tensor, value: Tensor, *, pse_shift: Tensor | None = None, atten_mask: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None, actual_seq_lengths_kv: list[int] | None = None,
    dequant_scale1: Tensor | None = None, quant_scale1: Tensor | None = None, dequant_scale2: Tensor | None = None,
    quant_scale2: Tensor | None = None, quant_offset2: Tensor | None = None, antiquant_scale: Tensor | None = None,
    antiquant_offset: Tensor | None = None, key_antiquant_scale: Tensor | None = None, key_antiquant_offset: Tensor | None = None,
    value_antiquant_scale: Tensor | None = None, value_antiquant_offset: Tensor | None = None, block_table: Tensor | None = None,
    query_padding_size: Tensor | None = None, kv_padding_size: Tensor | None = None, key_shared_prefix: Tensor | None = None,
    value_shared_prefix: Tensor | None = None, actual_shared_prefix_len: list[int] | None = None,
    query_rope: Tensor | None = None, key_rope: Tensor | None = None, key_rope_antiquant_scale: Tensor | None = None,
    num_heads: int = 1, scale: float = 1.0, pre_tokens: int = 2147483647, next_tokens: int = 2147483647,
    input_layout: str = "BSH", num_key_value_heads: int = 0, sparse_mode: int = 0, inner_precise: int = 0, block_size: int = 0,
    antiquant_mode: int = 0, key_antiquant_mode: int = 0, value_antiquant_mode: int = 0, softmax_lse_flag: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Attention of prompts and of single steps in one operator: (attention, log-sum-exp in float32, or an empty tensor).

    Layouts: BSH, BSND, BNSD, TND (ΣS, N, D), NTD, and pairs such as BNSD_BSND or NTD_TND for input and result. Lengths of the
    layouts with T are cumulated, but for the keys of a block_table. query_rope, key_rope: further places of the last dimension
    (latent attention). Otherwise as npu_prompt_flash_attention and npu_incre_flash_attention.
    """
    _refuse("npu_fused_infer_attention_score", dequant_scale1=dequant_scale1, quant_scale1=quant_scale1,
            dequant_scale2=dequant_scale2, quant_scale2=quant_scale2, quant_offset2=quant_offset2,
            antiquant_scale=antiquant_scale, antiquant_offset=antiquant_offset, key_antiquant_scale=key_antiquant_scale,
            key_antiquant_offset=key_antiquant_offset, value_antiquant_scale=value_antiquant_scale,
            value_antiquant_offset=value_antiquant_offset, query_padding_size=query_padding_size,
            kv_padding_size=kv_padding_size, key_shared_prefix=key_shared_prefix, value_shared_prefix=value_shared_prefix,
            actual_shared_prefix_len=actual_shared_prefix_len, key_rope_antiquant_scale=key_rope_antiquant_scale)  # fmt: skip
    out, lse = _attention(
        "npu_fused_infer_attention_score", query, key, value, layout=input_layout, heads=num_heads,
        kv_heads=num_key_value_heads, scale=scale, mask=atten_mask, pse=pse_shift, q_lengths=actual_seq_lengths,
        kv_lengths=actual_seq_lengths_kv, table=block_table, mode=sparse_mode, before=pre_tokens, after=next_tokens,
        query_rope=query_rope, key_rope=key_rope,
    )  # fmt: skip
    return out, lse if softmax_lse_flag else lse.new_empty(0)


def npu_fused_infer_attention_score_v2(
    query: Tensor, key: Tensor, value: Tensor, *, query_rope: Tensor | None = None, key_rope: Tensor | None = None,
    pse_shift: Tensor | None = None, atten_mask: Tensor | None = None, actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None, block_table: Tensor | None = None, dequant_scale_query: Tensor | None = None,
    dequant_scale_key: Tensor | None = None, dequant_offset_key: Tensor | None = None, dequant_scale_value: Tensor | None = None,
    dequant_offset_value: Tensor | None = None, dequant_scale_key_rope: Tensor | None = None,
    quant_scale_out: Tensor | None = None, quant_offset_out: Tensor | None = None, quant_scale_p: Tensor | None = None,
    learnable_sink: Tensor | None = None,
    num_query_heads: int = 1, num_key_value_heads: int = 0, softmax_scale: float = 1.0, pre_tokens: int = 2147483647,
    next_tokens: int = 2147483647, input_layout: str = "BSH", sparse_mode: int = 0, block_size: int = 0,
    query_quant_mode: int = 0, key_quant_mode: int = 0, value_quant_mode: int = 0, inner_precise: int = 0,
    return_softmax_lse: bool = False, query_dtype: int | None = None, key_dtype: int | None = None,
    value_dtype: int | None = None, query_rope_dtype: int | None = None, key_rope_dtype: int | None = None,
    key_shared_prefix_dtype: int | None = None, value_shared_prefix_dtype: int | None = None,
    dequant_scale_query_dtype: int | None = None, dequant_scale_key_dtype: int | None = None,
    dequant_scale_value_dtype: int | None = None, dequant_scale_key_rope_dtype: int | None = None, out_dtype: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """npu_fused_infer_attention_score with other names; learnable_sink (N,): a score of no key, whose weight is lost."""
    _refuse("npu_fused_infer_attention_score_v2", dequant_scale_query=dequant_scale_query, dequant_scale_key=dequant_scale_key,
            dequant_offset_key=dequant_offset_key, dequant_scale_value=dequant_scale_value,
            dequant_offset_value=dequant_offset_value, dequant_scale_key_rope=dequant_scale_key_rope,
            quant_scale_out=quant_scale_out, quant_offset_out=quant_offset_out, quant_scale_p=quant_scale_p)  # fmt: skip
    out, lse = _attention(
        "npu_fused_infer_attention_score_v2", query, key, value, layout=input_layout, heads=num_query_heads,
        kv_heads=num_key_value_heads, scale=softmax_scale, mask=atten_mask, pse=pse_shift, q_lengths=actual_seq_qlen,
        kv_lengths=actual_seq_kvlen, table=block_table, mode=sparse_mode, before=pre_tokens, after=next_tokens,
        query_rope=query_rope, key_rope=key_rope, sink=learnable_sink,
    )  # fmt: skip
    return out, lse if return_softmax_lse else lse.new_empty(0)


OPERATORS = {
    "npu_prompt_flash_attention(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, Tensor? "
    "atten_mask=None, Tensor? pse_shift=None, int[]? actual_seq_lengths=None, Tensor? deq_scale1=None, Tensor? "
    "quant_scale1=None, Tensor? deq_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, int num_heads=1, "
    'float scale_value=1.0, int pre_tokens=2147483647, int next_tokens=0, str input_layout="BSH", int '
    "num_key_value_heads=0, int[]? actual_seq_lengths_kv=None, int sparse_mode=0) -> Tensor": npu_prompt_flash_attention,
    "npu_incre_flash_attention(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, Tensor? "
    "atten_mask=None, Tensor? pse_shift=None, SymInt[]? actual_seq_lengths=None, Tensor? antiquant_scale=None, Tensor? "
    "antiquant_offset=None, Tensor? block_table=None, Tensor? dequant_scale1=None, Tensor? quant_scale1=None, Tensor? "
    "dequant_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, Tensor? kv_padding_size=None, int "
    'num_heads=1, float scale_value=1.0, str input_layout="BSH", int num_key_value_heads=0, int block_size=0, int '
    "inner_precise=1) -> Tensor": npu_incre_flash_attention,
    "npu_fused_infer_attention_score(Tensor query, Tensor key, Tensor value, *, Tensor? pse_shift=None, Tensor? "
    "atten_mask=None, SymInt[]? actual_seq_lengths=None, SymInt[]? actual_seq_lengths_kv=None, Tensor? "
    "dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, Tensor? "
    "quant_offset2=None, Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, Tensor? key_antiquant_scale=None, "
    "Tensor? key_antiquant_offset=None, Tensor? value_antiquant_scale=None, Tensor? value_antiquant_offset=None, Tensor? "
    "block_table=None, Tensor? query_padding_size=None, Tensor? kv_padding_size=None, Tensor? key_shared_prefix=None, "
    "Tensor? value_shared_prefix=None, SymInt[]? actual_shared_prefix_len=None, Tensor? query_rope=None, Tensor? "
    "key_rope=None, Tensor? key_rope_antiquant_scale=None, int num_heads=1, float scale=1.0, int pre_tokens=2147483647, "
    'int next_tokens=2147483647, str input_layout="BSH", int num_key_value_heads=0, int sparse_mode=0, int '
    "inner_precise=0, int block_size=0, int antiquant_mode=0, int key_antiquant_mode=0, int value_antiquant_mode=0, bool "
    "softmax_lse_flag=False) -> (Tensor, Tensor)": npu_fused_infer_attention_score,
    "npu_fused_infer_attention_score_v2(Tensor query, Tensor key, Tensor value, *, Tensor? query_rope=None, Tensor? "
    "key_rope=None, Tensor? pse_shift=None, Tensor? atten_mask=None, SymInt[]? actual_seq_qlen=None, SymInt[]? "
    "actual_seq_kvlen=None, Tensor? block_table=None, Tensor? dequant_scale_query=None, Tensor? dequant_scale_key=None, "
    "Tensor? dequant_offset_key=None, Tensor? dequant_scale_value=None, Tensor? dequant_offset_value=None, Tensor? "
    "dequant_scale_key_rope=None, Tensor? quant_scale_out=None, Tensor? quant_offset_out=None, Tensor? "
    "quant_scale_p=None, Tensor? learnable_sink=None, int num_query_heads=1, int num_key_value_heads=0, float "
    'softmax_scale=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, str input_layout="BSH", int '
    "sparse_mode=0, int block_size=0, int query_quant_mode=0, int key_quant_mode=0, int value_quant_mode=0, int "
    "inner_precise=0, bool return_softmax_lse=False, int? query_dtype=None, int? key_dtype=None, int? value_dtype=None, "
    "int? query_rope_dtype=None, int? key_rope_dtype=None, int? key_shared_prefix_dtype=None, int? "
    "value_shared_prefix_dtype=None, int? dequant_scale_query_dtype=None, int? dequant_scale_key_dtype=None, int? "
    "dequant_scale_value_dtype=None, int? dequant_scale_key_rope_dtype=None, int? out_dtype=None) -> (Tensor, Tensor)":
    npu_fused_infer_attention_score_v2,
}  # fmt: skip

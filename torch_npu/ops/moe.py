# SPDX-License-Identifier: BSD-3-Clause
"""Mixture of experts on one device: choosing experts, bringing tokens into the experts' order and back.

Rows are tokens (num_rows of them, k experts each). Indices are int32; sorting is stable. Formulas are those of the official
documentation of each operator.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .gradient import gradients
from .quant import _rounded


# ---- choosing ----
def _largest(x: Tensor, k: int) -> Tensor:
    """Indices of the k largest of each row, the first of equals first."""
    if not 0 < k <= x.shape[-1]:
        raise RuntimeError(f"k must be between 1 and the number of experts {x.shape[-1]}, but is {k}.")
    return x.sort(dim=-1, descending=True, stable=True).indices[..., :k]


def _finished(experts: Tensor, finished: Tensor | None, none: int) -> Tensor:
    """Rows that are finished get the number after the last expert."""
    experts = experts.to(torch.int32)
    return experts if finished is None else experts.masked_fill(finished.reshape(*experts.shape[:-1], 1).bool(), none)


def npu_moe_gating_top_k_softmax(x: Tensor, finished: Tensor | None = None, k: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """softmax over the experts, of which the k largest stay: (weights, experts, row numbers).

    x: (…, experts); finished: bool, one a row. Row numbers count down the columns: row i's j-th is j · num_rows + i.
    """
    weight = x.float().softmax(-1)
    chosen = _largest(weight, k)
    rows = torch.arange(chosen.numel(), dtype=torch.int32, device=x.device).reshape(k, -1).t().reshape(chosen.shape)
    return weight.gather(-1, chosen).to(x.dtype), _finished(chosen, finished, x.shape[-1]), rows.contiguous()


def npu_moe_gating_top_k_softmax_v2(
    x: Tensor, *, k: int = 1, finished: Tensor | None = None, renorm: int = 0, output_softmax: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """(weights, experts, softmax). renorm 0: softmax, then the k largest; 1: the k largest, then their softmax.

    The whole softmax in float32 is given with output_softmax and renorm 0, else an empty tensor.
    """
    if renorm == 1:
        chosen = _largest(x, k)
        weight, whole = x.gather(-1, chosen).float().softmax(-1), None
    else:
        whole = x.float().softmax(-1)
        chosen = _largest(whole, k)
        weight = whole.gather(-1, chosen)
    shown = whole if output_softmax and whole is not None else x.new_empty(0, dtype=torch.float32)
    return weight.to(x.dtype), _finished(chosen, finished, x.shape[-1]), shown


def npu_moe_gating_top_k(
    x: Tensor, k: int, *, bias: Tensor | None = None, input_ids: Tensor | None = None, tid2eid: Tensor | None = None,
    k_group: int = 1, group_count: int = 1, group_select_mode: int = 0, renorm: int = 0, norm_type: int = 0,
    out_flag: bool = False, routed_scaling_factor: float = 1.0, eps: float = 1e-20,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Experts in groups (DeepSeek-V3): (weights, experts, normalised x in float32, or an empty tensor without out_flag).

    x: (num_rows, experts), normalised by softmax (norm_type 0) or sigmoid (1). The k largest of x + bias are chosen among the
    k_group best of group_count groups; a group counts by its largest (group_select_mode 0) or its two largest (1). Weights are
    without bias, divided by their sum for sigmoid or renorm 1, times routed_scaling_factor.
    """
    if input_ids is not None or tid2eid is not None:
        raise NotImplementedError("npu_moe_gating_top_k: input_ids and tid2eid are not implemented for NPU.")
    if group_count < 1 or x.shape[-1] % group_count or not 0 < k_group <= group_count:
        raise RuntimeError(
            f"npu_moe_gating_top_k: group_count must divide the {x.shape[-1]} experts and k_group be between 1 and group_count, "
            f"but they are {group_count} and {k_group}."
        )
    whole = x.float().softmax(-1) if norm_type == 0 else x.float().sigmoid()
    ranked = whole if bias is None else whole + bias.float()
    if group_count > 1:
        groups = ranked.unflatten(-1, (group_count, -1))
        score = groups.amax(-1) if group_select_mode == 0 else groups.topk(min(2, groups.shape[-1]), -1).values.sum(-1)
        left_out = torch.ones_like(score, dtype=torch.bool).scatter(-1, _largest(score, k_group), False)
        ranked = groups.masked_fill(left_out.unsqueeze(-1), float("-inf")).flatten(-2)
    chosen = _largest(ranked, k)
    weight = whole.gather(-1, chosen)
    if norm_type == 1 or renorm == 1:
        weight = weight / (weight.sum(-1, keepdim=True) + eps)
    weight = weight * routed_scaling_factor
    return weight.to(x.dtype), chosen.to(torch.int32), whole if out_flag else x.new_empty(0, dtype=torch.float32)


# ---- routing for inference ----
def npu_moe_init_routing(x: Tensor, row_idx: Tensor, expert_idx: Tensor, active_num: int) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens in the order of their experts: (rows of x, where each (row, choice) went, sorted experts).

    x: (num_rows, H); row_idx, expert_idx: (num_rows, k). At most active_num · k rows are given.
    """
    order = expert_idx.flatten().sort(stable=True)
    source = row_idx.flatten()[order.indices].long()
    place = torch.empty_like(source).scatter(0, source, torch.arange(source.numel(), device=x.device))
    rows = source[: min(active_num, x.shape[0]) * expert_idx.shape[-1]] % x.shape[0]
    return x.index_select(0, rows), place.to(torch.int32), order.values.to(torch.int32)


def _routed(expert_idx: Tensor, first: int, end: int) -> tuple[Tensor, Tensor, int]:
    """(choices in the order of experts, those of other experts behind; their experts; how many are of experts first … end)."""
    experts = expert_idx.flatten().long()
    mine = (experts >= first) & (experts < end)
    order = torch.where(mine, experts, torch.full_like(experts, torch.iinfo(torch.int32).max)).sort(stable=True)
    return order.indices, order.values, int(mine.sum())


def npu_moe_init_routing_v2(
    x: Tensor, expert_idx: Tensor, *, scale: Tensor | None = None, offset: Tensor | None = None, active_num: int = -1,
    expert_capacity: int = -1, expert_num: int = -1, drop_pad_mode: int = 0, expert_tokens_num_type: int = 0,
    expert_tokens_num_flag: bool = False, quant_mode: int = -1, active_expert_range: list[int] = (), row_idx_type: int = 0,
    x_dtype: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Tokens of some experts in their order: (rows of x, row numbers, tokens of each expert, scales of the rows).

    active_expert_range: [first, end) of the experts served, all by default. row_idx_type 0: where each (row, choice) went, −1
    for another expert; 1: which one a row is. expert_tokens_num_type 0: cumulated counts, 1: counts, 2: pairs (expert, count).
    quant_mode −1: x as it is, with `scale` (num_rows) given for its rows; 0: int8 of x · scale + offset; 1: int8 by a scale for
    each row, after · scale of the expert (experts served, H). Only drop_pad_mode 0, which keeps all.
    """
    if drop_pad_mode != 0:
        raise NotImplementedError("npu_moe_init_routing_v2: drop_pad_mode 1 is not implemented for NPU.")
    if quant_mode not in (-1, 0, 1):
        raise RuntimeError(f"npu_moe_init_routing_v2: quant_mode must be -1, 0 or 1, but is {quant_mode}.")
    first, end = active_expert_range or (0, expert_num)
    if not 0 <= first < end:
        raise RuntimeError(f"npu_moe_init_routing_v2: the range of experts [{first}, {end}) is empty; see active_expert_range.")
    k = expert_idx.shape[-1]
    order, experts, count = _routed(expert_idx, first, end)
    kept = order[: count if active_num <= 0 else min(count, active_num)]
    if row_idx_type == 1:
        rows = torch.full_like(order, -1)
        rows[: kept.numel()] = kept
    else:
        rows = torch.full_like(order, -1).scatter(0, kept, torch.arange(kept.numel(), device=x.device))
    tokens = torch.bincount(experts[:count] - first, minlength=end - first)
    if expert_tokens_num_type == 0:
        tokens = tokens.cumsum(0)
    elif expert_tokens_num_type == 2:
        numbers = torch.arange(first, end, device=x.device)
        some = tokens > 0
        pairs = torch.stack((numbers[some], tokens[some]), 1)
        tokens = torch.cat((pairs, pairs.new_zeros(end - first - pairs.shape[0], 2)))
    moved = x.index_select(0, kept // k)
    scales = x.new_empty(0, dtype=torch.float32)
    if quant_mode == -1:
        if scale is not None:
            scales = scale.index_select(0, kept // k)
    elif quant_mode == 0:
        moved = _rounded(moved.float() * scale.float() + offset.float(), torch.int8)
    else:
        wide = moved.float()
        if scale is not None:
            wide = wide * scale.float()[(experts[: kept.numel()] - first) if scale.shape[0] > 1 else 0]
        scales = wide.abs().amax(-1) / 127
        moved = _rounded(wide / torch.where(scales > 0, scales, torch.ones_like(scales)).unsqueeze(-1), torch.int8)
    return moved, rows.to(torch.int32), tokens, scales


def npu_moe_compute_expert_tokens(sorted_expert_for_source_row: Tensor, num_expert: int) -> Tensor:
    """How many of the sorted experts are at most 0, 1, …, num_expert − 1."""
    experts = torch.arange(num_expert, device=sorted_expert_for_source_row.device, dtype=sorted_expert_for_source_row.dtype)
    return torch.searchsorted(sorted_expert_for_source_row.contiguous(), experts, right=True).to(torch.int32)


def npu_moe_finalize_routing(
    expanded_permuted_rows: Tensor, skip1: Tensor | None, skip2: Tensor | None, bias: Tensor | None, scales: Tensor | None,
    expanded_src_to_dst_row: Tensor, export_for_source_row: Tensor | None, drop_pad_mode: int = 0, k: int = 1,
) -> Tensor:  # fmt: skip
    """Sum over a token's experts of scale · (its row there + the expert's bias), plus skip1 and skip2: (num_rows, H).

    expanded_src_to_dst_row: (num_rows · k), all first choices first (drop_pad_mode 0, 1) or a token's side by side (2, 3); −1: no
    row, which gives 0. scales, export_for_source_row: (num_rows, k); bias: (experts, H).
    """
    rows = expanded_permuted_rows.flatten(0, -2)
    per_choice = scales if scales is not None else export_for_source_row
    choices = 1 if per_choice is None else per_choice.shape[1]
    where = expanded_src_to_dst_row.long()
    where = where.view(choices, -1).t() if drop_pad_mode in (0, 1) else where.view(-1, choices)
    taken = rows.index_select(0, where.flatten().clamp(min=0)).view(*where.shape, -1)
    taken = taken.masked_fill((where < 0).unsqueeze(-1), 0.0)
    if bias is not None:
        taken = taken + bias[export_for_source_row.long().view(where.shape)]
    if scales is not None:
        taken = taken * scales.unsqueeze(-1)
    total = taken.sum(1)
    for skip in (skip1, skip2):
        total = total if skip is None else total + skip
    return total.to(rows.dtype)


def npu_moe_re_routing(
    tokens: Tensor, expert_token_num_per_rank: Tensor, *, per_token_scales: Tensor | None = None, expert_token_num_type: int = 1,
    idx_type: int = 0, tokens_dtype: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Tokens that came rank by rank, each in the order of experts, now expert by expert: (tokens, scales, where from, counts).

    expert_token_num_per_rank: (ranks, experts), counts. idx_type 0: row i came from that row; 1: row i went to that row.
    """
    ranks, experts = expert_token_num_per_rank.shape
    counts = expert_token_num_per_rank.long()
    expert = torch.arange(experts, device=tokens.device).repeat(ranks).repeat_interleave(counts.flatten())
    source = expert.sort(stable=True).indices
    given = source.argsort() if idx_type else source
    scales = tokens.new_empty(0, dtype=torch.float32)
    if per_token_scales is not None:
        scales = per_token_scales.index_select(0, source)
    total = counts.sum(0).to(expert_token_num_per_rank.dtype)
    return tokens.index_select(0, source), scales, given.to(torch.int32), total


# ---- permuting for training ----
def npu_moe_token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """Tokens in the order of their experts, and where each (token, choice) went, as int32.

    tokens: (num_tokens, H); indices: (num_tokens,) or (num_tokens, k), the experts. num_out_tokens: how many stay (0 and None:
    all, negative: all but so many).
    """
    if padded_mode:
        raise NotImplementedError("npu_moe_token_permute: padded_mode is not implemented for NPU.")
    k = 1 if indices.dim() == 1 else indices.size(1)
    order = indices.flatten().argsort(stable=True)
    place = order.argsort().to(torch.int32)
    kept = order[:num_out_tokens] if num_out_tokens else order
    return tokens.index_select(0, kept // k), place


def npu_moe_token_unpermute(
    permuted_tokens: Tensor, sorted_indices: Tensor, probs: Tensor | None = None, padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> Tensor:  # fmt: skip
    """Undoes npu_moe_token_permute: each token is the sum of its choices' rows times their probs (num_tokens, k).

    Rows that were dropped count as 0.
    """
    if padded_mode:
        raise NotImplementedError("npu_moe_token_unpermute: padded_mode is not implemented for NPU.")
    where = sorted_indices.long()
    rows = permuted_tokens.index_select(0, where.clamp(max=permuted_tokens.shape[0] - 1))
    if where.numel() > permuted_tokens.shape[0]:
        rows = rows.masked_fill((where >= permuted_tokens.shape[0]).unsqueeze(-1), 0.0)
    if probs is None:
        return rows
    return (rows.view(*probs.shape, -1) * probs.unsqueeze(-1)).sum(1).to(permuted_tokens.dtype)


def _npu_moe_token_unpermute(
    permuted_tokens: Tensor, sorted_indices: Tensor, probs: Tensor | None = None, padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """npu_moe_token_unpermute, and what its backward pass needs: the permuted tokens if there are probs."""
    kept = permuted_tokens.clone() if probs is not None else permuted_tokens.new_empty(0)
    return npu_moe_token_unpermute(permuted_tokens, sorted_indices, probs, padded_mode, restore_shape), kept


def npu_moe_token_permute_grad_v2(
    grad_permuted_tokens: Tensor, sorted_indices: Tensor, tokens_size_0: int, tokens_dtype: torch.dtype, num_topK: int,  # noqa: N803
    padded_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The gradient of npu_moe_token_permute's tokens: the sum over each token's choices."""
    rows = npu_moe_token_unpermute(grad_permuted_tokens, sorted_indices, None, padded_mode)
    return rows.view(tokens_size_0, num_topK, -1).sum(1).to(tokens_dtype)


def npu_moe_token_permute_grad(
    tokens: Tensor, grad_permuted_tokens: Tensor, indices: Tensor, sorted_indices: Tensor, padded_mode: bool = False
) -> Tensor:
    """npu_moe_token_permute_grad_v2 with the tokens and indices themselves."""
    k = 1 if indices.dim() == 1 else indices.size(1)
    return npu_moe_token_permute_grad_v2(grad_permuted_tokens, sorted_indices, tokens.shape[0], tokens.dtype, k, padded_mode)


def npu_moe_token_unpermute_grad(
    permuted_tokens: Tensor, grad_unpermuted_tokens: Tensor, sorted_indices: Tensor, probs: Tensor | None = None,
    padded_mode: bool = False, restore_shape: list[int] | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Gradients of npu_moe_token_unpermute: of permuted_tokens and probs (an empty tensor without probs)."""

    def forward(rows: Tensor, weight: Tensor | None = None) -> Tensor:
        return npu_moe_token_unpermute(rows, sorted_indices, weight, padded_mode, restore_shape)

    if probs is None:
        return gradients(forward, [permuted_tokens], grad_unpermuted_tokens)[0], permuted_tokens.new_empty(0)
    return gradients(forward, [permuted_tokens, probs], grad_unpermuted_tokens)


def npu_moe_token_permute_with_routing_map(
    tokens: Tensor, routing_map: Tensor, *, probs: Tensor | None = None, num_out_tokens: int | None = None,
    drop_and_pad: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Tokens in the order of experts that routing_map (num_tokens, experts) says: (tokens, their probs, int32 indices).

    Indices: where each of a token's rows went, token by token; with drop_and_pad each expert has num_out_tokens / experts rows
    (the first of its tokens, then others), and the indices say which token a row is.
    """
    count, experts = routing_map.shape
    mine = routing_map.bool().t()
    if drop_and_pad:
        capacity = (num_out_tokens or count * experts) // experts
        chosen = mine.to(torch.int8).sort(dim=-1, descending=True, stable=True).indices[:, :capacity]
        weight = None if probs is None else probs.t().gather(1, chosen).flatten()
        source = indices = chosen.flatten()
    else:
        source = torch.arange(count, device=tokens.device).expand(experts, count).masked_select(mine)
        weight = None if probs is None else probs.t().masked_select(mine)
        indices = source.sort(stable=True).indices
    empty = tokens.new_empty(0)
    return tokens.index_select(0, source), empty if weight is None else weight, indices.to(torch.int32)


def npu_moe_token_unpermute_with_routing_map(
    permuted_tokens: Tensor, sorted_indices: Tensor, restore_shape: list[int], *, probs: Tensor | None = None,
    routing_map: Tensor | None = None, drop_and_pad: bool = False,
) -> Tensor:  # fmt: skip
    """Undoes npu_moe_token_permute_with_routing_map: sums of each token's rows, times probs (num_tokens, experts) if given."""
    rows, where = permuted_tokens, sorted_indices.long()
    if drop_and_pad:
        token = where
        if probs is not None:
            experts = probs.shape[1]
            rows = rows * probs.t().gather(1, token.view(experts, -1)).flatten().unsqueeze(-1)
    else:
        if routing_map is None:
            per_token = where.numel() // restore_shape[0]
            token = torch.arange(restore_shape[0], device=rows.device).repeat_interleave(per_token)
            token = torch.empty_like(token).scatter(0, where, token)
        else:
            count, experts = routing_map.shape
            mine = routing_map.bool().t()
            token = torch.arange(count, device=rows.device).expand(experts, count).masked_select(mine)
            if probs is not None:
                rows = rows * probs.t().masked_select(mine).unsqueeze(-1)
    total = rows.new_zeros(restore_shape, dtype=torch.float32).index_add(0, token, rows.float())
    return total.to(permuted_tokens.dtype)


OPERATORS = {
    "npu_moe_gating_top_k_softmax(Tensor x, Tensor? finished=None, int k=1) -> (Tensor, Tensor, Tensor)":
    npu_moe_gating_top_k_softmax,
    "npu_moe_gating_top_k_softmax_v2(Tensor x, *, int k=1, Tensor? finished=None, int? renorm=0, bool? "
    "output_softmax=False) -> (Tensor, Tensor, Tensor)": npu_moe_gating_top_k_softmax_v2,
    "npu_moe_gating_top_k(Tensor x, int k, *, Tensor? bias=None, Tensor? input_ids=None, Tensor? tid2eid=None, int "
    "k_group=1, int group_count=1, int group_select_mode=0, int renorm=0, int norm_type=0, bool out_flag=False, float "
    "routed_scaling_factor=1.0, float eps=1e-20) -> (Tensor, Tensor, Tensor)": npu_moe_gating_top_k,
    "npu_moe_init_routing(Tensor x, Tensor row_idx, Tensor expert_idx, int active_num) -> (Tensor, Tensor, Tensor)":
    npu_moe_init_routing,
    "npu_moe_init_routing_v2(Tensor x, Tensor expert_idx, *, Tensor? scale=None, Tensor? offset=None, int active_num=-1, "
    "int expert_capacity=-1, int expert_num=-1, int drop_pad_mode=0, int expert_tokens_num_type=0, bool "
    "expert_tokens_num_flag=False, int quant_mode=-1, int[2] active_expert_range=[], int row_idx_type=0, int? "
    "x_dtype=None) -> (Tensor, Tensor, Tensor, Tensor)": npu_moe_init_routing_v2,
    "npu_moe_compute_expert_tokens(Tensor sorted_expert_for_source_row, int num_expert) -> Tensor":
    npu_moe_compute_expert_tokens,
    "npu_moe_finalize_routing(Tensor expanded_permuted_rows, Tensor? skip1, Tensor? skip2, Tensor? bias, Tensor? scales, "
    "Tensor expanded_src_to_dst_row, Tensor? export_for_source_row, int? drop_pad_mode=0, int? k=1) -> Tensor":
    npu_moe_finalize_routing,
    "npu_moe_re_routing(Tensor tokens, Tensor expert_token_num_per_rank, *, Tensor? per_token_scales=None, int "
    "expert_token_num_type=1, int idx_type=0, int? tokens_dtype=None) -> (Tensor, Tensor, Tensor, Tensor)": npu_moe_re_routing,
    "npu_moe_token_permute(Tensor tokens, Tensor indices, int? num_out_tokens=None, bool padded_mode=False) -> (Tensor, "
    "Tensor)": npu_moe_token_permute,
    "npu_moe_token_unpermute(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None, bool padded_mode=False, "
    "int[]? restore_shape=None) -> Tensor": npu_moe_token_unpermute,
    "_npu_moe_token_unpermute(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None, bool padded_mode=False, "
    "int[]? restore_shape=None) -> (Tensor unpermuted_tokens, Tensor permuted_tokens_for_backward)": _npu_moe_token_unpermute,
    "npu_moe_token_permute_grad_v2(Tensor grad_permuted_tokens, Tensor sorted_indices, int tokens_size_0, ScalarType "
    "tokens_dtype, int num_topK, bool padded_mode=False) -> Tensor": npu_moe_token_permute_grad_v2,
    "npu_moe_token_permute_grad(Tensor tokens, Tensor grad_permuted_tokens, Tensor indices, Tensor sorted_indices, bool "
    "padded_mode=False) -> Tensor": npu_moe_token_permute_grad,
    "npu_moe_token_unpermute_grad(Tensor permuted_tokens, Tensor grad_unpermuted_tokens, Tensor sorted_indices, Tensor? "
    "probs=None, bool padded_mode=False, int[]? restore_shape=None) -> (Tensor, Tensor)": npu_moe_token_unpermute_grad,
    "npu_moe_token_permute_with_routing_map(Tensor tokens, Tensor routing_map, *, Tensor? probs=None, int? "
    "num_out_tokens=None, bool drop_and_pad=False) -> (Tensor, Tensor, Tensor)": npu_moe_token_permute_with_routing_map,
    "npu_moe_token_unpermute_with_routing_map(Tensor permuted_tokens, Tensor sorted_indices, int[] restore_shape, *, "
    "Tensor? probs=None, Tensor? routing_map=None, bool drop_and_pad=False) -> Tensor":
    npu_moe_token_unpermute_with_routing_map,
}  # fmt: skip

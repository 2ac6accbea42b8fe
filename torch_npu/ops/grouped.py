# SPDX-License-Identifier: BSD-3-Clause
"""Products of groups: each expert's rows by its own matrix."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .basic import fast_gelu

_ACTIVATIONS = {
    0: lambda x: x, 1: F.relu, 2: lambda x: F.gelu(x, approximate="tanh"), 3: F.gelu, 4: fast_gelu, 5: F.silu,
}  # fmt: skip


def _ends(group_list: list[int] | Tensor, kind: int) -> list[int]:
    """Where groups end. kind 0: group_list has the ends, 1: the counts, 2: pairs (group, count)."""
    numbers = group_list.tolist() if isinstance(group_list, Tensor) else list(group_list)
    if kind == 0:
        return numbers
    ends, total = [], 0
    for n in numbers:
        total += n
        ends.append(total)
    return ends


def npu_grouped_matmul(
    x: list[Tensor], weight: list[Tensor], *, bias: list[Tensor] | None = None, scale: list[Tensor] | None = None,
    offset: list[Tensor] | None = None, antiquant_scale: list[Tensor] | None = None,
    antiquant_offset: list[Tensor] | None = None, per_token_scale: list[Tensor] | None = None,
    group_list: Tensor | list[int] | None = None, activation_input: list[Tensor] | None = None,
    activation_quant_scale: list[Tensor] | None = None, activation_quant_offset: list[Tensor] | None = None,
    split_item: int = 0, group_type: int | None = None, group_list_type: int = 0, act_type: int = 0,
    tuning_config: list[int] | None = None, output_dtype: torch.dtype | int | None = None, x_dtype: int | None = None,
    weight_dtype: int | None = None, scale_dtype: int | None = None, per_token_scale_dtype: int | None = None,
) -> list[Tensor]:  # fmt: skip
    """A list of products x[i] @ weight[i] + bias[i].

    x: one for each weight; or one of all groups, whose rows (group_type 0) or columns (2) group_list divides: their ends
    (group_list_type 0), counts (1), or pairs of group and count (2). weight: one for each group, or one (groups, k, n).
    split_item 0, 1: a result for each group, 2, 3: one of all. int8 x and weight: sums times scale and per_token_scale. act_type:
    0 none, 1 relu, 2 gelu by tanh, 3 gelu, 4 fast gelu, 5 silu. Rows of no group are 0.
    """
    quantised = (offset, antiquant_scale, antiquant_offset, activation_input, activation_quant_scale, activation_quant_offset)
    if any(quantised):
        raise NotImplementedError("npu_grouped_matmul: offset, antiquant and activation arguments are not implemented for NPU.")
    if act_type not in _ACTIVATIONS:
        raise RuntimeError(f"npu_grouped_matmul: act_type must be 0 to 5, but is {act_type}.")
    matrices = [m for w in weight for m in (w if w.dim() == 3 else [w])]
    kind = group_type if group_type is not None else -1
    pairs = group_list_type == 2 and group_list is not None
    table = group_list.tolist() if pairs else None
    if len(x) > 1 or group_list is None:
        parts, rights = list(x), matrices
    elif kind == 2:
        ends = _ends(group_list, group_list_type)
        parts = [x[0][:, start:end] for start, end in zip([0, *ends], ends)]
        rights = [weight[0][start:end] for start, end in zip([0, *ends], ends)] if len(weight) == 1 else matrices
    else:
        ends = _ends([count for _, count in table] if pairs else group_list, 1 if pairs else group_list_type)
        parts = [x[0][start:end] for start, end in zip([0, *ends], ends)]
        rights = [matrices[group] for group, _ in table] if pairs else matrices
    if len(parts) != len(rights):
        raise RuntimeError(f"npu_grouped_matmul: {len(parts)} groups of x do not fit {len(rights)} weights.")

    def member(list_: list[Tensor] | None, i: int) -> Tensor | None:
        if not list_:
            return None
        i = table[i][0] if pairs else i
        return list_[i] if len(list_) > 1 else list_[0][i] if list_[0].dim() > 1 else list_[0]

    results, row = [], 0
    for i, (left, right) in enumerate(zip(parts, rights)):
        whole = left.dtype == torch.int8
        product = torch.matmul(left.double(), right.double()) if whole else torch.matmul(left.float(), right.float())
        added = member(bias, i)
        if added is not None and (not whole or added.dtype == torch.int32):
            product = product + added
        if whole:
            product = product.float()
            factor = member(scale, i)
            product = product if factor is None else product * factor.float()
            if per_token_scale:
                own = per_token_scale[i] if len(per_token_scale) > 1 else per_token_scale[0][row : row + left.shape[0]]
                product = product * own.float().unsqueeze(-1)
            if added is not None and added.dtype != torch.int32:
                product = product + added.float()
        row += left.shape[0]
        dtype = output_dtype if isinstance(output_dtype, torch.dtype) else None
        if dtype is None:
            from .quant import _TYPES

            dtype = _TYPES.get(output_dtype, torch.float16 if whole else left.dtype)
        results.append(_ACTIVATIONS[act_type](product).to(dtype))
    if split_item in (0, 1):
        return results
    if kind == 2:
        return [torch.stack(results)]
    together = torch.cat(results)
    rows = x[0].shape[0] if len(x) == 1 else together.shape[0]
    return [together if rows == together.shape[0] else F.pad(together, (0, 0, 0, rows - together.shape[0]))]


def npu_grouped_matmul_add(
    self: Tensor, x: Tensor, weight: Tensor, group_list: Tensor, *, transpose_x: bool = True, transpose_weight: bool = False,
    group_type: int = 2, group_list_type: int = 0,
) -> Tensor:  # fmt: skip
    """self + the products xᵀ @ weight of each group of rows, stacked: the gradient of npu_grouped_matmul's weight, accumulated.

    x: (rows, k), weight: (rows, n), self: (groups · k, n) or (groups, k, n), float32.
    """
    if not transpose_x or transpose_weight or group_type != 2:
        raise RuntimeError("npu_grouped_matmul_add: transpose_x must be True, transpose_weight False and group_type 2.")
    ends = _ends(group_list, group_list_type)
    parts = [torch.matmul(x[a:b].float().t(), weight[a:b].float()) for a, b in zip([0, *ends], ends)]
    return self + torch.stack(parts).view_as(self)


def npu_grouped_matmul_add_(
    self: Tensor, x: Tensor, weight: Tensor, group_list: Tensor, *, transpose_x: bool = True, transpose_weight: bool = False,
    group_type: int = 2, group_list_type: int = 0,
) -> Tensor:  # fmt: skip
    """npu_grouped_matmul_add in place."""
    return self.copy_(
        npu_grouped_matmul_add(
            self, x, weight, group_list, transpose_x=transpose_x, transpose_weight=transpose_weight, group_type=group_type,
            group_list_type=group_list_type,
        )
    )  # fmt: skip


_FEED_FORWARD = {
    "gelu": F.gelu, "relu": F.relu, "fastgelu": fast_gelu, "silu": F.silu,
    "geglu": lambda x: F.gelu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1],
    "swiglu": lambda x: F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1],
    "reglu": lambda x: F.relu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1],
}  # fmt: skip


def npu_ffn(
    x: Tensor, weight1: Tensor, weight2: Tensor, activation: str, *, expert_tokens: list[int] | None = None,
    expert_tokens_index: list[int] | None = None, bias1: Tensor | None = None, bias2: Tensor | None = None,
    scale: Tensor | None = None, offset: Tensor | None = None, deq_scale1: Tensor | None = None,
    deq_scale2: Tensor | None = None, antiquant_scale1: Tensor | None = None, antiquant_scale2: Tensor | None = None,
    antiquant_offset1: Tensor | None = None, antiquant_offset2: Tensor | None = None, inner_precise: int | None = None,
    output_dtype: torch.dtype | None = None,
) -> Tensor:  # fmt: skip
    """activation(x @ weight1 + bias1) @ weight2 + bias2, with experts each its rows by its own matrices (experts, k, n).

    activation: gelu, relu, fastgelu, silu, or of two halves geglu, swiglu, reglu. expert_tokens: rows of each expert;
    expert_tokens_index: where they end.
    """
    quantised = (scale, offset, deq_scale1, deq_scale2, antiquant_scale1, antiquant_scale2, antiquant_offset1, antiquant_offset2)
    if any(t is not None for t in quantised):
        raise NotImplementedError("npu_ffn: quantised arguments are not implemented for NPU.")
    active = _FEED_FORWARD.get(activation)
    if active is None:
        raise RuntimeError(f"npu_ffn: activation must be one of {', '.join(_FEED_FORWARD)}, but it is '{activation}'.")

    def layers(rows: Tensor, expert: int | None) -> Tensor:
        w1, w2, b1, b2 = (t if t is None or expert is None else t[expert] for t in (weight1, weight2, bias1, bias2))
        hidden = torch.matmul(rows.float(), w1.float())
        hidden = active(hidden if b1 is None else hidden + b1.float()).to(x.dtype)
        result = torch.matmul(hidden.float(), w2.float())
        return (result if b2 is None else result + b2.float()).to(output_dtype or x.dtype)

    if expert_tokens is None and expert_tokens_index is None:
        return layers(x, None)
    ends = _ends(expert_tokens_index, 0) if expert_tokens_index is not None else _ends(expert_tokens, 1)
    return torch.cat([layers(x[a:b], i) for i, (a, b) in enumerate(zip([0, *ends], ends))])


OPERATORS = {
    "npu_grouped_matmul(Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None, Tensor[]? scale=None, Tensor[]? "
    "offset=None, Tensor[]? antiquant_scale=None, Tensor[]? antiquant_offset=None, Tensor[]? per_token_scale=None, "
    "Tensor? group_list=None, Tensor[]? activation_input=None, Tensor[]? activation_quant_scale=None, Tensor[]? "
    "activation_quant_offset=None, int? split_item=0, int? group_type=None, int? group_list_type=0, int? act_type=0, "
    "int[]? tuning_config=None, int? output_dtype=None, int? x_dtype=None, int? weight_dtype=None, int? "
    "scale_dtype=None, int? per_token_scale_dtype=None) -> Tensor[]": npu_grouped_matmul,
    "npu_grouped_matmul.List(Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None, Tensor[]? scale=None, Tensor[]? "
    "offset=None, Tensor[]? antiquant_scale=None, Tensor[]? antiquant_offset=None, Tensor[]? per_token_scale=None, "
    "int[]? group_list=None, Tensor[]? activation_input=None, Tensor[]? activation_quant_scale=None, Tensor[]? "
    "activation_quant_offset=None, int? split_item=0, int? group_type=None, int? group_list_type=0, int? act_type=0, "
    "ScalarType? output_dtype=None) -> Tensor[]": npu_grouped_matmul,
    "npu_grouped_matmul_add(Tensor self, Tensor x, Tensor weight, Tensor group_list, *, bool transpose_x=True, bool "
    "transpose_weight=False, int group_type=2, int? group_list_type=0) -> Tensor": npu_grouped_matmul_add,
    "npu_grouped_matmul_add_(Tensor(a!) self, Tensor x, Tensor weight, Tensor group_list, *, bool transpose_x=True, bool "
    "transpose_weight=False, int group_type=2, int? group_list_type=0) -> Tensor(a!)": npu_grouped_matmul_add_,
    "npu_ffn(Tensor x, Tensor weight1, Tensor weight2, str activation, *, int[]? expert_tokens=None, int[]? "
    "expert_tokens_index=None, Tensor? bias1=None, Tensor? bias2=None, Tensor? scale=None, Tensor? offset=None, Tensor? "
    "deq_scale1=None, Tensor? deq_scale2=None, Tensor? antiquant_scale1=None, Tensor? antiquant_scale2=None, Tensor? "
    "antiquant_offset1=None, Tensor? antiquant_offset2=None, int? inner_precise=None, ScalarType? output_dtype=None) -> "
    "Tensor": npu_ffn,
}  # fmt: skip

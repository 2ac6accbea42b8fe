# SPDX-License-Identifier: BSD-3-Clause
"""Cross entropies, also over a vocabulary that is divided among devices, and backward passes of losses."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .gradient import gradients

_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def npu_softmax_cross_entropy_with_logits(self: Tensor, labels: Tensor) -> Tensor:
    """−Σ labels · log softmax(self) of each row."""
    return -(labels.float() * self.float().log_softmax(-1)).sum(-1).to(self.dtype)


def npu_softmax_cross_entropy_with_logits_backward(grad: Tensor, self: Tensor, labels: Tensor) -> Tensor:
    """The gradient of npu_softmax_cross_entropy_with_logits: of self, labels summing to 1."""
    return (grad.unsqueeze(-1) * (self.float().softmax(-1) - labels.float())).to(self.dtype)


def npu_cross_entropy_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean", ignore_index: int = -100,
    label_smoothing: float = 0.0, lse_square_scale_for_zloss: float = 0.0, return_zloss: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """(loss, log softmax, two empty tensors) of input (N, C); the loss of "mean" and "sum" has one element.

    The z-loss is not implemented for NPU.
    """
    if return_zloss or lse_square_scale_for_zloss:
        raise NotImplementedError("npu_cross_entropy_loss: the z-loss is not implemented for NPU.")
    log_prob = input.float().log_softmax(-1)
    where = None if weight is None else weight.float()
    loss = F.cross_entropy(
        input.float(), target.long(), where, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing
    )
    empty = input.new_empty(0)
    return (loss if reduction == "none" else loss.reshape(1)).to(input.dtype), log_prob.to(input.dtype), empty, empty


def npu_cross_entropy_loss_backward(
    grad_loss: Tensor, log_prob: Tensor, target: Tensor, weight: Tensor | None = None, grad_zloss: Tensor | None = None,
    lse_for_zloss: Tensor | None = None, reduction: str = "mean", ignore_index: int = -100, label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
) -> Tensor:  # fmt: skip
    """The gradient of npu_cross_entropy_loss: of its input, from log_prob, its second result."""
    if grad_zloss is not None or lse_square_scale_for_zloss:
        raise NotImplementedError("npu_cross_entropy_loss_backward: the z-loss is not implemented for NPU.")
    options = {"reduction": reduction, "ignore_index": ignore_index, "label_smoothing": label_smoothing}

    def forward(x: Tensor) -> Tensor:
        return F.cross_entropy(x, target.long(), None if weight is None else weight.float(), **options)

    grad = grad_loss.float() if reduction == "none" else grad_loss.float().reshape(())
    return gradients(forward, [log_prob.float()], grad)[0].to(log_prob.dtype)


# ---- a part of the vocabulary ----
def _bits(mask: Tensor) -> Tensor:
    """Eight bools in a byte, the first in the highest bit."""
    padded = F.pad(mask.to(torch.int32), (0, -mask.numel() % 8)).view(-1, 8)
    weight = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], dtype=torch.int32, device=mask.device)
    return (padded * weight).sum(1).to(torch.uint8)


def npu_fused_linear_online_max_sum(
    input: Tensor, weight: Tensor, target: Tensor, vocab_start_index: int, vocab_end_index: int, return_logits: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """Of logits = input @ weightᵀ, a part of the vocabulary: (row maxima, sums of exp, the target's logit less the maximum, bits
    of targets in another part, targets counted from vocab_start_index, logits or None).

    A target of another part has logit and place 0.
    """
    if not 0 <= vocab_start_index < vocab_end_index:
        raise RuntimeError(
            f"npu_fused_linear_online_max_sum: the part [{vocab_start_index}, {vocab_end_index}) of the vocabulary is empty."
        )
    logits = torch.matmul(input.float(), weight.float().t())
    top = logits.amax(-1)
    outside = (target < vocab_start_index) | (target >= vocab_end_index)
    place = (target - vocab_start_index).masked_fill(outside, 0)
    predicted = (logits.gather(1, place.long().unsqueeze(1)).squeeze(1) - top).masked_fill(outside, 0.0)
    total = (logits - top.unsqueeze(1)).exp().sum(-1)
    return top, total, predicted, _bits(outside), place.to(target.dtype), logits.to(input.dtype) if return_logits else None


def npu_fused_cross_entropy_loss_with_max_sum(
    logits_max: Tensor, sum_exp_logits: Tensor, predicted_logits: Tensor, *, label_smoothing: float = 0.0,
    input: Tensor | None = None, weight: Tensor | None = None, vocab_parallel_logits: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """(log Σ exp − the target's logit of each row, softmax of the logits if they are given)."""
    if label_smoothing:
        raise NotImplementedError("npu_fused_cross_entropy_loss_with_max_sum: label_smoothing is not implemented for NPU.")
    loss = sum_exp_logits.log() - predicted_logits
    if vocab_parallel_logits is None:
        return loss, None
    softmax = (vocab_parallel_logits.float() - logits_max.unsqueeze(1)).exp() / sum_exp_logits.unsqueeze(1)
    return loss, softmax


def npu_fused_linear_cross_entropy_loss_with_max_sum_backward(
    grad: Tensor, input: Tensor, weight: Tensor, target_mask: Tensor, masked_target: Tensor, label_smoothing: float = 0.0,
    logits_max: Tensor | None = None, sum_exp_logits: Tensor | None = None, softmax: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Gradients of input and weight, from softmax, or from the maxima and sums."""
    if label_smoothing:
        raise NotImplementedError("npu_fused_linear_cross_entropy_loss_with_max_sum_backward: label_smoothing must be 0.")
    if softmax is None:
        if logits_max is None or sum_exp_logits is None:
            raise RuntimeError(
                "npu_fused_linear_cross_entropy_loss_with_max_sum_backward: softmax, or logits_max and sum_exp_logits are needed."
            )
        logits = torch.matmul(input.float(), weight.float().t())
        softmax = (logits - logits_max.unsqueeze(1)).exp() / sum_exp_logits.unsqueeze(1)
    shifts = torch.arange(7, -1, -1, dtype=torch.int32, device=input.device)
    outside = (target_mask.to(torch.int32).unsqueeze(1) >> shifts & 1).flatten()[: input.shape[0]]
    inside = (1 - outside).to(torch.float32).unsqueeze(1)
    inner = softmax.float().scatter_add(1, masked_target.long().unsqueeze(1), -inside) * grad.float().unsqueeze(1)
    return torch.matmul(inner, weight.float()).to(input.dtype), torch.matmul(inner.t(), input.float()).to(weight.dtype)


# ---- backward passes ----
def l1_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The gradient of torch.nn.functional.l1_loss: of self."""
    return gradients(lambda x: F.l1_loss(x, target, reduction=_REDUCTIONS[reduction]), [self], grad_output)[0]


def kl_div_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False
) -> Tensor:
    """The gradient of torch.nn.functional.kl_div: of self."""

    def forward(x: Tensor) -> Tensor:
        return F.kl_div(x, target, reduction=_REDUCTIONS[reduction], log_target=log_target)

    return gradients(forward, [self], grad_output)[0]


def npu_binary_cross_entropy_with_logits_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, weight_opt: Tensor | None, pos_weight_opt: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of torch.nn.functional.binary_cross_entropy_with_logits: of self."""

    def forward(x: Tensor) -> Tensor:
        kind = _REDUCTIONS[reduction]
        return F.binary_cross_entropy_with_logits(x, target, weight_opt, pos_weight=pos_weight_opt, reduction=kind)

    return gradients(forward, [self], grad_output)[0]


def npu_ring_attention_update(
    prev_attn_out: Tensor, prev_softmax_max: Tensor, prev_softmax_sum: Tensor, cur_attn_out: Tensor, cur_softmax_max: Tensor,
    cur_softmax_sum: Tensor, *, actual_seq_qlen: Tensor | None = None, input_layout: str = "SBH", input_softmax_layout: str = "",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Attention to two parts of the keys as attention to both (Liu et al., Ring Attention, 2023): (attention, maxima, sums).

    Attention (S, B, N · D) with maxima and sums (B, N, S, 8), or for layout TND (T, N, D) with (T, N, 8); all eight are alike.
    """
    if input_layout not in ("SBH", "TND") or input_softmax_layout not in ("", "TND"):
        raise RuntimeError(f"npu_ring_attention_update: input_layout must be SBH or TND, but it is '{input_layout}'.")
    top = torch.maximum(prev_softmax_max, cur_softmax_max)
    first = prev_softmax_sum * torch.exp(prev_softmax_max - top)
    second = cur_softmax_sum * torch.exp(cur_softmax_max - top)
    total = first + second

    def share(part: Tensor) -> Tensor:
        each = (part / total)[..., 0]
        return (each.permute(2, 0, 1) if input_layout == "SBH" else each).unsqueeze(-1)

    shape = share(first).shape[:-1]
    before, after = (x.float().view(*shape, -1) for x in (prev_attn_out, cur_attn_out))
    joined = before * share(first) + after * share(second)
    return joined.view_as(prev_attn_out).to(prev_attn_out.dtype), top, total


OPERATORS = {
    "npu_softmax_cross_entropy_with_logits(Tensor self, Tensor labels) -> Tensor": npu_softmax_cross_entropy_with_logits,
    "npu_softmax_cross_entropy_with_logits_backward(Tensor grad, Tensor self, Tensor labels) -> Tensor":
    npu_softmax_cross_entropy_with_logits_backward,
    "npu_cross_entropy_loss(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', int "
    "ignore_index=-100, float label_smoothing=0.0, float lse_square_scale_for_zloss=0.0, bool return_zloss=False) -> "
    "(Tensor, Tensor, Tensor, Tensor)": npu_cross_entropy_loss,
    "npu_cross_entropy_loss_backward(Tensor grad_loss, Tensor log_prob, Tensor target, Tensor? weight=None, Tensor? "
    "grad_zloss=None, Tensor? lse_for_zloss=None, str reduction='mean', int ignore_index=-100, float "
    "label_smoothing=0.0, float lse_square_scale_for_zloss=0.0) -> Tensor": npu_cross_entropy_loss_backward,
    "npu_fused_linear_online_max_sum(Tensor input, Tensor weight, Tensor target, int vocab_start_index, int "
    "vocab_end_index, bool return_logits=False) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)":
    npu_fused_linear_online_max_sum,
    "npu_fused_cross_entropy_loss_with_max_sum(Tensor logits_max, Tensor sum_exp_logits, Tensor predicted_logits, *, "
    "float? label_smoothing=0.0, Tensor? input=None, Tensor? weight=None, Tensor? vocab_parallel_logits=None) -> "
    "(Tensor, Tensor)": npu_fused_cross_entropy_loss_with_max_sum,
    "npu_fused_linear_cross_entropy_loss_with_max_sum_backward(Tensor grad, Tensor input, Tensor weight, Tensor "
    "target_mask, Tensor masked_target, float label_smoothing=0.0, Tensor? logits_max=None, Tensor? sum_exp_logits=None, "
    "Tensor? softmax=None) -> (Tensor, Tensor)": npu_fused_linear_cross_entropy_loss_with_max_sum_backward,
    "l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor": l1_loss_backward,
    "kl_div_backward(Tensor grad_output, Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> "
    "Tensor": kl_div_backward,
    "npu_binary_cross_entropy_with_logits_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight_opt, "
    "Tensor? pos_weight_opt, int reduction) -> Tensor": npu_binary_cross_entropy_with_logits_backward,
    "npu_ring_attention_update(Tensor prev_attn_out, Tensor prev_softmax_max, Tensor prev_softmax_sum, Tensor "
    "cur_attn_out, Tensor cur_softmax_max, Tensor cur_softmax_sum, *, Tensor? actual_seq_qlen=None, str "
    'input_layout="SBH", str input_softmax_layout="") -> (Tensor, Tensor, Tensor)': npu_ring_attention_update,
}  # fmt: skip

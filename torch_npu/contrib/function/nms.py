# SPDX-License-Identifier: BSD-3-Clause
"""Suppression of boxes that overlap a better one of their class, of fixed output size."""

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error
from .iou import overlap

__all__: list[str] = []


def _suppress(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """Which of the boxes (n, 4), best first, greedy suppression keeps. Each round settles at least the best open box."""
    common, union = overlap(boxes, boxes)
    covers = (common > threshold * union).triu(1)
    keep = torch.ones_like(scores, dtype=torch.bool)
    while True:
        kept = ~(covers & keep[:, None]).any(0)
        if torch.equal(kept, keep):
            return keep
        keep = kept


def _one(boxes: Tensor, scores: Tensor, score_thr: float, nms_thr: float, max_num: int) -> tuple[Tensor, Tensor]:
    """boxes: (n, 1 or classes, 4), scores: (n, classes) → (max_num, 5) and (max_num,), the rest zeros."""
    found = []
    for label in range(scores.size(1)):
        score, order = scores[:, label].sort(descending=True, stable=True)
        order = order[score > score_thr]
        own = boxes[order, min(label, boxes.size(1) - 1)]
        score = score[: order.numel()]
        keep = _suppress(own.float(), score, nms_thr)
        found.append(torch.cat((own[keep], score[keep, None], torch.full_like(score[keep, None], label)), -1))
    every = torch.cat(found)
    best = every[every[:, 4].argsort(descending=True, stable=True)[:max_num]]
    result = best.new_zeros(max_num, 6)
    result[: best.size(0)] = best
    return result[:, :5], result[:, 5]


def _check(scores: Tensor, boxes: Tensor, max_num: int, dims: int) -> None:
    if scores.dim() != dims or boxes.numel() % (4 * max(scores[..., 0].numel(), 1)):
        raise ValueError(
            f"scores of shape {tuple(scores.shape)} and boxes of shape {tuple(boxes.shape)} do not fit" + ops_error(ErrCode.VALUE)
        )
    if max_num < 1:
        raise ValueError(f"max_num must be 1 or more, but got {max_num}" + ops_error(ErrCode.VALUE))


def npu_batched_multiclass_nms(
    multi_bboxes: Tensor,
    multi_scores: Tensor,
    score_thr: float = 0.05,
    nms_thr: float = 0.45,
    max_num: int = 50,
    score_factors: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """npu_multiclass_nms for a batch: everything has a first dimension more."""
    _check(multi_scores, multi_bboxes, max_num, 3)
    batch, count, _ = multi_scores.shape
    scores = multi_scores[..., :-1]
    if score_factors is not None:
        scores = scores * score_factors[..., None]
    boxes = multi_bboxes.reshape(batch, count, -1, 4)
    done = [_one(b, s, score_thr, nms_thr, max_num) for b, s in zip(boxes, scores)]
    return torch.stack([b for b, _ in done]), torch.stack([label for _, label in done])


def npu_multiclass_nms(
    multi_bboxes: Tensor,
    multi_scores: Tensor,
    score_thr: float = 0.05,
    nms_thr: float = 0.45,
    max_num: int = 50,
    score_factors: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The max_num best boxes over all classes after suppression within each class.

    Args:
        multi_bboxes: (n, 4), or (n, 4 · classes), as x1, y1, x2, y2.
        multi_scores: (n, classes + 1); the last column is the background and does not count.
        score_thr: boxes with less are left out.
        nms_thr: largest overlap (IoU) of two boxes of a class.
        max_num: size of the result.
        score_factors: (n,), multiplies the scores.

    Returns:
        (max_num, 5): boxes and scores, best first, zeros at the end; (max_num,): their classes from 0, of the same dtype.

    Raises:
        ValueError: shapes that do not fit, or max_num < 1.
    """
    _check(multi_scores, multi_bboxes, max_num, 2)
    factors = None if score_factors is None else score_factors[None]
    boxes, labels = npu_batched_multiclass_nms(multi_bboxes[None], multi_scores[None], score_thr, nms_thr, max_num, factors)
    return boxes[0], labels[0]

# SPDX-License-Identifier: BSD-3-Clause
"""Overlap of boxes. Deprecated in the official package, which has operators torch_npu.npu_*iou for it."""

import math
import warnings

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__: list[str] = []

EPS = 0.001


def _deprecated(name: str) -> None:
    warnings.warn(
        f"torch_npu.contrib.{name} is deprecated. Please use torch_npu.{name} as a replacement.", FutureWarning, stacklevel=3
    )


def _floating(boxes: Tensor) -> Tensor:
    return boxes if boxes.dtype in (torch.float32, torch.float16) else boxes.float()


def _area(low: Tensor, high: Tensor) -> Tensor:
    return (high - low).clamp(min=0).prod(-1)


def overlap(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """(intersections, unions), both (n, m), of boxes (n, 4) and (m, 4) as x1, y1, x2, y2."""
    first, second = boxes1[:, None], boxes2[None]
    common = _area(torch.maximum(first[..., :2], second[..., :2]), torch.minimum(first[..., 2:], second[..., 2:]))
    return common, _area(first[..., :2], first[..., 2:]) + _area(second[..., :2], second[..., 2:]) - common


def npu_iou(
    boxes1: Tensor, boxes2: Tensor, mode: str = "ptiou", is_normalized: bool = False, normalized_scale: float = 100.0
) -> Tensor:
    """Intersection over union, (n, m).

    Args:
        boxes1, boxes2: (n, 4) and (m, 4) as x1, y1, x2, y2.
        mode: "iou": (intersection + 0.001) / (union + 0.001); "ptiou": intersection / (union + 0.001).
        is_normalized: coordinates are in (0, 1): multiply by normalized_scale first.

    Raises:
        ValueError: another mode.
    """
    _deprecated("npu_iou")
    if mode not in ("iou", "ptiou"):
        raise ValueError(f"Expected mode in [iou, ptiou], but got {mode!r}" + ops_error(ErrCode.VALUE))
    boxes1, boxes2 = _floating(boxes1), _floating(boxes2)
    if is_normalized:
        boxes1, boxes2 = boxes1 * normalized_scale, boxes2 * normalized_scale
    common, union = overlap(boxes1, boxes2)
    return (common + EPS if mode == "iou" else common) / (union + EPS)


npu_ptiou = npu_iou


def _sides(boxes: Tensor, trans: bool) -> tuple[Tensor, Tensor]:
    """Low and high corners of boxes (4, n); trans: they are centre and sides."""
    first, second = boxes[:2], boxes[2:]
    return (first - second / 2, first + second / 2) if trans else (first, second)


def _pairwise(boxes1: Tensor, boxes2: Tensor, trans: bool, is_cross: bool, mode: int) -> tuple[Tensor, ...]:
    """(iou, low and high corners of the first, of the second), for (4, n) and (4, n), or (4, m) with is_cross."""
    if mode not in (0, 1):
        raise ValueError(f"Expected mode in [0, 1], but got {mode!r}" + ops_error(ErrCode.VALUE))
    if is_cross:
        boxes1, boxes2 = boxes1[:, None, :], boxes2[:, :, None]
    elif boxes1.shape != boxes2.shape:
        raise ValueError("Expected boxes1.shape == boxes2.shape" + ops_error(ErrCode.VALUE))
    (low1, high1), (low2, high2) = _sides(boxes1, trans), _sides(boxes2, trans)
    common = (torch.minimum(high1, high2) - torch.maximum(low1, low2)).clamp(min=0).prod(0)
    area1, area2 = (high1 - low1).prod(0), (high2 - low2).prod(0)
    return common / ((area1 + area2 - common) if mode == 0 else area1), low1, high1, low2, high2


def npu_giou(boxes1: Tensor, boxes2: Tensor, is_permuted: bool = True) -> Tensor:
    """Generalised IoU (Rezatofighi et al., 2019) of pairs: (n, 1). Differentiable.

    Args:
        boxes1, boxes2: (n, 4) as centre and sides, or (4, n) without is_permuted.

    Raises:
        ValueError: different shapes.
    """
    _deprecated("npu_giou")
    if boxes1.shape != boxes2.shape:
        raise ValueError("Expected boxes1.shape == boxes2.shape" + ops_error(ErrCode.VALUE))
    boxes1, boxes2 = _floating(boxes1), _floating(boxes2)
    if is_permuted:
        boxes1, boxes2 = boxes1.t(), boxes2.t()
    iou, low1, high1, low2, high2 = _pairwise(boxes1, boxes2, True, False, 0)
    hull = (torch.maximum(high1, high2) - torch.minimum(low1, low2)).prod(0)
    area1, area2 = (high1 - low1).prod(0), (high2 - low2).prod(0)
    union = (area1 + area2) / (1 + iou)  # union = areas − intersection, intersection = iou · union
    return (iou - (hull - union) / hull)[:, None]


def _distance(low1: Tensor, high1: Tensor, low2: Tensor, high2: Tensor) -> Tensor:
    """Squared distance of the centres over the squared diagonal of the hull."""
    hull = (torch.maximum(high1, high2) - torch.minimum(low1, low2)).square().sum(0)
    return ((low1 + high1 - low2 - high2) / 2).square().sum(0) / hull


def npu_diou(boxes1: Tensor, boxes2: Tensor, trans: bool = True, is_cross: bool = False, mode: int = 0) -> Tensor:
    """Distance IoU (Zheng et al., 2020) of pairs: (1, n), or (m, n) with is_cross. Differentiable.

    Args:
        boxes1, boxes2: (4, n) as centre and sides; as corners without trans.
        mode: 0: intersection over union; 1: over the first box.
    """
    _deprecated("npu_diou")
    iou, *corners = _pairwise(_floating(boxes1), _floating(boxes2), trans, is_cross, mode)
    result = iou - _distance(*corners)
    return result if is_cross else result[None]


def npu_ciou(boxes1: Tensor, boxes2: Tensor, trans: bool = True, is_cross: bool = False, mode: int = 0) -> Tensor:
    """Complete IoU (Zheng et al., 2020): npu_diou less a term for different ratios of the sides; the term's weight is
    no part of the gradient. Arguments as npu_diou."""
    _deprecated("npu_ciou")
    iou, low1, high1, low2, high2 = _pairwise(_floating(boxes1), _floating(boxes2), trans, is_cross, mode)
    (width1, height1), (width2, height2) = high1 - low1, high2 - low2
    shape = 4 / math.pi**2 * (torch.atan(width2 / height2) - torch.atan(width1 / height1)).square()
    with torch.no_grad():
        weight = shape / (1 - iou + shape + 1e-7)
    result = iou - _distance(low1, high1, low2, high2) - weight * shape
    return result if is_cross else result[None]

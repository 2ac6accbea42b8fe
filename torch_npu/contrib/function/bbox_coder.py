# SPDX-License-Identifier: BSD-3-Clause
"""Boxes as offsets from anchors, and back: the delta coders of detectors (Girshick, 2014; YOLO)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__ = ["npu_bbox_coder_encode_yolo", "npu_bbox_coder_decode_xywh2xyxy", "npu_bbox_coder_encode_xyxy2xywh"]

EPS = 1e-6


def _pair(boxes: Tensor, others: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """Both as float or half, after the checks that all coders have."""
    if boxes.size(0) != others.size(0):
        raise ValueError(f"Expected bboxes.size(0) == {name}.size(0)" + ops_error(ErrCode.VALUE))
    if not boxes.size(-1) == others.size(-1) == 4:
        raise ValueError(f"Expected bboxes.size(-1) == {name}.size(-1) == 4" + ops_error(ErrCode.VALUE))
    keep = (torch.float32, torch.float16)
    return tuple(x if x.dtype in keep else x.float() for x in (boxes, others))


def npu_bbox_coder_encode_yolo(bboxes: Tensor, gt_bboxes: Tensor, stride: Tensor) -> Tensor:
    """Deltas of YOLO: the centre within its cell of `stride` pixels, in (0, 1), and logarithms of the ratios of the sides.

    Args:
        bboxes, gt_bboxes: (n, 4) as x1, y1, x2, y2.
        stride: (n,).

    Raises:
        ValueError: sizes that do not fit.
    """
    bboxes, gt_bboxes = _pair(bboxes, gt_bboxes, "gt_bboxes")
    stride = stride.to(bboxes.dtype)[:, None]
    centre, target = (bboxes[:, :2] + bboxes[:, 2:]) * 0.5, (gt_bboxes[:, :2] + gt_bboxes[:, 2:]) * 0.5
    sides, wanted = bboxes[:, 2:] - bboxes[:, :2], gt_bboxes[:, 2:] - gt_bboxes[:, :2]
    within = ((target - centre) / stride + 0.5).clamp(EPS, 1 - EPS)
    return torch.cat((within, (wanted / sides).clamp(min=EPS).log()), -1)


def _measure(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Centres and sides, in which both edge pixels count."""
    return (boxes[:, :2] + boxes[:, 2:]) * 0.5, boxes[:, 2:] - boxes[:, :2] + 1


def npu_bbox_coder_encode_xyxy2xywh(
    bboxes: Tensor,
    gt_bboxes: Tensor,
    means: Sequence[float] | None = None,
    stds: Sequence[float] | None = None,
    is_normalized: bool = False,
    normalized_scale: float = 10000.0,
) -> Tensor:
    """Deltas (dx, dy, dw, dh) from bboxes to gt_bboxes, less `means`, over `stds`; npu_bbox_coder_decode_xywh2xyxy undoes it.

    Args:
        bboxes, gt_bboxes: (n, 4) as x1, y1, x2, y2 in pixels.
        means, stds: four numbers each; 0 and 1 if None.
        is_normalized: coordinates are in (0, 1): multiply by normalized_scale first.

    Raises:
        ValueError: sizes that do not fit.
    """
    bboxes, gt_bboxes = _pair(bboxes, gt_bboxes, "gt_bboxes")
    if is_normalized:
        bboxes, gt_bboxes = bboxes * normalized_scale, gt_bboxes * normalized_scale
    (centre, sides), (target, wanted) = _measure(bboxes), _measure(gt_bboxes)
    deltas = torch.cat(((target - centre) / sides, (wanted / sides).abs().log()), -1)
    return (deltas - deltas.new_tensor(means or [0.0] * 4)) / deltas.new_tensor(stds or [1.0] * 4)


def npu_bbox_coder_decode_xywh2xyxy(
    bboxes: Tensor,
    pred_bboxes: Tensor,
    means: Sequence[float] | None = None,
    stds: Sequence[float] | None = None,
    max_shape: Sequence[int] | None = None,
    wh_ratio_clip: float = 16 / 1000,
) -> Tensor:
    """Boxes x1, y1, x2, y2 from deltas, cut to the picture.

    Args:
        bboxes: (n, 4), what the deltas start from.
        pred_bboxes: (n, 4), deltas.
        means, stds: as when encoding.
        max_shape: (height, width) of the picture; (9999, 9999) if None.
        wh_ratio_clip: sides grow and shrink by at most this ratio.

    Raises:
        ValueError: sizes that do not fit.
    """
    bboxes, deltas = _pair(bboxes, pred_bboxes, "pred_bboxes")
    deltas = deltas * deltas.new_tensor(stds or [1.0] * 4) + deltas.new_tensor(means or [0.0] * 4)
    height, width = max_shape or (9999, 9999)
    most = abs(torch.tensor(wh_ratio_clip).log().item())
    centre, sides = _measure(bboxes)
    centre, sides = centre + sides * deltas[:, :2], sides * deltas[:, 2:].clamp(-most, most).exp()
    corners = torch.cat((centre - sides * 0.5 + 0.5, centre + sides * 0.5 - 0.5), -1)
    return corners.clamp(min=0).minimum(corners.new_tensor([width - 1, height - 1] * 2))

# SPDX-License-Identifier: BSD-3-Clause
"""Which anchors of a feature map answer for a box (YOLO)."""

import torch
from torch import Tensor

__all__: list[str] = []


def npu_single_level_responsible_flags(
    featmap_size: tuple[int, int], gt_bboxes: Tensor, stride: tuple[int, int], num_base_anchors: int
) -> Tensor:
    """uint8 flags of all anchors of one level, (height · width · num_base_anchors,): 1 in cells that hold a box's centre.

    Args:
        featmap_size: (height, width).
        gt_bboxes: (n, 4) as x1, y1, x2, y2 in pixels.
        stride: pixels of a cell, (x, y).
        num_base_anchors: anchors of a cell.
    """
    height, width = featmap_size
    centre = (gt_bboxes[:, :2] + gt_bboxes[:, 2:]).float() * 0.5
    cell = (centre / centre.new_tensor(stride)).floor().long()
    inside = ((cell >= 0) & (cell < cell.new_tensor([width, height]))).all(-1)
    at = (cell[:, 1] * width + cell[:, 0])[inside]
    flags = torch.zeros(height * width, dtype=torch.uint8, device=gt_bboxes.device)
    flags[at] = 1
    return flags.repeat_interleave(num_base_anchors)

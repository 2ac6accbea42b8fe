# SPDX-License-Identifier: BSD-3-Clause
"""Boxes of detectors: overlaps, their encoding, and non-maximum suppression.

A box is x1, y1, x2, y2 (or, where `trans` is set, centre and size). Overlap measures take boxes as columns (4, n).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .gradient import gradients


def _corners(boxes: Tensor, trans: bool) -> tuple[Tensor, ...]:
    if not trans:
        return tuple(boxes.unbind(0))
    x, y, w, h = boxes.unbind(0)
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def _pair(operator: str, a: Tensor, b: Tensor, trans: bool, cross: bool) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Corners of both in float32; (n, 1) and (1, m) for cross."""
    if a.dim() != 2 or b.dim() != 2 or a.shape[0] != 4 or b.shape[0] != 4 or (not cross and a.shape != b.shape):
        raise RuntimeError(
            f"{operator}: boxes must be (4, n) and (4, m), alike without is_cross, but are {tuple(a.shape)} and {tuple(b.shape)}."
        )
    first, second = _corners(a.float(), trans), _corners(b.float(), trans)
    if cross:
        return tuple(x.unsqueeze(1) for x in first), tuple(x.unsqueeze(0) for x in second)
    return first, second


def _area(box: tuple[Tensor, ...], eps: float = 0.0) -> Tensor:
    return (box[2] - box[0]) * (box[3] - box[1] + eps)


def _common(a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
    width = torch.minimum(a[2], b[2]) - torch.maximum(a[0], b[0])
    return width.clamp(min=0) * (torch.minimum(a[3], b[3]) - torch.maximum(a[1], b[1])).clamp(min=0)


def _around(a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Width and height of the smallest box around both."""
    return torch.maximum(a[2], b[2]) - torch.minimum(a[0], b[0]), torch.maximum(a[3], b[3]) - torch.minimum(a[1], b[1])


def _placed(result: Tensor, cross: bool, like: Tensor) -> Tensor:
    return (result if cross else result.unsqueeze(0)).to(like.dtype)


def npu_giou(self: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Tensor:
    """Generalised overlap (Rezatofighi et al., 2019) of pairs: (n, 1), or of all with all: (n, m). mode 0: by the union, 1: by
    gtboxes' area."""
    a, b = _pair("npu_giou", self, gtboxes, trans, is_cross)
    common, width_height = _common(a, b), _around(a, b)
    union = _area(a) + _area(b) - common + 1e-16
    outer = width_height[0].abs() * width_height[1].abs()
    base = union if mode == 0 else _area(b) + 1e-16
    result = common / base - (outer - union) / outer
    return (result if is_cross else result.unsqueeze(1)).to(self.dtype)


def _distance(a: tuple[Tensor, ...], b: tuple[Tensor, ...], mode: int) -> tuple[Tensor, Tensor]:
    """(overlap, distance of the centres by the diagonal around both)."""
    eps = 1e-9
    common, (width, height) = _common(a, b), _around(a, b)
    base = _area(a, eps) + _area(b, eps) - common + eps if mode == 0 else _area(b, eps) + eps
    apart = ((b[0] + b[2] - a[0] - a[2]) ** 2 + (b[1] + b[3] - a[1] - a[3]) ** 2) / 4
    return common / base, apart / (width**2 + height**2 + eps)


def npu_diou(self: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Tensor:
    """Overlap less the distance of the centres (Zheng et al., 2020): (1, n), or (n, m) with is_cross."""
    a, b = _pair("npu_diou", self, gtboxes, trans, is_cross)
    overlap, apart = _distance(a, b, mode)
    return _placed(overlap - apart, is_cross, self)


def _npu_ciou(
    self: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = True, mode: int = 0, atan_sub_flag: bool = False
) -> tuple[Tensor, Tensor]:
    """(npu_ciou, the difference of the angles, or an empty tensor without atan_sub_flag)."""
    a, b = _pair("npu_ciou", self, gtboxes, trans, is_cross)
    overlap, apart = _distance(a, b, mode)
    turn = [torch.atan((box[2] - box[0]) / (box[3] - box[1] + 1e-9)) for box in (a, b)]
    angle = turn[1] - turn[0]
    shape = 4 / math.pi**2 * angle**2
    weight = (shape / (1 + 1e-9 - overlap + shape)).detach()
    result = _placed(overlap - apart - shape * weight, is_cross, self)
    return result, _placed(angle, is_cross, self) if atan_sub_flag else self.new_empty(0)


def npu_ciou(
    self: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = True, mode: int = 0, atan_sub_flag: bool = False
) -> Tensor:
    """npu_diou less a term for different proportions (Zheng et al., 2020)."""
    return _npu_ciou(self, gtboxes, trans, is_cross, mode, atan_sub_flag)[0]


def npu_giou_backward(
    grad: Tensor, bboxes: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> tuple[Tensor, Tensor]:
    """Gradients of npu_giou: of both boxes."""
    return gradients(lambda a, b: npu_giou(a, b, trans, is_cross, mode), [bboxes, gtboxes], grad)


def npu_diou_backward(
    grad: Tensor, bboxes: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> tuple[Tensor, Tensor]:
    """Gradients of npu_diou: of both boxes."""
    return gradients(lambda a, b: npu_diou(a, b, trans, is_cross, mode), [bboxes, gtboxes], grad)


def npu_ciou_backward(
    grad: Tensor, bboxes: Tensor, gtboxes: Tensor, atan_sub: Tensor | None, trans: bool = False, is_cross: bool = True,
    mode: int = 0,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Gradients of npu_ciou: of both boxes; atan_sub is _npu_ciou's second result, which is not needed."""
    return gradients(lambda a, b: npu_ciou(a, b, trans, is_cross, mode), [bboxes, gtboxes], grad)


def _overlaps(a: Tensor, b: Tensor) -> Tensor:
    """(n, m) of boxes in rows, in float32."""
    first = tuple(x.unsqueeze(1) for x in a.float().unbind(-1))
    second = tuple(x.unsqueeze(0) for x in b.float().unbind(-1))
    common = _common(first, second)
    union = _area(first) + _area(second) - common
    return common / torch.where(union > 0, union, torch.ones_like(union))


# ---- encoding ----
def npu_bounding_box_encode(
    anchor_box: Tensor, ground_truth_box: Tensor, means0: float, means1: float, means2: float, means3: float, stds0: float,
    stds1: float, stds2: float, stds3: float,
) -> Tensor:  # fmt: skip
    """Moves and logarithms of growth from anchors (n, 4) to boxes (n, 4), normalised (Girshick et al., R-CNN, 2014).

    Sizes count both edges: x2 − x1 + 1.
    """
    a, g = anchor_box.float(), ground_truth_box.float()
    size_a, size_g = a[:, 2:] - a[:, :2] + 1, g[:, 2:] - g[:, :2] + 1
    move = ((g[:, 2:] + g[:, :2]) - (a[:, 2:] + a[:, :2])) / 2 / size_a
    delta = torch.cat((move, torch.log(size_g / size_a)), 1)
    means, stds = delta.new_tensor([means0, means1, means2, means3]), delta.new_tensor([stds0, stds1, stds2, stds3])
    return ((delta - means) / stds).to(anchor_box.dtype)


def npu_bounding_box_decode(
    rois: Tensor, deltas: Tensor, means0: float, means1: float, means2: float, means3: float, stds0: float, stds1: float,
    stds2: float, stds3: float, max_shape: list[int], wh_ratio_clip: float,
) -> Tensor:  # fmt: skip
    """The inverse of npu_bounding_box_encode, growth limited by wh_ratio_clip and boxes by max_shape (height, width)."""
    r, d = rois.float(), deltas.float()
    d = d * d.new_tensor([stds0, stds1, stds2, stds3]) + d.new_tensor([means0, means1, means2, means3])
    limit = abs(math.log(wh_ratio_clip))
    size = r[:, 2:] - r[:, :2] + 1
    grown = size * torch.exp(d[:, 2:].clamp(-limit, limit))
    centre = (r[:, :2] + r[:, 2:]) / 2 + d[:, :2] * size
    boxes = torch.cat((centre - (grown - 1) / 2, centre + (grown - 1) / 2), 1)
    height, width = max_shape[0], max_shape[-1]
    most = boxes.new_tensor([width - 1, height - 1, width - 1, height - 1])
    return torch.minimum(boxes.clamp(min=0), most).to(rois.dtype)


def npu_anchor_response_flags(self: Tensor, featmap_size: list[int], stride: list[int], num_base_anchors: int) -> Tensor:
    """1 for every anchor of a cell that holds the centre of a box (n, 4): uint8 of height · width · num_base_anchors."""
    boxes = self.float()
    x = ((boxes[:, 0] + boxes[:, 2]) * 0.5 / stride[0]).floor().long()
    y = ((boxes[:, 1] + boxes[:, 3]) * 0.5 / stride[1]).floor().long()
    cells = torch.zeros(featmap_size[0] * featmap_size[1], dtype=torch.uint8, device=self.device)
    cells[y * featmap_size[1] + x] = 1
    return cells.repeat_interleave(num_base_anchors)


# ---- suppression ----
def _kept(boxes: Tensor, order: Tensor, threshold: float, most: int) -> list[int]:
    """Indices of boxes that stay, in the given order: none that overlaps an earlier one by more than the threshold."""
    above = (_overlaps(boxes[order], boxes[order]) > threshold).cpu()
    numbers, alive, kept = order.tolist(), torch.ones(len(order), dtype=torch.bool), []
    for i in range(len(numbers)):
        if not alive[i]:
            continue
        kept.append(numbers[i])
        if len(kept) == most:
            break
        alive &= ~above[i]
    return kept


def npu_nms_v4(
    self: Tensor, scores: Tensor, max_output_size: int, iou_threshold: Tensor, scores_threshold: Tensor,
    pad_to_max_output_size: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Indices of the boxes (n, 4) that stay, the best score first, as int32, and how many they are."""
    most = int(max_output_size)
    order = scores.argsort(descending=True, stable=True)
    order = order[scores[order] > scores_threshold]
    kept = _kept(self, order, float(iou_threshold), most)
    filled = kept + [0] * (most - len(kept)) if pad_to_max_output_size else kept
    return (
        torch.tensor(filled, dtype=torch.int32, device=self.device),
        torch.tensor([len(kept)], dtype=torch.int32, device=self.device),
    )


def npu_nms_with_mask(input: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """(boxes (n, 5) with scores as given, their numbers, 1 for each that stays); they must be in the order of scores."""
    numbers = torch.arange(len(input), device=input.device)
    mask = torch.zeros(len(input), dtype=torch.uint8, device=input.device)
    mask[_kept(input[:, :4], numbers, float(iou_threshold), len(input))] = 1
    return input.clone(), numbers.to(torch.int32), mask


def npu_batch_nms(
    self: Tensor, scores: Tensor, score_threshold: float, iou_threshold: float, max_size_per_class: int, max_total_size: int,
    change_coordinate_frame: bool = False, transpose_box: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Suppression for each image and class: (boxes (B, most, 4), scores, classes (B, most), how many, int32), filled up with 0.

    self: (B, n, q, 4), q 1 or the number of classes; scores: (B, n, classes).
    """
    if change_coordinate_frame or transpose_box:
        raise NotImplementedError("npu_batch_nms: change_coordinate_frame and transpose_box are not implemented for NPU.")
    images, classes = self.shape[0], scores.shape[2]
    boxes_out, scores_out = self.new_zeros(images, max_total_size, 4), scores.new_zeros(images, max_total_size)
    classes_out = scores.new_zeros(images, max_total_size)
    counts = torch.zeros(images, dtype=torch.int32, device=self.device)
    for b in range(images):
        found = []
        for c in range(classes):
            boxes, score = self[b, :, c if self.shape[2] > 1 else 0], scores[b, :, c]
            order = score.argsort(descending=True, stable=True)
            order = order[score[order] > score_threshold]
            found += [(float(score[i]), c, boxes[i]) for i in _kept(boxes, order, iou_threshold, max_size_per_class)]
        found = sorted(found, key=lambda each: -each[0])[:max_total_size]
        counts[b] = len(found)
        for i, (score, c, box) in enumerate(found):
            boxes_out[b, i], scores_out[b, i], classes_out[b, i] = box, score, c
    return boxes_out, scores_out, classes_out, counts


def npu_random_choice_with_mask(x: Tensor, count: int = 256, seed: int = 0, seed2: int = 0) -> tuple[Tensor, Tensor]:
    """Places of true elements, `count` of them by chance (all in order if there are no more): (places, which are real).

    Places are int32 (count, dimensions of x); the rest is 0 and false. Both seeds 0: the device's generator decides.
    """
    places = x.nonzero()
    if len(places) > count:
        generator = None
        if seed or seed2:
            generator = torch.Generator(device=x.device).manual_seed(seed ^ (seed2 << 32) & 0x7FFFFFFFFFFFFFFF)
        places = places[torch.randperm(len(places), device=x.device, generator=generator)[:count]]
    result = places.new_zeros(count, x.dim())
    result[: len(places)] = places
    return result.to(torch.int32), torch.arange(count, device=x.device) < len(places)


OPERATORS = {
    "npu_giou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> Tensor": npu_giou,
    "npu_diou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> Tensor": npu_diou,
    "_npu_ciou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=True, int mode=0, bool atan_sub_flag=False) "
    "-> (Tensor, Tensor)": _npu_ciou,
    "npu_ciou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=True, int mode=0, bool atan_sub_flag=False) "
    "-> Tensor": npu_ciou,
    "npu_giou_backward(Tensor grad, Tensor bboxes, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> "
    "(Tensor, Tensor)": npu_giou_backward,
    "npu_diou_backward(Tensor grad, Tensor bboxes, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> "
    "(Tensor, Tensor)": npu_diou_backward,
    "npu_ciou_backward(Tensor grad, Tensor bboxes, Tensor gtboxes, Tensor? atan_sub, bool trans=False, bool "
    "is_cross=True, int mode=0) -> (Tensor, Tensor)": npu_ciou_backward,
    "npu_bounding_box_encode(Tensor anchor_box, Tensor ground_truth_box, float means0, float means1, float means2, float "
    "means3, float stds0, float stds1, float stds2, float stds3) -> Tensor": npu_bounding_box_encode,
    "npu_bounding_box_decode(Tensor rois, Tensor deltas, float means0, float means1, float means2, float means3, float "
    "stds0, float stds1, float stds2, float stds3, int[1] max_shape, float wh_ratio_clip) -> Tensor": npu_bounding_box_decode,
    "npu_anchor_response_flags(Tensor self, int[2] featmap_size, int[2] stride, int num_base_anchors) -> Tensor":
    npu_anchor_response_flags,
    "npu_nms_v4(Tensor self, Tensor scores, Scalar max_output_size, Tensor iou_threshold, Tensor scores_threshold, bool "
    "pad_to_max_output_size=False) -> (Tensor, Tensor)": npu_nms_v4,
    "npu_nms_with_mask(Tensor input, Scalar iou_threshold) -> (Tensor, Tensor, Tensor)": npu_nms_with_mask,
    "npu_batch_nms(Tensor self, Tensor scores, float score_threshold, float iou_threshold, int max_size_per_class, int "
    "max_total_size, bool change_coordinate_frame=False, bool transpose_box=False) -> (Tensor, Tensor, Tensor, Tensor)":
    npu_batch_nms,
    "npu_random_choice_with_mask(Tensor x, int count=256, int seed=0, int seed2=0) -> (Tensor, Tensor)":
    npu_random_choice_with_mask,
}  # fmt: skip

# SPDX-License-Identifier: BSD-3-Clause
"""Regions of feature maps: RoI align (He et al., Mask R-CNN, 2017), position-sensitive RoI pooling (Dai et al., R-FCN, 2016)
and deformable convolution (Zhu et al., Deformable ConvNets v2, 2018)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from .gradient import gradients

GATHERED = 1 << 24
"""Elements that one step of RoI align gathers; more regions go in several steps."""


# ---- RoI align ----
_ROI_END = {0: (0.0, 0.0), 1: (0.0, 1.0), 2: (0.5, 0.0), 3: (0.5, 0.0)}
"""roi_end_mode: (pixels that a region moves up and left, pixels added to its end)."""


def _axis(position: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Neighbours and their weights of positions along an axis; both weights are 0 more than one pixel outside."""
    inside = (position >= -1) & (position <= size)
    position = position.clamp(0, size - 1)
    low = position.floor()
    high = (low + 1).clamp(max=size - 1)
    upper = position - low
    return low.long(), high.long(), (1 - upper) * inside, upper * inside


def _aligned(
    rows: Tensor, size: tuple[int, int], rois: Tensor, scale: float, height: int, width: int, samples: int, mode: int
) -> Tensor:
    """RoI align of some regions; rows: (images · H · W, C) of maps of size (H, W)."""
    shift, longer = _ROI_END[mode]
    image = rois[:, 0].long()
    x1, y1 = rois[:, 1] * scale - shift, rois[:, 2] * scale - shift
    w, h = (rois[:, 3] + longer) * scale - shift - x1, (rois[:, 4] + longer) * scale - shift - y1
    if not shift:
        w, h = w.clamp(min=1), h.clamp(min=1)
    bin_w, bin_h = w / width, h / height
    if samples > 0:
        across, down = rois.new_full(w.shape, samples), rois.new_full(h.shape, samples)
    else:
        across, down = bin_w.ceil().clamp(min=1), bin_h.ceil().clamp(min=1)
    most_x, most_y = int(across.max()), int(down.max())

    def axis(start: Tensor, step: Tensor, count: Tensor, most: int, bins: int, length: int) -> tuple[Tensor, ...]:
        """Neighbours (regions, bins · most) and weights, which are those of the mean: 0 beyond a region's own count."""
        inner = torch.arange(most, device=rois.device, dtype=rois.dtype)
        outer = torch.arange(bins, device=rois.device, dtype=rois.dtype)
        part = (inner + 0.5) / count[:, None]
        position = start[:, None, None] + (outer[None, :, None] + part[:, None, :]) * step[:, None, None]
        low, high, a, b = _axis(position.flatten(1), length)
        used = ((inner < count[:, None]) / count[:, None])[:, None, :].expand_as(position).flatten(1)
        return low, high, a * used, b * used

    ys = axis(y1, bin_h, down, most_y, height, size[0])
    xs = axis(x1, bin_w, across, most_x, width, size[1])
    total = 0
    for y, weight_y in ((ys[0], ys[2]), (ys[1], ys[3])):
        for x, weight_x in ((xs[0], xs[2]), (xs[1], xs[3])):
            index = (image[:, None, None] * size[0] + y[:, :, None]) * size[1] + x[:, None, :]
            weight = weight_y[:, :, None] * weight_x[:, None, :]
            total = total + rows.index_select(0, index.flatten()).mul(weight.flatten()[:, None].to(rows.dtype))
    grid = total.view(len(rois), height, most_y, width, most_x, rows.shape[1])
    return grid.sum((2, 4)).permute(0, 3, 1, 2)


def npu_roi_align(
    self: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sample_num: int,
    roi_end_mode: int,
) -> Tensor:
    """Features of each region on a grid: the mean of sample_num² bilinear samples a bin.

    Returns (regions, C, pooled_height, pooled_width).
    self: (N, C, H, W). rois: (regions, 5) of image, x1, y1, x2, y2 in pixels of the picture, of which spatial_scale is the map.
    sample_num 0: as many samples as a bin has pixels. roi_end_mode 0: as it stands; 1: a region ends one pixel later; 2 and 3:
    moved by half a pixel ("aligned"). Modes 0 and 1 make a region at least one pixel large.
    """
    if self.dim() != 4 or rois.dim() != 2 or rois.shape[1] != 5:
        raise RuntimeError(
            f"npu_roi_align: self must be (N, C, H, W) and rois (regions, 5), but they are {tuple(self.shape)} and "
            f"{tuple(rois.shape)}."
        )
    if roi_end_mode not in _ROI_END:
        raise RuntimeError(f"npu_roi_align: roi_end_mode must be 0, 1, 2 or 3, but is {roi_end_mode}.")
    images, channels, height, width = self.shape
    if not len(rois):
        return self.new_zeros((0, channels, pooled_height, pooled_width))
    rows = self.permute(0, 2, 3, 1).reshape(images * height * width, channels)
    samples = pooled_height * pooled_width * max(sample_num, 4) ** 2
    step = max(1, GATHERED // (samples * channels))
    parts = [
        _aligned(rows, (height, width), part, spatial_scale, pooled_height, pooled_width, sample_num, roi_end_mode)
        for part in rois.float().split(step)
    ]
    return torch.cat(parts)


def npu_roi_alignbk(
    self: Tensor,
    rois: Tensor,
    xdiff_shape: list[int],
    pooled_width: int,
    pooled_height: int,
    spatial_scale: float,
    sample_num: int,
    roi_end_mode: int | None = None,
) -> Tensor:
    """The gradient of npu_roi_align's features (of shape xdiff_shape); self: the gradient of its result. None means mode 1."""
    mode = 1 if roi_end_mode is None else roi_end_mode

    def forward(features: Tensor) -> Tensor:
        return npu_roi_align(features, rois, spatial_scale, pooled_height, pooled_width, sample_num, mode)

    return gradients(forward, [self.new_zeros(xdiff_shape)], self)[0]


# ---- position-sensitive RoI pooling ----
def _bins(start: Tensor, end: Tensor, groups: int, size: int) -> Tensor:
    """Which pixels of an axis belong to each bin, as the weights of their mean: (regions, groups, size)."""
    step = ((end - start).clamp(min=0.1) / groups)[:, None]
    group = torch.arange(groups, device=start.device, dtype=start.dtype)
    low = (group * step + start[:, None]).floor().clamp(0, size)
    high = ((group + 1) * step + start[:, None]).ceil().clamp(0, size)
    pixel = torch.arange(size, device=start.device, dtype=start.dtype)
    return ((pixel >= low[..., None]) & (pixel < high[..., None])) / (high - low).clamp(min=1)[..., None]


def npu_ps_roi_pooling(self: Tensor, rois: Tensor, spatial_scale: float, group_size: int, output_dim: int) -> Tensor:
    """Mean of each bin of each region, every bin from a map of its own: (N · regions, output_dim, group_size, group_size).

    self: (N, output_dim · group_size², H, W). rois: (N, 5, regions) of image, x1, y1, x2, y2 in pixels of the picture, of which
    spatial_scale is the map. A region of an image that is not there, and a bin outside the map, give 0.
    """
    groups = group_size
    if self.dim() != 4 or self.shape[1] != output_dim * groups * groups:
        raise RuntimeError(
            f"npu_ps_roi_pooling: self must be (N, output_dim · group_size², H, W) = (N, {output_dim * groups * groups}, H, W), "
            f"but is {tuple(self.shape)}."
        )
    if rois.dim() != 3 or rois.shape[1] != 5:
        raise RuntimeError(f"npu_ps_roi_pooling: rois must be (N, 5, regions), but is {tuple(rois.shape)}.")
    images, _, height, width = self.shape
    boxes = rois.permute(0, 2, 1).reshape(-1, 5).float()
    start, end = boxes[:, 1:3].round() * spatial_scale, (boxes[:, 3:5].round() + 1) * spatial_scale
    across, down = _bins(start[:, 0], end[:, 0], groups, width), _bins(start[:, 1], end[:, 1], groups, height)
    maps = self.float().view(images, output_dim, groups, groups, height, width)
    which = boxes[:, 0].long()
    result = self.new_zeros((len(boxes), output_dim, groups, groups), dtype=torch.float32)
    for image in range(images):
        chosen = (which == image).nonzero().flatten()
        if len(chosen):
            narrow = torch.einsum("ngh,dgkhw->ngdkw", down[chosen], maps[image])
            pooled = torch.einsum("ngdkw,nkw->ndgk", narrow, across[chosen])
            result = result.index_copy(0, chosen, pooled)
    return result.to(self.dtype)


def npu_ps_roi_pooling_backward(
    output_grad: Tensor, rois: Tensor, spatial_scale: float, group_size: int, output_dim: int, input_size: list[int]
) -> Tensor:
    """The gradient of npu_ps_roi_pooling's maps. input_size: their (H, W), or their whole shape."""
    size = list(input_size)
    shape = size if len(size) == 4 else [rois.shape[0], output_dim * group_size * group_size, *size]

    def forward(maps: Tensor) -> Tensor:
        return npu_ps_roi_pooling(maps, rois, spatial_scale, group_size, output_dim)

    return gradients(forward, [output_grad.new_zeros(shape)], output_grad)[0]


# ---- deformable convolution ----
def _deformed(x: Tensor, offset: Tensor, kernel: list[int], stride: list[int], padding: list[int], dilation: list[int],
              groups: int, modulated: bool) -> Tensor:  # fmt: skip
    """x at the moved places of the kernel: (N, C, out_H · kernel_H, out_W · kernel_W)."""
    images, channels, height, width = x.shape
    kernel_h, kernel_w = kernel
    out_h, out_w = offset.shape[2:]
    parts = offset.view(images, 3 if modulated else 2, groups, kernel_h, kernel_w, out_h, out_w)

    def places(out: int, step: int, pad: int, taps: int, apart: int) -> Tensor:
        at = torch.arange(out, device=x.device) * step - pad
        return at + torch.arange(taps, device=x.device)[:, None] * apart  # (taps, out)

    px = parts[:, 0] + places(out_w, stride[3], padding[2], kernel_w, dilation[3])[None, :, None, :]
    py = parts[:, 1] + places(out_h, stride[2], padding[0], kernel_h, dilation[2])[:, None, :, None]
    x0, y0 = px.detach().floor(), py.detach().floor()
    maps = x.reshape(images, groups, channels // groups, height * width)
    total = 0
    for iy, wy in ((y0, y0 + 1 - py), (y0 + 1, py - y0)):
        for ix, wx in ((x0, x0 + 1 - px), (x0 + 1, px - x0)):
            inside = (iy >= 0) & (iy < height) & (ix >= 0) & (ix < width)
            index = (iy.clamp(0, height - 1) * width + ix.clamp(0, width - 1)).long().flatten(2)
            value = maps.gather(3, index[:, :, None, :].expand(-1, -1, maps.shape[2], -1))
            total = total + value * (wy * wx * inside).flatten(2)[:, :, None, :]
    if modulated:
        total = total * parts[:, 2].flatten(2)[:, :, None, :]
    total = total.view(images, channels, kernel_h, kernel_w, out_h, out_w)
    return total.permute(0, 1, 4, 2, 5, 3).reshape(images, channels, out_h * kernel_h, out_w * kernel_w)


def npu_deformable_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    bias: Tensor | None,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int] = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> tuple[Tensor, Tensor]:
    """Convolution whose taps read the input at moved places: (result, input at those places), in float32.

    input: (N, C, H, W). offset: (N, 3 · deformable_groups · kernel_H · kernel_W, out_H, out_W): all moves along x, all along y,
    then the factors of the taps; without the factors (2 ·) when not modulated. stride and dilation: of N, C, H, W; padding: top,
    bottom, left, right. The second result: (N, C, out_H · kernel_H, out_W · kernel_W).
    """
    kernel, parts = list(kernel_size), 3 if modulated else 2
    wanted = parts * deformable_groups * kernel[0] * kernel[1]
    if input.dim() != 4 or offset.dim() != 4 or offset.shape[1] != wanted or len(stride) != 4 or len(padding) != 4:
        raise RuntimeError(
            f"npu_deformable_conv2d: input must be (N, C, H, W), offset (N, {wanted}, out_H, out_W), stride and padding have 4 "
            f"numbers, but they are {tuple(input.shape)}, {tuple(offset.shape)}, {list(stride)} and {list(padding)}."
        )
    if input.shape[1] % groups or input.shape[1] % deformable_groups:
        raise RuntimeError(
            f"npu_deformable_conv2d: {input.shape[1]} channels cannot be divided into groups={groups} and "
            f"deformable_groups={deformable_groups}."
        )
    moved = _deformed(input.float(), offset.float(), kernel, stride, padding, dilation, deformable_groups, modulated)
    result = functional.conv2d(moved, weight.float(), None if bias is None else bias.float(), stride=kernel, groups=groups)
    return result, moved


def npu_deformable_conv2dbk(
    input: Tensor,
    grad_output: Tensor,
    offset_out: Tensor,
    weight: Tensor,
    offset: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int] = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of npu_deformable_conv2d: of input, weight, offset and bias. offset_out: its second result."""

    def forward(x: Tensor, w: Tensor, o: Tensor, b: Tensor) -> Tensor:
        return npu_deformable_conv2d(x, w, o, b, kernel_size, stride, padding, dilation, groups, deformable_groups, modulated)[0]

    bias = weight.new_zeros(weight.shape[0])
    return gradients(forward, [input, weight, offset, bias], grad_output)


OPERATORS = {
    "npu_roi_align(Tensor self, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sample_num, "
    "int roi_end_mode) -> Tensor": npu_roi_align,
    "npu_roi_alignbk(Tensor self, Tensor rois, int[] xdiff_shape, int pooled_width, int pooled_height, float spatial_scale, "
    "int sample_num, int? roi_end_mode=None) -> Tensor": npu_roi_alignbk,
    "npu_ps_roi_pooling(Tensor self, Tensor rois, float spatial_scale, int group_size, int output_dim) -> Tensor":
    npu_ps_roi_pooling,
    "npu_ps_roi_pooling_backward(Tensor output_grad, Tensor rois, float spatial_scale, int group_size, int output_dim, "
    "SymInt[] input_size) -> Tensor": npu_ps_roi_pooling_backward,
    "npu_deformable_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor? bias, int[2] kernel_size, int[] stride, "
    "int[] padding, int[4] dilation=[1,1,1,1], int groups=1, int deformable_groups=1, bool modulated=True) -> (Tensor, Tensor)":
    npu_deformable_conv2d,
    "npu_deformable_conv2dbk(Tensor input, Tensor grad_output, Tensor offset_out, Tensor weight, Tensor offset, "
    "int[2] kernel_size, int[] stride, int[] padding, int[4] dilation=[1,1,1,1], int groups=1, int deformable_groups=1, "
    "bool modulated=True) -> (Tensor, Tensor, Tensor, Tensor)": npu_deformable_conv2dbk,
}  # fmt: skip

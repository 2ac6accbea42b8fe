# SPDX-License-Identifier: BSD-3-Clause
"""RoI align (He et al., Mask R-CNN, 2017) as a module."""

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__ = ["ROIAlign"]


class ROIAlign(torch.nn.Module):
    """Features of each region on a grid of output_size: (regions, C, height, width), in float32.

    Args:
        output_size: (height, width) of the grid.
        spatial_scale: size of the feature map by that of the picture, in whose pixels regions are given.
        sampling_ratio: samples of a bin along each axis; 0: as many as it has pixels.
        aligned: moves regions by half a pixel, so that neighbours of a place are the right ones.

    Raises:
        ValueError: at the call, rois that are not (regions, 5) of image, x1, y1, x2, y2.
    """

    def __init__(self, output_size: tuple[int, int], spatial_scale: float, sampling_ratio: int, aligned: bool = True) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input_tensor: Tensor, rois: Tensor) -> Tensor:
        if rois.dim() != 2 or rois.size(1) != 5:
            raise ValueError("Expected rois.dim() == 2 and rois.size(1) == 5" + ops_error(ErrCode.VALUE))
        height, width = self.output_size
        mode = 3 if self.aligned else 0
        return torch.ops.npu.npu_roi_align(
            input_tensor.float(), rois, self.spatial_scale, height, width, self.sampling_ratio, mode
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, spatial_scale={self.spatial_scale}, sampling_ratio={self.sampling_ratio}, "
            f"aligned={self.aligned}"
        )

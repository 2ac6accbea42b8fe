# SPDX-License-Identifier: BSD-3-Clause
"""Position-sensitive RoI pooling (Dai et al., R-FCN, 2016) as a module."""

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__ = ["PSROIPool"]


class PSROIPool(torch.nn.Module):
    """Mean of each bin of each region, every bin from a map of its own: (N · regions, output_dim, group_size, group_size).

    Args:
        pooled_height, pooled_width: bins; both must be group_size.
        spatial_scale: size of the feature map by that of the picture, in whose pixels regions are given.
        group_size: bins of a region along each axis.
        output_dim: channels of the result; the features have output_dim · group_size².

    Raises:
        ValueError: pooled_height, pooled_width and group_size differ.
    """

    def __init__(
        self,
        pooled_height: int = 7,
        pooled_width: int = 7,
        spatial_scale: float = 1 / 16.0,
        group_size: int = 7,
        output_dim: int = 22,
    ) -> None:
        super().__init__()
        if not pooled_height == pooled_width == group_size:
            raise ValueError("only pooled_height == pooled_width == group_size supported." + ops_error(ErrCode.VALUE))
        self.group_size = group_size
        self.spatial_scale = spatial_scale
        self.output_dim = output_dim

    def forward(self, features: Tensor, rois: Tensor) -> Tensor:
        """features: (N, output_dim · group_size², H, W); rois: (N, 5, regions) of image, x1, y1, x2, y2."""
        return torch.ops.npu.npu_ps_roi_pooling(features, rois, self.spatial_scale, self.group_size, self.output_dim)

    def extra_repr(self) -> str:
        return f"group_size={self.group_size}, spatial_scale={self.spatial_scale}, output_dim={self.output_dim}"

# SPDX-License-Identifier: BSD-3-Clause
"""The first layer of YOLOv5: a quarter of the size, four times the channels, a convolution."""

import torch
from torch import Tensor, nn

__all__: list[str] = []


class Focus(nn.Module):
    """Convolution, batch norm and LeakyReLU(0.1) over the four pictures of every second row and column.

    Args:
        c1, c2: channels in and out.
        k, s, p, g: kernel, stride, padding (None: half the kernel) and groups of the convolution.
        act: with the LeakyReLU.
    """

    def __init__(self, c1: int, c2: int, k: int = 1, s: int = 1, p: int | None = None, g: int = 1, act: bool = True) -> None:
        super().__init__()
        layers = [nn.Conv2d(4 * c1, c2, k, s, k // 2 if p is None else p, groups=g, bias=False), nn.BatchNorm2d(c2)]
        self.conv = nn.Sequential(*layers, nn.LeakyReLU(0.1, inplace=True) if act else nn.Identity())

    def forward(self, x: Tensor) -> Tensor:
        """x: (batch, c1, height, width), both even."""
        even, odd = x[..., ::2, :], x[..., 1::2, :]
        return self.conv(torch.cat((even[..., ::2], odd[..., ::2], even[..., 1::2], odd[..., 1::2]), 1))

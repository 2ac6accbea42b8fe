# SPDX-License-Identifier: BSD-3-Clause
"""ResNet-18 with the children's names and order of torchvision."""

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width_in, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or width_in != width:
            self.shortcut = nn.Sequential(nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        width_in = 64
        for k, width in enumerate((64, 128, 256, 512)):
            blocks = nn.Sequential(Residual(width_in, width, 2 if k else 1), Residual(width, width, 1))
            setattr(self, f"layer{k + 1}", blocks)
            width_in = width
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(512, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for name, part in self.named_children():
            x = part(x.flatten(1) if name == "fc" else x)
        return x


def resnet18(weights: None = None) -> ResNet18:
    """Without trained weights only."""
    assert weights is None
    return ResNet18()

# SPDX-License-Identifier: BSD-3-Clause
"""MNIST here is scikit-learn's 1,797 handwritten digits, scaled from 8 × 8 to 28 × 28; every sixth is a test image."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_digits
from torch.utils.data import Dataset


class MNIST(Dataset):
    """Pairs (image, digit). `data` is (N, 28, 28) uint8, `targets` (N,) int64, as torchvision has them."""

    def __init__(self, root: str, train: bool = True, transform: Callable | None = None, download: bool = False) -> None:
        digits = load_digits()
        chosen = np.arange(len(digits.target)) % 6 != 5 if train else np.arange(len(digits.target)) % 6 == 5
        images = torch.from_numpy(digits.images[chosen]).float().unsqueeze(1)
        images = torch.nn.functional.interpolate(images, (28, 28), mode="bilinear").squeeze(1)
        self.data = (images * (255 / 16)).round().to(torch.uint8)
        self.targets = torch.from_numpy(digits.target[chosen]).long()
        self.transform = transform

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        image = Image.fromarray(self.data[index].numpy())
        return self.transform(image) if self.transform else image, int(self.targets[index])

# SPDX-License-Identifier: BSD-3-Clause
"""Image transforms on PIL images and tensors."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image


class Compose:
    def __init__(self, steps: Sequence[Callable]) -> None:
        self.steps = steps

    def __call__(self, image: Any) -> Any:
        for step in self.steps:
            image = step(image)
        return image


class ToTensor:
    """PIL image → float tensor (channels, height, width) in 0..1."""

    def __call__(self, image: Image.Image) -> torch.Tensor:
        values = np.asarray(image, dtype=np.float32) / 255
        return torch.from_numpy(values[None] if values.ndim == 2 else values.transpose(2, 0, 1).copy())


class Normalize:
    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        self.mean, self.std = (torch.tensor(values).view(-1, 1, 1) for values in (mean, std))

    def __call__(self, image: torch.Tensor) -> torch.Tensor:
        return (image - self.mean) / self.std


class Resize:
    """The shorter side to `size`."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, image: Image.Image) -> Image.Image:
        scale = self.size / min(image.size)
        return image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BILINEAR)


class CenterCrop:
    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, image: Image.Image) -> Image.Image:
        left, top = (image.width - self.size) // 2, (image.height - self.size) // 2
        return image.crop((left, top, left + self.size, top + self.size))


class Lambda:
    def __init__(self, function: Callable) -> None:
        self.function = function

    def __call__(self, image: Any) -> Any:
        return self.function(image)

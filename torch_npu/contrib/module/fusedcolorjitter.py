# SPDX-License-Identifier: BSD-3-Clause
"""Brightness, contrast, saturation and hue of a picture changed at random by one affine map of its colours.

Hue and saturation turn and stretch the chrominance plane of YIQ; brightness and contrast scale and shift all channels.
Numbers come from Python's `random`, as for other transformations of pictures.
"""

import math
import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ...utils._error_code import ErrCode, ops_error

__all__: list[str] = []

TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.595716, -0.274453, -0.321263], [0.211456, -0.522591, 0.311135]])
MIDDLE = 127.5
Range = float | Sequence[float]


def _limits(value: Range, name: str, centre: float, low: float, high: float) -> list[float] | None:
    """What a factor is drawn from; None: it has no effect."""
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative." + ops_error(ErrCode.VALUE))
        limits = [max(centre - value, low), centre + value] if centre else [-float(value), float(value)]
    elif isinstance(value, tuple | list) and len(value) == 2:
        limits = [float(v) for v in value]
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2." + ops_error(ErrCode.TYPE))
    if not low <= limits[0] <= limits[1] <= high:
        raise ValueError(f"{name} values should be between {(low, high)}" + ops_error(ErrCode.VALUE))
    return None if limits == [centre, centre] else limits


class FusedColorJitter(torch.nn.Module):
    """torchvision's ColorJitter as one product and one sum. Pictures are PIL's, or arrays (height, width, 1, 3 or 4) of 0 to 255.

    Args:
        brightness, contrast, saturation: a factor is drawn from [max(0, 1 - value), 1 + value], or from the (low, high) given.
        hue: likewise from [-value, value], at most 0.5, half a turn of the colour circle.

    Raises:
        ValueError: negative, or out of order or range.
        TypeError: neither a number nor two.
    """

    def __init__(self, brightness: Range = 0, contrast: Range = 0, saturation: Range = 0, hue: Range = 0) -> None:
        super().__init__()
        warnings.warn(
            "torch_npu.contrib.module.FusedColorJitter is deprecated. Please use torchvision.transforms.ColorJitter as a "
            "replacement.",
            FutureWarning,
            stacklevel=2,
        )
        self.brightness = _limits(brightness, "brightness", 1, 0, math.inf)
        self.contrast = _limits(contrast, "contrast", 1, 0, math.inf)
        self.saturation = _limits(saturation, "saturation", 1, 0, math.inf)
        self.hue = _limits(hue, "hue", 0, -0.5, 0.5)

    def _drawn(self) -> tuple[np.ndarray, float]:
        """Matrix (3, 3) for colours as rows, and what is added."""
        brightness, contrast, saturation = (
            random.uniform(*limits) if limits else 1.0 for limits in (self.brightness, self.contrast, self.saturation)
        )
        angle = 2 * math.pi * random.uniform(*self.hue) if self.hue else 0.0
        cos, sin = saturation * math.cos(angle), saturation * math.sin(angle)
        turn = np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]])
        matrix = np.linalg.inv(TO_YIQ) @ turn @ TO_YIQ
        return (matrix.T * brightness * contrast).astype(np.float32), (1 - contrast) * brightness * MIDDLE

    def forward(self, img: Any) -> Any:
        """The picture with other colours, of the type that it had."""
        array = np.asarray(img)
        if array.ndim != 3 or array.shape[2] not in (1, 3, 4):
            raise ValueError(f"a picture is (height, width, 1, 3 or 4), but got {array.shape}" + ops_error(ErrCode.VALUE))
        colours = np.repeat(array, 3, 2) if array.shape[2] == 1 else array[:, :, :3]
        matrix, shift = self._drawn()
        out = (colours.astype(np.float32) @ matrix + shift).clip(0, 255)
        out = (np.rint(out) if array.dtype.kind in "iu" else out).astype(array.dtype)
        if array is img:
            return out
        from PIL import Image

        return Image.fromarray(out)

    def extra_repr(self) -> str:
        return f"brightness={self.brightness}, contrast={self.contrast}, saturation={self.saturation}, hue={self.hue}"

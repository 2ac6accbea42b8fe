# SPDX-License-Identifier: BSD-3-Clause
"""What fake tensors must know of the NPU, so that compiled graphs expect what operators return.

A convolution's result, and both its gradients, are channels_last when its input or its weight is, as on the CPU; PyTorch
assumes contiguous results of a device that it does not know.
"""

import functools
from typing import Any

import torch


def _is_channels_last(t: torch.Tensor, layout: torch.memory_format) -> bool:
    return t.is_contiguous(memory_format=layout) and not t.is_contiguous()


def install() -> None:
    """Puts it in place, once."""
    decide = torch._C._conv_determine_backend_memory_format
    if hasattr(decide, "__wrapped__"):
        return

    @functools.wraps(decide)
    def layout_of(image: torch.Tensor, weight: torch.Tensor, backend: Any) -> torch.memory_format:
        if image.device.type != "npu" or image.dim() not in (4, 5):
            return decide(image, weight, backend)
        layout = torch.channels_last if image.dim() == 4 else torch.channels_last_3d
        last = _is_channels_last(image, layout) or _is_channels_last(weight, layout)
        return layout if last else torch.contiguous_format

    torch._C._conv_determine_backend_memory_format = layout_of

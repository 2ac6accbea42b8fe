# SPDX-License-Identifier: BSD-3-Clause
"""autocast for the NPU and what custom autograd functions need to work with it."""

import functools
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["autocast", "custom_fwd", "custom_bwd"]


class autocast(torch.amp.autocast_mode.autocast):
    """torch.autocast("npu", …): context manager and decorator.

    Args:
        enabled: False turns autocast off inside.
        dtype: float16 or bfloat16.
        cache_enabled: whether casts of weights are kept until the outermost context ends.
    """

    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Callable | None = None, *, cast_inputs: torch.dtype | None = None) -> Callable:
    """Decorator for the forward of a torch.autograd.Function that may run under autocast.

    Args:
        fwd: the function; None when called with arguments.
        cast_inputs: dtype that floating-point NPU inputs are cast to; autocast is then off inside.
    """
    if fwd is None:
        return functools.partial(custom_fwd, cast_inputs=cast_inputs)
    return torch.amp.custom_fwd(fwd, device_type="npu", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable) -> Callable[..., Any]:
    """Decorator for the backward that belongs to a custom_fwd: it runs with the autocast state of the forward."""
    return torch.amp.custom_bwd(bwd, device_type="npu")

# SPDX-License-Identifier: BSD-3-Clause
"""Deterministic algorithms for a stretch of a network, forward and backward. The software NPU is always deterministic."""

import warnings

import torch
from torch.autograd.function import Function

__all__ = ["enable_deterministic_with_backward", "disable_deterministic_with_backward"]


class _Switch(Function):
    """The identity; sets torch.use_deterministic_algorithms in forward and the opposite in backward."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, tensor: torch.Tensor, on: bool) -> torch.Tensor:
        ctx.on = on
        torch.use_deterministic_algorithms(on)
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        torch.use_deterministic_algorithms(not ctx.on)
        return gradient, None


def enable_deterministic_with_backward(tensor: torch.Tensor) -> torch.Tensor:
    """Returns `tensor`; from here on algorithms are deterministic, and in the backward pass until here."""
    return _Switch.apply(tensor, True)


def disable_deterministic_with_backward(tensor: torch.Tensor) -> torch.Tensor:
    """Returns `tensor`; ends in the forward, and begins in the backward pass, what enable_… began."""
    return _Switch.apply(tensor, False)


def set_deterministic_level(level: int) -> None:
    """0: off; 1: deterministic algorithms; 2: also independent of the batch. Sets torch.use_deterministic_algorithms too.

    Raises:
        ValueError: another level.
    """
    if level not in (0, 1, 2):
        raise ValueError(f"deterministic level must be 0, 1 or 2, but got {level}")
    if torch.are_deterministic_algorithms_enabled() != (level > 0):
        warnings.warn(
            "The current configuration value of 'torch_npu.npu.set_deterministic_level' conflicts with "
            "'torch.use_deterministic_algorithms'. 'torch.use_deterministic_algorithms' has been configured to "
            f"'{level > 0}'.",
            stacklevel=2,
        )
        torch.use_deterministic_algorithms(level > 0)

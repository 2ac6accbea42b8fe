# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of a composite operator, for the official operators that are the backward pass of another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def gradients(
    function: Callable[..., Tensor | tuple[Tensor, ...]], inputs: Sequence[Tensor], grad: Tensor | tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """Gradients of function(*inputs) with respect to each of the inputs; zeros for one that it does not use."""
    with torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in inputs]
        found = torch.autograd.grad(function(*leaves), leaves, grad, allow_unused=True)
    return tuple(torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found))

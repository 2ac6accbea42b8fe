# SPDX-License-Identifier: BSD-3-Clause
"""AdamP (Heo et al., 2021) over combined tensors: Adam whose steps lose their part along a scale-invariant weight."""

import math
from typing import Any

import torch

from .npu_fused_optim_base import NpuFusedOptimizerBase, Part, check_options

__all__ = ["NpuFusedAdamP"]


def _project(p: torch.Tensor, grad: torch.Tensor, move: torch.Tensor, group: dict[str, Any]) -> float:
    """Projects `move` in place where `grad` is almost at right angles to `p`, by channels or as a whole; returns the
    factor of weight decay."""
    for rows in (p.size(0), 1):
        weight, slope = p.view(rows, -1), grad.view(rows, -1)
        sizes = weight.norm(dim=1).add_(group["eps"])
        cosine = (weight * slope).sum(dim=1).abs_() / slope.norm(dim=1).add_(group["eps"]) / sizes
        if cosine.max().item() < group["delta"] / math.sqrt(weight.size(1)):
            unit = weight / sizes[:, None]
            flat = move.view(rows, -1)
            flat.sub_(unit * (unit * flat).sum(dim=1, keepdim=True))
            return group["wd_ratio"]
    return 1.0


class NpuFusedAdamP(NpuFusedOptimizerBase):
    """AdamP.

    Args:
        params: parameters or groups.
        lr: learning rate.
        betas: how slowly the running averages of the gradient and its square move.
        eps: added to denominators.
        weight_decay: decoupled decay.
        delta: cosine, times the root of the size, under which a weight counts as scale-invariant.
        wd_ratio: factor of the decay of such weights.
        nesterov: look ahead by one step.

    Raises:
        ValueError: an option out of its range.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        delta: float = 0.1,
        wd_ratio: float = 0.1,
        nesterov: bool = False,
    ) -> None:
        check_options(
            lr=(lr, 0, None, "learning rate"),
            beta1=(betas[0], 0, 1, "beta parameter at index 0"),
            beta2=(betas[1], 0, 1, "beta parameter at index 1"),
            eps=(eps, 0, None, "epsilon value"),
            weight_decay=(weight_decay, 0, None, "weight_decay value"),
        )
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "delta": delta}
        super().__init__(params, defaults | {"wd_ratio": wd_ratio, "nesterov": nesterov})

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def _update(self, part: Part) -> None:
        group, (beta1, beta2), grad = part.group, part.group["betas"], part.grad
        mean, square = part.states["exp_avg"], part.states["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        scale = square.sqrt().div_(math.sqrt(1 - beta2**part.step)).add_(group["eps"])
        move = (mean.lerp(grad, 1 - beta1) if group["nesterov"] else mean) / scale
        for p, step in zip(part.params, part.views(move)):
            ratio = _project(p, p.grad, step, group) if p.dim() > 1 else 1.0
            if group["weight_decay"]:
                p.mul_(1 - group["lr"] * group["weight_decay"] * ratio)
        part.param.add_(move, alpha=-group["lr"] / (1 - beta1**part.step))

# SPDX-License-Identifier: BSD-3-Clause
"""BertAdam over combined tensors: the Adam of BERT's first training code (Devlin et al., 2019), without bias correction,
with decoupled decay, a schedule of the learning rate and clipping of each group's gradients."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import required

from ..utils._error_code import ErrCode, pta_error
from .npu_fused_optim_base import NpuFusedOptimizerBase, Part, check_options

__all__ = ["NpuFusedBertAdam"]


def _warm(rest: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda x, warmup: x / warmup if x < warmup else rest(x, warmup)


SCHEDULES = {
    "warmup_cosine": _warm(lambda x, warmup: 0.5 * (1 + math.cos(math.pi * x))),
    "warmup_constant": _warm(lambda x, warmup: 1.0),
    "warmup_linear": _warm(lambda x, warmup: max((x - 1) / (warmup - 1), 0.0)),
    "warmup_poly": _warm(lambda x, warmup: math.sqrt(max(1 - x, 0.0))),
}
"""{name: factor of the learning rate by (share of all steps done, share of warm-up)}."""


class NpuFusedBertAdam(NpuFusedOptimizerBase):
    """BertAdam.

    Args:
        params: parameters or groups.
        lr: learning rate; required.
        warmup: share of t_total in which it grows from 0; -1: none.
        t_total: steps of the whole training; -1: no schedule.
        schedule: one of SCHEDULES.
        b1, b2: how slowly the running averages of the gradient and its square move.
        e: added to the denominator.
        weight_decay: decoupled decay.
        max_grad_norm: norm that each group's gradients are cut to; ≤ 0: none.

    Raises:
        ValueError: an option out of its range.
    """

    def __init__(
        self,
        params: Any,
        lr: float = required,
        warmup: float = -1,
        t_total: int = -1,
        schedule: str = "warmup_linear",
        b1: float = 0.9,
        b2: float = 0.999,
        e: float = 1e-6,
        weight_decay: float = 0.01,
        max_grad_norm: float = 1.0,
    ) -> None:
        check_options(lr=(0 if lr is required else lr, 0, None, "learning rate"))
        if warmup != -1:
            check_options(warmup=(warmup, 0, 1, "warmup"))
        if schedule not in SCHEDULES:
            raise ValueError(
                f"Invalid schedule parameter: {schedule}; known are {', '.join(SCHEDULES)}" + pta_error(ErrCode.VALUE)
            )
        check_options(b1=(b1, 0, 1, "b1 parameter"), b2=(b2, 0, 1, "b2 parameter"), e=(e, 0, None, "epsilon value"))
        self.max_grad_norm = max_grad_norm
        defaults = {"lr": lr, "schedule": schedule, "warmup": warmup, "t_total": t_total, "b1": b1, "b2": b2, "e": e}
        super().__init__(params, defaults | {"weight_decay": weight_decay, "max_grad_norm": max_grad_norm})

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def _update(self, part: Part) -> None:
        group, grad = part.group, part.grad
        mean, square = part.states["exp_avg"], part.states["exp_avg_sq"]
        if self.max_grad_norm > 0:
            norm = torch.linalg.vector_norm(grad, dtype=torch.float32)
            grad.mul_((self.max_grad_norm / (norm + 1e-6)).clamp_(max=1.0).to(grad.dtype))
        mean.lerp_(grad, 1 - group["b1"])
        square.mul_(group["b2"]).addcmul_(grad, grad, value=1 - group["b2"])
        move = mean / square.sqrt().add_(group["e"])
        if group["weight_decay"] > 0:
            move.add_(part.param, alpha=group["weight_decay"])
        rate = group["lr"]
        if group["t_total"] != -1:
            rate *= SCHEDULES[group["schedule"]]((part.step - 1) / group["t_total"], group["warmup"])
        part.param.add_(move, alpha=-rate)

# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic gradient descent with momentum over combined tensors: one operator a step and dtype."""

from typing import Any

import torch
from torch.optim.optimizer import required

from ..utils._error_code import ErrCode, pta_error
from .npu_fused_optim_base import NpuFusedOptimizerBase, Part, check_options

__all__ = ["NpuFusedSGD"]

MOMENTUM_MIN = DAMPENING_DEFAULT = WEIGHT_DECAY_MIN = 0.0


class NpuFusedSGD(NpuFusedOptimizerBase):
    """torch.optim.SGD.

    Args:
        params: parameters or groups.
        lr: learning rate; required.
        momentum, dampening: buf = momentum · buf + (1 − dampening) · gradient.
        weight_decay: L2 penalty.
        nesterov: look ahead by one momentum step.

    Raises:
        ValueError: an option out of its range, or nesterov without momentum or with dampening.
    """

    def __init__(
        self,
        params: Any,
        lr: float = required,
        momentum: float = MOMENTUM_MIN,
        dampening: float = DAMPENING_DEFAULT,
        weight_decay: float = WEIGHT_DECAY_MIN,
        nesterov: bool = False,
    ) -> None:
        check_options(
            lr=(0 if lr is required else lr, 0, None, "learning rate"),
            momentum=(momentum, 0, None, "momentum value"),
            weight_decay=(weight_decay, 0, None, "weight_decay value"),
        )
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening" + pta_error(ErrCode.VALUE))
        super().__init__(
            params,
            {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov},
        )

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] else {}

    def _update(self, part: Part) -> None:
        group = part.group
        torch._fused_sgd_(
            [part.param],
            [part.grad],
            [part.states["momentum_buffer"]] if group["momentum"] else [],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            lr=float(group["lr"]),
            dampening=group["dampening"],
            nesterov=group["nesterov"],
            maximize=False,
            is_first_step=part.step == 1,
        )

# SPDX-License-Identifier: BSD-3-Clause
"""Adam (Kingma and Ba, 2015) over combined tensors: one operator a step and dtype."""

from typing import Any

import torch

from .npu_fused_optim_base import NpuFusedOptimizerBase, Part, check_options

__all__ = ["NpuFusedAdam"]


class NpuFusedAdam(NpuFusedOptimizerBase):
    """torch.optim.Adam.

    Args:
        params: parameters or groups.
        lr: learning rate.
        betas: how slowly the running averages of the gradient and its square move.
        eps: added to the denominator.
        weight_decay: L2 penalty.
        amsgrad: keep the largest average of squares (Reddi et al., 2018).

    Raises:
        ValueError: an option out of its range.
    """

    _operator = staticmethod(torch._fused_adam_)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
    ) -> None:
        check_options(
            lr=(lr, 0, None, "learning rate"),
            eps=(eps, 0, None, "epsilon value"),
            beta1=(betas[0], 0, 1, "beta parameter at index 0"),
            beta2=(betas[1], 0, 1, "beta parameter at index 1"),
            weight_decay=(weight_decay, 0, None, "weight_decay value"),
        )
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad})

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        names = ("exp_avg", "exp_avg_sq") + (("max_exp_avg_sq",) if group["amsgrad"] else ())
        return dict.fromkeys(names, 0.0)

    def _update(self, part: Part) -> None:
        group, states = part.group, part.states
        part.counter += 1
        self._operator(
            [part.param],
            [part.grad],
            [states["exp_avg"]],
            [states["exp_avg_sq"]],
            [states["max_exp_avg_sq"]] if group["amsgrad"] else [],
            [part.counter],
            lr=float(group["lr"]),
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=group["amsgrad"],
            maximize=False,
        )

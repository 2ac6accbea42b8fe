# SPDX-License-Identifier: BSD-3-Clause
"""Adadelta (Zeiler, 2012) over combined tensors."""

from typing import Any

from .npu_fused_optim_base import NpuFusedOptimizerBase, Part, check_options

__all__ = ["NpuFusedAdadelta"]


class NpuFusedAdadelta(NpuFusedOptimizerBase):
    """torch.optim.Adadelta.

    Args:
        params: parameters or groups.
        lr: factor of the step that the method finds.
        rho: how slowly the running averages move.
        eps: added under both roots.
        weight_decay: L2 penalty.

    Raises:
        ValueError: an option out of its range.
    """

    def __init__(self, params: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0) -> None:
        check_options(
            lr=(lr, 0, None, "learning rate"),
            rho=(rho, 0, 1 + 1e-12, "rho value"),
            eps=(eps, 0, None, "epsilon value"),
            weight_decay=(weight_decay, 0, None, "weight_decay value"),
        )
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay})

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def _update(self, part: Part) -> None:
        group, rho, eps = part.group, part.group["rho"], part.group["eps"]
        square, moved = part.states["square_avg"], part.states["acc_delta"]
        grad = part.grad.add(part.param, alpha=group["weight_decay"]) if group["weight_decay"] else part.grad
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = moved.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
        part.param.add_(delta, alpha=-group["lr"])
        moved.mul_(rho).addcmul_(delta, delta, value=1 - rho)

# SPDX-License-Identifier: BSD-3-Clause
"""RMSprop (Tieleman and Hinton, 2012; centred: Graves, 2013) over combined tensors."""

from typing import Any

from .npu_fused_optim_base import NpuFusedOptimizerBase, Part, check_options

__all__ = ["NpuFusedRMSprop"]


def check_rmsprop(lr: float, alpha: float, eps: float, weight_decay: float, momentum: float) -> None:
    """The checks of both kinds of RMSprop."""
    check_options(
        lr=(lr, 0, None, "learning rate"),
        eps=(eps, 0, None, "epsilon value"),
        momentum=(momentum, 0, None, "momentum value"),
        weight_decay=(weight_decay, 0, None, "weight_decay value"),
        alpha=(alpha, 0, None, "alpha value"),
    )


class NpuFusedRMSprop(NpuFusedOptimizerBase):
    """torch.optim.RMSprop.

    Args:
        params: parameters or groups.
        lr: learning rate.
        alpha: how slowly the running averages move.
        eps: added to the denominator.
        weight_decay: L2 penalty.
        momentum: of the step.
        centered: divide by the deviation instead of the root mean square.

    Raises:
        ValueError: an option out of its range.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
    ) -> None:
        check_rmsprop(lr, alpha, eps, weight_decay, momentum)
        defaults = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered}
        super().__init__(params, defaults | {"weight_decay": weight_decay})

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        names = ("square_avg", "momentum_buffer" * bool(group["momentum"]), "grad_avg" * bool(group["centered"]))
        return {name: 0.0 for name in names if name}

    def _update(self, part: Part) -> None:
        group, alpha, states = part.group, part.group["alpha"], part.states
        square = states["square_avg"]
        grad = part.grad.add(part.param, alpha=group["weight_decay"]) if group["weight_decay"] else part.grad
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = states["grad_avg"].lerp_(grad, 1 - alpha)
            scale = square.addcmul(mean, mean, value=-1).sqrt_().add_(group["eps"])
        else:
            scale = square.sqrt().add_(group["eps"])
        if group["momentum"]:
            buffer = states["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, scale)
            part.param.add_(buffer, alpha=-group["lr"])
        else:
            part.param.addcdiv_(grad, scale, value=-group["lr"])

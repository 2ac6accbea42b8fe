# SPDX-License-Identifier: BSD-3-Clause
"""RMSprop as TensorFlow has it, over combined tensors: eps under the root, averages that begin at 1, the learning rate
inside the momentum. The reference is timm's RMSpropTF."""

from typing import Any

from .npu_fused_optim_base import NpuFusedOptimizerBase, Part
from .npu_fused_rmsprop import check_rmsprop

__all__ = ["NpuFusedRMSpropTF"]


class NpuFusedRMSpropTF(NpuFusedOptimizerBase):
    """RMSpropTF.

    Args:
        params: parameters or groups.
        lr: learning rate.
        alpha: how slowly the running averages move.
        eps: added under the root.
        weight_decay: L2 penalty, or decoupled decay.
        momentum: of the step.
        centered: divide by the deviation instead of the root mean square.
        decoupled_decay: decay the weights themselves, by weight_decay a step.
        lr_in_momentum: the momentum holds steps that are scaled by lr.

    Raises:
        ValueError: an option out of its range.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.9,
        eps: float = 1e-10,
        weight_decay: float = 0,
        momentum: float = 0.0,
        centered: bool = False,
        decoupled_decay: bool = False,
        lr_in_momentum: bool = True,
    ) -> None:
        check_rmsprop(lr, alpha, eps, weight_decay, momentum)
        defaults = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered}
        more = {"weight_decay": weight_decay, "decoupled_decay": decoupled_decay, "lr_in_momentum": lr_in_momentum}
        super().__init__(params, defaults | more)

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        states = {"square_avg": 1.0}
        if group["momentum"]:
            states["momentum_buffer"] = 0.0
        if group["centered"]:
            states["grad_avg"] = 0.0
        return states

    def _update(self, part: Part) -> None:
        group, states, weight = part.group, part.states, 1 - part.group["alpha"]
        square, grad, decay = states["square_avg"], part.grad, group["weight_decay"]
        if decay and group["decoupled_decay"]:
            part.param.mul_(1 - decay)
        elif decay:
            grad = grad.add(part.param, alpha=decay)
        square.add_(grad.pow(2).sub_(square), alpha=weight)
        if group["centered"]:
            mean = states["grad_avg"].lerp_(grad, weight)
            scale = square.addcmul(mean, mean, value=-1).add_(group["eps"]).sqrt_()
        else:
            scale = square.add(group["eps"]).sqrt_()
        if not group["momentum"]:
            part.param.addcdiv_(grad, scale, value=-group["lr"])
            return
        inside = group["lr_in_momentum"]
        buffer = states["momentum_buffer"].mul_(group["momentum"])
        buffer.addcdiv_(grad, scale, value=group["lr"] if inside else 1)
        part.param.sub_(buffer, alpha=1 if inside else group["lr"])

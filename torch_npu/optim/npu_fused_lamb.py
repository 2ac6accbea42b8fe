# SPDX-License-Identifier: BSD-3-Clause
"""LAMB (You et al., 2020) over combined tensors: Adam's step, scaled for each parameter by its size."""

from typing import Any

import torch

from .npu_fused_optim_base import NpuFusedOptimizerBase, Part, check_options

__all__ = ["NpuFusedLamb"]

LARGEST_NORM = 10.0
"""Norms of weights count as at most this."""


class NpuFusedLamb(NpuFusedOptimizerBase):
    """LAMB, without bias correction, as in the paper's first version.

    Args:
        params: parameters or groups.
        lr: learning rate.
        betas: how slowly the running averages of the gradient and its square move.
        eps: added to the denominator.
        weight_decay: decoupled decay, before the scaling.
        adam: no scaling: compare with Adam.
        use_global_grad_norm: divide gradients by their norm over all parameters where that is above 1.

    Raises:
        ValueError: an option out of its range.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0,
        adam: bool = False,
        use_global_grad_norm: bool = False,
    ) -> None:
        check_options(
            lr=(lr, 0, None, "learning rate"),
            beta1=(betas[0], 0, 1, "beta parameter at index 0"),
            beta2=(betas[1], 0, 1, "beta parameter at index 1"),
            eps=(eps, 0, None, "epsilon value"),
        )
        self.adam = adam
        self.use_global_grad_norm = use_global_grad_norm
        self.global_grad_norm: torch.Tensor | None = None
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def _before_update(self) -> None:
        if self.use_global_grad_norm:
            norms = [
                torch.linalg.vector_norm(grads, dtype=torch.float32) for grads in self.get_combined_grads() if grads is not None
            ]
            self.global_grad_norm = torch.linalg.vector_norm(torch.stack(norms)) if norms else None

    def _update(self, part: Part) -> None:
        group, (beta1, beta2), grad = part.group, part.group["betas"], part.grad
        mean, square = part.states["exp_avg"], part.states["exp_avg_sq"]
        if self.global_grad_norm is not None:
            grad = grad / self.global_grad_norm.clamp(min=1.0).to(grad.dtype)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        move = mean / square.sqrt().add_(group["eps"])
        if group["weight_decay"]:
            move.add_(part.param, alpha=group["weight_decay"])
        if not self.adam:
            moves = part.views(move)
            sizes = torch.stack(torch._foreach_norm(part.views(part.param))).clamp_(max=LARGEST_NORM)
            steps = torch.stack(torch._foreach_norm(moves))
            ratio = torch.where((sizes == 0) | (steps == 0), torch.ones_like(sizes), sizes / steps)
            torch._foreach_mul_(moves, list(ratio.unbind()))
        part.param.add_(move, alpha=-group["lr"])

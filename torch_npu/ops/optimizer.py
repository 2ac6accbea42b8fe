# SPDX-License-Identifier: BSD-3-Clause
"""One step of Adam and its relatives on a tensor, in place: out=(var, m, v) are the parameter and its moments."""

from __future__ import annotations

from typing import NoReturn

import torch
from torch import Tensor

Moments = tuple[Tensor, Tensor, Tensor]


def _needs_out(*args: object, **kwargs: object) -> NoReturn:
    raise RuntimeError("This optimizer step works in place: give out=(var, m, v).")


def npu_apply_adam(
    beta1_power: float, beta2_power: float, lr: float, beta1: float, beta2: float, epsilon: float, grad: Tensor,
    use_locking: bool | None, use_nesterov: bool | None, *, var: Tensor, m: Tensor, v: Tensor,
) -> Moments:  # fmt: skip
    """Adam (Kingma and Ba, 2015): var −= lr · √(1 − β₂ᵗ) / (1 − β₁ᵗ) · m / (√v + ε); beta1_power and beta2_power are β₁ᵗ, β₂ᵗ."""
    m.add_((grad - m) * (1 - beta1))
    v.add_((grad * grad - v) * (1 - beta2))
    corrections = torch.tensor([lr * (1 - beta2_power) ** 0.5, 1 - beta1_power], dtype=torch.float64)
    rate = float(corrections[0] / corrections[1])  # infinite or NaN before the first step, as on the device
    step = m * beta1 + grad * (1 - beta1) if use_nesterov else m
    var.sub_(step * rate / (v.sqrt() + epsilon))
    return var, m, v


def npu_apply_adam_w(
    beta1_power: float, beta2_power: float, lr: float, weight_decay: float, beta1: float, beta2: float, epsilon: float,
    grad: Tensor, max_grad_norm: Tensor | None, amsgrad: bool | None, maximize: bool | None, *, var: Tensor, m: Tensor, v: Tensor,
) -> Moments:  # fmt: skip
    """AdamW (Loshchilov and Hutter, 2019). beta1_power and beta2_power are the powers before this step; with amsgrad
    max_grad_norm holds the largest v so far."""
    gradient = -grad if maximize else grad
    m.mul_(beta1).add_(gradient * (1 - beta1))
    v.mul_(beta2).add_(gradient * gradient * (1 - beta2))
    var.mul_(1 - lr * weight_decay)
    largest = v
    if amsgrad:
        if max_grad_norm is None:
            raise RuntimeError("npu_apply_adam_w: amsgrad needs max_grad_norm.")
        largest = max_grad_norm.copy_(torch.maximum(max_grad_norm, v))
    first, second = 1 - beta1_power * beta1, 1 - beta2_power * beta2
    var.sub_(m * (lr / first) / ((largest / second).sqrt() + epsilon))
    return var, m, v


def npu_bert_apply_adam(
    lr: float, beta1: float, beta2: float, epsilon: float, grad: Tensor, max_grad_norm: float, global_grad_norm: float,
    weight_decay: float, step_size: float | None = None, adam_mode: int = 0, *, var: Tensor, m: Tensor, v: Tensor,
) -> Moments:  # fmt: skip
    """Adam without correction of the moments (as BERT is trained): var −= lr · (m / (√v + ε) + weight_decay · var).

    Gradients are scaled down where global_grad_norm exceeds a positive max_grad_norm. adam_mode 0: decay in the step; 1: the same
    moments, the parameter decayed by itself first.
    """
    if max_grad_norm > 0 and global_grad_norm > max_grad_norm:
        grad = grad * (max_grad_norm / global_grad_norm)
    m.mul_(beta1).add_(grad * (1 - beta1))
    v.mul_(beta2).add_(grad * grad * (1 - beta2))
    step = m / (v.sqrt() + epsilon)
    if weight_decay:
        step = step + var * weight_decay
    var.sub_(step * lr)
    return var, m, v


OPERATORS = {
    "npu_apply_adam(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar beta1, Scalar beta2, Scalar epsilon, "
    "Tensor grad, bool? use_locking, bool? use_nesterov) -> (Tensor, Tensor, Tensor)": _needs_out,
    "npu_apply_adam.out(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar beta1, Scalar beta2, Scalar epsilon, "
    "Tensor grad, bool? use_locking, bool? use_nesterov, *, Tensor(a!) var, Tensor(b!) m, Tensor(c!) v) -> (Tensor(a!), "
    "Tensor(b!), Tensor(c!))": npu_apply_adam,
    "npu_apply_adam_w(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar weight_decay, Scalar beta1, Scalar "
    "beta2, Scalar epsilon, Tensor grad, Tensor? max_grad_norm, bool? amsgrad, bool? maximize) -> (Tensor, Tensor, "
    "Tensor)": _needs_out,
    "npu_apply_adam_w.out(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar weight_decay, Scalar beta1, Scalar "
    "beta2, Scalar epsilon, Tensor grad, Tensor? max_grad_norm, bool? amsgrad, bool? maximize, *, Tensor(a!) var, "
    "Tensor(b!) m, Tensor(c!) v) -> (Tensor(a!), Tensor(b!), Tensor(c!))": npu_apply_adam_w,
    "npu_bert_apply_adam(Scalar lr, Scalar beta1, Scalar beta2, Scalar epsilon, Tensor grad, Scalar max_grad_norm, "
    "Scalar global_grad_norm, Scalar weight_decay, Scalar? step_size=None, int adam_mode=0) -> (Tensor var, Tensor m, "
    "Tensor v)": _needs_out,
    "npu_bert_apply_adam.out(Scalar lr, Scalar beta1, Scalar beta2, Scalar epsilon, Tensor grad, Scalar max_grad_norm, "
    "Scalar global_grad_norm, Scalar weight_decay, Scalar? step_size=None, int adam_mode=0, *, Tensor(a!) var, "
    "Tensor(b!) m, Tensor(c!) v) -> (Tensor(a!), Tensor(b!), Tensor(c!))": npu_bert_apply_adam,
}  # fmt: skip

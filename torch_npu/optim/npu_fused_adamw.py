# SPDX-License-Identifier: BSD-3-Clause
"""Adam with decoupled weight decay (Loshchilov and Hutter, 2019) over combined tensors: one operator a step and dtype."""

from typing import Any

import torch

from .npu_fused_adam import NpuFusedAdam

__all__ = ["NpuFusedAdamW"]


class NpuFusedAdamW(NpuFusedAdam):
    """torch.optim.AdamW; arguments and errors as NpuFusedAdam, with another weight_decay."""

    _operator = staticmethod(torch._fused_adamw_)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)

# SPDX-License-Identifier: BSD-3-Clause
"""Dropout whose probabilities are registered before the first forward."""

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error
from .ensemble_dropout import NpuCachedDropout

__all__: list[str] = []


class NpuPreGenDropout(NpuCachedDropout):
    """torch.nn.Dropout with a probability that enable_dropout_ensemble has seen; masks are drawn when they are used.

    Args:
        p: probability of an element to become 0; 0 needs no registration.
        module_name: name of the module that it is part of.
    """

    prob: set[float] = set()
    task_dict: dict[float, torch.device] = {}

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p, module_name)
        self.prob.add(p)

    def forward(self, x: Tensor) -> Tensor:
        if isinstance(x, Tensor) and self.p and self.p not in self.task_dict:
            raise RuntimeError(
                f"NpuPreGenDropout input prob error! {self.p} is not registered: only {list(self.task_dict)} "
                "are. Call NpuPreGenDropout.enable_dropout_ensemble(model) after all layers are made" + ops_error(ErrCode.VALUE)
            )
        return super().forward(x)

    @classmethod
    def enable_dropout_ensemble(cls, model: torch.nn.Module) -> None:
        """Registers the probabilities of all layers made so far.

        Raises:
            TypeError: not a module.
        """
        super().enable_dropout_ensemble(model)
        cls.task_dict.update(dict.fromkeys(cls.prob, torch.device("npu", torch.npu.current_device())))

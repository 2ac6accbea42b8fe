# SPDX-License-Identifier: BSD-3-Clause
"""Dropout under the names of fairseq's NPU form."""

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__ = ["NpuCachedDropout", "NpuFairseqDropout"]


class NpuCachedDropout(torch.nn.Dropout):
    """torch.nn.Dropout.

    Args:
        p: probability of an element to become 0.
        module_name: name of the module that it is part of.
    """

    dropout_stream: torch.npu.Stream | None = None

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p)
        self.module_name = module_name

    def forward(self, x: Tensor) -> Tensor:
        if not isinstance(x, Tensor):
            raise RuntimeError("input type error!" + ops_error(ErrCode.TYPE))
        return super().forward(x)

    @classmethod
    def enable_dropout_ensemble(cls, model: torch.nn.Module) -> None:
        """Where masks are drawn ahead on `dropout_stream`, prepares the model for it. Here they are drawn in place.

        Raises:
            TypeError: not a module.
        """
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"model must be a torch.nn.Module, but got {type(model).__name__}" + ops_error(ErrCode.TYPE))
        cls.dropout_stream = cls.dropout_stream or torch.npu.Stream()


NpuFairseqDropout = NpuCachedDropout

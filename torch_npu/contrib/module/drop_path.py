# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic depth (Huang et al., 2016)."""

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__ = ["NpuDropPath"]


class NpuDropPath(torch.nn.Module):
    """In training, leaves out whole samples of a batch with probability drop_prob and scales the others up.

    Args:
        drop_prob: from 0 to 1, 1 excluded; None means 0.

    Raises:
        ValueError: out of range.
    """

    droppath_stream: torch.npu.Stream | None = None

    def __init__(self, drop_prob: float | None = None) -> None:
        super().__init__()
        self.drop_prob = drop_prob or 0.0
        if not 0 <= self.drop_prob < 1:
            raise ValueError(f"drop_prob must be in [0, 1), but got {drop_prob}" + ops_error(ErrCode.VALUE))
        self.keep_prob = 1 - self.drop_prob

    def forward(self, x: Tensor) -> Tensor:
        if not isinstance(x, Tensor):
            raise RuntimeError("input type error!" + ops_error(ErrCode.TYPE))
        if not self.drop_prob or not self.training:
            return x
        keep = torch.rand((x.size(0),) + (1,) * (x.dim() - 1), dtype=x.dtype, device=x.device) < self.keep_prob
        return x / self.keep_prob * keep

    @classmethod
    def enable_droppath_ensemble(cls, model: torch.nn.Module) -> None:
        """Where numbers are drawn ahead on `droppath_stream`, prepares the model for it. Here they are drawn in place.

        Raises:
            TypeError: not a module.
        """
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"model must be a torch.nn.Module, but got {type(model).__name__}" + ops_error(ErrCode.TYPE))
        cls.droppath_stream = cls.droppath_stream or torch.npu.Stream()

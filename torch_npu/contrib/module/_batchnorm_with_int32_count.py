# SPDX-License-Identifier: BSD-3-Clause
"""Batch norms that count their batches in int32: torch.nn's, with that type of `num_batches_tracked`."""

from typing import Any

import torch
from torch.nn.modules import batchnorm

__all__: list[str] = []


class _NormBase(batchnorm._NormBase):
    """torch's, with `num_batches_tracked` as int32."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        if track_running_stats:
            self.num_batches_tracked = torch.tensor(0, dtype=torch.int32)


class _BatchNorm(_NormBase, batchnorm._BatchNorm):
    """torch's forward; `_check_input_dim` is a subclass's."""


class FastBatchNorm1d(_BatchNorm, torch.nn.BatchNorm1d):
    """torch.nn.BatchNorm1d: (batch, features) or (batch, features, length)."""


class FastBatchNorm2d(_BatchNorm, torch.nn.BatchNorm2d):
    """torch.nn.BatchNorm2d: (batch, features, height, width)."""


class FastBatchNorm3d(_BatchNorm, torch.nn.BatchNorm3d):
    """torch.nn.BatchNorm3d: (batch, features, depth, height, width)."""


class FastSyncBatchNorm(_BatchNorm, torch.nn.SyncBatchNorm):
    """torch.nn.SyncBatchNorm: statistics over all ranks of `process_group`.

    Args:
        process_group: None: all ranks.
        device, dtype: of parameters and buffers.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        _NormBase.__init__(self, num_features, eps, momentum, affine, track_running_stats)
        self.process_group = process_group
        if device is not None or dtype is not None:
            self.to(device=device, dtype=dtype)

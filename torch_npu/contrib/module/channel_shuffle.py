# SPDX-License-Identifier: BSD-3-Clause
"""The channel shuffle of ShuffleNet (Zhang et al., 2018) of two halves."""

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__: list[str] = []


class ChannelShuffle(torch.nn.Module):
    """Joins two tensors along the channels and shuffles these.

    Args:
        in_channels: channels of both together.
        groups: groups that are interleaved.
        split_shuffle: return the result's halves instead of the whole.

    Raises:
        ValueError: in_channels is no multiple of groups.
    """

    def __init__(self, in_channels: int, groups: int = 2, split_shuffle: bool = True) -> None:
        super().__init__()
        if groups < 1 or in_channels % groups:
            raise ValueError(f"in_channels ({in_channels}) must be a multiple of groups ({groups})" + ops_error(ErrCode.VALUE))
        self.split_shuffle = split_shuffle
        self.group_len = in_channels // groups
        self.register_buffer("order", torch.arange(in_channels).view(groups, -1).t().reshape(-1), persistent=False)

    def check_self(self, x: Tensor) -> None:
        """Brings the order of the channels to the device of `x`."""
        if self.order.device != x.device:
            self.order = self.order.to(x.device)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """x1, x2: (batch, channels, …) with in_channels together."""
        self.check_self(x1)
        whole = torch.cat((x1, x2), 1).index_select(1, self.order)
        return (whole[:, : self.group_len], whole[:, self.group_len :]) if self.split_shuffle else whole

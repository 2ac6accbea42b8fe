# SPDX-License-Identifier: BSD-3-Clause
"""A bidirectional LSTM of two LSTMs."""

import warnings

import torch
from torch import Tensor

__all__: list[str] = []


class BiLSTM(torch.nn.Module):
    """One layer in both directions, without biases shared: torch.nn.LSTM(…, bidirectional=True) does the same.

    Args:
        input_size, hidden_size: features.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        warnings.warn(
            "torch_npu.contrib.BiLSTM is deprecated. Please use torch.nn.LSTM with bidirectional=True.",
            FutureWarning,
            stacklevel=2,
        )
        self.fw_rnn = torch.nn.LSTM(input_size, hidden_size)
        self.bw_rnn = torch.nn.LSTM(input_size, hidden_size)

    def forward(self, inputs: Tensor) -> Tensor:
        """inputs: (length, batch, input_size) → (length, batch, 2 · hidden_size)."""
        forward, _ = self.fw_rnn(inputs)
        backward, _ = self.bw_rnn(inputs.flip(0))
        return torch.cat((forward, backward.flip(0)), 2)

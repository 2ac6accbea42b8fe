# SPDX-License-Identifier: BSD-3-Clause
"""Modules under their NPU names, made of PyTorch's operators. Those that need operators which are not there yet (quantised
products, ROI pooling, deformable convolution) are named in docs/API.md."""

from .activations import Mish, SiLU, Swish
from .bidirectional_lstm import BiLSTM
from .channel_shuffle import ChannelShuffle
from .crossentropy import LabelSmoothingCrossEntropy
from .drop_path import NpuDropPath
from .ensemble_dropout import NpuCachedDropout, NpuFairseqDropout
from .focus import Focus
from .multihead_attention import MultiheadAttention
from .npu_modules import DropoutWithByteMask
from .prefetcher import Prefetcher

__all__ = [
    "ChannelShuffle",
    "Prefetcher",
    "LabelSmoothingCrossEntropy",
    "NpuFairseqDropout",
    "NpuCachedDropout",
    "MultiheadAttention",
    "NpuDropPath",
    "Focus",
    "DropoutWithByteMask",
]

# SPDX-License-Identifier: BSD-3-Clause
"""Modules under their NPU names, made of PyTorch's operators and of torch_npu.npu_*."""

from ._batchnorm_with_int32_count import FastBatchNorm1d, FastBatchNorm2d, FastBatchNorm3d, FastSyncBatchNorm
from ._ensemble_dropout import NpuPreGenDropout
from .activations import Mish, SiLU, Swish
from .bidirectional_lstm import BiLSTM
from .channel_shuffle import ChannelShuffle
from .crossentropy import LabelSmoothingCrossEntropy
from .deform_conv import DCNv2, ModulatedDeformConv
from .drop_path import NpuDropPath
from .ensemble_dropout import NpuCachedDropout, NpuFairseqDropout
from .focus import Focus
from .fusedcolorjitter import FusedColorJitter
from .linear_a8w8_quant import LinearA8W8Quant
from .linear_quant import LinearQuant
from .linear_weight_quant import LinearWeightQuant
from .multihead_attention import MultiheadAttention
from .npu_modules import DropoutWithByteMask
from .prefetcher import Prefetcher
from .ps_roi_pooling import PSROIPool
from .quant_conv2d import QuantConv2d
from .roi_align import ROIAlign

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
    "ROIAlign",
    "ModulatedDeformConv",
    "PSROIPool",
    "LinearA8W8Quant",
    "LinearQuant",
    "LinearWeightQuant",
    "QuantConv2d",
]

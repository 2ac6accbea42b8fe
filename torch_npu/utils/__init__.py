# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that belong to no single part of torch_npu."""

from .cann import get_cann_version
from .combine_tensors import get_part_combined_tensor, is_combined_tensor_valid, npu_combine_tensors

__all__ = ["get_cann_version", "npu_combine_tensors", "get_part_combined_tensor", "is_combined_tensor_valid"]

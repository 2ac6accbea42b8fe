# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that belong to no single part of torch_npu."""

from .affinity import reset_thread_affinity, set_thread_affinity
from .cann import get_cann_version
from .combine_tensors import get_part_combined_tensor, is_combined_tensor_valid, npu_combine_tensors
from .serialization import save_async

__all__ = [
    "npu_combine_tensors",
    "get_part_combined_tensor",
    "is_combined_tensor_valid",
    "FlopsCounter",
    "set_thread_affinity",
    "reset_thread_affinity",
    "save_async",
    "get_cann_version",
]


def __getattr__(name: str) -> object:
    if name == "FlopsCounter":  # imports much of PyTorch
        from .flops_count import FlopsCounter

        return FlopsCounter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

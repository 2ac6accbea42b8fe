# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed on NPUs."""

import torch
import torch_npu._C as _C

__all__ = ["is_hccl_available"]


def is_hccl_available() -> bool:
    """Whether torch.distributed has the backend "hccl" here: whether the bridge was built with process groups."""
    return hasattr(_C, "_distributed_c10d")


torch.distributed.is_hccl_available = is_hccl_available

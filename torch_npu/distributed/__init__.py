# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed on NPUs: the backend "hccl", and what the official package adds to PyTorch's collectives.

Importing torch_npu registers "hccl" for the device npu, so that init_process_group() without a backend finds it, and
"cpu:gloo,npu:hccl" works.
"""

from . import distributed_c10d
from .distributed_c10d import (
    all_gather_into_tensor_uneven,
    all_to_all_vc,
    is_available,
    is_hccl_available,
    reduce_scatter_tensor_uneven,
    reinit_process_group,
)

__all__ = [
    "is_hccl_available",
    "reinit_process_group",
    "reduce_scatter_tensor_uneven",
    "all_gather_into_tensor_uneven",
    "all_to_all_vc",
]

if is_available():
    from torch.distributed import _make_nccl_premul_sum as _make_hccl_premul_sum
    from torch_npu._C._distributed_c10d import _is_support_hccl_comm_name

    distributed_c10d.install()

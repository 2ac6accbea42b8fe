# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's test case of DTensor, with its ranks on NPUs."""

import torch
from torch.testing._internal.distributed._tensor.common_dtensor import DTensorTestBase

__all__ = ["NPUDTensorTestBase"]


class NPUDTensorTestBase(DTensorTestBase):
    """A process for each of up to four devices; four processes when there is one."""

    @property
    def device_type(self) -> str:
        return "npu"

    @property
    def world_size(self) -> int:
        devices = torch.npu.device_count()
        return min(4, devices) if devices > 1 else 4

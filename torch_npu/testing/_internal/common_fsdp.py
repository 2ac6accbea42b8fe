# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's test case of FSDP, with its ranks on NPUs. Importing it makes that module's device "npu" and its backend "hccl"."""

from typing import Any

import torch
import torch.distributed as dist
from torch.testing._internal import common_fsdp

__all__ = ["FSDPNPUTest"]

common_fsdp.DEVICE_TYPE = "npu"
common_fsdp.DISTRIBUTED_BACKEND = "hccl"
common_fsdp.DEVICE_COUNT = torch.npu.device_count()


class FSDPNPUTest(common_fsdp.FSDPTest):
    """Ranks with a device and a process group each; with fake_pg no rank talks to another."""

    @classmethod
    def _run(cls, rank: int, test_name: str, file_name: str, pipe: Any, **kwargs: Any) -> None:
        """What each rank's process runs: `test_name`, between two barriers."""
        self = cls(test_name)
        self.rank = rank
        self.file_name = file_name
        if kwargs.get("fake_pg"):
            from torch.testing._internal.distributed.fake_pg import FakeStore

            dist.init_process_group(backend="fake", world_size=self.world_size, rank=rank, store=FakeStore())
        else:
            dist.init_process_group("hccl", init_method=self.init_method, world_size=int(self.world_size), rank=rank)
        device = rank % torch.npu.device_count()
        torch.npu.set_device(device)
        dist.barrier(device_ids=[device])
        torch._dynamo.reset()
        self.run_test(test_name, pipe)
        torch._dynamo.reset()
        dist.barrier(device_ids=[device])
        dist.destroy_process_group()

# SPDX-License-Identifier: BSD-3-Clause
"""Gradient scaling for FullyShardedDataParallel: whether gradients overflowed is decided by all ranks together."""

from torch.distributed import ProcessGroup
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

__all__: list[str] = []


class _ShardedGradScaler(ShardedGradScaler):
    """PyTorch's ShardedGradScaler with the NPU for its device.

    Args:
        device: where ranks exchange whether gradients that were offloaded to the CPU overflowed.
        init_scale, backoff_factor, growth_factor, growth_interval, enabled: as of torch.amp.GradScaler.
        process_group: ranks that share the parameters; None: all.
    """

    def __init__(
        self,
        device: str = "npu",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(device, init_scale, backoff_factor, growth_factor, growth_interval, enabled, process_group)

# SPDX-License-Identifier: BSD-3-Clause
"""Batches that are copied to the NPU while it computes."""

from collections.abc import Iterable
from typing import Any

import torch

__all__: list[str] = []


class Prefetcher:
    """Takes (input, target) from a loader one batch ahead and copies them on a stream of its own.

    Args:
        loader: gives pairs of tensors; pinned ones copy without waiting.
        stream: for the copies; a new one if None.
    """

    def __init__(self, loader: Iterable, stream: Any = None) -> None:
        self.loader = iter(loader)
        self.stream = torch.npu.Stream() if stream is None else stream
        self.next_input: torch.Tensor | None = None
        self.next_target: torch.Tensor | None = None
        self.preload()

    def preload(self) -> None:
        """Starts copying the next batch; None and None at the end."""
        self.next_input, self.next_target = next(self.loader, (None, None))
        if self.next_target is None:
            return
        with torch.npu.stream(self.stream):
            self.next_input = self.next_input.npu(non_blocking=True)
            self.next_target = self.next_target.npu(non_blocking=True)

    def next(self) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """The batch, ready for the current stream, and starts the next one; (None, None) at the end."""
        current = torch.npu.current_stream()
        current.wait_stream(self.stream)
        ready = self.next_input, self.next_target
        if ready[1] is not None:
            for tensor in ready:
                tensor.record_stream(current)
            self.preload()
        return ready

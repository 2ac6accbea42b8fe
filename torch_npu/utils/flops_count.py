# SPDX-License-Identifier: BSD-3-Clause
"""Counting floating-point operations of products, convolutions and attention, by PyTorch's own formulas."""

from torch.utils.flop_counter import FlopCounterMode

__all__ = ["FlopsCounter"]


class FlopsCounter:
    """Counts between start and stop; a context manager too. One thread, the one that starts it (and its backward pass)."""

    def __init__(self) -> None:
        self._mode: FlopCounterMode | None = None
        self._paused_at: int | None = None
        self._skipped = 0

    def start(self) -> None:
        """Begins at 0; nothing if it has begun."""
        if self._mode is None:
            self._mode, self._paused_at, self._skipped = FlopCounterMode(display=False), None, 0
            self._mode.__enter__()

    def stop(self) -> None:
        """Ends and forgets the counts; nothing if it has not begun."""
        if self._mode is not None:
            mode, self._mode = self._mode, None
            mode.__exit__(None, None, None)

    def pause(self) -> None:
        """From here on operations count as seen and not as recorded."""
        if self._mode is not None and self._paused_at is None:
            self._paused_at = self._mode.get_total_flops()

    def resume(self) -> None:
        """Ends a pause."""
        if self._mode is not None and self._paused_at is not None:
            self._skipped += self._mode.get_total_flops() - self._paused_at
            self._paused_at = None

    def get_flops(self) -> list[int]:
        """[recorded, seen] since start; [0, 0] outside."""
        if self._mode is None:
            return [0, 0]
        seen = self._mode.get_total_flops()
        counted = seen if self._paused_at is None else self._paused_at
        return [counted - self._skipped, seen]

    def __enter__(self) -> "FlopsCounter":
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

# SPDX-License-Identifier: BSD-3-Clause
"""When a profiler records: steps to skip, wait, warm up and record."""

import warnings
from enum import Enum

__all__ = ["ProfilerAction", "Schedule"]


class ProfilerAction(Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class Schedule:
    """Skips `skip_first` steps, then in each of `repeat` cycles (0: for ever) waits `wait`, warms up `warmup`, records `active`.

    With `skip_first_wait` the first cycle does not wait. A bad number is taken back to its default with a warning, as the
    official package does.
    """

    def __init__(
        self, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
    ) -> None:
        self.wait = self._checked("wait", wait, 0)
        self.active = self._checked("active", active, 1)
        self.warmup = self._checked("warmup", warmup, 0)
        self.repeat = self._checked("repeat", repeat, 0)
        self.skip_first = self._checked("skip_first", skip_first, 0)
        self.skip_first_wait = self._checked("skip_first_wait", skip_first_wait, 0)

    @staticmethod
    def _checked(name: str, value: int, least: int) -> int:
        if isinstance(value, int) and value >= least:
            return int(value)
        warnings.warn(f"Invalid parameter {name} ({value!r}), reset it to {least}.", stacklevel=3)
        return least

    def __call__(self, step: int) -> ProfilerAction:
        """The action of step number `step` (from 0).

        Raises:
            ValueError: step is negative.
        """
        if step < 0:
            raise ValueError(f"Invalid parameter step, which must be not less than 0: {step}")
        if step < self.skip_first:
            return ProfilerAction.NONE
        step -= self.skip_first
        if self.skip_first_wait:
            step += self.wait
        cycle = self.wait + self.warmup + self.active
        if self.repeat and step // cycle >= self.repeat:
            return ProfilerAction.NONE
        step %= cycle
        if step < self.wait:
            return ProfilerAction.NONE
        if step < self.wait + self.warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if step == cycle - 1 else ProfilerAction.RECORD


def always(_: int) -> ProfilerAction:
    """Without a schedule: records every step."""
    return ProfilerAction.RECORD

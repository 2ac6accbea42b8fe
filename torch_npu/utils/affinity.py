# SPDX-License-Identifier: BSD-3-Clause
"""Which CPU cores the calling thread and the threads it starts run on."""

import os

from ._error_code import ErrCode, pta_error

__all__ = ["set_thread_affinity", "reset_thread_affinity"]

_first = os.sched_getaffinity(0)


def set_thread_affinity(core_range: list[int] | list[list[int]] | None = None) -> None:
    """Binds this thread to cores. Threads that exist already, the device's among them, stay where they are.

    Args:
        core_range: [first, last], a list of such, or None for what the process started with.

    Raises:
        ValueError: neither, or no core of it is the process's.
    """
    if core_range is None:
        reset_thread_affinity()
        return
    ranges = [core_range] if isinstance(core_range, list) and all(isinstance(x, int) for x in core_range) else core_range
    if not isinstance(ranges, list) or not ranges or not all(isinstance(x, list) and len(x) == 2 for x in ranges):
        raise ValueError(f"Invalid core range: {core_range}" + pta_error(ErrCode.PARAM))
    for first, last in ranges:
        if not (isinstance(first, int) and isinstance(last, int) and 0 <= first <= last):
            raise ValueError(f"Invalid core range values: [{first}, {last}]" + pta_error(ErrCode.VALUE))
    cores = {core for first, last in ranges for core in range(first, last + 1)}
    if not cores & _first:
        raise ValueError(f"none of the cores {core_range} is among this process's, {sorted(_first)}" + pta_error(ErrCode.VALUE))
    os.sched_setaffinity(0, cores)


def reset_thread_affinity() -> None:
    """Lets this thread run on all cores that the process started with."""
    os.sched_setaffinity(0, _first)

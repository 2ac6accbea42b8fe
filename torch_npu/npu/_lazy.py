# SPDX-License-Identifier: BSD-3-Clause
"""Lazy initialisation: the device is opened at the first real use, never by a question.

Calls that need the device but need not open it (seeds, settings) wait in a queue until then. PyTorch calls _lazy_init
itself before it makes a tensor on the device. A child forked after the first use can neither use nor reopen it; it gets the
sentence below at its first call.
"""

import threading
import traceback
from collections.abc import Callable

import torch_npu._C as _C

FORKED = "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn' start method"


class DeferredNpuCallError(Exception):
    """A call that was put off until initialisation failed then; the text holds where it came from."""


_initialized = False
_lock = threading.RLock()
_queue: list[tuple[Callable[[], None], list[str]]] = []
_thread = threading.local()


def _is_in_bad_fork() -> bool:
    return _C._npu_isInBadFork()


def is_initialized() -> bool:
    """Whether this process has opened the NPU (False in a forked child that cannot use its parent's)."""
    return _C._npu_isInitialized() and not _is_in_bad_fork()


def _lazy_call(call: Callable[[], None]) -> None:
    """Runs `call` now if the NPU is open, else right after it is opened."""
    if _initialized and is_initialized():
        call()
        return
    with _lock:
        _queue.append((call, traceback.format_stack()))


def _lazy_init() -> None:
    """Opens the NPU if that has not been done.

    Raises:
        RuntimeError: in a forked child of a process that has used the NPU; or the CANN's own error.
    """
    global _initialized
    if (_initialized and not _is_in_bad_fork()) or getattr(_thread, "initializing", False):
        return
    with _lock:
        if _is_in_bad_fork():
            raise RuntimeError(FORKED)
        if _initialized:
            return
        _C._npu_init()
        from .memory import _watch_out_of_memory

        _watch_out_of_memory()
        _thread.initializing = True  # a queued call may come back here
        try:
            while _queue:
                call, stack = _queue.pop(0)
                try:
                    call()
                except Exception as error:
                    raise DeferredNpuCallError(
                        f"NPU call failed lazily at initialization with error: {error}\n\n"
                        f"NPU call was originally invoked at:\n\n{''.join(stack)}"
                    ) from error
        finally:
            _thread.initializing = False
        _initialized = True


def init() -> None:
    """Opens the NPU now. Not needed: every use does it. Does nothing the second time."""
    _lazy_init()

# SPDX-License-Identifier: BSD-3-Clause
"""mstx: marks and ranges that a program puts into a profile. They are records of PyTorch's own profiler too, so that
torch.profiler shows them; without a profiler they cost a look-up.

Every function returns instead of raising, with a warning for what it cannot use: a mark must not stop a training.
"""

import functools
import itertools
import threading
import warnings
from collections.abc import Callable
from typing import Any

import torch

from .. import _C

__all__ = ["mstx", "annotate"]

_ids = itertools.count(1)
_open: dict[int, tuple[str, Any]] = {}
_thread = threading.local()


def _right(name: str, message: Any, stream: Any, domain: Any) -> bool:
    from .streams import Stream

    for what, fine in (
        ("message", isinstance(message, str) and bool(message)),
        ("domain", isinstance(domain, str) and bool(domain)),
        ("stream", stream is None or isinstance(stream, Stream)),
    ):
        if not fine:
            warnings.warn(f"Invalid {what} for mstx.{name} func. Please input valid {what} string.", stacklevel=3)
            return False
    return True


def _begin(message: str, domain: str) -> Any:
    if not (torch.autograd._profiler_enabled() or _C._npu_trace_observing()):
        return None
    return torch.ops.profiler._record_function_enter_new(message, None if domain == "default" else domain)


def _end(record: Any) -> None:
    if record is not None:
        torch.ops.profiler._record_function_exit._RecordFunction(record)


def _stack(domain: str) -> list[Any]:
    stacks = _thread.__dict__.setdefault("stacks", {})
    return stacks.setdefault(domain, [])


class mstx:
    """torch.npu.mstx: marks, nested ranges of a thread (push and pop), and ranges by number."""

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """A moment: now, or when `stream` gets there."""
        if _right("mark", message, stream, domain):
            _end(_begin(message, domain))

    @staticmethod
    def range_push(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begins a range inside this thread's last one; returns how deep it is, from 0; -1 for wrong arguments."""
        if not _right("range_push", message, stream, domain):
            return -1
        stack = _stack(domain)
        stack.append(_begin(message, domain))
        return len(stack) - 1

    @staticmethod
    def range_pop(domain: str = "default") -> int:
        """Ends this thread's last range; returns how deep it was, from 0; -1 where none is open."""
        if not _right("range_pop", "range", None, domain):
            return -1
        stack = _stack(domain)
        if not stack:
            return -1
        _end(stack.pop())
        return len(stack)

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begins a range and returns its number; 0 for wrong arguments. Any thread may end it."""
        if not _right("range_start", message, stream, domain):
            return 0
        number = next(_ids)
        _open[number] = (domain, _begin(message, domain))
        return number

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """Ends the range of that number; nothing for one that is not open."""
        if isinstance(range_id, bool) or not isinstance(range_id, int):
            warnings.warn(
                "Invalid message for mstx.range_end function. Please provide the return value from mstx.range_start.",
                stacklevel=2,
            )
            return
        if not _right("range_end", "range", None, domain):
            return
        _, record = _open.pop(range_id, ("", None))
        _end(record)

    @staticmethod
    def mstx_range(message: str, stream: Any = None, domain: str = "default") -> Callable:
        """Decorator: each call of the function is a range."""
        return annotate(message, stream, domain)


class annotate:
    """Context manager and decorator: a range. As a decorator without message it takes the function's name."""

    def __init__(self, message: str = "", stream: Any = None, domain: str = "default") -> None:
        self.message = message
        self.stream = stream
        self.domain = domain
        self.range_id: int | None = None

    def __enter__(self) -> "annotate":
        self.range_id = mstx.range_start(self.message, self.stream, self.domain)
        return self

    def __exit__(self, *exception: object) -> None:
        if self.range_id:
            mstx.range_end(self.range_id, self.domain)
        self.range_id = None

    def __call__(self, func: Callable) -> Callable:
        message = self.message or func.__name__

        @functools.wraps(func)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with annotate(message, self.stream, self.domain):
                return func(*args, **kwargs)

        return inner


mstx.annotate = annotate

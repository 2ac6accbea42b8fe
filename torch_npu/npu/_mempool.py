# SPDX-License-Identifier: BSD-3-Clause
"""Memory pools set aside by the user, and allocators that a user brings as C functions of a library."""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from typing import Any

import torch_npu._C as _C

from ..utils._error_code import ErrCode, pta_error
from ._devices import current_device
from ._lazy import _lazy_init
from ._utils import _get_device_index


class _NPUAllocator:
    """An allocator by its handle."""

    def __init__(self, allocator: Any) -> None:
        self._allocator = allocator

    def allocator(self) -> Any:
        """The handle, as MemPool takes it."""
        return self._allocator


class NPUPluggableAllocator(_NPUAllocator):
    """Two C functions of a shared library as an allocator of device memory.

    Args:
        path_to_so_file: the library.
        alloc_fn_name: void *(ssize_t size, int device, aclrtStream stream); NULL means out of memory.
        free_fn_name: void (void *ptr, ssize_t size, int device, aclrtStream stream); work that uses the memory may still be
            queued on the stream.

    Raises:
        OSError, AttributeError: the library or a function does not exist.
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        library = ctypes.CDLL(os.fspath(path_to_so_file))
        take, give = (ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in (alloc_fn_name, free_fn_name))
        if not take or not give:
            raise RuntimeError(f"{alloc_fn_name if not take else free_fn_name} is NULL" + pta_error(ErrCode.NOT_FOUND))
        super().__init__(_C._npu_customAllocator(take, give))


def change_current_allocator(allocator: _NPUAllocator) -> None:
    """Makes `allocator` the only source of device memory in this process; nothing is cached then.

    Raises:
        RuntimeError: device memory has been allocated already.
    """
    _C._npu_changeCurrentAllocator(allocator.allocator())


def _get_current_allocator() -> _NPUAllocator:
    """The allocator set by change_current_allocator; its handle is None for the caching allocator."""
    return _NPUAllocator(_C._npu_getAllocator())


class MemPool:
    """Memory of the current device that only allocations inside use_mem_pool get. Freed with its last user.

    Args:
        allocator: where it takes its memory from: NPUPluggableAllocator(…).allocator(); None: the device.
        use_on_oom: whether other allocations may use it before they fail.
        no_split: whether each allocation gets a segment of its own.
    """

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        _lazy_init()
        self._allocator = allocator
        self._pool = _C._mempool_new(allocator, use_on_oom, no_split)

    @property
    def allocator(self) -> Any:
        """The allocator it was made with."""
        return self._allocator

    @property
    def id(self) -> tuple[int, int]:
        """Its name, as snapshots have it."""
        return _C._mempool_id(self._pool)

    def use_count(self) -> int:
        """How many hold it: this object, contexts and graphs."""
        return _C._mempool_use_count(self._pool)

    def snapshot(self) -> list[dict[str, Any]]:
        """memory_snapshot() of this pool."""
        from .memory import memory_snapshot

        return memory_snapshot(self.id)


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """This thread's allocations on `device` (default: the current one) come from `pool` inside."""
    index = current_device() if device is None else _get_device_index(device)
    _C._npu_beginAllocateCurrentThreadToPool(index, pool.id)
    try:
        yield
    finally:
        _C._npu_endAllocateToPool(index, pool.id)
        _C._npu_releasePool(index, pool.id)

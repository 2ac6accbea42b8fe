# SPDX-License-Identifier: BSD-3-Clause
"""Device memory: what the caching allocator holds, and how to steer it.

All sizes are bytes. "Allocated" is what tensors hold, "reserved" what the allocator has taken from the device, cache
included. Questions do not open the NPU: before its first use every figure is 0.
"""

import contextlib
import os
import pickle
import time
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import torch_npu._C as _C

from .. import _variables
from ..utils._error_code import ErrCode, pta_error
from ._devices import _checked, device_count
from ._devices import device as device_context
from ._lazy import _lazy_init, is_initialized
from ._mempool import MemPool, NPUPluggableAllocator, change_current_allocator, use_mem_pool
from ._utils import _get_device_index

__all__ = [
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "get_per_process_memory_fraction",
    "set_per_process_memory_fraction",
    "empty_cache",
    "empty_virt_addr_cache",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "memory_cached",
    "max_memory_cached",
    "memory_snapshot",
    "memory_summary",
    "mem_get_info",
    "get_allocator_backend",
    "host_empty_cache",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "reset_accumulated_host_memory_stats",
    "reset_peak_host_memory_stats",
    "MemPool",
    "use_mem_pool",
    "NPUPluggableAllocator",
    "change_current_allocator",
]


def _flat(nested: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in nested.items():
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            yield from _flat(value, name)
        else:
            yield name, value


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """memory_stats as nested dictionaries; empty before the first use of the NPU."""
    if not is_initialized():
        return {}
    return _C._npu_memoryStats(_checked(device))


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Figures of the caching allocator for a device (default: the current one), as {name: number}.

    Names are "allocated_bytes.all.current" and so on: quantity (allocation, segment, active, inactive_split, and each with
    _bytes: allocated_bytes, reserved_bytes, active_bytes, inactive_split_bytes, requested_bytes), pool (all, large_pool,
    small_pool), and current, peak, allocated or freed; besides num_ooms, num_alloc_retries, …
    """
    return OrderedDict(sorted(_flat(memory_stats_as_nested_dict(device))))


def _figure(name: str, device: Any) -> int:
    return memory_stats(device).get(name, 0)


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors hold on the device."""
    return _figure("allocated_bytes.all.current", device)


def max_memory_allocated(device: Any = None) -> int:
    """The largest memory_allocated since the start or the last reset_peak_memory_stats."""
    return _figure("allocated_bytes.all.peak", device)


def memory_reserved(device: Any = None) -> int:
    """Bytes that the caching allocator has taken from the device."""
    return _figure("reserved_bytes.all.current", device)


def max_memory_reserved(device: Any = None) -> int:
    """The largest memory_reserved since the start or the last reset_peak_memory_stats."""
    return _figure("reserved_bytes.all.peak", device)


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Sets every "peak" figure of the device to its current value."""
    if is_initialized():
        _C._npu_resetPeakMemoryStats(_checked(device))


reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Sets every "allocated" and "freed" figure and the counts of the device to 0."""
    if is_initialized():
        _C._npu_resetAccumulatedMemoryStats(_checked(device))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, total) bytes of the device, as all processes see it."""
    index = _checked(device)
    _lazy_init()
    return _C._npu_getDeviceMemories(index)


def empty_cache() -> None:
    """Gives what the allocator holds without need back to the device."""
    if is_initialized():
        _C._npu_emptyCache()


def empty_virt_addr_cache() -> None:
    """Gives ranges of addresses that hold no memory (of expandable segments) back. None outlives its memory here."""
    if is_initialized():
        _C._npu_emptyCache()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Lets this process take at most `fraction` (0 < fraction ≤ 1) of the device's memory; beyond it is out-of-memory.

    Raises:
        TypeError, ValueError: not a float, or out of range.
    """
    _lazy_init()
    if not isinstance(fraction, float):
        raise TypeError(
            f"Invalid type for fraction argument, must be `float`, got {type(fraction).__name__}" + pta_error(ErrCode.TYPE)
        )
    if not 0 < fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: (0, 1]" + pta_error(ErrCode.VALUE))
    _C._npu_setMemoryFraction(fraction, _checked(device))


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The fraction set by set_per_process_memory_fraction; 1.0 at first."""
    _lazy_init()
    return _C._npu_getMemoryFraction(_checked(device))


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Address of `size` bytes from the caching allocator, to be freed with caching_allocator_delete.

    Args:
        size: bytes, ≥ 0.
        device: default: the current device.
        stream: a Stream or an aclrtStream as integer that will use it; default: the current stream.

    Raises:
        TypeError: the stream is neither.
        torch.OutOfMemoryError: it does not fit.
    """
    from .streams import Stream, current_stream

    index = _checked(device)
    _lazy_init()
    if stream is None:
        stream = current_stream(index)
    if isinstance(stream, Stream):
        stream = stream.npu_stream
    if not isinstance(stream, int):
        raise TypeError(
            "Invalid type for stream argument, must be `torch_npu.npu.Stream` or `int` representing a pointer to an existing "
            f"stream, got {type(stream).__name__}" + pta_error(ErrCode.TYPE)
        )
    with device_context(index):
        return _C._npu_npuCachingAllocator_raw_alloc(size, stream)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Frees what caching_allocator_alloc gave."""
    _C._npu_npuCachingAllocator_raw_delete(mem_ptr)


def memory_snapshot(mempool_id: tuple[int, int] | None = None) -> list[dict[str, Any]]:
    """The allocator's segments on all devices, each with its blocks, in the form of torch.cuda.memory_snapshot.

    Args:
        mempool_id: only the segments of this pool.
    """
    if not is_initialized():
        return []
    segments = _C._npu_memorySnapshot()["segments"]
    return segments if mempool_id is None else [s for s in segments if tuple(s["segment_pool_id"]) == tuple(mempool_id)]


def _record_memory_history(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = (1 << 63) - 1,
    device: Any = None,
    clear_history: bool = False,
) -> None:
    """Records what the allocator does, for _snapshot. See torch.cuda.memory.

    Args:
        enabled: "all": the last max_entries events, and who asked for each block; "state": the latter; None stops it.
        context: None leaves the stacks away; "state", "alloc" and "all" record those of requests.
        stacks: "python" or "all"; Python's in both cases.
        max_entries: events to keep.
        device: not looked at: all are recorded.
        clear_history: forget what was recorded; starting does it anyway.

    Raises:
        ValueError: another value.
    """
    if enabled not in (None, "state", "all"):
        raise ValueError(f"enabled must be None, 'state' or 'all', got {enabled!r}" + pta_error(ErrCode.PARAM))
    if context not in (None, "state", "alloc", "all"):
        raise ValueError(f"context must be None, 'state', 'alloc' or 'all', got {context!r}" + pta_error(ErrCode.PARAM))
    if stacks not in ("python", "all"):
        raise ValueError(f"stacks must be 'python' or 'all', got {stacks!r}" + pta_error(ErrCode.PARAM))
    if isinstance(max_entries, bool) or not isinstance(max_entries, int) or max_entries < 1:
        raise ValueError(f"max_entries must be a number of 1 or more, got {max_entries!r}" + pta_error(ErrCode.PARAM))
    _lazy_init()
    _C._npu_record_memory_history(enabled, context, stacks, max_entries)


def _snapshot(device: Any = None) -> dict[str, Any]:
    """The allocator's state and recorded history, in the form of torch.cuda.memory._snapshot."""
    _lazy_init()
    return _C._npu_memorySnapshot()


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    """Writes _snapshot to a file that pytorch.org/memory_viz shows."""
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


def _watch_out_of_memory() -> None:
    """OOM_SNAPSHOT_ENABLE: has a snapshot written to OOM_SNAPSHOT_PATH whenever memory runs out. Called at initialisation.

    Raises:
        RuntimeError: no folder that this process may write to.
    """
    mode = _variables.text("OOM_SNAPSHOT_ENABLE")
    if mode == "0":
        return
    folder = os.path.realpath(_variables.text("OOM_SNAPSHOT_PATH") or ".")
    if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        raise RuntimeError(
            f"`OOM_SNAPSHOT_PATH` is invalid: {folder} is not a folder that this process may write to"
            + pta_error(ErrCode.NOT_FOUND)
        )

    def write(device: int, wanted: int, total: int, free: int) -> None:
        path = os.path.join(folder, f"oom_snapshot_{os.getpid()}_{time.strftime('%Y%m%d%H%M%S')}.pickle")
        _dump_snapshot(path)
        if not _variables.quiet():
            warnings.warn(f"NPU {device} is out of memory: a snapshot for pytorch.org/memory_viz is in {path}", stacklevel=2)

    _C._npu_record_memory_history("all" if mode == "1" else "state", "all", "python", (1 << 63) - 1)
    _C._npu_attach_out_of_memory_observer(write)


def get_allocator_backend() -> str:
    """Name of the allocator in use: "native"."""
    return _C._npu_getAllocatorBackend()


def _set_allocator_settings(settings: str) -> None:
    """Takes settings in the form of PYTORCH_NPU_ALLOC_CONF.

    Raises:
        RuntimeError: names the key or value that is wrong.
    """
    _C._npu_npuCachingAllocator_set_allocator_settings(settings)


@contextlib.contextmanager
def _free_mutex() -> Iterator[None]:
    """Kept for callers written for CUDA: freeing device memory here takes no lock that a collective could wait for."""
    yield


# ---- pinned host memory ----
def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """host_memory_stats as nested dictionaries."""
    return _C._npu_hostMemoryStats() if is_initialized() else {}


def host_memory_stats() -> OrderedDict[str, Any]:
    """Figures of the pinned host memory allocator, {name: number} like memory_stats."""
    return OrderedDict(sorted(_flat(host_memory_stats_as_nested_dict())))


def host_empty_cache() -> None:
    """Frees pinned host memory that is held without need."""
    if is_initialized():
        _C._npu_hostEmptyCache()


def reset_peak_host_memory_stats() -> None:
    """Sets every "peak" figure of pinned host memory to its current value."""
    if is_initialized():
        _C._npu_resetPeakHostMemoryStats()


def reset_accumulated_host_memory_stats() -> None:
    """Sets every "allocated" and "freed" figure of pinned host memory to 0."""
    if is_initialized():
        _C._npu_resetAccumulatedHostMemoryStats()


# ---- the summary for people ----
_ROWS = (
    ("allocated_bytes", "Allocated memory", True),
    ("active_bytes", "Active memory", True),
    ("requested_bytes", "Requested memory", True),
    ("reserved_bytes", "NPU reserved memory", True),
    ("inactive_split_bytes", "Non-releasable memory", True),
    ("allocation", "Allocations", False),
    ("active", "Active allocs", False),
    ("segment", "NPU reserved segments", False),
    ("inactive_split", "Non-releasable allocs", False),
)
_COLUMNS = ("current", "peak", "allocated", "freed")


def _amount(value: int, is_bytes: bool) -> str:
    if not is_bytes:
        return f"{value:,}"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 10000 or unit == "GiB":
            return f"{value:.0f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The figures of memory_stats as a table.

    Args:
        device: default: the current device.
        abbreviated: without the split into large and small pool.
    """
    index = _get_device_index(device, optional=True) if device_count() else 0
    stats = memory_stats(device)
    if not stats:
        return f"NPU {index}: not used yet, no memory is allocated\n"
    pools = [("all", ""), ("large_pool", "      from large pool"), ("small_pool", "      from small pool")]
    width = 75
    lines = [
        "=" * width,
        f"PyTorch NPU memory summary, device ID {index}".center(width),
        "-" * width,
        f"{'NPU OOMs: ' + str(stats['num_ooms']):^37}|{'allocation retries: ' + str(stats['num_alloc_retries']):^37}",
        "=" * width,
        f"{'Metric':^23}| Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for key, title, is_bytes in _ROWS:
        lines.append("-" * width)
        for pool, label in pools[: 1 if abbreviated else 3]:
            cells = "".join(f"| {_amount(stats[f'{key}.{pool}.{column}'], is_bytes):>10} " for column in _COLUMNS)
            lines.append(f" {label or title:<22}{cells}")
    lines.append("=" * width)
    return "\n".join(f"|{line:<{width}}|" for line in lines) + "\n"

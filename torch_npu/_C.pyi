# SPDX-License-Identifier: BSD-3-Clause
"""torch_npu._C: what the bridge (csrc/bridge) offers to the Python files of this package, and nothing else.

Importing it loads libtorch_npu.so, registers the backend (hooks, guard, allocator, generator, operators) and renames
nothing: torch_npu/__init__.py does the Python side. It must not need a CANN: `_cann_open` opens one, before the first use.
Names are the official package's where third parties call them. Errors are RuntimeError with the official suffix, unless
said otherwise. Everything that may wait releases the GIL. Device arguments are indices (-1 is never passed).
"""

from collections.abc import Callable
from typing import Any

import torch

# ---- the CANN ----
def _cann_open(lib64: str) -> str:
    """dlopens libascendcl.so, libnnopbase.so and libopapi.so from the folder `lib64` ("" = the loader's path) and returns
    the path that libascendcl.so came from. OSError with dlerror's text if one cannot be opened; a second call is a no-op
    that returns the first's path."""

def _cann_version(module: str = "CANN") -> str:
    """aclsysGetCANNVersion / aclsysGetVersionStr: "9.1.0"; "" when this CANN does not say."""

# ---- initialisation and devices ----
def _npu_init() -> None:
    """aclInit (once) and what must follow. Called by torch.npu's lazy init, and by the bridge itself at first real use."""

def _npu_isInitialized() -> bool: ...
def _npu_isInBadFork() -> bool:
    """True in a child that was forked from a process which had used the device."""

def _npu_getDeviceCount() -> int:
    """Visible devices, read now from ASCEND_RT_VISIBLE_DEVICES and the CANN; does not initialise.
    RuntimeError says why there is none."""

def _npu_getDevice() -> int: ...
def _npu_setDevice(device: int) -> None: ...
def _npu_exchangeDevice(device: int) -> int: ...
def _npu_maybeExchangeDevice(device: int) -> int:
    """Like exchange, but does not create a context on a device that has none."""

def _npu_getDeviceName(device: int) -> str:
    """The SoC name, "Ascend910B3"; does not initialise."""

def _npu_getDeviceProperties(device: int) -> dict[str, Any]:
    """Fields: name total_memory cube_core_num vector_core_num L2_cache_size major minor multi_processor_count warp_size
    max_threads_per_multi_processor regs_per_multiprocessor is_integrated is_multi_gpu_board gcnArchName uuid."""

def _npu_canDeviceAccessPeer(device: int, peer: int) -> bool: ...
def _npu_getDeviceUtilizationRate(device: int) -> int:
    """Percent, 0..100."""

def _npu_synchronize(device: int) -> None:
    """Waits for all streams of the device; raises the first pending error. Ctrl-C interrupts it."""

# ---- streams and events (the rest goes through torch.Stream / torch.Event and the guard) ----
def _npu_getCurrentStream(device: int) -> tuple[int, int, int]:
    """(stream_id, device_index, device_type)."""

def _npu_getDefaultStream(device: int) -> tuple[int, int, int]: ...
def _npu_setStream(stream_id: int, device_index: int, device_type: int) -> None:
    """Makes it current on its device and that device current, as torch.cuda does."""

def _npu_getCurrentRawStream(device: int) -> int:
    """The aclrtStream as an integer."""

def _npu_getRawStream(stream_id: int, device_index: int) -> int: ...
def _npu_getStreamFromExternal(pointer: int, device_index: int) -> tuple[int, int, int]:
    """Wraps a caller-owned aclrtStream."""

def _npu_getStreamPriority(stream_id: int, device_index: int) -> int: ...

# ---- memory (statistics also through torch._C._accelerator_*) ----
def _npu_memoryStats(device: int) -> dict[str, Any]:
    """Nested: {"allocation": {"all": {"current", "peak", "allocated", "freed"}, "small_pool", "large_pool"}, ...} with the keys
    allocation segment active inactive_split allocated_bytes reserved_bytes active_bytes inactive_split_bytes requested_bytes;
    num_alloc_retries num_ooms num_sync_all_streams num_device_alloc num_device_free oversize_allocations oversize_segments
    max_split_size."""

def _npu_change_data_ptr(dst: torch.Tensor, src: torch.Tensor, index: int) -> int:
    """dst's storage becomes the memory of src's from element `index` on, and keeps it alive; 0."""

def _npu_hostMemoryStats() -> dict[str, Any]: ...
def _npu_resetPeakMemoryStats(device: int) -> None: ...
def _npu_resetAccumulatedMemoryStats(device: int) -> None: ...
def _npu_resetPeakHostMemoryStats() -> None: ...
def _npu_resetAccumulatedHostMemoryStats() -> None: ...
def _npu_memorySnapshot() -> dict[str, Any]:
    """{"segments": [...], "device_traces": [[...], ...], "allocator_settings": {...}} in torch.cuda.memory._snapshot's form."""

def _npu_record_memory_history(enabled: str | None, context: str | None, stacks: str, max_entries: int) -> None: ...
def _npu_attach_out_of_memory_observer(observer: Callable[[int, int, int, int], None]) -> None:
    """Called with (device, bytes wanted, bytes of the device, bytes free) before torch.OutOfMemoryError is raised."""
def _npu_getDeviceMemories(device: int) -> tuple[int, int]:
    """(free, total) bytes of the device."""

def _npu_emptyCache() -> None: ...
def _npu_hostEmptyCache() -> None: ...
def _npu_setMemoryFraction(fraction: float, device: int) -> None: ...
def _npu_getMemoryFraction(device: int) -> float: ...
def _npu_npuCachingAllocator_raw_alloc(size: int, stream: int) -> int:
    """Device address, on the current device; `stream` is an aclrtStream as an integer."""

def _npu_npuCachingAllocator_raw_delete(pointer: int) -> None: ...
def _npu_npuCachingAllocator_set_allocator_settings(settings: str) -> None: ...
def _npu_getAllocatorBackend() -> str: ...
def _npu_eraseStream(storage: torch.UntypedStorage, stream_id: int, device_index: int) -> None:
    """Takes record_stream back."""

# ---- limits of cores: kind 0 cube, 1 vector ----
def _npu_set_device_res_limit(device: int, kind: int, cores: int) -> None: ...
def _npu_get_device_res_limit(device: int, kind: int) -> int: ...
def _npu_set_stream_res_limit(stream_id: int, device_index: int, kind: int, cores: int) -> None: ...
def _npu_get_stream_res_limit(stream_id: int, device_index: int, kind: int) -> int: ...
def _npu_reset_stream_res_limit(stream_id: int, device_index: int) -> None: ...

# ---- devices in trouble, dump, the runtime for others ----
def _npu_overflow_status(device: int) -> bool:
    """Whether a result of the device has saturated since _npu_overflow_reset; waits for the current stream."""

def _npu_overflow_reset(device: int) -> None: ...
def _npu_initDump() -> None: ...
def _npu_setDump(path: str) -> None: ...
def _npu_finalizeDump() -> None: ...
def _npu_check_uce_in_memory(device: int) -> int:
    """Number of uncorrectable memory errors."""

def _npu_stopDevice(device: int) -> None:
    """Drops the work that waits on the device's streams."""

def _npu_hostRegister(pointer: int, size: int, flags: int) -> int:
    """The CANN's status, as for the next three; 0 is success."""

def _npu_hostUnregister(pointer: int) -> int: ...
def _npu_streamCreate() -> int:
    """A new aclrtStream as an integer."""

def _npu_streamDestroy(stream: int) -> int: ...
def _npu_sleep(ns: int) -> None:
    """Keeps the current stream busy."""

def _npu_eventTimestamp(event: int) -> int:
    """Microseconds; waits for the event (an aclrtEvent as an integer)."""

def _npu_set_sync_debug_mode(mode: int) -> None:
    """0; 1: warn, 2: raise where an operator waits for the device."""

def _npu_get_sync_debug_mode() -> int: ...

# ---- sharing storages between processes ----
def _npu_share_storage(storage: torch.UntypedStorage) -> tuple[int, bytes, int, int]:
    """(device, key of its segment, storage bytes, byte offset in the segment). Waits for the device.
    NotImplementedError where the memory is another process's."""

def _npu_unshare_storage(key: bytes) -> None:
    """Takes the key back; storages that are open stay so."""

def _npu_open_shared_storage(
    device: int, key: bytes, size: int, offset: int, counters: torch.UntypedStorage, slot: int
) -> torch.UntypedStorage:
    """A storage on memory of another process; when it dies, int32 number `slot` of the host storage `counters` becomes 0."""

# ---- random numbers ----
def _npu_getDefaultGenerator(device: int) -> torch.Generator: ...

# ---- options (aclSetCompileopt and the backend's own) ----
def _npu_setOption(option: dict[str, str]) -> None: ...
def _npu_getOption(name: str) -> str | None: ...
def _npu_set_op_timeout_ms(timeout: int) -> None: ...

# ---- the host's view of device memory ----
def _npu_hostAlias(tensor: torch.Tensor) -> torch.Tensor | None:
    """A CPU tensor on the memory of a strided NPU tensor, after waiting for its current stream; None without a host view."""

# ---- operators that ran on the CPU ----
def _npu_fallback_count() -> dict[str, int]:
    """{"aten::name.overload": times} since the start or the last reset."""

def _npu_fallback_report() -> tuple[dict[str, tuple[int, int, int]], int]:
    """({operator: (times, bytes, nanoseconds)}, nanoseconds since the last reset)."""

def _npu_fallback_reset() -> None: ...

# ---- profiling ----
def _npu_trace_available() -> bool:
    """This CANN has AnyNPU's recorder: operators of PyTorch can be recorded beside tasks, and torch.profiler knows the NPU."""

def _npu_trace_observing() -> bool:
    """Ranges of the host are being recorded by torch_npu.profiler."""

def _npu_trace_now() -> int: ...
def _npu_trace_range(name: str, begin: int, end: int, scope: int) -> None:
    """One range of the host (clock: _npu_trace_now) in the running trace; scope as anynpu/trace.h has it."""

def _npu_prof_start(folder: str, device: int, types: int) -> None:
    """aclprofInit, aclprofStart: a folder PROF_… below `folder`; device -1: no tasks. RuntimeError when something records."""

def _npu_prof_stop() -> None: ...
def _npu_observe_start(record_shapes: bool, with_stack: bool, with_flops: bool, profile_memory: bool) -> None: ...
def _npu_observe_stop() -> None: ...
def _npu_register_kineto() -> None: ...

# ---- torch.distributed (csrc/bridge/c10d) ----
class _distributed_c10d:
    """The submodule torch_npu._C._distributed_c10d."""

    class ProcessGroupHCCL(torch._C._distributed_c10d.Backend):
        """The backend "hccl"; made by init_process_group and new_group."""

        class Options(torch._C._distributed_c10d.Backend.Options):
            is_high_priority_stream: bool
            op_timeout: Any
            """A timedelta; also as _timeout."""
            global_ranks_in_group: list[int]
            group_id: str
            hccl_config: dict[str, int | str]
            """Keys: hccl_buffer_size group_name qos_traffic_class qos_service_level hccl_op_expansion_mode hccl_deterministic
            hccl_exec_timeout hccl_algo hccl_retry_enable hccl_retry_params hccl_buffer_name."""

            def __init__(self, is_high_priority_stream: bool = False) -> None: ...

        def __init__(self, store: Any, rank: int, size: int, options: Any = ...) -> None:
            """`options`: Options, or a timeout (timedelta)."""

        def get_hccl_comm_name(self, rankid: int, init_comm: bool = True) -> str:
            """HCCL's name of the communicator of the current device."""

        def get_coll_stream_id(self, is_hccl: bool = True) -> int: ...
        def abort_hccl_comm(self, abort_reason: str = "") -> None:
            """Gives up all communicators; the next collective opens new ones."""

        def resume_hccl_comm(self, device_id: int = -1) -> None: ...
        def monitored_barrier(self, timeout: Any = ..., wait_all_ranks: bool = False) -> None: ...
        def all_gather_into_tensor_uneven(
            self, output: torch.Tensor, input: torch.Tensor, output_split_sizes: list[int] = ..., opts: Any = ...
        ) -> Any: ...
        def reduce_scatter_tensor_uneven(
            self, output: torch.Tensor, input: torch.Tensor, input_split_sizes: list[int] = ..., opts: Any = ...
        ) -> Any: ...
        def alltoallvc(
            self, output: torch.Tensor, input: torch.Tensor, send_count_matrix: list[list[int]], opts: Any = ...
        ) -> Any: ...
        def _reopen(self) -> None: ...
        def _wait_for_pending_works(self) -> None: ...
        def _is_failed(self) -> bool: ...

    @staticmethod
    def _dump_hccl_trace(includeCollectives: bool = True, includeStackTraces: bool = True, onlyActive: bool = False) -> bytes:
        """The flight recorder, pickled in PyTorch's format."""

    @staticmethod
    def _dump_hccl_trace_json(includeCollectives: bool = True, onlyActive: bool = False) -> bytes: ...
    @staticmethod
    def _reset_hccl_trace() -> None: ...
    @staticmethod
    def _is_support_hccl_comm_name() -> bool: ...
    @staticmethod
    def _missing_functions() -> list[str]:
        """HCCL functions that the bridge would call and this CANN does not have."""

# ---- graphs (module_graph.cpp); a graph, a pool, an allocator, an external event is a capsule that frees it ----
def _graph_new() -> Any: ...
def _graph_capture_begin(graph: Any, pool: tuple[int, int], mode: int) -> None:
    """Captures the current stream; pool (0, 0): one of its own; mode: aclmdlRICaptureMode."""

def _graph_capture_end(graph: Any) -> None: ...
def _graph_replay(graph: Any) -> None: ...
def _graph_reset(graph: Any) -> None: ...
def _graph_pool(graph: Any) -> tuple[int, int]: ...
def _graph_debug_dump(graph: Any, path: str) -> None: ...
def _graph_pool_handle() -> tuple[int, int]: ...
def _npu_isCurrentStreamCapturing() -> bool: ...
def _graph_task_group_begin(stream: int, device: int) -> None: ...
def _graph_task_group_end(stream: int, device: int) -> int: ...
def _graph_task_update_begin(stream: int, device: int, group: int) -> None: ...
def _graph_task_update_end(stream: int, device: int) -> None: ...
def _weak_ref_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor on the same memory that does not keep it alive."""

# ---- memory pools, allocators of users ----
def _mempool_new(allocator: Any, use_on_oom: bool, no_split: bool) -> Any: ...
def _mempool_id(pool: Any) -> tuple[int, int]: ...
def _mempool_use_count(pool: Any) -> int: ...
def _npu_beginAllocateCurrentThreadToPool(device: int, pool: tuple[int, int]) -> None: ...
def _npu_endAllocateToPool(device: int, pool: tuple[int, int]) -> None: ...
def _npu_releasePool(device: int, pool: tuple[int, int]) -> None: ...
def _npu_customAllocator(alloc_fn: int, free_fn: int) -> Any: ...
def _npu_changeCurrentAllocator(allocator: Any) -> None: ...
def _npu_getAllocator() -> Any: ...

# ---- external events, and those of other processes ----
def _external_event_new() -> Any: ...
def _shared_event_new(timing: bool) -> Any: ...
def _event_export(event: Any) -> bytes: ...
def _event_import(device: int, handle: bytes) -> Any: ...
def _event_record(event: Any, stream: int, device: int) -> None: ...
def _event_wait(event: Any, stream: int, device: int) -> None: ...
def _event_reset(event: Any, stream: int, device: int) -> None: ...
def _event_query(event: Any) -> bool: ...
def _event_synchronize(event: Any) -> None: ...
def _event_elapsed(begin: int, end: int) -> float:
    """Milliseconds between two aclrtEvents."""
def _event_handle(event: Any) -> int: ...

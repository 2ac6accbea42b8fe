# SPDX-License-Identifier: BSD-3-Clause
"""The environment variables of this package, in one table: read, checked, printed and documented from it.

Python asks on() and text(); the bridge in C has the same rows through a header that tools/variables.py writes of this file at
build time. A value is looked up when it is needed. check(), which the import of the package calls, names every malformed one.

Nothing is imported here but the standard library: `anynpu options` and the build read this file without PyTorch.
"""

import os
import re
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Variable(NamedTuple):
    """One row of the table."""

    name: str
    default: str
    """As one would write it; "" means that it is not set, or that the program chooses."""
    values: str
    """The values it takes, in words."""
    accepts: Callable[[str], bool]
    meaning: str
    strict: bool = False
    """A malformed value is an error when the package is imported; else a warning, and the default holds."""
    idle: bool = False
    """A right value is accepted and changes nothing: the software NPU has nothing to set."""


def _one_of(*words: str) -> tuple[str, Callable[[str], bool]]:
    return ", ".join(words[:-1]) + " or " + words[-1], lambda value: value in words


def _number(low: int, high: int | None = None) -> tuple[str, Callable[[str], bool]]:
    def accepts(value: str) -> bool:
        return bool(re.fullmatch(r"-?\d+", value)) and low <= int(value) and (high is None or int(value) <= high)

    return (f"{low} or more" if high is None else f"{low} to {high}"), accepts


def _form(words: str, pattern: str) -> tuple[str, Callable[[str], bool]]:
    return words, lambda value: bool(re.fullmatch(pattern, value))


def _any(words: str) -> tuple[str, Callable[[str], bool]]:
    return words, lambda value: True


_SWITCH = _one_of("0", "1")


# ---- PYTORCH_NPU_ALLOC_CONF ----
class AllocKey(NamedTuple):
    """A key of PYTORCH_NPU_ALLOC_CONF."""

    name: str
    kind: str
    """BOOL, INTEGER, FRACTION, DIVISIONS or WORD."""
    low: float
    high: float
    """Both included."""
    rule: str
    meaning: str
    idle: bool = False


_BIG = 1 << 30  # MB

ALLOC_KEYS = (
    AllocKey("max_split_size_mb", "INTEGER", 20, _BIG, ">= 20",
             "Free blocks from this size on are not split; none is given to a smaller request."),
    AllocKey("garbage_collection_threshold", "FRACTION", 0, 1, "in (0.0, 1.0)",
             "Share of what the process may have (per_process_memory_fraction) above which unused blocks go back."),
    AllocKey("expandable_segments", "BOOL", 0, 1, "True or False",
             "One growing range of addresses for each pool, so that a freed piece of any size is of use."),
    AllocKey("base_addr_aligned_kb", "INTEGER", 0, 16, "[0~16], dtype is int",
             "Alignment of blocks of 2 MB and more, with expandable_segments; 0 means 512 bytes."),
    AllocKey("page_size", "WORD", 0, 0, "1g", "Segments of large blocks are multiples of 1 GB."),
    AllocKey("large_segment_size_mb", "INTEGER", 11, _BIG, "> 10", "Segments that blocks of 1 to 10 MB share."),
    AllocKey("segment_size_mb", "INTEGER", 20, 512, "[20, 512], dtype is int", "Old name of large_segment_size_mb."),
    AllocKey("roundup_power2_divisions", "DIVISIONS", 0, 0, "a power of 2 or a list such as [256:1,512:2,>:8]",
             "Sizes are rounded up to this part of the power of 2 below; in a list, by size in MB."),
    AllocKey("max_non_split_rounding_mb", "INTEGER", 20, _BIG, ">= 20",
             "How much larger than asked a block above max_split_size_mb may be."),
    AllocKey("per_process_memory_fraction", "FRACTION", 0, 1, "in [0.0, 1.0]",
             "Share of the device's memory that the process may have."),
    AllocKey("throw_on_npumalloc_oom", "BOOL", 0, 1, "True or False",
             "What cannot fit is refused before the device is asked; nothing cached is given back for it."),
    AllocKey("multi_stream_lazy_reclaim", "BOOL", 0, 1, "True or False",
             "Blocks that other streams used are looked at only when no free one fits, or 512 wait."),
    AllocKey("pinned_max_round_threshold_mb", "INTEGER", 1, _BIG, "a positive number",
             "Pinned memory above this size is not rounded up to a power of 2."),
    AllocKey("pinned_max_cached_size_mb", "INTEGER", 1, _BIG, "a positive number",
             "Pinned memory above this size goes back to the system when freed."),
    AllocKey("pinned_use_background_threads", "BOOL", 0, 1, "True or False",
             "Pinned memory is reclaimed by a thread; here a look at a counter does it.", idle=True),
    AllocKey("pinned_reserve_segment_size_mb", "INTEGER", 0, _BIG, "a number", "Pinned memory taken at start.", idle=True),
    AllocKey("pin_memory_expandable_segments", "BOOL", 0, 1, "True or False", "Pinned memory from growing ranges.", idle=True),
    AllocKey("pinned_mem_register", "BOOL", 0, 1, "True or False", "Pinned memory gets a device address.", idle=True),
    AllocKey("release_lock_on_npumalloc", "BOOL", 0, 1, "True or False", "The device is asked without the lock.", idle=True),
)  # fmt: skip


def _divisions(value: str) -> bool:
    def power(text: str) -> bool:
        return bool(re.fullmatch(r"\d+", text)) and int(text).bit_count() == 1

    if not value.startswith("["):
        return power(value)
    pairs = [pair.partition(":") for pair in value[1:-1].split(",")]
    return value.endswith("]") and all((left == ">" or power(left)) and power(right) for left, _, right in pairs)


def _alloc_value(key: AllocKey, value: str) -> bool:
    if key.kind == "BOOL":
        return value in ("True", "False")
    if key.kind == "INTEGER":
        return bool(re.fullmatch(r"\d+", value)) and key.low <= int(value) <= key.high
    if key.kind == "FRACTION":
        return bool(re.fullmatch(r"\d*\.?\d+", value)) and key.low <= float(value) <= key.high
    return value == key.rule if key.kind == "WORD" else _divisions(value)


def _alloc_conf(value: str) -> bool:
    keys = {key.name: key for key in ALLOC_KEYS}
    for pair in re.split(r",(?![^\[]*\])", re.sub(r"\s", "", value)):
        name, colon, content = pair.partition(":")
        if pair and not (colon and name in keys and _alloc_value(keys[name], content)):
            return False
    return True


_ALLOC = ("key:value,… (docs/OPTIONS.md lists the keys)", _alloc_conf)

# ---- the table ----
_TABLE = (
    # Where the CANN is
    Variable("ASCEND_HOME_PATH", "", *_any("a folder"),
             "The CANN to use; without it the loader's path, then the toolkit of the package anynpu."),
    Variable("ASCEND_TOOLKIT_HOME", "", *_any("a folder"), "As ASCEND_HOME_PATH, where that is not set."),
    Variable("ASCEND_OPP_PATH", "", *_any("a folder"), "Where the CANN's own operator packages are."),
    Variable("ASCEND_CUSTOM_OPP_PATH", "", *_any("folders parted by colons"), "Further operator packages, looked at first."),
    Variable("TORCH_ACL_INIT_CONFIG_PATH", "", *_any("a JSON file"), "Configuration that aclInit gets."),
    # Devices
    Variable("ASCEND_RT_VISIBLE_DEVICES", "", *_any("device ids parted by commas"),
             "Devices that the process sees, renumbered from 0 in this order."),
    Variable("TORCH_NPU_DEVICE_CAPABILITY", "", *_form("major.minor, as 8.0", r"\d+\.\d+"),
             "What torch.npu.get_device_capability() answers."),
    Variable("STREAMS_PER_DEVICE", "32", *_one_of("8", "32"), "Streams of a device's pool; a further one is one of these.",
             idle=True),
    Variable("ACL_DEVICE_SYNC_TIMEOUT", "", *_number(1, 2147483), "Seconds that a wait for the device may take.", idle=True),
    Variable("SET_NPU_DEVICE", "", *_number(0), "Device that a process starts with.", idle=True),
    # How operators run
    Variable("ASCEND_LAUNCH_BLOCKING", "0", *_SWITCH, "Every operator is finished when its call returns.", strict=True),
    Variable("TASK_QUEUE_ENABLE", "1", *_one_of("0", "1", "2"),
             "How operators are queued; here they go straight to the stream.", strict=True, idle=True),
    Variable("PER_STREAM_QUEUE", "0", *_SWITCH, "A queue for each stream, which every stream here has.", idle=True),
    Variable("INF_NAN_MODE_ENABLE", "1", *_SWITCH,
             "0, with INF_NAN_MODE_FORCE_DISABLE=1: operators write the largest number for infinity and 0 for NaN.", strict=True),
    Variable("INF_NAN_MODE_FORCE_DISABLE", "0", *_SWITCH, "Saturation is really meant: see INF_NAN_MODE_ENABLE.", strict=True),
    Variable("COMBINED_ENABLE", "0", *_SWITCH, "Joins views before copies; copies here take any view.", strict=True, idle=True),
    Variable("TORCH_NPU_FALLBACK_CPU_DISABLE", "0", *_SWITCH,
             "An operator without a kernel of the NPU is an error instead of running on the CPU.", strict=True),
    Variable("ANYNPU_FALLBACK_REPORT", "0", *_SWITCH,
             "At exit, a table of the operators that ran on the CPU: calls, bytes, time, and what to write instead."),
    Variable("TORCH_NPU_USE_COMPATIBLE_IMPL", "0", *_SWITCH, "What torch.npu.are_compatible_impl_enabled() says at first."),
    Variable("TORCH_NPU_LEGACY_IMPL_LIST", "", *_any("randomness"), "Old implementations to use.", idle=True),
    Variable("TORCH_TRANSFER_TO_NPU", "0", *_SWITCH, "Programs written for CUDA run on the NPU without an edit.", strict=True),
    Variable("ACL_OP_COMPILER_CACHE_MODE", "enable", *_one_of("enable", "disable", "force"), "Cache of compiled operators.",
             idle=True),
    Variable("ACL_OP_COMPILER_CACHE_DIR", "", *_any("a folder"), "Where that cache is.", idle=True),
    # Memory
    Variable("PYTORCH_NPU_ALLOC_CONF", "", *_ALLOC, "Steers the caching allocator."),
    Variable("PYTORCH_ALLOC_CONF", "", *_ALLOC, "The same, under the name that all accelerators share; set one of the two."),
    Variable("PYTORCH_NO_NPU_MEMORY_CACHING", "0", *_SWITCH, "Every allocation is one of the device.", strict=True),
    Variable("OOM_SNAPSHOT_ENABLE", "0", *_one_of("0", "1", "2"),
             "When memory runs out, a snapshot is written for pytorch.org/memory_viz: 1 with the history, 2 without.",
             strict=True),
    Variable("OOM_SNAPSHOT_PATH", "", *_any("a folder"), "Where to: oom_snapshot_<pid>_<time>.pickle; default: the current one."),
    Variable("MULTI_STREAM_MEMORY_REUSE", "1", *_one_of("0", "1", "2", "3"),
             "How memory that several streams use is freed; here when all of them are done with it.", strict=True, idle=True),
    # Messages
    Variable("TORCH_NPU_WARNING_DISABLE", "0", *_SWITCH, "1 silences the warnings of torch_npu."),
    Variable("TORCH_NPU_DISABLED_WARNING", "0", *_SWITCH, "Old name of TORCH_NPU_WARNING_DISABLE."),
    Variable("TORCH_NPU_COMPACT_ERROR_OUTPUT", "0", *_SWITCH, "Errors without their last line (time, process, code)."),
    Variable("TORCH_NPU_LOGS", "", *_any("modules parted by commas, + or - before a name"),
             "Lines on stderr of memory, dispatch, dispatch_time, env, acl or all: + from level DEBUG, - errors alone."),
    Variable("TORCH_NPU_LOGS_FILTER", "", *_any("+text or -text, parted by commas"), "Lines of that log to keep or drop."),
    # Tuning and checking
    Variable("CPU_AFFINITY_CONF", "0",
             *_form("mode 0, 1 or 2, then force:0|1, npuK:a-b, npu_affine:0|1",
                    r"[012](,(force:[01]|npu_affine:[01]|npu\d+:\d+-\d+))*"),
             "Binding of threads to CPU cores.", idle=True),
    Variable("TORCH_NPU_LAZY_FUSION", "False", *_one_of("True", "False"), "Fusion of element-wise operators.", idle=True),
    Variable("NPU_ASD_ENABLE", "0", *_one_of("0", "1", "2", "3"), "Detection of silent errors of a chip.",
             strict=True, idle=True),
    Variable("NPU_ASD_CONFIG", "", *_any("key:value,…"), "Detection of silent errors of a chip.", idle=True),
    Variable("NPU_ASD_UPPER_THRESH", "", *_any("two numbers"), "Its absolute thresholds.", idle=True),
    Variable("NPU_ASD_SIGMA_THRESH", "", *_any("two numbers"), "Its relative thresholds.", idle=True),
    # torch.distributed
    Variable("TORCH_HCCL_BLOCKING_WAIT", "0", *_SWITCH,
             "wait() of a collective waits on the host, not only the stream."),
    Variable("HCCL_BLOCKING_WAIT", "0", *_SWITCH, "Old name of TORCH_HCCL_BLOCKING_WAIT."),
    Variable("TORCH_HCCL_ASYNC_ERROR_HANDLING", "1", *_SWITCH,
             "The watchdog gives up communicators whose collective failed or timed out; 0: no watchdog."),
    Variable("TORCH_HCCL_ENABLE_TIMING", "0", *_SWITCH, "Collectives are timed."),
    Variable("TORCH_HCCL_TRACE_BUFFER_SIZE", "", *_number(0),
             "Collectives that the flight recorder keeps; the default is TORCH_FR_BUFFER_SIZE, else 0: off."),
    Variable("TORCH_FR_BUFFER_SIZE", "", *_number(0), "PyTorch's own name of it."),
    Variable("TORCH_HCCL_DUMP_ON_TIMEOUT", "0", *_SWITCH,
             "The flight recorder's content is written when a collective fails or times out."),
    Variable("TORCH_HCCL_DEBUG_INFO_TEMP_FILE", "/tmp/hccl_trace_rank_", *_any("the beginning of a path"),
             "Where to; the rank's number follows."),
    Variable("P2P_HCCL_BUFFSIZE", "20", *_number(0), "Buffer in MB of the communicators of send and recv."),
    # Processes
    Variable("TORCH_NPUGRAPH_GC", "0", *_SWITCH, "torch.npu.graph collects Python's garbage before it captures."),
    Variable("ASCEND_WORK_PATH", "", *_any("a folder"), "Where profiles go whose handler names no folder."),
    Variable("PROF_CONFIG_PATH", "", *_any("a folder"), "The folder whose profiler_config.json dynamic_profile watches."),
    Variable("RANK", "", *_number(0), "This process's number in the job (set by torchrun): named in errors."),
)  # fmt: skip

TABLE: dict[str, Variable] = {row.name: row for row in _TABLE}


def text(name: str) -> str:
    """The variable's value; its default if it is not set, empty or malformed."""
    row, value = TABLE[name], os.environ.get(name, "")
    return value if value and row.accepts(value) else row.default


def raw(name: str) -> str | None:
    """The variable as it is, malformed or not; None if it is not set."""
    return os.environ.get(TABLE[name].name)


def on(name: str) -> bool:
    """Whether a switch is "1"."""
    return text(name) == "1"


def quiet() -> bool:
    """Whether warnings of torch_npu are off."""
    return on("TORCH_NPU_WARNING_DISABLE") or on("TORCH_NPU_DISABLED_WARNING")


def malformed() -> Iterator[tuple[Variable, str]]:
    """Each variable whose value is not one it takes, with the value."""
    for row in TABLE.values():
        value = os.environ.get(row.name, "")
        if value and not row.accepts(value):
            yield row, value


def complaint(row: Variable, value: str) -> str:
    """What is said of a malformed value."""
    return f"{row.name} should be {row.values}, but it is {value!r}"


def check() -> None:
    """Names malformed values.

    Raises:
        RuntimeError, ValueError: one of a variable that is strict.
    """
    for row, value in malformed():
        if row.strict:
            from .utils._error_code import ErrCode, pta_error

            kind = ValueError if row.name == "TORCH_TRANSFER_TO_NPU" else RuntimeError
            raise kind(complaint(row, value) + pta_error(ErrCode.VALUE))
        if row.accepts is not _ALLOC[1] and row.name != "TORCH_NPU_DEVICE_CAPABILITY" and not quiet():  # named where they act
            rest = f"; the default, {row.default}, holds" if row.default else "; it is ignored"
            warnings.warn(complaint(row, value) + rest, stacklevel=4)

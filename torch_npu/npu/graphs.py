# SPDX-License-Identifier: BSD-3-Clause
"""NPU graphs: the work of a stream captured once and replayed as a whole.

Between capture_begin and capture_end nothing runs: what is put on the stream (and on streams that wait for it) is kept, with
the memory it uses. Every replay runs it again on what lies in that memory then. So new input is copied into the tensors that
were captured, and results are read from the tensors that the captured code returned. What needs a value on the host (.item(),
print, .cpu(), control flow on tensors) cannot be captured; it raises an error that names the line.

    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        out = model(static_input)
    static_input.copy_(batch)
    graph.replay()
"""

import gc
import os
from collections.abc import Callable
from typing import Any

import torch
import torch_npu._C as _C

from .. import _variables
from ..utils._error_code import ErrCode, graph_error
from . import _graph_callables
from ._devices import synchronize
from ._graph_update import GraphDispatchMode, NpuGraphOpHandler, register_npu_graph_handler
from ._lazy import _lazy_init, is_initialized
from .memory import empty_cache, host_empty_cache
from .streams import Stream, StreamContext

__all__ = [
    "is_current_stream_capturing",
    "graph_pool_handle",
    "graph_task_group_begin",
    "graph_task_group_end",
    "graph_task_update_begin",
    "graph_task_update_end",
    "NPUGraph",
    "graph",
    "make_graphed_callables",
    "super_kernel_scope_begin",
    "super_kernel_scope_end",
    "NpuGraphOpHandler",
    "register_npu_graph_handler",
]

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
_NO_POOL = (0, 0)

Pool = tuple[int, int]


def is_current_stream_capturing() -> bool:
    """Whether the current stream's work is being captured. Does not open the NPU."""
    return is_initialized() and _C._npu_isCurrentStreamCapturing()


def graph_pool_handle() -> Pool:
    """A name for a memory pool that graphs share when each is given it; such graphs must be replayed in the order of their
    captures and never at the same time."""
    return _C._graph_pool_handle()


def graph_task_group_begin(stream: torch.Stream) -> None:
    """What is captured on `stream` until graph_task_group_end can be replaced later. `stream` must be capturing."""
    _C._graph_task_group_begin(stream.stream_id, stream.device_index)


def graph_task_group_end(stream: torch.Stream) -> int:
    """Ends the group and returns its handle."""
    return _C._graph_task_group_end(stream.stream_id, stream.device_index)


def graph_task_update_begin(stream: torch.Stream, handle: int) -> None:
    """What is put on `stream` (one that does not capture) until graph_task_update_end takes the place of the group's work.

    It must be the same operators in the same number. It takes effect in the order of `stream`.
    """
    _C._graph_task_update_begin(stream.stream_id, stream.device_index, handle)


def graph_task_update_end(stream: torch.Stream) -> None:
    """Ends the replacement."""
    _C._graph_task_update_end(stream.stream_id, stream.device_index)


def _check_scope(scope_name: str | None) -> None:
    if scope_name is not None and not (isinstance(scope_name, str) and scope_name.strip()):
        raise RuntimeError("scope_name should be None or a non-empty string." + graph_error(ErrCode.PARAM))


def super_kernel_scope_begin(scope_name: str | None = None) -> None:
    """Marks operators that a chip may fuse into one kernel. Checked and accepted: a software NPU has no kernels to fuse."""
    _check_scope(scope_name)


def super_kernel_scope_end(scope_name: str | None = None) -> None:
    """Ends the scope."""
    _check_scope(scope_name)


class NPUGraph:
    """A captured piece of work. One capture each; `reset` frees what it holds, as does its end."""

    def __init__(self) -> None:
        _lazy_init()
        self._graph = _C._graph_new()
        self.auto_dispatch_capture = False
        self.graph_dispatch_mode = GraphDispatchMode()

    def capture_begin(self, pool: Pool | None = None, capture_error_mode: str = "global") -> None:
        """Begins to capture the current stream, which must not be the default one. Usually `torch.npu.graph` calls it.

        Args:
            pool: memory to share with other graphs: from graph_pool_handle() or another graph's pool(); None: its own.
            capture_error_mode: who may meanwhile do what a capture cannot see (copies that block, say): with "global" no
                thread, with "thread_local" every thread but this one, with "relaxed" everybody.

        Raises:
            RuntimeError: default stream; this object has captured already; the stream captures already.
        """
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}"
                + graph_error(ErrCode.PARAM)
            )
        _C._graph_capture_begin(self._graph, _NO_POOL if pool is None else tuple(pool), _MODES[capture_error_mode])

    def capture_end(self) -> None:
        """Ends the capture, on the stream on which it began.

        Raises:
            RuntimeError: not capturing; a stream that joined has not come back; the capture was spoilt by an error.
        """
        _C._graph_capture_end(self._graph)

    def replay(self) -> None:
        """Puts the captured work on the current stream. Returns at once."""
        _C._graph_replay(self._graph)

    def reset(self) -> None:
        """Frees the captured work and its memory pool; the tensors of the captured code must not be used any more."""
        _C._graph_reset(self._graph)

    def pool(self) -> Pool:
        """The name of its memory pool, for other graphs to share."""
        return _C._graph_pool(self._graph)

    def update(self, cpu_update_input: list[dict[str, Any]]) -> None:
        """Replaces arguments of operators captured with auto_dispatch_capture=True, for the replays to come.

        Args:
            cpu_update_input: a dictionary {argument: value} for each such operator in the order of capture; one alone holds
                for all.
        """
        if not self.auto_dispatch_capture:
            raise RuntimeError(
                "The current graph configuration does not support update,"
                "Try to capture by setting auto_dispatch_capture=True during capture" + graph_error(ErrCode.PARAM)
            )
        self.graph_dispatch_mode.update_capture_record(cpu_update_input)

    def register_generator_state(self, generator: torch.Generator) -> None:
        """Kept for callers written for CUDA: a generator is registered when the captured code first draws from it."""
        if generator.device.type != "npu":
            raise RuntimeError(f"Expected a 'npu' generator but found '{generator.device}'" + graph_error(ErrCode.TYPE))

    def enable_debug_mode(self) -> None:
        """Kept for callers written for CUDA: a graph can be dumped without."""

    def debug_dump(self, debug_path: str) -> None:
        """Writes the captured tasks to a file, as a trace for chrome://tracing or Perfetto (JSON)."""
        _C._graph_debug_dump(self._graph, os.fspath(debug_path))

    def super_kernel_optimize(
        self, optimize_options: dict[str, Any] | None = None, debug_options: dict[str, Any] | None = None
    ) -> None:
        """Asks a chip to fuse the graph's kernels. Options are checked for their form; a software NPU has nothing to fuse."""
        for name, options in (("optimize_options", optimize_options), ("debug_options", debug_options)):
            if options is not None and not isinstance(options, dict):
                raise RuntimeError(f"{name} param must be dict or None." + graph_error(ErrCode.PARAM))
        self.pool()  # raises when nothing was captured


class graph:
    """Context manager: captures the work inside into an NPUGraph.

    Args:
        npu_graph: the graph.
        pool: see NPUGraph.capture_begin.
        stream: the stream to capture on; None: one of this class's own. Graphs that share a pool should share the stream.
        auto_dispatch_capture: whether operators with a handler (register_npu_graph_handler) are captured so that
            NPUGraph.update can replace their arguments.
        capture_error_mode: see NPUGraph.capture_begin.
    """

    default_capture_stream: Stream | None = None

    def __init__(
        self,
        npu_graph: NPUGraph,
        pool: Pool | None = None,
        stream: torch.Stream | None = None,
        auto_dispatch_capture: bool = False,
        capture_error_mode: str = "global",
    ) -> None:
        if stream is None:
            if graph.default_capture_stream is None:
                graph.default_capture_stream = Stream()
            stream = graph.default_capture_stream
        self.pool = pool
        self.capture_stream = stream
        self.stream_ctx = StreamContext(stream)
        self.npu_graph = npu_graph
        self.capture_error_mode = capture_error_mode
        self.npu_graph.auto_dispatch_capture = auto_dispatch_capture

    def __enter__(self) -> None:
        synchronize()
        if _variables.on("TORCH_NPUGRAPH_GC"):
            gc.collect()
        empty_cache()
        host_empty_cache()
        self.stream_ctx.__enter__()
        try:
            self.npu_graph.capture_begin(self.pool, capture_error_mode=self.capture_error_mode)
        except BaseException:
            self.stream_ctx.__exit__(None, None, None)
            raise
        if self.npu_graph.auto_dispatch_capture:
            self.npu_graph.graph_dispatch_mode.__enter__()

    def __exit__(self, exc_type: type | None, exc_value: BaseException | None, traceback: Any) -> None:
        if self.npu_graph.auto_dispatch_capture:
            self.npu_graph.graph_dispatch_mode.__exit__(exc_type, exc_value, traceback)
        try:
            self.npu_graph.capture_end()
        except RuntimeError:
            if exc_type is None:  # else the first error says what went wrong
                raise
        finally:
            self.stream_ctx.__exit__(exc_type, exc_value, traceback)


def make_graphed_callables(
    callables: Callable | tuple[Callable, ...],
    sample_args: tuple,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Pool | None = None,
) -> Any:
    """Functions or modules whose forward and backward passes run as graphs, for use in an ordinary training loop.

    Args:
        callables: one function or torch.nn.Module, or a tuple of several in the order in which they will run; these share
            memory.
        sample_args: a tuple of tensors for one callable, a tuple of such tuples for several; shapes, types and
            requires_grad as in the real calls.
        num_warmup_iters: how often each is run before it is captured.
        allow_unused_input: whether inputs may have no influence on the result.
        pool: memory to share with other graphs.

    Returns:
        The graphed callable, or a tuple. A module is returned itself, its forward replaced; in the other of training and
        eval mode it runs as before.

    Raises:
        RuntimeError: autocast with its cache on; hooks on a module; buffers that require gradients; arguments that are no
            tensors.
    """
    return _graph_callables.make(NPUGraph, graph, callables, sample_args, num_warmup_iters, allow_unused_input, pool)

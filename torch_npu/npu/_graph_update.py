# SPDX-License-Identifier: BSD-3-Clause
"""Operators in a graph whose arguments change from replay to replay, such as the true lengths of padded sequences.

While a graph is captured with auto_dispatch_capture=True, GraphDispatchMode looks at every operator. One that has a handler is
captured as a task group of its own, behind an external event that every replay waits for and clears. NPUGraph.update puts the
operator with its new arguments on a stream of its own, which replaces the group's tasks, and then records the event.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
import torch_npu._C as _C
from torch.utils._python_dispatch import TorchDispatchMode

from ..utils._error_code import ErrCode, graph_error
from .streams import ExternalEvent, Stream, StreamContext, current_stream


class NpuGraphOpHandler:
    """How an operator is captured and updated; subclasses change what differs. There are no instances: classes are registered.

    UPDATE_SPECS says where the values of an update go: {operator: [("arg", position, key) or ("kwarg", name, key), …]}.
    """

    UPDATE_SPECS: dict[str, list[tuple[str, int | str, str]]] = {}

    @classmethod
    def prepare_capture(cls, func: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple[Callable, tuple, dict[str, Any]]:
        """What is captured in place of func(*args, **kwargs), say its out= form. Runs before the task group begins."""
        return func, args, kwargs

    @classmethod
    def postprocess_result(cls, result: Any, kwargs: dict[str, Any]) -> Any:
        """What the caller of the captured operator gets."""
        return result

    @classmethod
    def get_update_specs(cls, op_name: str) -> list[tuple[str, int | str, str]]:
        """The operator's entries of UPDATE_SPECS."""
        return cls.UPDATE_SPECS.get(op_name, [])

    @classmethod
    def update_args(cls, dispatch_record: "GraphDispatchRecord", update_input: dict[str, Any]) -> None:
        """Puts the values of an update into the recorded arguments."""
        for where, at, key in cls.get_update_specs(dispatch_record.op_cache_entry.__name__):
            if key not in update_input:
                continue
            if where == "kwarg":
                dispatch_record.kwargs[at] = update_input[key]
            elif len(dispatch_record.args) > at:
                dispatch_record.args[at] = update_input[key]

    @classmethod
    def record_wrap_kwarg(cls, key: str, value: Any, tensor_param_names: Sequence[str]) -> Any:
        """How a keyword argument is kept until updates: NPU tensors without holding their memory, which is the graph's."""
        if isinstance(value, (list, tuple)):
            return type(value)(_kept(item) for item in value)
        return _kept(value)


HANDLERS: dict[str, type[NpuGraphOpHandler]] = {}
"""Handlers by operator, as func.__name__ has it ("my_op.default")."""


def register_npu_graph_handler(op_names: str | Sequence[str]) -> Callable[[type], type]:
    """Class decorator: registers a handler for one or several operators ("my_op.default").

    Raises:
        TypeError: the class is no NpuGraphOpHandler.
    """
    names = [op_names] if isinstance(op_names, str) else list(op_names)

    def register(handler: type) -> type:
        if not (isinstance(handler, type) and issubclass(handler, NpuGraphOpHandler)):
            raise TypeError(f"{handler!r} is not a subclass of NpuGraphOpHandler" + graph_error(ErrCode.TYPE))
        HANDLERS.update(dict.fromkeys(names, handler))
        return handler

    return register


def _kept(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.device.type == "npu":
        return _C._weak_ref_tensor(value)
    return deepcopy(value)


@dataclass
class GraphDispatchRecord:
    """An operator captured for updates."""

    event: ExternalEvent
    handle: int
    op_cache_entry: Callable
    args: list = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)


class GraphDispatchMode(TorchDispatchMode):
    """Captures operators that have handlers as task groups; one for each graph."""

    _stream: Stream | None = None

    def __init__(self) -> None:
        super().__init__()
        self.graph_dispatch_records: list[GraphDispatchRecord] = []

    @property
    def update_stream(self) -> Stream:
        """The stream of updates, the same for all graphs."""
        if GraphDispatchMode._stream is None:
            GraphDispatchMode._stream = Stream()
        return GraphDispatchMode._stream

    def __torch_dispatch__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        handler = HANDLERS.get(func.__name__)
        wanted = getattr(handler, "should_handle", None)
        if handler is None or (wanted and not wanted(func, args, kwargs)):
            return func(*args, **kwargs)
        stream = current_stream()
        event = ExternalEvent()
        event.wait(stream)
        event.reset(stream)
        func, args, kwargs = handler.prepare_capture(func, args, kwargs)
        tensors = [argument.name for argument in func._schema.arguments if "Tensor" in str(argument.type)]
        _C._graph_task_group_begin(stream.stream_id, stream.device_index)
        result = func(*args, **kwargs)
        handle = _C._graph_task_group_end(stream.stream_id, stream.device_index)
        self.graph_dispatch_records.append(
            GraphDispatchRecord(
                event,
                handle,
                func,
                [_kept(value) for value in args],
                {key: handler.record_wrap_kwarg(key, value, tensors) for key, value in kwargs.items()},
            )
        )
        return handler.postprocess_result(result, kwargs)

    def update_capture_record(self, cpu_update_input: list[dict[str, Any]]) -> None:
        """See NPUGraph.update."""
        records = self.graph_dispatch_records
        if len(cpu_update_input) == 1:
            cpu_update_input = cpu_update_input * len(records)
        if len(cpu_update_input) != len(records):
            raise RuntimeError(
                f"Currently, there are {len(records)} operators that need to be updated by capture, and there are only "
                f"{len(cpu_update_input)} elements in the incoming cpu_update_input list" + graph_error(ErrCode.PARAM)
            )
        stream = self.update_stream
        with StreamContext(stream):
            for record, values in zip(records, cpu_update_input):
                _C._graph_task_update_begin(stream.stream_id, stream.device_index, record.handle)
                try:
                    record.kwargs.update({key: value for key, value in values.items() if key in record.kwargs})
                    HANDLERS[record.op_cache_entry.__name__].update_args(record, values)
                    record.op_cache_entry(*record.args, **record.kwargs)
                finally:
                    _C._graph_task_update_end(stream.stream_id, stream.device_index)
                record.event.record(stream)

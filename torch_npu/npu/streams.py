# SPDX-License-Identifier: BSD-3-Clause
"""Streams and events: torch.Stream and torch.Event for the NPU, and which stream is current.

A stream is a queue of one device; work on it runs in order, and work on two streams at any time unless events order it.
Every thread has a current stream a device, at first the default one (stream id 0).
"""

import ctypes
from typing import Any

import torch
import torch_npu._C as _C

from ..utils._error_code import ErrCode, pta_error
from ._devices import device as device_context
from ._lazy import _lazy_init
from ._utils import _get_device_index

__all__ = ["Stream", "Event", "ExternalStream", "ExternalEvent", "SyncLaunchStream"]

STREAM_IDS = 200  # max_streams of the bridge


class Stream(torch.Stream):
    """A stream of an NPU.

    Args:
        device: index, "npu:1" or torch.device; None, a negative index or any float means the current device.
        priority: 0, or negative for more important ones.
        stream_id, device_index, device_type: together wrap a stream that exists.

    Raises:
        RuntimeError: no such stream or device.
    """

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> "Stream":
        _lazy_init()
        if "stream_id" in kwargs:
            made = super().__new__(cls, **kwargs)
            if made.device.type != "npu":
                raise RuntimeError(f"Expected a stream of an NPU, but got one of {made.device}" + pta_error(ErrCode.PARAM))
            if not 0 <= made.stream_id < STREAM_IDS:
                raise RuntimeError(f"Unknown NPU stream id {made.stream_id}" + pta_error(ErrCode.PARAM))
            _C._npu_getRawStream(made.stream_id, made.device_index)
            return made
        index = -1 if device is None or isinstance(device, float) else _get_device_index(device, optional=True)
        if index < 0:
            index = _C._npu_getDevice()
        with device_context(index):
            return super().__new__(cls, torch.device("npu", index), priority=priority)

    @property
    def npu_stream(self) -> int:
        """The aclrtStream as an integer."""
        return _C._npu_getRawStream(self.stream_id, self.device_index)

    @property
    def priority(self) -> int:
        """The priority it was made with."""
        return _C._npu_getStreamPriority(self.stream_id, self.device_index)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.npu_stream)

    def wait_event(self, event: torch.Event) -> None:
        """What is put on this stream from now on waits for the event. Returns at once."""
        event.wait(self)

    def wait_stream(self, stream: torch.Stream) -> None:
        """What is put on this stream from now on waits for what is on the other one now. Returns at once."""
        self.wait_event(stream.record_event())

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """Records an event (a new one if None) at the stream's present end and returns it."""
        if event is None:
            event = Event()
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work put on the stream is done."""
        return super().query()

    def synchronize(self) -> None:
        """Waits until all work put on the stream is done; raises the first error of it."""
        super().synchronize()

    def set_data_preprocess_stream(self, is_data_preprocess_stream: bool = False) -> None:
        """Marks the stream as one that prepares data. A chip then spares it a queue; here every stream is the same.

        Raises:
            TypeError: not a bool.
        """
        if not isinstance(is_data_preprocess_stream, bool):
            raise TypeError(
                f"is_data_preprocess_stream must be a bool, but got {type(is_data_preprocess_stream).__name__}"
                + pta_error(ErrCode.TYPE)
            )

    def __enter__(self) -> "Stream":
        contexts = self.__dict__.setdefault("_contexts", [])
        contexts.append(StreamContext(self))
        contexts[-1].__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.__dict__["_contexts"].pop().__exit__(*exception)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, torch.Stream) and (self.stream_id, self.device) == (other.stream_id, other.device)

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device))

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Stream device={self.device} npu_stream={self.npu_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library made. It must outlive this object and is never destroyed here.

    Args:
        stream_ptr: the aclrtStream as an integer.
        device: the device it was made on; None means the current one.
    """

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> "ExternalStream":
        _lazy_init()
        if kwargs:
            raise RuntimeError(f"an external stream takes no {', '.join(kwargs)}" + pta_error(ErrCode.PARAM))
        index = _get_device_index(device, optional=True)
        stream_id, device_index, device_type = _C._npu_getStreamFromExternal(stream_ptr, index)
        return super().__new__(cls, stream_id=stream_id, device_index=device_index, device_type=device_type)


class SyncLaunchStream(Stream):
    """A stream whose work is launched without a queue before it, as on every stream of this backend.

    Args:
        device: index, "npu:1" or torch.device; None or a negative index means the current device.
        priority: 0, or negative for more important ones.
    """

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> "SyncLaunchStream":
        return super().__new__(cls, device, priority, **kwargs)


class _SharedEvent:
    """What an Event with interprocess=True does its work with: an event that other processes see.

    Args:
        capsule: what _C._shared_event_new or _C._event_import gave.
        device: where it was made; None until its first record.
    """

    def __init__(self, capsule: Any, device: torch.device | None = None) -> None:
        self.capsule = capsule
        self.device = device

    @property
    def event_id(self) -> int:
        return _C._event_handle(self.capsule)

    def record(self, stream: torch.Stream) -> None:
        _C._event_record(self.capsule, stream.stream_id, stream.device_index)
        self.device = stream.device

    def wait(self, stream: torch.Stream) -> None:
        _C._event_wait(self.capsule, stream.stream_id, stream.device_index)

    def query(self) -> bool:
        return self.device is None or _C._event_query(self.capsule)

    def synchronize(self) -> None:
        _C._event_synchronize(self.capsule)


class Event(torch.Event):
    """A mark in a stream, to wait for and to measure with. It gets its device when first recorded.

    PyTorch's own methods take no subclass of torch.Event as argument, so a plain torch.Event inside does the work.

    Args:
        enable_timing: whether elapsed_time works.
        blocking: accepted; a wait spins briefly and then sleeps in either case.
        interprocess: other processes may open it (ipc_handle, from_ipc_handle, torch.multiprocessing).
    """

    _event: "torch.Event | _SharedEvent"

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> "Event":
        _lazy_init()
        event = super().__new__(cls, "npu", enable_timing=enable_timing, blocking=blocking)
        if interprocess:
            event._event = _SharedEvent(_C._shared_event_new(enable_timing))
        else:
            event._event = torch.Event("npu", enable_timing=enable_timing, blocking=blocking)
        return event

    @property
    def device(self) -> torch.device | None:
        """The device it was recorded on."""
        return self._event.device

    @property
    def event_id(self) -> int:
        """The aclrtEvent as an integer; 0 before the first record."""
        return self._event.event_id

    npu_event = event_id

    def record(self, stream: torch.Stream | None = None) -> None:
        """Records it at the present end of `stream` (default: the current one)."""
        self._event.record(current_stream() if stream is None else stream)

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Lets what is put on `stream` (default: the current one) from now on wait for the event."""
        self._event.wait(current_stream() if stream is None else stream)

    def query(self) -> bool:
        """Whether the work before the record is done; True for an event never recorded."""
        return self._event.query()

    def elapsed_time(self, end_event: torch.Event) -> float:
        """Milliseconds from this event to `end_event`; both must have timing and be done."""
        end = getattr(end_event, "_event", end_event)
        if isinstance(self._event, _SharedEvent) or isinstance(end, _SharedEvent):
            return _C._event_elapsed(self._event.event_id, end.event_id)
        return self._event.elapsed_time(end)

    def recorded_time(self) -> int:
        """When the work before the record was done, in microseconds of a clock that only goes forward; waits for it.

        Raises:
            RuntimeError: never recorded, or made without timing.
        """
        return _C._npu_eventTimestamp(self.event_id)

    def ipc_handle(self) -> bytes:
        """A handle by which other processes of the same user open this event; good while the event lives.

        Raises:
            RuntimeError: made without interprocess=True, or another process's.
        """
        if not isinstance(self._event, _SharedEvent):
            raise RuntimeError(
                "only an event made with torch.npu.Event(interprocess=True) has a handle for other processes"
                + pta_error(ErrCode.PARAM)
            )
        return _C._event_export(self._event.capsule)

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> "Event":
        """The event that another process made, on NPU `device`.

        Raises:
            ValueError: not 64 bytes.
            RuntimeError: no event of a living process.
        """
        index = _get_device_index(device, optional=True)
        _lazy_init()
        event = super().__new__(cls, "npu", enable_timing=False)
        event._event = _SharedEvent(_C._event_import(index, handle), torch.device("npu", index))
        return event

    def synchronize(self) -> None:
        """Waits until the work before the record is done."""
        self._event.synchronize()

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.npu_event)

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Event {self.npu_event:#x}>" if self.npu_event else "<torch_npu.npu.Event uninitialized>"


class ExternalEvent:
    """A flag that streams set, wait for and clear; in a graph each replay does so anew.

    Unlike an Event, a wait holds until a record that may come later, from outside the graph too. It knows no times and cannot
    be asked for its state. If nobody records it, a stream that waits for it waits for ever.
    """

    def __init__(self) -> None:
        _lazy_init()
        self._event = _C._external_event_new()

    def record(self, stream: torch.Stream | None = None) -> None:
        """Sets it when the work before on `stream` (default: the current one) is done."""
        stream = current_stream() if stream is None else stream
        _C._event_record(self._event, stream.stream_id, stream.device_index)

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Lets what is put on `stream` (default: the current one) from now on wait until it is set."""
        stream = current_stream() if stream is None else stream
        _C._event_wait(self._event, stream.stream_id, stream.device_index)

    def reset(self, stream: torch.Stream | None = None) -> None:
        """Clears it when the work before on `stream` (default: the current one) is done."""
        stream = current_stream() if stream is None else stream
        _C._event_reset(self._event, stream.stream_id, stream.device_index)

    @property
    def npu_event(self) -> int:
        """The aclrtEvent as an integer."""
        return _C._event_handle(self._event)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.npu_event)

    def __repr__(self) -> str:
        return f"<torch_npu.npu.ExternalEvent {self.npu_event:#x}>"


_new_stream = Stream.__base__.__new__  # torch.Stream's, also where transfer_to_npu puts something else under that name


def _wrap(data: tuple[int, int, int]) -> Stream:
    stream_id, device_index, device_type = data  # the bridge's own: nothing to check
    return _new_stream(Stream, stream_id=stream_id, device_index=device_index, device_type=device_type)


def current_stream(device: Any = None) -> Stream:
    """The stream that work of this thread goes to on `device` (default: the current device)."""
    _lazy_init()
    return _wrap(_C._npu_getCurrentStream(_get_device_index(device, optional=True)))


def default_stream(device: Any = None) -> Stream:
    """The default stream of `device` (default: the current device)."""
    _lazy_init()
    return _wrap(_C._npu_getDefaultStream(_get_device_index(device, optional=True)))


def set_stream(stream: torch.Stream | None) -> None:
    """Makes `stream` the current one of this thread, and its device the current device; None changes nothing."""
    if stream is None:
        return
    if stream.device_type != _DEVICE_TYPE:
        raise ValueError(f"Expected a npu stream, but got one of {stream.device}" + pta_error(ErrCode.VALUE))
    _C._npu_setStream(stream.stream_id, stream.device_index, stream.device_type)


def erase_stream(tensor: torch.Tensor, stream: Stream) -> None:
    """Takes back tensor.record_stream(stream): its memory may be used again without waiting for that stream. What runs after
    must have waited for an event of the stream.

    Raises:
        TypeError: not a tensor, or not a stream.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"tensor should be torch.Tensor, could not be {type(tensor)}" + pta_error(ErrCode.TYPE))
    if not isinstance(stream, Stream):
        raise TypeError(f"stream should be torch_npu.npu.Stream, could not be {type(stream)}" + pta_error(ErrCode.TYPE))
    _C._npu_eraseStream(tensor.untyped_storage(), stream.stream_id, stream.device_index)


_DEVICE_TYPE = 20  # c10::DeviceType::PrivateUse1


class StreamContext:
    """Context manager: the stream is current inside; None changes nothing. See torch.npu.stream."""

    def __init__(self, stream_ctx: torch.Stream | None) -> None:
        self.stream = stream_ctx
        self._outer: tuple[int, Stream] | None = None
        self._replaced: Stream | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self._outer = (_C._npu_getDevice(), current_stream())
        self._replaced = current_stream(self.stream.device)
        set_stream(self.stream)

    def __exit__(self, *exception: object) -> None:
        if self._outer is None:
            return
        set_stream(self._replaced)
        set_stream(self._outer[1])
        self._outer = None


def stream(stream: torch.Stream | None) -> StreamContext:
    """Context manager: work inside goes to `stream`, and its device is the current one; None changes nothing."""
    return StreamContext(stream)

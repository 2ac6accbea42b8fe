# SPDX-License-Identifier: BSD-3-Clause
"""acl.rt: devices, contexts, streams, events and memory."""

import ctypes

from ._library import call, handle, number


# ---- devices ----
def set_device(device_id: int) -> int:
    """Makes a device current for this thread."""
    return call("aclrtSetDevice", device_id)


def reset_device(device_id: int) -> int:
    """Gives up everything on a device."""
    return call("aclrtResetDevice", device_id)


def get_device() -> tuple[int, int]:
    """(current device, status)."""
    return number("aclrtGetDevice")


def get_device_count() -> tuple[int, int]:
    """(number of devices, status)."""
    return number("aclrtGetDeviceCount", kind=ctypes.c_uint32)


def get_run_mode() -> tuple[int, int]:
    """(1: this program runs on a host, status)."""
    return number("aclrtGetRunMode")


def synchronize_device() -> int:
    """Waits for everything on the current device."""
    return call("aclrtSynchronizeDevice")


# ---- contexts ----
def create_context(device_id: int) -> tuple[int, int]:
    """(context, status); it becomes this thread's."""
    return handle("aclrtCreateContext", device_id)


def destroy_context(context: int) -> int:
    """Destroys a context of create_context."""
    return call("aclrtDestroyContext", context)


def set_context(context: int) -> int:
    """Makes a context this thread's."""
    return call("aclrtSetCurrentContext", context)


def get_context() -> tuple[int, int]:
    """(this thread's context, status)."""
    return handle("aclrtGetCurrentContext")


# ---- streams ----
def create_stream() -> tuple[int, int]:
    """(stream, status)."""
    return handle("aclrtCreateStream")


def destroy_stream(stream: int) -> int:
    """Destroys a stream after its work is done."""
    return call("aclrtDestroyStream", stream)


def synchronize_stream(stream: int) -> int:
    """Waits for the stream's work; its first error is the status."""
    return call("aclrtSynchronizeStream", stream)


def stream_wait_event(stream: int, event: int) -> int:
    """Lets later work of the stream wait for the event."""
    return call("aclrtStreamWaitEvent", stream, event)


# ---- events ----
def create_event() -> tuple[int, int]:
    """(event, status)."""
    return handle("aclrtCreateEvent")


def destroy_event(event: int) -> int:
    """Destroys an event."""
    return call("aclrtDestroyEvent", event)


def record_event(event: int, stream: int) -> int:
    """Records the event at the stream's present end."""
    return call("aclrtRecordEvent", event, stream)


def synchronize_event(event: int) -> int:
    """Waits for the event."""
    return call("aclrtSynchronizeEvent", event)


def query_event_status(event: int) -> tuple[int, int]:
    """(1: done, 0: not yet; status)."""
    return number("aclrtQueryEventStatus", event, before=1)


def event_elapsed_time(start: int, end: int) -> tuple[float, int]:
    """(milliseconds between two recorded events, status)."""
    return number("aclrtEventElapsedTime", start, end, kind=ctypes.c_float)


# ---- memory ----
def malloc(size: int, policy: int) -> tuple[int, int]:
    """(address of `size` bytes on the current device, status). Policy: 0 huge pages first, 1 only, 2 normal only."""
    return handle("aclrtMalloc", size, policy)


def free(pointer: int) -> int:
    """Frees device memory."""
    return call("aclrtFree", pointer)


def malloc_host(size: int) -> tuple[int, int]:
    """(address of `size` bytes of pinned host memory, status)."""
    return handle("aclrtMallocHost", size)


def free_host(pointer: int) -> int:
    """Frees pinned host memory."""
    return call("aclrtFreeHost", pointer)


def memcpy(dst: int, dest_max: int, src: int, count: int, direction: int) -> int:
    """Copies `count` bytes. Direction: 0 host to host, 1 host to device, 2 device to host, 3 device to device."""
    return call("aclrtMemcpy", dst, dest_max, src, count, direction)


def memcpy_async(dst: int, dest_max: int, src: int, count: int, direction: int, stream: int) -> int:
    """memcpy in the order of a stream."""
    return call("aclrtMemcpyAsync", dst, dest_max, src, count, direction, stream)


def memset(dev_ptr: int, max_count: int, value: int, count: int) -> int:
    """Sets `count` bytes of device memory to `value`."""
    return call("aclrtMemset", dev_ptr, max_count, value, count)


def memset_async(dev_ptr: int, max_count: int, value: int, count: int, stream: int) -> int:
    """memset in the order of a stream."""
    return call("aclrtMemsetAsync", dev_ptr, max_count, value, count, stream)


def get_mem_info(attr: int) -> tuple[int, int, int]:
    """(free bytes, total bytes, status). Attribute: 0 DDR, 1 HBM."""
    free_bytes, total = ctypes.c_size_t(), ctypes.c_size_t()
    status = call("aclrtGetMemInfo", attr, ctypes.byref(free_bytes), ctypes.byref(total))
    return free_bytes.value, total.value, status

# SPDX-License-Identifier: BSD-3-Clause
"""Streams and events."""

import gc
import threading
import weakref

import pytest
import torch
import torch_npu
from torch_npu.multiprocessing import reductions


def test_default_and_current():
    default = torch.npu.default_stream()
    assert torch.npu.current_stream() == default and hash(torch.npu.current_stream()) == hash(default)
    assert isinstance(default, torch.npu.Stream) and isinstance(default, torch.Stream) and default.device == torch.device("npu:0")
    assert default != torch.npu.Stream() and default != 3
    assert "torch_npu.npu.Stream device=npu:0 npu_stream=0x" in repr(default)


def test_context_restores_even_after_an_error():
    before, side = torch.npu.current_stream(), torch.npu.Stream()
    with torch.npu.stream(side):
        assert torch.npu.current_stream() == side
        with torch.npu.stream(None):
            assert torch.npu.current_stream() == side
        with side:
            assert torch.npu.current_stream() == side
    with pytest.raises(ZeroDivisionError), torch.npu.stream(side):
        raise ZeroDivisionError
    assert torch.npu.current_stream() == before


def test_context_of_another_device(two_devices):
    side = torch.npu.Stream(device=1)
    first, second = torch.npu.current_stream(0), torch.npu.current_stream(1)
    assert side.device == torch.device("npu:1") and torch.npu.current_device() == 0
    with torch.npu.stream(side):
        assert torch.npu.current_device() == 1 and torch.npu.current_stream() == side and torch.npu.current_stream(0) == first
        assert torch.ones(1, device="npu").device.index == 1
    assert torch.npu.current_device() == 0 and torch.npu.current_stream(1) == second


def test_wait_stream_orders_work():
    side, here = torch.npu.Stream(), torch.npu.current_stream()
    x = torch.ones(1 << 18, device="npu")
    side.wait_stream(here)
    with torch.npu.stream(side):
        for _ in range(30):
            x = x + 1
        x.record_stream(side)
    here.wait_stream(side)
    assert x.sum().item() == 31 * (1 << 18)
    side.synchronize()
    assert side.query()


def test_set_stream():
    before, side = torch.npu.current_stream(), torch.npu.Stream()
    torch.npu.set_stream(side)
    torch.npu.set_stream(None)
    assert torch.npu.current_stream() == side
    torch.npu.set_stream(before)
    with pytest.raises(ValueError, match="Expected a npu stream"):
        torch.npu.set_stream(_CpuStream())


class _CpuStream:
    device_type, device = 0, torch.device("cpu")


def test_current_stream_is_a_threads_own():
    seen = []
    with torch.npu.stream(torch.npu.Stream()):
        thread = threading.Thread(target=lambda: seen.append(torch.npu.current_stream()))
        thread.start()
        thread.join()
    assert seen == [torch.npu.default_stream()]


def test_priority():
    assert torch.npu.Stream().priority == 0
    assert torch.npu.Stream(priority=-1).priority == -1


def test_external_stream_shares_the_queue():
    owner = torch.npu.Stream()
    external = torch.npu.ExternalStream(owner.npu_stream)
    assert external.npu_stream == owner.npu_stream
    with torch.npu.stream(external):
        x = torch.ones(1000, device="npu") * 3
    external.synchronize()
    assert owner.query() and x.sum().item() == 3000
    with pytest.raises(RuntimeError, match="an external stream takes no priority"):
        torch.npu.ExternalStream(owner.npu_stream, priority=1)


def test_weak_references_die():
    hits = []
    stream = torch.npu.Stream()
    reference = weakref.ref(stream, hits.append)
    del stream
    gc.collect()
    assert hits and reference() is None


def test_events():
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    assert isinstance(start, torch.Event) and start.query() and "uninitialized" in repr(start)
    start.record()
    x = torch.ones(1 << 20, device="npu")
    for _ in range(10):
        x = x * 1.5
    end.record()
    end.synchronize()
    assert start.query() and end.query() and 0 < start.elapsed_time(end) < 60_000
    assert "torch_npu.npu.Event 0x" in repr(end)


def test_event_between_streams():
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        x = torch.ones(1 << 18, device="npu")
        for _ in range(20):
            x = x + 1
        event = side.record_event()
    event.wait()
    torch.npu.current_stream().wait_event(event)
    assert x.sum().item() == 21 * (1 << 18)


def test_generic_event_and_stream():
    event = torch.Event("npu")
    event.record()
    event.synchronize()
    assert event.query()
    stream = torch.Stream("npu")
    with stream:
        assert torch.npu.current_stream() == stream


def test_events_without_timing_cannot_measure():
    a, b = torch.npu.Event(), torch.npu.Event()
    a.record()
    b.record()
    b.synchronize()
    with pytest.raises((RuntimeError, ValueError)):
        a.elapsed_time(b)


def test_copy_to_pinned_host_is_complete_after_the_event():
    x = torch.arange(1 << 18, device="npu") * 2
    host = torch.empty(1 << 18, dtype=torch.int64, pin_memory=True)
    host.copy_(x, non_blocking=True)
    event = torch.npu.Event()
    event.record()
    event.synchronize()
    assert host.equal(torch.arange(1 << 18) * 2)


def test_waits_can_be_watched():
    x = torch.ones(4, device="npu")
    assert torch.npu.get_sync_debug_mode() == 0
    try:
        torch.npu.set_sync_debug_mode("warn")
        assert torch.npu.get_sync_debug_mode() == 1
        with pytest.warns(UserWarning, match="called a synchronizing NPU operation"):
            assert x[0].item() == 1
        torch.npu.set_sync_debug_mode(2)
        for wait in (x.sum().item, x.cpu, x.nonzero):
            with pytest.raises(RuntimeError, match="called a synchronizing NPU operation"):
                wait()
        y = x + 1  # needs no result
        torch.npu.synchronize()
        torch.npu.current_stream().synchronize()
    finally:
        torch.npu.set_sync_debug_mode("default")
    assert y.tolist() == [2] * 4
    for bad in ("never", 3, -1, True, None):
        with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
            torch.npu.set_sync_debug_mode(bad)


def test_sync_launch_stream():
    stream = torch.npu.SyncLaunchStream()
    assert isinstance(stream, torch.npu.Stream)
    with torch.npu.stream(stream):
        x = torch.ones(3, device="npu") * 2
    event = stream.record_event()
    torch.npu.current_stream().wait_event(event)
    assert x.sum().item() == 6
    stream.set_data_preprocess_stream(True)
    with pytest.raises(TypeError, match="must be a bool"):
        stream.set_data_preprocess_stream(1)


def test_recorded_time():
    first, second = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="must be recorded"):
        first.recorded_time()
    first.record()
    torch.npu._sleep(2_000_000)
    second.record()
    assert second.recorded_time() - first.recorded_time() >= 2000


def test_event_for_other_processes_in_its_own():
    event, end = torch.npu.Event(enable_timing=True, interprocess=True), torch.npu.Event(enable_timing=True)
    assert event.query() and event.device is None and event.npu_event
    event.record()
    torch.npu._sleep(2_000_000)
    end.record()
    assert not end.query() and event.device == torch.device("npu", 0)
    end.synchronize()
    assert event.query() and event.elapsed_time(end) >= 2 and event.recorded_time() > 0
    stream = torch.npu.Stream()
    torch.npu._sleep(20_000_000)
    event.record()
    event.wait(stream)
    assert not event.query() and not stream.query()
    stream.synchronize()
    assert event.query() and len(event.ipc_handle()) == 64
    rebuild, (device, handle) = reductions.reduce_event(event)
    assert rebuild is reductions.rebuild_npu_event and device == event.device and handle == event.ipc_handle()
    with pytest.raises(RuntimeError, match=r"made with torch.npu.Event\(interprocess=True\)"):
        torch.npu.Event().ipc_handle()
    with pytest.raises(ValueError, match="has 64 bytes, not 1"):
        torch.npu.Event.from_ipc_handle(0, b"x")
    with pytest.raises(RuntimeError, match="aclrtIpcOpenEventHandle"):
        torch.npu.Event.from_ipc_handle(0, bytes(64))


def test_erase_stream():
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        torch.npu._sleep(20_000_000)
    x = torch.empty(3 << 20, dtype=torch.uint8, device="npu")
    address = x.data_ptr()
    x.record_stream(stream)
    torch_npu.erase_stream(x, stream)
    del x
    y = torch.empty(3 << 20, dtype=torch.uint8, device="npu")
    assert y.data_ptr() == address
    for bad in ((1, stream), (y, 1)):
        with pytest.raises(TypeError, match="should be torch"):
            torch_npu.erase_stream(*bad)
    stream.synchronize()


def test_stream_context():
    stream, before = torch.npu.Stream(), torch.npu.current_stream()
    with torch.npu.StreamContext(stream):
        assert torch.npu.current_stream() == stream
    with torch.npu.StreamContext(stream_ctx=None):
        assert torch.npu.current_stream() == before
    assert torch.npu.current_stream() == before


@pytest.mark.parametrize(
    "field, values", [("stream_id", [-1, 199, 200, 2**40]), ("device_index", [-1, 99]), ("device_type", [0, 99])]
)
def test_a_stream_that_does_not_exist(field, values):
    stream = torch.npu.Stream()
    place = {"stream_id": stream.stream_id, "device_index": stream.device_index, "device_type": stream.device_type}
    assert torch.npu.Stream(**place) == stream
    for value in values:
        with pytest.raises((RuntimeError, OverflowError)):
            torch.npu.Stream(**place | {field: value})

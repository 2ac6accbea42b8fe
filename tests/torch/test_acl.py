# SPDX-License-Identifier: BSD-3-Clause
"""The Python module acl on the software NPU, in a process of its own without torch."""


def test_memory_streams_and_events(output):
    code = """
import sys
sys.modules["torch"] = None
import acl, numpy as np
assert acl.init() == 0 and acl.rt.set_device(0) == 0
assert acl.rt.get_device() == (0, 0) and acl.rt.get_device_count()[0] >= 1 and acl.rt.get_run_mode() == (1, 0)
data = np.arange(1000, dtype=np.float32)
device, ret = acl.rt.malloc(data.nbytes, 0); assert ret == 0 and device
host, ret = acl.rt.malloc_host(data.nbytes); assert ret == 0
stream, ret = acl.rt.create_stream(); assert ret == 0
first, ret = acl.rt.create_event(); second, ret = acl.rt.create_event()
assert acl.rt.record_event(first, stream) == 0
assert acl.rt.memcpy(device, data.nbytes, acl.util.numpy_to_ptr(data), data.nbytes, 1) == 0
assert acl.rt.memcpy_async(host, data.nbytes, device, data.nbytes, 2, stream) == 0
assert acl.rt.record_event(second, stream) == 0 and acl.rt.synchronize_stream(stream) == 0
assert acl.rt.query_event_status(second) == (1, 0) and acl.rt.event_elapsed_time(first, second)[1] == 0
assert (acl.util.ptr_to_numpy(host, (10, 100), np.float32) == data.reshape(10, 100)).all()
assert acl.util.ptr_to_bytes(host, 8) == data.tobytes()[:8]
assert acl.rt.memset(device, data.nbytes, 0, 8) == 0
assert acl.rt.memcpy(host, 8, device, 8, 2) == 0 and acl.util.ptr_to_bytes(host, 8) == bytes(8)
free, total, ret = acl.rt.get_mem_info(1); assert 0 < free <= total and ret == 0
assert acl.rt.free(device) == 0 and acl.rt.free_host(host) == 0
assert acl.rt.destroy_event(first) == acl.rt.destroy_event(second) == acl.rt.destroy_stream(stream) == 0
assert acl.get_soc_name().startswith("Ascend") and acl.get_version()[3] == 0
context, ret = acl.rt.create_context(0); assert acl.rt.get_context() == (context, 0) and acl.rt.destroy_context(context) == 0
assert acl.rt.reset_device(0) == 0 and acl.finalize() == 0
print("ok")
"""
    assert output(code) == "ok"


def test_errors_have_a_status_and_a_text(output):
    code = """
import acl
acl.init()
status = acl.rt.set_device(99)
print(status, "99" in acl.get_recent_err_msg(), acl.rt.memcpy(0, 0, 0, 8, 1) != 0)
"""
    assert output(code) == "107001 True True"


def test_missing_library_is_named(run, tmp_path):
    done = run("import acl; acl.init()", ASCEND_HOME_PATH=str(tmp_path))
    assert "OSError" in done.stderr and str(tmp_path) in done.stderr

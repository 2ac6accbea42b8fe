# SPDX-License-Identifier: BSD-3-Clause
"""Limits of cores, the queue's mode, compatible implementations, dump."""

import pytest
import torch

npu = torch.npu


def test_stream_limits():
    whole = npu.get_device_limit(0)
    assert whole["cube_core_num"] == npu.get_device_properties(0).cube_core_num > 1 and whole["vector_core_num"] > 1
    stream = npu.Stream()
    assert npu.get_stream_limit(stream) == whole
    npu.set_stream_limit(stream, cube_num=2)
    npu.set_stream_limit(stream, vector_num=3)
    assert npu.get_stream_limit(stream) == {"cube_core_num": 2, "vector_core_num": 3}
    with npu.stream(stream):
        assert torch.ones(100, device="npu").sum().item() == 100
    npu.reset_stream_limit(stream)
    assert npu.get_stream_limit(stream) == whole


def test_device_limit_is_set_once(output):
    code = """
import torch, torch_npu
n = torch.npu
try: n.set_device_limit(0, cube_num=9999)
except RuntimeError as e: print('9999 cores' in str(e))
n.set_device_limit(0, 4, 8)
print(n.get_device_limit(0), n.get_stream_limit(n.Stream()) == n.get_device_limit(0))
try: n.set_device_limit(0, 1)
except RuntimeError as e: print('already been called' in str(e))
"""
    assert output(code) == "True\n{'cube_core_num': 4, 'vector_core_num': 8} True\nTrue"


def test_bad_limits():
    for bad in ("0", 1.0, True, None):
        with pytest.raises(TypeError, match="device must be an int"):
            npu.get_device_limit(bad)
        with pytest.raises(TypeError, match="device must be an int"):
            npu.set_device_limit(bad, 1)
    for bad in (-1, 99):
        with pytest.raises(AssertionError, match=f"Invalid device id: {bad}"):
            npu.get_device_limit(bad)
    for function in (npu.get_stream_limit, npu.set_stream_limit, npu.reset_stream_limit):
        with pytest.raises(AssertionError, match="stream cannot be None"):
            function(None)
        with pytest.raises(AssertionError, match="stream should be torch_npu.npu.Stream"):
            function(0)
    with pytest.raises(RuntimeError, match="0 cores"):
        npu.set_stream_limit(npu.Stream(), 0)


def test_task_queue(output):
    before = npu.get_task_queue_enable()
    for mode in (0, 2, 1):
        npu.set_task_queue_enable(mode)
        assert npu.get_task_queue_enable() == mode and npu.utils.get_task_queue_enable() == mode
    npu.set_task_queue_enable(before)
    for bad in (3, -1, "1", True, None):
        with pytest.raises(RuntimeError, match="TASK_QUEUE_ENABLE should be 0, 1 or 2"):
            npu.set_task_queue_enable(bad)
    code = "import torch, torch_npu; print(torch.npu.get_task_queue_enable())"
    assert output(code, TASK_QUEUE_ENABLE="2") == "2" and output(code, ASCEND_LAUNCH_BLOCKING="1") == "0"


def test_compatible_implementations():
    assert npu.are_compatible_impl_enabled() is False
    npu.use_compatible_impl(True)
    assert npu.are_compatible_impl_enabled() is True
    npu.use_compatible_impl(False)
    assert npu.are_compatible_impl_enabled() is False


def test_dumps_are_started_in_order(tmp_path):
    """What they write: tests/om/test_dump.py."""
    with pytest.raises(RuntimeError, match="call aclmdlInitDump first"):
        npu.finalize_dump()
    npu.init_dump()
    try:
        with pytest.raises(AssertionError, match="path does not exists"):
            npu.set_dump(str(tmp_path / "none.json"))
        (tmp_path / "dump.json").write_text("{}")
        with pytest.raises(RuntimeError, match="dump_path is missing"):
            npu.set_dump(str(tmp_path / "dump.json"))
    finally:
        npu.finalize_dump()
    assert torch.ones(2, device="npu").sum().item() == 2


def test_aclnn_module():
    aclnn = npu.aclnn
    assert aclnn.version() == npu.utils.get_cann_version()
    first = aclnn.allow_hf32
    with aclnn.flags(allow_hf32=not first):
        assert aclnn.allow_hf32 is npu.conv.allow_hf32 is not first
    assert aclnn.allow_hf32 is first
    aclnn.allow_hf32 = not first
    assert npu.conv.allow_hf32 is not first
    aclnn.allow_hf32 = first

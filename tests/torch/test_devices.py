# SPDX-License-Identifier: BSD-3-Clause
"""Devices: counting, choosing, asking, and what the questions must not do."""

import pytest
import torch


def test_available_and_counted():
    assert torch.npu.is_available() is True and type(torch.npu.device_count()) is int
    assert torch.npu.device_count() >= 1 and torch.npu.why_not_available() == ""


QUESTIONS = (
    "torch.npu.is_available(); torch.npu.device_count(); torch.npu.get_device_name(0); torch.npu.why_not_available(); "
    "torch.npu.is_initialized(); torch.manual_seed(3); torch.npu.memory_allocated(); torch.npu.empty_cache(); "
    "torch.npu.is_bf16_supported(); torch.npu.get_amp_supported_dtype()"
)


def test_questions_do_not_initialise(output):
    assert output(f"import torch, torch_npu; {QUESTIONS}; print(torch.npu.is_initialized())") == "False"


def test_init_does():
    torch.npu.init()
    assert torch.npu.is_initialized() and torch.npu._initialized


@pytest.mark.parametrize("visible, count", [("0", 1), ("1", 1), ("0,1", 2), ("1,0", 2)])
def test_visible_devices_in_any_order(output, visible, count):
    code = "import torch, torch_npu; print(torch.npu.device_count(), torch.ones(1, device='npu:0').item())"
    assert output(code, ASCEND_RT_VISIBLE_DEVICES=visible, ANYNPU_DEVICES="2") == f"{count} 1.0"


def test_visible_devices_set_late(output):
    code = (
        "import os, torch, torch_npu; print(torch.npu.device_count()); os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '1'; "
        "torch.npu.set_device(0); print(torch.npu.device_count(), torch.ones(1).npu().item())"
    )
    assert output(code, ANYNPU_DEVICES="2", ASCEND_RT_VISIBLE_DEVICES=None).split() == ["2", "1", "1.0"]


@pytest.mark.parametrize("visible, named", [("7", "7"), ("0,x", "x"), ("0,0", "0"), ("-1", "-1")])
def test_a_bad_visible_id_is_named_and_nothing_raises(run, visible, named):
    code = "import torch, torch_npu; print(torch.npu.is_available(), torch.npu.device_count(), torch.npu.why_not_available())"
    done = run(code, ASCEND_RT_VISIBLE_DEVICES=visible, ANYNPU_DEVICES="2")
    assert done.returncode == 0 and done.stdout.startswith("False 0 ") and named in done.stdout
    assert "ASCEND_RT_VISIBLE_DEVICES" in done.stdout
    done = run("import torch, torch_npu; torch.ones(1).npu()", ASCEND_RT_VISIBLE_DEVICES=visible, ANYNPU_DEVICES="2")
    assert done.returncode != 0 and named in done.stderr and "ASCEND_RT_VISIBLE_DEVICES" in done.stderr


def test_no_visible_device(output):
    code = "import torch, torch_npu; print(torch.npu.is_available(), torch.npu.device_count(), torch.npu.why_not_available())"
    assert output(code, ASCEND_RT_VISIBLE_DEVICES="").startswith("False 0 ASCEND_RT_VISIBLE_DEVICES=''")


def test_device_context(two_devices):
    torch.npu.set_device(0)
    with torch.npu.device(1):
        assert torch.npu.current_device() == 1 and torch.ones(1, device="npu").device.index == 1
        with torch.npu.device("npu:0"):
            assert torch.npu.current_device() == 0
        with torch.npu.device(torch.device("npu", 0)), torch.npu.device(None), torch.npu.device(-1):
            assert torch.npu.current_device() == 0
        assert torch.npu.current_device() == 1
    assert torch.npu.current_device() == 0
    with pytest.raises(ZeroDivisionError), torch.npu.device(1):
        raise ZeroDivisionError
    assert torch.npu.current_device() == 0


def test_device_of(two_devices):
    x = torch.ones(1, device="npu:1")
    with torch.npu.device_of(x):
        assert torch.npu.current_device() == 1
    with torch.npu.device_of(torch.ones(1)):
        assert torch.npu.current_device() == 0


def test_set_device_forms(two_devices):
    for form in (1, "npu:1", torch.device("npu:1")):
        torch.npu.set_device(0)
        torch.npu.set_device(form)
        assert torch.npu.current_device() == 1
    torch.npu.set_device(-1)
    assert torch.npu.current_device() == 1
    torch.npu.set_device(0)


@pytest.mark.parametrize("bad", [99, "npu:99", torch.device("npu", 99)])
def test_bad_device_ids(bad):
    with pytest.raises((RuntimeError, AssertionError), match="99"):
        torch.npu.set_device(bad)
    with pytest.raises(AssertionError, match="Invalid device id: 99"):
        torch.npu.get_device_properties(bad)
    with pytest.raises(RuntimeError, match="99"):
        torch.ones(1, device=torch.device("npu", 99))
    assert torch.ones(2, device="npu").sum().item() == 2


@pytest.mark.parametrize("bad", ["cpu", torch.device("cpu"), 1.5, True, []])
def test_what_is_no_device(bad):
    with pytest.raises(ValueError, match="Expected a npu device"):
        torch.npu.set_device(bad)


def test_name_and_properties():
    name = torch.npu.get_device_name()
    assert name.startswith("Ascend") and name == torch.npu.get_device_name(0) == torch.npu.get_device_name("npu:0")
    p = torch.npu.get_device_properties(0)
    assert p.name == name and p.total_memory == torch.npu.mem_get_info()[1]
    fields = """name total_memory cube_core_num vector_core_num L2_cache_size major minor multi_processor_count warp_size
        max_threads_per_multi_processor regs_per_multiprocessor is_integrated is_multi_gpu_board gcnArchName uuid""".split()
    assert all(hasattr(p, field) for field in fields) and p == torch.npu.get_device_properties()
    assert name in repr(p) and f"{p.total_memory // 2**20}MB" in repr(p)


def test_capability(monkeypatch):
    monkeypatch.delenv("TORCH_NPU_DEVICE_CAPABILITY", raising=False)
    assert torch.npu.get_device_capability() is None
    monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", "8.0")
    assert torch.npu.get_device_capability(0) == (8, 0)
    monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", "eight")
    with pytest.warns(UserWarning, match="can't parse TORCH_NPU_DEVICE_CAPABILITY environment variable: eight"):
        assert torch.npu.get_device_capability() is None


def test_peer_access_utilization_and_blas(two_devices):
    assert torch.npu.can_device_access_peer(0, 1) is True
    assert 0 <= torch.npu.utilization() <= 100
    assert torch.npu.current_blas_handle() is None


def test_accelerator_api_means_the_npu(two_devices):
    a = torch.accelerator
    assert a.is_available() and a.current_accelerator() == torch.device("npu") and a.device_count() == torch.npu.device_count()
    a.set_device_index(1)
    assert a.current_device_index() == torch.npu.current_device() == 1
    a.set_device_index(0)
    with a.device_index(1):
        assert torch.npu.current_device() == 1
    a.synchronize()
    assert a.current_stream() == torch.npu.current_stream()
    assert torch.float32 in a.get_device_capability()["supported_dtypes"]
    free, total = a.get_memory_info()
    assert 0 < free <= total


def test_integers_mean_the_npu(two_devices):
    assert torch.device(1) == torch.device("npu:1")
    assert torch.ones(1).to(1).device == torch.device("npu:1") == torch.ones(1, device=1).device == torch.ones(1).npu(1).device
    assert torch.get_device_module(torch.device("npu")) is torch.npu and torch.get_device_module() is torch.npu


def test_synchronize():
    x = torch.ones(1 << 20, device="npu")
    y = x + x
    torch.npu.synchronize()
    torch.npu.synchronize(0)
    torch.npu.synchronize("npu:0")
    assert y[0].item() == 2 and torch.npu.current_stream().query()


def test_uuids_differ_and_stay(two_devices):
    first, second = (torch.npu.get_device_properties(index).uuid for index in range(2))
    assert len(first) == len(second) == 36 and first != second and first == torch.npu.get_device_properties(0).uuid

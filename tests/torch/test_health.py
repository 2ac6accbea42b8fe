# SPDX-License-Identifier: BSD-3-Clause
"""A device's health, stopping it, the runtime's few functions for others, and services that a software NPU has not."""

import pytest
import torch

npu = torch.npu


def test_memory_has_no_errors():
    assert npu.check_uce_in_memory(0) == 0
    with pytest.raises(AssertionError, match="Invalid device id: 99"):
        npu.check_uce_in_memory(99)


def test_stress_detect():
    assert npu.stress_detect() == 0 and npu.stress_detect("aic") == 0
    with pytest.warns(UserWarning, match="torch.distributed should be initialized"):
        assert npu.stress_detect("hccs") == 1
    with pytest.warns(UserWarning, match="Detect_type should be"):
        assert npu.stress_detect("gpu") == 1


def test_stop_and_restart(output):
    code = """
import torch, torch_npu
n = torch.npu
x = torch.ones(3, device='npu')
for _ in range(20): n._sleep(1_000_000)
print(n.stop_device(0))
n.restart_device(0)
print((x + 1).sum().item(), n.current_stream().query())
"""
    assert output(code) == "0\n6.0 True"
    with pytest.raises(AssertionError, match="Invalid device id: 99"):
        npu.stop_device(99)
    with pytest.raises(AssertionError, match="Invalid device id: 99"):
        npu.restart_device(99, rebuild_all_resources=True)


def test_sleep_keeps_a_stream_busy():
    stream = npu.Stream()
    with npu.stream(stream):
        npu._sleep(50_000_000)
        assert not stream.query()
    stream.synchronize()
    assert stream.query()


def test_runtime_functions():
    runtime = npu.npurt()
    pointer = runtime.npuStreamCreate()
    stream = npu.ExternalStream(pointer)
    with npu.stream(stream):
        x = torch.ones(5, device="npu") * 2
    stream.synchronize()
    assert x.tolist() == [2] * 5
    host = torch.zeros(4096, dtype=torch.uint8)
    assert runtime.npuHostRegister(host, 4096) == 0 and runtime.npuHostUnregister(host) == 0
    assert runtime.npuHostUnregister(host.data_ptr()) != 0
    with pytest.raises(ValueError, match="memory of the host"):
        runtime.npuHostRegister(x, 20)


def test_obfuscation_is_refused_and_says_why():
    with pytest.raises(RuntimeError, match="obfuscation_initialize: this CANN has no service"):
        npu.obfuscation_initialize(8, 0, 1)
    with pytest.raises(RuntimeError, match="no service for model obfuscation"):
        npu.obfuscation_calculate(torch.zeros(1), torch.zeros(1), torch.zeros(1))
    with pytest.raises(RuntimeError, match="no service for model obfuscation"):
        npu.obfuscation_finalize(torch.zeros(1))


def test_soc_version():
    assert npu.get_soc_version() >= 100
    assert npu.get_device_name() != "Ascend910B3" or npu.get_soc_version() == 223


def test_overflow_is_not_forced():
    assert npu.utils.is_force_overflow_check() is False

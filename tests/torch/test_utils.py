# SPDX-License-Identifier: BSD-3-Clause
"""torch_npu.utils beside combining tensors (test_optim.py), and torch_npu.jit."""

import os

import pytest
import torch
import torch_npu.jit
from torch_npu import utils


def test_thread_affinity():
    cores = sorted(os.sched_getaffinity(0))
    try:
        utils.set_thread_affinity([cores[0], cores[0]])
        assert os.sched_getaffinity(0) == {cores[0]}
        assert (torch.ones(1 << 16).npu() + 1).sum().item() == 2 << 16
        utils.set_thread_affinity([[cores[-1], cores[-1]], [cores[0], cores[0]]])
        assert os.sched_getaffinity(0) == {cores[0], cores[-1]}
        utils.set_thread_affinity()
        assert os.sched_getaffinity(0) == set(cores)
    finally:
        utils.reset_thread_affinity()
    assert os.sched_getaffinity(0) == set(cores)
    for bad, text in (
        ([1], "Invalid core range"),
        ("0-3", "Invalid core range"),
        ([], "Invalid core range"),
        ([3, 1], "Invalid core range values"),
        ([[0, "1"]], "Invalid core range values"),
        ([99990, 99999], "none of the cores"),
    ):
        with pytest.raises(ValueError, match=text):
            utils.set_thread_affinity(bad)


def test_flops():
    counter = utils.FlopsCounter()
    assert counter.get_flops() == [0, 0]
    a, b = torch.randn(4, 5).npu(), torch.randn(5, 6).npu().requires_grad_()
    counter.start()
    (a @ b).sum().backward()
    assert counter.get_flops() == [2 * 2 * 4 * 5 * 6] * 2
    counter.pause()
    a @ b
    counter.resume()
    assert counter.get_flops() == [480, 720]
    counter.stop()
    assert counter.get_flops() == [0, 0]
    with counter:
        torch.nn.Conv2d(1, 1, 3).npu()(torch.ones(1, 1, 5, 5).npu())
        assert counter.get_flops()[0] == 2 * 9 * 9


def test_save_async(tmp_path, output):
    x = torch.arange(1000.0).npu()
    utils.save_async({"x": x, "n": 3}, tmp_path / "a.pt")
    x.zero_()
    for k in range(5):
        utils.save_async(x + k, tmp_path / "b.pt")
    code = f"""
import torch, torch_npu
torch_npu.utils.save_async(torch.ones(3).npu(), {str(tmp_path / "c.pt")!r})
"""
    output(code)
    utils.save_async(x, tmp_path / "last.pt", model=torch.nn.Linear(1, 1))
    utils.serialization._writers[-1].join()
    saved = torch.load(tmp_path / "a.pt")
    assert saved["n"] == 3 and saved["x"].device.type == "npu" and saved["x"].sum().item() == 499500
    assert utils.serialization.load(tmp_path / "b.pt", map_location="cpu")[0].item() == 4
    assert torch.load(tmp_path / "c.pt").tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="is not recommended for npu tensor"):
        utils.save_async(x, tmp_path / "d.pt", _use_new_zipfile_serialization=False)


class Gelu(torch.nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x * 1.702) + 1


class Other(torch.nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x * 1.5) + 1


def test_optimize():
    x = torch.randn(9).npu()
    for module, fused in ((Gelu(), True), (Other(), False)):
        script = torch.jit.script(module)
        torch_npu.jit.optimize(script)
        assert ("npu::fast_gelu" in str(script.graph)) is fused
        torch.testing.assert_close(script(x), module(x))
    with pytest.raises(TypeError, match="torch.jit.ScriptModule"):
        torch_npu.jit.optimize(Gelu())


def test_hccl_can_be_asked_for():
    from torch_npu.distributed import is_hccl_available

    assert is_hccl_available() in (True, False)


def test_data_pointer_into_another_storage():
    import torch_npu

    whole = torch.arange(8.0, device="npu")
    part = torch.zeros(2, 2, device="npu")
    view = part.view(-1)
    assert torch_npu.npu_change_data_ptr(part, whole, 2) == 0
    assert view.tolist() == [2, 3, 4, 5] and torch_npu.get_storage_size(part) == 4 and torch_npu.get_storage_size(whole) == 8
    part += 10
    assert whole.tolist() == [0, 1, 12, 13, 14, 15, 6, 7]
    del whole
    assert view.tolist() == [12, 13, 14, 15]  # the memory lives on
    whole = torch.zeros(8, device="npu")
    bad = [
        (torch.zeros(2, device="npu").half(), whole, 0, "same dtype"),
        (part.int(), whole.int(), 0, "float32, float16 or bfloat16"),
        (part, whole.cpu(), 0, "on one NPU"),
        (part, whole, 5, "Offsets overflow"),
        (part, whole, -1, "Offsets overflow"),
        (part, whole, 2**62, "Offsets overflow"),
    ]
    for dst, src, index, text in bad:
        with pytest.raises(RuntimeError, match=text):
            torch_npu.npu_change_data_ptr(dst, src, index)
    assert view.tolist() == [12, 13, 14, 15]

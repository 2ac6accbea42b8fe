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


def test_environment_of_a_bug_report(tmp_path):
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "torch_npu.utils.collect_env"], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stderr
    for text in (f"PyTorch version: {torch.__version__}", "Torch-npu version: ", "CANN:\n9.", "NPU 0: Ascend910B", "CPU:\n"):
        assert text in done.stdout
    assert "CUDA" not in done.stdout


def test_paths(tmp_path):
    from torch_npu.utils._path_manager import PathManager

    folder, file = tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"
    PathManager.make_dir_safety(str(folder))
    PathManager.make_dir_safety(str(folder))
    PathManager.create_file_safety(str(file))
    assert file.stat().st_size == 0 and file.stat().st_mode & 0o777 == 0o640 & ~_umask()
    assert PathManager.check_path_is_readable(str(file)) and PathManager.check_path_is_writeable(str(folder))
    PathManager.check_input_file_path(str(tmp_path / "new"))
    with pytest.raises(RuntimeError, match=f"is a directory path: {folder}"):
        PathManager.check_input_file_path(str(folder))
    with pytest.raises(RuntimeError, match=f"is a file path: {file}"):
        PathManager.check_input_directory_path(str(file))
    with pytest.raises(RuntimeError, match="does not exist: /nowhere"):
        PathManager.check_directory_path_readable("/nowhere")
    with pytest.raises(RuntimeError, match=f"Failed to make directory: {file}/d"):
        PathManager.make_dir_safety(str(file / "d"))
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.warns(UserWarning, match="symbolic link"):
        PathManager.check_directory_path_writeable(str(link))
    with pytest.warns(UserWarning, match="exceeds the limit"):
        PathManager.check_input_directory_path("/" + "x" * 300)
    PathManager.remove_file_safety(str(file))
    PathManager.remove_path_safety(str(tmp_path / "a"))
    PathManager.remove_path_safety(str(tmp_path / "a"))
    assert not folder.exists()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_attention_switches_are_kept():
    npu = torch.npu
    with pytest.warns(UserWarning, match="only sets the global variable"):
        npu.enable_flash_sdp(False)
        assert not npu.flash_sdp_enabled() and npu.math_sdp_enabled() and npu.mem_efficient_sdp_enabled()
        with npu.sdp_kernel(enable_math=False):
            assert npu.flash_sdp_enabled() and not npu.math_sdp_enabled()
        assert not npu.flash_sdp_enabled() and npu.math_sdp_enabled()
        npu.enable_flash_sdp(True)
        npu.enable_mem_efficient_sdp(True)
        npu.enable_math_sdp(True)
        assert npu.preferred_linalg_library() is torch._C._LinalgBackend.Default


def test_versions_and_names_of_the_chip():
    from torch_npu.npu.utils import _is_gte_cann_version, get_soc_version

    assert _is_gte_cann_version("8.1.RC1") and not _is_gte_cann_version("99.0.0")
    assert get_soc_version() == torch.npu.get_soc_version()
    assert torch.npu._get_device_index("npu:1") == 1

# SPDX-License-Identifier: BSD-3-Clause
"""Importing: autoload, the search for the CANN, versions that do not fit, a second package. Each in a process of its own."""

import os
import shutil
import subprocess
import sys

import pytest
import torch
import torch_npu
from torch_npu import _checks, version

LOADED = "import torch; print('npu' in dir(torch), 'torch_npu' in __import__('sys').modules)"


def test_version_is_the_pair_of_torch():
    assert torch_npu.__version__ == version.__version__
    assert torch_npu.__version__.split("+")[0].split(".")[:2] == torch.__version__.split("+")[0].split(".")[:2]
    assert "+anynpu." in torch_npu.__version__


def test_autoload(output):
    assert output(LOADED) == "True True"
    assert output(LOADED, TORCH_DEVICE_BACKEND_AUTOLOAD="0") == "False False"
    assert output("import torch; print(torch.ones(2).npu().sum().item())") == "2.0"


@pytest.mark.parametrize("flag", ["0", "1"])
def test_explicit_import_with_autoload_on_and_off(output, flag):
    code = "import torch_npu, torch; print(torch.npu.is_available(), torch.ones(2, device='npu').device)"
    assert output(code, TORCH_DEVICE_BACKEND_AUTOLOAD=flag) == "True npu:0"


def test_children_inherit_the_autoload_switch(output):
    code = "import torch_npu, os; print(os.environ.get('TORCH_DEVICE_BACKEND_AUTOLOAD'))"
    assert output(code, TORCH_DEVICE_BACKEND_AUTOLOAD=None) == "None"


def test_missing_cann_breaks_import_torch_npu_but_not_torch(run, tmp_path):
    home = str(tmp_path / "nowhere")
    done = run("import torch; print(torch.ones(2).sum().item())", ASCEND_HOME_PATH=home)
    assert done.returncode == 0 and done.stdout.strip() == "2.0"
    assert done.stderr.count("torch_npu is installed but was not loaded") == 1 and "libascendcl.so" in done.stderr
    assert "Traceback" not in done.stderr

    done = run("import torch_npu", ASCEND_HOME_PATH=home, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode != 0 and "ImportError" in done.stderr
    assert (
        f"ASCEND_HOME_PATH={home}" in done.stderr
        and "unset it" in done.stderr
        and "ERR00008 PTA resource not found" in done.stderr
    )

    both = "import torch\ntry: import torch_npu\nexcept ImportError as e: print('raised', 'Searched' in str(e))"
    assert run(both, ASCEND_HOME_PATH=home).stdout.strip() == "raised True"


def test_a_failed_import_registers_nothing(run, tmp_path):
    code = "import torch; print(torch._C._get_privateuse1_backend_name(), hasattr(torch, 'npu'), hasattr(torch.Tensor, 'npu'))"
    assert run(code, ASCEND_HOME_PATH=str(tmp_path)).stdout.strip() == "privateuseone False False"


def test_ascend_home_path_wins_over_the_package(output, tmp_path):
    import anynpu

    copy = tmp_path / "toolkit"
    shutil.copytree(anynpu.toolkit_path(), copy)
    code = (
        "import torch_npu, torch; torch.ones(1).npu(); "
        "print([line.split()[-1] for line in open('/proc/self/maps') if 'libascendcl' in line][0])"
    )
    assert output(code, ASCEND_HOME_PATH=str(copy)) == str(copy / "lib64" / "libascendcl.so")


def test_another_torch_is_refused_with_both_versions_and_the_right_pair(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.12.0+cpu")
    with pytest.raises(ImportError) as caught:
        _checks.torch_fits()
    text = str(caught.value)
    assert "torch 2.12.0+cpu" in text and f"torch_npu {version.__version__}" in text
    assert "torch==2.13.0" in text and "torch-npu 2.12.0 with CANN 9.1.0" in text


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_an_old_cann_is_refused(run, tmp_path):
    source = tmp_path / "old.c"
    source.write_text('#include <string.h>\nint aclsysGetCANNVersion(int n, char *v) { strcpy(v, "8.2.RC1"); return 0; }\n')
    (tmp_path / "lib64").mkdir()
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "lib64" / "libascendcl.so"), str(source)], check=True)
    done = run("import torch_npu", ASCEND_HOME_PATH=str(tmp_path), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert "ImportError: CANN 8.2.RC1" in done.stderr and version.__version__ in done.stderr and "CANN 9.1.0" in done.stderr


@pytest.mark.parametrize(
    "text, parts", [("2.13.0+cpu", (2, 13)), ("8.2.RC1", (8, 2)), ("9.1.0", (9, 1)), ("", (0, 0)), ("dev", (0, 0))]
)
def test_minor(text, parts):
    assert _checks.minor(text) == parts


def test_two_accelerators(monkeypatch):
    monkeypatch.setattr(torch._C, "_get_accelerator", lambda: torch.device("xpu"))
    with pytest.raises(RuntimeError, match="Two accelerators cannot be used at the same time in PyTorch: npu and xpu"):
        _checks.one_accelerator()


def test_a_cuda_build_without_gpu_is_no_second_accelerator(monkeypatch):
    monkeypatch.setattr(torch._C, "_get_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    _checks.one_accelerator()


def _fake_wheel(folder, name):
    info = folder / f"{name}-2.13.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-npu\nVersion: 2.13.0\n")


def test_the_official_wheel_elsewhere_on_the_path_is_named(run, tmp_path):
    _fake_wheel(tmp_path, "torch_npu")
    path = os.environ.get("PYTHONPATH", "") + os.pathsep + str(tmp_path)
    done = run("import torch_npu", PYTHONPATH=path, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 0 and "two torch_npu packages are installed" in done.stderr and str(tmp_path) in done.stderr
    quiet = run("import torch_npu", PYTHONPATH=path, TORCH_DEVICE_BACKEND_AUTOLOAD="0", TORCH_NPU_WARNING_DISABLE="1")
    assert quiet.returncode == 0 and quiet.stderr == ""


def test_files_of_two_packages_in_one_folder_are_refused(tmp_path):
    (tmp_path / "_init").mkdir()
    with pytest.raises(ImportError, match="files of two different torch_npu packages"):
        _checks.one_distribution(str(tmp_path))


def test_import_from_the_source_tree_takes_the_built_package():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    code = "import torch_npu._C as c, torch_npu; print(torch_npu.__path__[0] == __import__('os').path.dirname(c.__file__))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "True", done.stderr


def test_import_is_silent_and_opens_no_device(run):
    done = run("import torch_npu, torch; print(torch.npu.is_initialized())")
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_works_in_a_bare_environment(output):
    code = (
        "import torch, torch_npu; x = torch.ones(2, 2, device='npu') * 2; print(repr(x.cpu()) == repr(torch.full((2, 2), 2.0)))"
    )
    assert output(code, HOME=None, PATH=None, LANG=None) == "True"

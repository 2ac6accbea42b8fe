# SPDX-License-Identifier: BSD-3-Clause
"""`anynpu doctor` on broken set-ups: each is named at the right layer, with the command that mends it; the version table."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import anynpu
import pytest
from anynpu import doctor as doctor_module
from anynpu import versions
from anynpu.script import read_script

TOOLKIT = anynpu.toolkit_path()


def examine(*words: str, path: list[Path] = (), status: int = 1, **environment: str | None) -> dict:
    """The last layer of `anynpu doctor --json`; path goes to the front of PYTHONPATH, None unsets."""
    env = dict(os.environ)
    for name in list(env):
        if name.startswith("ASCEND_"):
            del env[name]
    for name, value in environment.items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    env["PYTHONPATH"] = os.pathsep.join([*map(str, path), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "anynpu", "doctor", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env, cwd="/")
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)["layers"][-1]


def package(folder: Path, name: str, version: str, code: str = "") -> Path:
    """A folder for PYTHONPATH with a package of that name and version."""
    module = name.replace("-", "_")
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text(code or f"__version__ = {version!r}\n")
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder


def toolkit(folder: Path, version: str) -> Path:
    """A toolkit whose CANN answers that version."""
    (folder / "lib64").mkdir(parents=True)
    source = folder / "cann.c"
    source.write_text(
        f'#include <string.h>\nint aclsysGetCANNVersion(int n, char *out) {{ strcpy(out, "{version}"); return n; }}\n'
    )
    library = folder / "lib64" / "libascendcl.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return folder


def test_all_is_well(tmp_path):
    script = tmp_path / "fine.py"
    script.write_text("import torch, torch_npu\nprint(torch.ones(2, device='npu'))\n")
    assert examine(str(script), status=0)["layer"] == "script"


def test_wrong_torch(tmp_path):
    found = examine(path=[package(tmp_path, "torch", "2.1.0")])
    assert found["layer"] == "versions" and "needs torch 2.13.x, but torch is 2.1.0" in found["evidence"]
    assert "torch 2.1.0 + torch_npu 2.1.0.post17 + CANN 8.3.RC1" in found["evidence"]
    assert found["advice"] == "pip install torch==2.13.0"


def test_torch_does_not_import(tmp_path):
    found = examine(path=[package(tmp_path, "torch", "2.13.0", "import no_such_module\n")])
    assert found["layer"] == "torch" and "no_such_module" in found["evidence"]


def test_official_and_ours_installed(tmp_path):
    found = examine(path=[package(tmp_path, "torch-npu", "2.13.0")])
    assert found["layer"] == "versions" and "both installed" in found["evidence"] and "pip uninstall" in found["advice"]


def test_official_wheel_of_another_release(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_module, "_installed", lambda name: {"x": "2.7.1" if name == "torch" else "2.9.0.post3"})
    found = doctor_module._versions("9.1.0")
    assert found.status == "wrong" and "is for torch 2.9.0" in found.evidence and "torch==2.9.0" in found.advice


def test_torch_npu_missing(monkeypatch):
    monkeypatch.setattr(doctor_module, "_installed", lambda name: {"x": "2.13.0"} if name == "torch" else {})
    assert doctor_module._versions("9.1.0") == doctor_module.Finding(
        "versions", "wrong", "torch 2.13.0 is installed, torch-npu is not", "pip install torch-npu"
    )


def test_torch_missing(monkeypatch):
    monkeypatch.setattr(doctor_module, "_installed", lambda name: {})
    assert doctor_module._versions("9.1.0").evidence == "torch is not installed"


def test_torch_npu_does_not_import(tmp_path):
    (tmp_path / "torch_npu").mkdir()
    (tmp_path / "torch_npu" / "__init__.py").write_text("raise ImportError('libhccl.so: cannot open')\n")
    found = examine(path=[tmp_path])
    assert found["layer"] == "torch_npu" and "libhccl.so" in found["evidence"]


def test_no_libraries(tmp_path):
    shutil.copytree(os.path.dirname(anynpu.__file__), tmp_path / "anynpu", ignore=shutil.ignore_patterns("toolkit"))
    code = "import sys; sys.path[:] = [p for p in sys.path if 'build/release' not in p]; import anynpu.__main__ as m; "
    code += "m.main(['doctor'])"
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=env, cwd=tmp_path)
    assert "NOT  stack" in done.stdout and "carries no toolkit" in done.stdout, done.stdout + done.stderr
    assert "pip install --force-reinstall anynpu" in done.stdout


def test_home_is_no_folder():
    found = examine(ASCEND_HOME_PATH="/no/such/folder")
    assert found["layer"] == "environment" and "/no/such/folder is no folder" in found["evidence"]
    assert "unset ASCEND_HOME_PATH" in found["advice"]


def test_home_without_libraries(tmp_path):
    found = examine(ASCEND_HOME_PATH=str(tmp_path))
    assert found["layer"] == "environment" and "not a toolkit" in found["evidence"]


def test_half_sourced_opp_alone():
    found = examine(ASCEND_OPP_PATH="/usr/local/Ascend/opp")
    assert found["layer"] == "environment" and "half sourced" in found["evidence"]


def test_half_sourced_library_path(tmp_path):
    other = toolkit(tmp_path / "other", "8.2.RC1")
    found = examine(ASCEND_HOME_PATH=TOOLKIT, LD_LIBRARY_PATH=f"{other}/lib64")
    assert found["layer"] == "environment" and str(other) in found["evidence"]


def test_two_toolkits(tmp_path):
    other = toolkit(tmp_path / "other", "8.2.RC1")
    found = examine(ASCEND_HOME_PATH=TOOLKIT, ASCEND_TOOLKIT_HOME=str(other))
    assert found["layer"] == "environment" and "two toolkits" in found["evidence"]


def test_library_is_damaged(tmp_path):
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libascendcl.so").write_text("not a library")
    found = examine(ASCEND_HOME_PATH=str(tmp_path))
    assert found["layer"] == "stack" and "does not load" in found["evidence"]


def test_old_cann(tmp_path):
    found = examine(ASCEND_HOME_PATH=str(toolkit(tmp_path / "old", "8.0.0")))
    assert found["layer"] == "versions" and "needs CANN 9.0 or newer, but the CANN is 8.0.0" in found["evidence"]


@pytest.mark.parametrize("devices", ["99", "abc", "0,0"])
def test_bad_visible_devices(devices):
    found = examine(ASCEND_RT_VISIBLE_DEVICES=devices)
    assert found["layer"] in ("environment", "device") and "ASCEND_RT_VISIBLE_DEVICES" in found["evidence"] + found["advice"]


def test_no_device():
    found = examine(ANYNPU_DEVICES="0")
    assert found["layer"] == "hardware" and "There is no NPU card on this server." in found["evidence"]
    assert found["advice"] == "unset ANYNPU_DEVICES"


@pytest.mark.parametrize("name", ["ANYNPU_MEMORY", "ANYNPU_CPU", "ASCEND_LAUNCH_BLOCKING"])
def test_malformed_option(name):
    found = examine(**{name: "lots"})
    assert found["layer"] == "environment" and name in found["evidence"] and found["advice"] == f"unset {name}"


def test_misspelt_option():
    found = examine(ANYNPU_DEVICE="3")
    assert "did you mean ANYNPU_DEVICES?" in found["evidence"]


def test_no_memory():
    found = examine(ANYNPU_FAULT="oom:1k")
    assert found["layer"] in ("device", "compute") and "out of memory" in found["evidence"]


def test_old_python(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 8, 10, "final", 0))
    monkeypatch.setattr(doctor_module.platform, "python_version", lambda: "3.8.10")
    found = doctor_module._system()
    assert found.status == "wrong" and "Python 3.10 to 3.14" in found.evidence


def test_not_linux(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert doctor_module._system().status == "wrong"


CUDA_ONLY = """
import torch
import pycuda.driver as cuda
from torch.utils.cpp_extension import CUDAExtension
x = torch.ones(2).cuda()
torch.cuda.nvtx.range_push("x")
"""


def test_script_that_only_cuda_runs(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(CUDA_ONLY)
    found = examine(str(script))
    assert found["layer"] == "script"
    for line in ("train.py:3: imports pycuda", "CUDAExtension", "train.py:6: uses torch.cuda.nvtx", "transfer_to_npu"):
        assert line in found["evidence"], found["evidence"]


def test_scripts(tmp_path):
    def remarks(text: str) -> list[str]:
        path = tmp_path / "s.py"
        path.write_text(text)
        return [f"{r.line}{'!' if r.wrong else ''}" for r in read_script(str(path))]

    assert remarks("import torch\n") == []
    assert remarks("import torch\ntorch.device('cuda:1')\n") == ["2!"]
    assert remarks("from torch_npu.contrib import transfer_to_npu\nimport torch\ntorch.device('cuda')\n") == []
    assert remarks("import accelerate\nfrom torch_npu.contrib import transfer_to_npu\n") == ["1"]
    assert remarks("init(backend='nccl')\n") == ["1"]
    assert remarks("load_inline(cuda_sources=s)\n") == ["1!"]
    for text in ("def (", "\x00", "x = '" + "a" * 100000):
        (tmp_path / "s.py").write_text(text)
        with pytest.raises((SyntaxError, ValueError)):
            read_script(str(tmp_path / "s.py"))


def test_version_table():
    for npu, torch, cann in versions.PAIRS:
        python = versions.PYTHONS[".".join(torch.split(".")[:2])][0]
        assert versions.judge(torch, npu, cann, python)[0], (npu, torch, cann)
    assert not versions.judge("2.6.0", "2.6.0", "9.1.0", "3.10")[0]  # the guides' example of a wrong pair
    assert not versions.judge("2.7.1", "2.6.0", "8.2.RC1", "3.10")[0]
    assert not versions.judge("2.6.0", "2.6.0", "8.2.RC1", "3.12")[0]
    assert versions.judge("2.13.0+cpu", "2.13.0+anynpu.1", "9.1.0", "3.11.7")[0]
    assert versions.rows_for(cann="9.1.0", torch="2.7.1")[0] == ("2.7.1.post8", "2.7.1", "9.1.0")
    assert versions.minor("nonsense") == (0, 0) and versions.python_fits("9.9", "3.11")


def test_text_form():
    done = subprocess.run([sys.executable, "-m", "anynpu", "doctor"], capture_output=True, text=True, timeout=300, cwd="/",
                          env={**os.environ, "ANYNPU_DEVICES": "0"})  # fmt: skip
    assert done.returncode == 1 and "NOT  hardware" in done.stdout and "try:         unset ANYNPU_DEVICES" in done.stdout

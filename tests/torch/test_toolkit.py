# SPDX-License-Identifier: BSD-3-Clause
"""The package anynpu: finding the toolkit and installing it where the guides have it."""

import os
import subprocess
import sys

import anynpu
import pytest
from anynpu.__main__ import main


def test_toolkit_path():
    folder = anynpu.toolkit_path()
    assert os.path.isfile(os.path.join(folder, "lib64", "libascendcl.so")) and os.path.isabs(folder)


def test_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None; import anynpu; print(anynpu.toolkit_path())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == anynpu.toolkit_path(), done.stderr


@pytest.mark.parametrize("flags", [[], ["--copy"]])
def test_install(tmp_path, capsys, flags):
    prefix = tmp_path / "usr" / "local" / "Ascend"
    for _ in range(2):  # twice is as good as once
        assert main(["install-toolkit", "--prefix", str(prefix), *flags]) == 0
    base = prefix / "ascend-toolkit"
    assert f"source {base}/set_env.sh" in capsys.readouterr().out
    assert (base / "latest" / "lib64" / "libascendcl.so").is_file() and (base / "latest").is_symlink()
    assert (base / "latest" / "lib64").resolve().is_relative_to(base) == bool(flags)


def test_sourced_environment_leads_to_it(tmp_path):
    assert main(["install-toolkit", "--prefix", str(tmp_path)]) == 0
    script = (
        f"source {tmp_path}/ascend-toolkit/set_env.sh && source {tmp_path}/ascend-toolkit/set_env.sh && "
        + sys.executable
        + """ -c '
import os, torch, torch_npu
home = os.environ["ASCEND_HOME_PATH"]
assert os.path.isfile(home + "/lib64/libascendcl.so"), home
assert os.environ["LD_LIBRARY_PATH"].split(":").count(home + "/lib64") == 1
print(torch.randn(2, 2).npu().device)'"""
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND")}
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.strip() == "npu:0", done.stderr


def test_another_cann_is_not_replaced(tmp_path, capsys):
    other = tmp_path / "ascend-toolkit" / "8.2.RC1"
    other.mkdir(parents=True)
    assert main(["install-toolkit", "--prefix", str(tmp_path)]) == 1
    assert "holds another CANN" in capsys.readouterr().err and other.is_dir()
    assert main(["install-toolkit", "--prefix", str(tmp_path), "--force"]) == 0


def test_no_permission_says_what_to_type(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["install-toolkit", "--prefix", str(tmp_path / "file")]) == 1
    assert "anynpu:" in capsys.readouterr().err


def test_version_and_path(capsys):
    assert main(["path"]) == 0 and capsys.readouterr().out.strip() == anynpu.toolkit_path()
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0 and anynpu.__version__ in capsys.readouterr().out

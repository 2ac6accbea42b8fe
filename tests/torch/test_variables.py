# SPDX-License-Identifier: BSD-3-Clause
"""Environment variables: one table that everything reads from, malformed values named, `anynpu options`."""

import json
import re
from pathlib import Path

import pytest
from anynpu.__main__ import main
from torch_npu import _variables

ROOT = Path(__file__).resolve().parents[2]


def test_nothing_reads_a_variable_past_the_table():
    reads = re.compile(r"getenv\((?!\"TMPDIR\")|os\.environ(?!\[|\.items)")
    for path in sorted((ROOT / "torch_npu").rglob("*")):
        if path.suffix in (".py", ".c", ".cpp", ".h") and path.stem not in ("_variables", "variables"):
            lines = [line for line in path.read_text().splitlines() if reads.search(line)]
            assert not lines, (path, lines)


def test_the_software_cann_knows_our_names():
    ours = {name for name in _variables.TABLE if name.startswith("ANYNPU_")}
    listed = re.search(r"elsewhere\[\] = \{(.*?)\}", (ROOT / "cann/base/options.c").read_text(), re.S)[1]
    assert ours <= set(re.findall(r'"(\w+)"', listed))


def test_reading(monkeypatch):
    monkeypatch.delenv("TASK_QUEUE_ENABLE", raising=False)
    assert _variables.text("TASK_QUEUE_ENABLE") == "1"
    monkeypatch.setenv("TASK_QUEUE_ENABLE", "2")
    assert _variables.text("TASK_QUEUE_ENABLE") == "2" and not _variables.on("TASK_QUEUE_ENABLE")
    monkeypatch.setenv("TASK_QUEUE_ENABLE", "many")
    assert _variables.text("TASK_QUEUE_ENABLE") == "1" and _variables.raw("TASK_QUEUE_ENABLE") == "many"
    with pytest.raises(KeyError):
        _variables.text("NO_SUCH_VARIABLE")


@pytest.mark.parametrize(
    "name, good, bad",
    [
        ("TORCH_NPU_DEVICE_CAPABILITY", ["8.0", "10.3"], ["8", "eight"]),
        ("CPU_AFFINITY_CONF", ["0", "1,npu0:0-2,npu0:4-5", "2,force:1"], ["3", "1,npu0", "force:1"]),
        ("ACL_DEVICE_SYNC_TIMEOUT", ["1", "2147483"], ["0", "2147484", "1.5"]),
        (
            "PYTORCH_NPU_ALLOC_CONF",
            ["max_split_size_mb:64, expandable_segments:False", "roundup_power2_divisions:[256:1,>:8],page_size:1g", ""],
            ["max_split_size_mb:3", "no_key:1", "page_size:2g", "expandable_segments:yes", "roundup_power2_divisions:3"],
        ),
    ],
)
def test_forms(name, good, bad):
    row = _variables.TABLE[name]
    assert [value for value in good if not row.accepts(value)] == []
    assert [value for value in bad if row.accepts(value)] == []


@pytest.mark.parametrize("name", [row.name for row in _variables.TABLE.values() if row.strict])
def test_strict_ones_are_refused_by_name(monkeypatch, name):
    monkeypatch.setenv(name, "maybe")
    with pytest.raises((RuntimeError, ValueError), match=f"{name} should be .*, but it is 'maybe'"):
        _variables.check()


def test_others_are_warned_of(monkeypatch):
    monkeypatch.setenv("STREAMS_PER_DEVICE", "7")
    with pytest.warns(UserWarning, match="STREAMS_PER_DEVICE should be 8 or 32, but it is '7'; the default, 32, holds"):
        _variables.check()


def test_import_refuses(run):
    done = run("import torch_npu", TASK_QUEUE_ENABLE="3", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert "RuntimeError: TASK_QUEUE_ENABLE should be 0, 1 or 2, but it is '3'" in done.stderr and "ERR00003" in done.stderr


def test_unknown_names_are_named_when_the_device_opens(run):
    done = run("import torch, torch_npu; print(torch.ones(1).npu().item())", ANYNPU_DEVICE="4")
    assert done.stdout.strip() == "1.0" and done.stderr.count("ANYNPU_DEVICE is not an option; did you mean ANYNPU_DEVICES?") == 1


def test_command(monkeypatch, capsys):
    for name in ("ANYNPU_JITTER", "PYTORCH_NPU_ALLOC_CONF"):
        monkeypatch.delenv(name, raising=False)
    assert main(["options"]) == 0
    out = capsys.readouterr().out
    assert "CANN:" in out and "torch_npu:" in out
    assert all(f"  {name} " in out for name in ("ANYNPU_DEVICES", "PYTORCH_NPU_ALLOC_CONF", "ASCEND_GLOBAL_LOG_LEVEL"))


def test_command_shows_values_as_json(monkeypatch, capsys):
    monkeypatch.setenv("ANYNPU_SPIN_US", "55")
    assert main(["options", "--json", "--set"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["ANYNPU_SPIN_US"]["value"] == "55" and rows["ANYNPU_SPIN_US"]["part"] == "CANN"
    assert all(row["value"] for row in rows.values())


def test_command_refuses(monkeypatch, capsys):
    monkeypatch.setenv("ANYNPU_JITTER", "soon")
    monkeypatch.setenv("PYTORCH_NPU_ALLOC_CONF", "no_such_key:1")
    monkeypatch.setenv("ANYNPU_JITER", "5")
    assert main(["options", "--set"]) == 1
    err = capsys.readouterr().err
    assert "ANYNPU_JITTER=soon is not valid: expected 0…10000000" in err
    assert "PYTORCH_NPU_ALLOC_CONF=no_such_key:1 is not valid" in err
    assert "ANYNPU_JITER is not an option; did you mean ANYNPU_JITTER?" in err

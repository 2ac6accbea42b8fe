# SPDX-License-Identifier: BSD-3-Clause
"""`anynpu compare`: the same script on two devices; where they part; curves; what mixed precision changes."""

import json
import os
import subprocess
import sys

import pytest
from anynpu.compare import first_divergence

TRAIN = """
import sys, torch, torch.nn as nn
torch.manual_seed(3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 5)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 20), torch.randint(0, 5, (64,))
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x[:16].to(device)), y[:16].to(device))
    loss.backward()
    optimizer.step()
"""

PARTS = TRAIN.replace("    loss.backward()", "    if step >= 4 and device.type != 'cpu': loss = loss * 1.5\n    loss.backward()")

WRONG_OPERATOR = """
import torch
if "DEVICE" in __import__("os").environ and __import__("os").environ["DEVICE"] == "npu":
    library = torch.library.Library("aten", "IMPL")
    library.impl("tanh", lambda x: x * 0.5, "PrivateUse1", allow_override=True)
w = torch.ones(3).to("npu").requires_grad_()
for step in range(3):
    torch.tanh(w * 2).sum().backward()
"""


def run(tmp_path, text: str, *words: str) -> tuple[subprocess.CompletedProcess, dict]:
    script = tmp_path / "train.py"
    script.write_text(text)
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "anynpu",
        "compare",
        str(script),
        "--devices",
        "cpu,npu",
        "--out",
        str(out),
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=os.environ)
    report = out / "report.json"
    return done, json.loads(report.read_text()) if report.exists() else {}


def test_agreeing_script(tmp_path):
    done, report = run(tmp_path, TRAIN, "--amp", "8")
    assert done.returncode == 0, done.stdout + done.stderr
    names = [r["name"] for r in report["runs"]]
    assert names == ["cpu", "npu", "cpu-amp", "npu-amp"]
    assert all(len(r["losses"]) == 8 and r["samples_per_second"] > 0 for r in report["runs"])
    npu = report["runs"][1]
    assert npu["first_diverging_step"] is None and npu["operators"]["compared"] > 20 and npu["operators"]["first"] is None
    assert npu["losses"] == pytest.approx(report["runs"][0]["losses"], rel=1e-3)
    assert "mixed precision on npu" in done.stdout
    assert (tmp_path / "out" / "losses.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_step_at_which_they_part(tmp_path):
    done, report = run(tmp_path, PARTS, "8", "--operators", "0")
    assert done.returncode == 1 and report["runs"][1]["first_diverging_step"] == 4, done.stdout


def test_the_operator_at_which_they_part(tmp_path):
    done, report = run(tmp_path, WRONG_OPERATOR)
    first = report["runs"][1]["operators"]["first"]
    assert done.returncode == 1 and first["name"] == "aten.tanh.default" and first["step"] == 0, done.stdout
    assert "train.py:8" in first["where"]


def test_a_script_that_fails(tmp_path):
    done, report = run(tmp_path, "raise SystemExit(7)")
    assert done.returncode == 3 and report["runs"][0]["status"] == 7


def test_usage(tmp_path):
    for words in (["none.py"], ["none.py", "--devices", "tpu"]):
        done = subprocess.run([sys.executable, "-m", "anynpu", "compare", *words], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 2 and "anynpu:" in done.stderr


def test_first_divergence():
    nan = float("nan")
    assert first_divergence([1, 2, 3], [1, 2, 3.5], 1e-3, 0) == 2
    assert first_divergence([1, nan], [1, nan], 1e-3, 0) is None
    assert first_divergence([1, nan], [1, 1], 1e-3, 0) == 1
    assert first_divergence([], [], 1e-3, 0) is None

# SPDX-License-Identifier: BSD-3-Clause
"""examples/classify.c, compiled in one line: its classes and scores are torch's; what it says when a file is not there."""

from __future__ import annotations

import dataclasses
import pathlib
import subprocess

import numpy as np
import torch
from conftest import compile_program, convert
from networks import NETWORKS

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "classify.c"


def test_the_example_classifies(tmp_path: pathlib.Path) -> None:
    program = compile_program(EXAMPLE, tmp_path / "classify")
    network = dataclasses.replace(NETWORKS["lenet"](), classic=True)
    om = convert(network.export(tmp_path / "m.onnx"), tmp_path / "m.om", "--precision_mode_v2=origin")
    pictures = torch.rand(6, 1, 28, 28, generator=torch.Generator().manual_seed(3))
    pictures.numpy().tofile(tmp_path / "pictures.bin")
    done = subprocess.run([str(program), str(om), str(tmp_path / "pictures.bin")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    with torch.no_grad():
        scores = network.module(pictures).numpy()
    assert [int(r[0]) for r in rows] == scores.argmax(1).tolist()
    assert np.allclose([float(r[1]) for r in rows], scores.max(1), atol=1e-4)
    assert "3 executions" in done.stderr  # of a batch of two

    done = subprocess.run([str(program), "none.om", str(tmp_path / "pictures.bin")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "145002" in done.stderr and "no model file none.om" in done.stderr

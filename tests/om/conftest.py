# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of offline models share: the toolkit, conversion, and a C program that is compiled as the guide says."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import anynpu
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
HERE = pathlib.Path(__file__).parent
TOOLKIT = pathlib.Path(os.environ.get("ASCEND_HOME_PATH") or anynpu.toolkit_path())


def convert(onnx: pathlib.Path, om: pathlib.Path, *options: str) -> pathlib.Path:
    """Runs atc; a failure shows what it printed."""
    command = [str(TOOLKIT / "bin" / "atc"), f"--model={onnx}", "--framework=5", f"--output={om.with_suffix('')}"]
    done = subprocess.run([*command, "--soc_version=Ascend910B3", *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and om.exists(), done.stdout + done.stderr
    return om


def compile_program(source: pathlib.Path, program: pathlib.Path) -> pathlib.Path:
    """Compiles a C program against the toolkit in one line."""
    command = f"cc {source} -I{TOOLKIT}/include -L{TOOLKIT}/lib64 -lascendcl -Wl,-rpath,{TOOLKIT}/lib64 -o {program}"
    done = subprocess.run(command.split(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list]:
    """runner(om, inputs, batch=0): outputs of the C program, as NumPy arrays of the given types."""
    import numpy as np

    folder = tmp_path_factory.mktemp("program")
    program = compile_program(HERE / "program" / "run.c", folder / "run")

    def run(om: pathlib.Path, inputs: list, dtypes: list, batch: int = 0) -> list:
        files = []
        for i, value in enumerate(inputs):
            files.append(str(folder / f"in{i}"))
            np.ascontiguousarray(value).tofile(files[-1])
        extra = ["--batch", str(batch)] if batch else []
        command = [str(program), str(om), str(folder / "out"), *extra, *files]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        shapes = [tuple(int(s) for s in line.split()) for line in done.stdout.splitlines()]
        return [
            np.fromfile(folder / f"out.{i}", dtype).reshape(s) for i, (s, dtype) in enumerate(zip(shapes, dtypes, strict=True))
        ]

    return run

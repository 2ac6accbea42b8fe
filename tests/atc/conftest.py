# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of atc share: running the tool, small models, and running what was converted by a C program."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from collections.abc import Callable

import anynpu
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

TOOLKIT = pathlib.Path(os.environ.get("ASCEND_HOME_PATH") or anynpu.toolkit_path())
PROGRAM = pathlib.Path(__file__).parent.parent / "om" / "program" / "run.c"
FLOAT = TensorProto.FLOAT


class Atc:
    """Runs atc in a folder of its own."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def __call__(self, *options: str) -> tuple[int, str]:
        """Exit status and all that was printed."""
        command = [str(TOOLKIT / "bin" / "atc"), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=self.folder)
        return done.returncode, done.stdout + done.stderr

    def convert(self, model: onnx.ModelProto | str, *options: str) -> tuple[int, str]:
        """Converts to m.om; in the model's own types where the options say nothing of precision."""
        if not any(o.startswith("--precision") for o in options):
            options += ("--precision_mode_v2=origin",)
        if not isinstance(model, str):
            onnx.save(model, str(self.folder / "m.onnx"))
            model = "m.onnx"
        return self(f"--model={model}", "--framework=5", "--output=m", "--soc_version=Ascend910B3", *options)

    def shown(self, om: str = "m.om") -> dict:
        """The offline model as --mode=1 shows it."""
        status, text = self("--mode=1", f"--om={om}", "--json=m.json")
        assert status == 0, text
        return json.loads((self.folder / "m.json").read_text())


@pytest.fixture
def atc(tmp_path: pathlib.Path) -> Atc:
    return Atc(tmp_path)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[np.ndarray]]:
    """run(om, inputs, dtypes): what a C program gets from the model."""
    folder = tmp_path_factory.mktemp("program")
    program = folder / "run"
    command = f"cc {PROGRAM} -I{TOOLKIT}/include -L{TOOLKIT}/lib64 -lascendcl -Wl,-rpath,{TOOLKIT}/lib64 -o {program}"
    subprocess.run(command.split(), check=True, timeout=120)

    def call(om: pathlib.Path, inputs: list[np.ndarray], dtypes: list) -> list[np.ndarray]:
        files = []
        for i, value in enumerate(inputs):
            files.append(str(folder / f"in{i}"))
            np.ascontiguousarray(value).tofile(files[-1])
        done = subprocess.run([str(program), str(om), str(folder / "out"), *files], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        shapes = [tuple(int(s) for s in line.split()) for line in done.stdout.splitlines()]
        return [np.fromfile(folder / f"out.{i}", d).reshape(s) for i, (s, d) in enumerate(zip(shapes, dtypes, strict=True))]

    return call


def model(
    nodes: list, inputs: dict, outputs: list, constants: dict | None = None, opset: int = 17, **more: object
) -> onnx.ModelProto:
    """A model of nodes; inputs {name: sizes}, float32 all."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, FLOAT, sizes) for name, sizes in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9, **more)


def convolution(batch: int | str = 1) -> onnx.ModelProto:
    """Conv, BatchNormalization, Relu on x[batch, 3, 8, 8]."""
    draw = np.random.default_rng(1)
    f = np.float32
    constants = {
        "w": draw.normal(size=(4, 3, 3, 3)).astype(f),
        "scale": draw.normal(size=4).astype(f),
        "shift": draw.normal(size=4).astype(f),
        "mean": draw.normal(size=4).astype(f),
        "variance": draw.uniform(0.5, 2, 4).astype(f),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["b"], "norm"),
        helper.make_node("Relu", ["b"], ["y"], "relu"),
    ]
    return model(nodes, {"x": [batch, 3, 8, 8]}, ["y"], constants)

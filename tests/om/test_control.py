# SPDX-License-Identifier: BSD-3-Clause
"""Models whose branches, iterations and sizes depend on contents, against onnxruntime."""

from __future__ import annotations

import pathlib

import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import convert
from onnx import TensorProto as T
from onnx import helper as h
from sample import Program

import acl


def branch(name: str, op: str) -> onnx.GraphProto:
    """x (of the outer graph) op 2."""
    two = h.make_tensor("two", T.FLOAT, [1], [2.0])
    node = h.make_node(op, ["x", f"{name}_two"], [f"{name}_out"])
    constant = h.make_node("Constant", [], [f"{name}_two"], value=two)
    return h.make_graph([constant, node], name, [], [h.make_tensor_value_info(f"{name}_out", T.FLOAT, [3])])


def choose() -> tuple:
    node = h.make_node("If", ["c"], ["y"], then_branch=branch("double", "Mul"), else_branch=branch("less", "Sub"))
    inputs = [h.make_tensor_value_info("c", T.BOOL, []), h.make_tensor_value_info("x", T.FLOAT, [3])]
    x = np.array([1, 2, 3], np.float32)
    return [node], inputs, [h.make_tensor_value_info("y", T.FLOAT, [3])], [[np.array(c), x] for c in (True, False, True)]


def iterate() -> tuple:
    """s ← s + x, n times; each s is kept; ends early when its first element exceeds 10."""
    body_in = [h.make_tensor_value_info(n, t, []) for n, t in (("i", T.INT64), ("go", T.BOOL))]
    body_in.append(h.make_tensor_value_info("s", T.FLOAT, [3]))
    zero = h.make_node("Constant", [], ["zero"], value=h.make_tensor("z", T.INT64, [], [0]))
    ten = h.make_node("Constant", [], ["ten"], value=h.make_tensor("t", T.FLOAT, [], [10.0]))
    nodes = [
        zero,
        ten,
        h.make_node("Add", ["s", "x"], ["more"]),
        h.make_node("Gather", ["more", "zero"], ["first"]),
        h.make_node("Less", ["first", "ten"], ["on"]),
        h.make_node("Identity", ["more"], ["kept"]),
    ]
    body_out = [h.make_tensor_value_info("on", T.BOOL, [])]
    body_out += [h.make_tensor_value_info(n, T.FLOAT, [3]) for n in ("more", "kept")]
    body = h.make_graph(nodes, "body", body_in, body_out)
    loop = h.make_node("Loop", ["n", "go0", "x"], ["last", "all"], body=body)
    true = h.make_node("Constant", [], ["go0"], value=h.make_tensor("g", T.BOOL, [], [True]))
    inputs = [h.make_tensor_value_info("n", T.INT64, []), h.make_tensor_value_info("x", T.FLOAT, [3])]
    outputs = [h.make_tensor_value_info("last", T.FLOAT, [3]), h.make_tensor_value_info("all", T.FLOAT, ["k", 3])]
    x = np.array([2, 0.5, -1], np.float32)
    return [true, loop], inputs, outputs, [[np.array(n, np.int64), x] for n in (3, 1, 100, 0)]


def scan() -> tuple:
    """Running sums of rows."""
    body_in = [h.make_tensor_value_info(n, T.FLOAT, [2]) for n in ("s", "row")]
    body_out = [h.make_tensor_value_info(n, T.FLOAT, [2]) for n in ("t", "u")]
    nodes = [h.make_node("Add", ["s", "row"], ["t"]), h.make_node("Identity", ["t"], ["u"])]
    body = h.make_graph(nodes, "body", body_in, body_out)
    node = h.make_node("Scan", ["start", "x"], ["last", "sums"], body=body, num_scan_inputs=1)
    inputs = [h.make_tensor_value_info("start", T.FLOAT, [2]), h.make_tensor_value_info("x", T.FLOAT, [5, 2])]
    outputs = [h.make_tensor_value_info("last", T.FLOAT, [2]), h.make_tensor_value_info("sums", T.FLOAT, [5, 2])]
    return [node], inputs, outputs, [[np.zeros(2, np.float32), np.arange(10, dtype=np.float32).reshape(5, 2)]]


def nonzero() -> tuple:
    """Positions of what is not zero, then their sum in each row: sizes follow from contents."""
    nodes = [
        h.make_node("NonZero", ["x"], ["places"]),
        h.make_node("Cast", ["places"], ["numbers"], to=T.FLOAT),
        h.make_node("ReduceSum", ["numbers", "axis"], ["sums"], keepdims=0),
        h.make_node("Constant", [], ["axis"], value=h.make_tensor("a", T.INT64, [1], [1])),
    ]
    nodes = [nodes[3], *nodes[:3]]
    inputs = [h.make_tensor_value_info("x", T.FLOAT, [3, 4])]
    outputs = [h.make_tensor_value_info("places", T.INT64, [2, "n"]), h.make_tensor_value_info("sums", T.FLOAT, [2])]
    values = [np.eye(3, 4), np.zeros((3, 4)), np.ones((3, 4))]
    return nodes, inputs, outputs, [[v.astype(np.float32)] for v in values]


@pytest.mark.parametrize("make", [choose, iterate, scan, nonzero])
def test_contents_decide(make, tmp_path: pathlib.Path) -> None:
    nodes, inputs, outputs, cases = make()
    model = h.make_model(h.make_graph(nodes, "g", inputs, outputs), opset_imports=[h.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, tmp_path / "m.onnx")
    om = convert(tmp_path / "m.onnx", tmp_path / "m.om", "--precision_mode_v2=origin")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    acl.init()
    program = Program(str(om))
    for case in cases * 2:
        wanted = session.run(None, {i.name: v for i, v in zip(inputs, case, strict=True)})
        for got, want in zip(program.run(case), wanted, strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype and np.allclose(got, want), (case, got, want)
    program.close()

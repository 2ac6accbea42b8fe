# SPDX-License-Identifier: BSD-3-Clause
"""Random operators in a model: other numbers in each execution, the same ones where the node has a seed."""

from __future__ import annotations

import pathlib

import numpy as np
import onnx
from conftest import convert
from onnx import TensorProto as T
from onnx import helper as h
from sample import Program

import acl

COUNT = 20000


def test_random_numbers(tmp_path: pathlib.Path) -> None:
    nodes = [
        h.make_node("RandomUniformLike", ["p"], ["u"], low=2.0, high=4.0, name="free"),
        h.make_node("RandomNormal", [], ["n"], shape=[COUNT], mean=1.0, scale=3.0, seed=5.0, name="fixed"),
        h.make_node("Bernoulli", ["p"], ["b"], dtype=T.INT64, name="draw"),
        h.make_node("Multinomial", ["logs"], ["m"], sample_size=1000, name="choose"),
    ]
    inputs = [h.make_tensor_value_info("p", T.FLOAT, [COUNT]), h.make_tensor_value_info("logs", T.FLOAT, [1, 3])]
    outputs = [h.make_tensor_value_info(name, T.FLOAT, [COUNT]) for name in "un"]
    outputs += [h.make_tensor_value_info("b", T.INT64, [COUNT]), h.make_tensor_value_info("m", T.INT32, [1, 1000])]
    graph = h.make_graph(nodes, "random", inputs, outputs)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    acl.init()
    program = Program(str(convert(tmp_path / "m.onnx", tmp_path / "m.om", "--precision_mode_v2=origin")))
    given = [np.full(COUNT, 0.25, np.float32), np.log(np.array([[0.5, 0.5, 1e-30]], np.float32))]
    first, second = program.run(given), program.run(given)
    program.close()
    for u, n, b, m in (first, second):
        assert u.min() >= 2 and u.max() < 4 and abs(u.mean() - 3) < 0.03
        assert abs(n.mean() - 1) < 0.1 and abs(n.std() - 3) < 0.1
        assert set(np.unique(b)) == {0, 1} and abs(b.mean() - 0.25) < 0.02
        assert set(np.unique(m)) == {0, 1} and 400 < m.sum() < 600
    assert (first[0] != second[0]).any() and (first[2] != second[2]).any() and (first[3] != second[3]).any()
    assert (first[1] == second[1]).all()

# SPDX-License-Identifier: BSD-3-Clause
"""Dumps: the layers of a converted model, operators that run by themselves, statistics, and configurations that are wrong."""

from __future__ import annotations

import csv
import json
import pathlib
import struct
from collections.abc import Iterator

import numpy as np
import onnx
import pytest
import torch
import torch_npu  # noqa: F401 — initialises the device that acl shares
from conftest import convert
from onnx import TensorProto, helper, numpy_helper
from sample import Program

import acl

FLOAT = TensorProto.FLOAT
X = np.array([[1.0, -2.0, 3.0]], np.float32)
W = np.array([[2.0, 0.0], [1.0, -1.0], [0.5, 4.0]], np.float32)


def fields(text: bytes) -> Iterator[tuple[int, int | bytes]]:
    """A protobuf message's fields: number and value."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = text[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while at < len(text):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = varint()
            yield key >> 3, text[at : at + size]
            at += size


def read(path: pathlib.Path) -> dict[str, list[np.ndarray]]:
    """A dump's inputs and outputs, float32 all of them."""
    text = path.read_bytes()
    (size,) = struct.unpack_from("<Q", text)
    at, found = 8 + size, {"input": [], "output": []}
    described = list(fields(text[8:at]))
    assert (1, b"2.0") in described
    for side, number, size_field in (("input", 4, 5), ("output", 3, 6)):
        for _, message in (f for f in described if f[0] == number):
            tensor = dict(fields(message))
            shape = [d for _, packed in fields(tensor[3]) for d in packed] if tensor[3] else []
            assert tensor[1] == 1 and tensor[2] == 2  # DT_FLOAT, ND
            found[side].append(np.frombuffer(text, np.float32, tensor[size_field] // 4, at).reshape(shape))
            at += tensor[size_field]
    assert at == len(text)
    return found


def configuration(folder: pathlib.Path, **dump: object) -> str:
    path = folder / "acl.json"
    path.write_text(json.dumps({"dump": {"dump_path": str(folder), "dump_list": [], **dump}}))
    return str(path)


@pytest.fixture
def om(tmp_path: pathlib.Path) -> pathlib.Path:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], "net/product"), helper.make_node("Relu", ["p"], ["y"], "clip")]
    ends = [[helper.make_tensor_value_info(n, FLOAT, [1, s])] for n, s in (("x", 3), ("y", 2))]
    graph = helper.make_graph(nodes, "g", *ends, [numpy_helper.from_array(W, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    torch.npu.init()
    return convert(tmp_path / "net.onnx", tmp_path / "net.om", "--precision_mode_v2=origin")


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    acl.mdl.finalize_dump()


def dumps(folder: pathlib.Path, pattern: str) -> list[pathlib.Path]:
    return sorted(folder.glob(f"20*/0/{pattern}"))


def test_layers_of_a_model(om: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The chosen model's layers, each execution in a folder of its own; nothing once dumping has ended."""
    assert acl.mdl.init_dump() == 0
    chosen = [{"model_name": "other", "layer": ["clip"]}, {"model_name": "net"}]
    assert acl.mdl.set_dump(configuration(tmp_path, dump_list=chosen, dump_mode="all")) == 0
    program = Program(str(om))
    for k in (1, 2):
        (y,) = program.run([k * X])
        (path,) = dumps(tmp_path, f"net/{program.model}/{k - 1}/MatMul.net_product.0.*")
        got = read(path)
        np.testing.assert_array_equal(got["input"][0], k * X)
        np.testing.assert_array_equal(got["input"][1], W)
        np.testing.assert_array_equal(got["output"][0], k * X @ W)
        (path,) = dumps(tmp_path, f"net/{program.model}/{k - 1}/Relu.clip.1.*")
        np.testing.assert_array_equal(read(path)["output"][0], y)
    assert acl.mdl.finalize_dump() == 0
    program.run([X])
    program.close()
    assert len(dumps(tmp_path, "net/*/*/*")) == 4


def test_one_layer_and_models_that_are_not_chosen(om: pathlib.Path, tmp_path: pathlib.Path) -> None:
    before = Program(str(om))
    assert acl.mdl.init_dump() == 0
    assert acl.mdl.set_dump(configuration(tmp_path, dump_list=[{"layer": ["clip"]}])) == 0
    before.run([X])  # was loaded too early
    before.close()
    assert not dumps(tmp_path, "*")
    program = Program(str(om))
    program.run([X])
    program.close()
    (path,) = dumps(tmp_path, "net/*/0/*")
    assert path.name.startswith("Relu.clip.") and read(path)["input"] == []
    assert acl.mdl.set_dump(configuration(tmp_path, dump_list=[{"model_name": "another"}])) == 0
    program = Program(str(om))
    program.run([X])
    program.close()
    assert len(dumps(tmp_path, "*/*/*/*")) == 1


def test_operators_by_themselves(tmp_path: pathlib.Path) -> None:
    """From PyTorch, by torch.npu's own calls: strided inputs lie dense in the file, and what is changed in place is both."""
    a, b = torch.arange(6.0).reshape(2, 3).npu().t(), torch.ones(3, 2).npu()
    torch.npu.init_dump()
    torch.npu.set_dump(configuration(tmp_path, dump_op_switch="on", dump_mode="all"))
    a + b
    b.mul_(a)
    torch.npu.synchronize()
    torch.npu.finalize_dump()
    a - b
    torch.npu.synchronize()
    (added,) = dumps(tmp_path, "Add.aclnnAdd.*")
    got = read(added)
    np.testing.assert_array_equal(got["input"][0], a.cpu().numpy())
    np.testing.assert_array_equal(got["output"][0], a.cpu().numpy() + 1)
    (multiplied,) = dumps(tmp_path, "*Mul.aclnn*Mul.*")
    assert any((x == 1).all() for x in read(multiplied)["input"])
    np.testing.assert_array_equal(read(multiplied)["output"][0], a.cpu().numpy())
    assert not dumps(tmp_path, "*Sub*")


def test_statistics(tmp_path: pathlib.Path) -> None:
    x = torch.tensor([[1.0, float("nan"), -3.0], [float("inf"), 2.0, 0.0]]).half().npu()
    torch.npu.init_dump()
    torch.npu.set_dump(configuration(tmp_path, dump_op_switch="on", dump_mode="input", dump_data="stats"))
    x.abs()
    torch.npu.synchronize()
    (path,) = dumps(tmp_path, "Abs.aclnnAbs.*.csv")
    (row,) = csv.DictReader(path.open())
    assert row == {
        "Input/Output": "Input", "Index": "0", "Data Size": "12", "Data Type": "DT_FLOAT16", "Format": "ND", "Shape": "2x3",
        "Max Value": "inf", "Min Value": "-3", "Avg Value": "inf", "Count": "6", "Nan Count": "1",
        "Negative Inf Count": "0", "Positive Inf Count": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("dump", "reason"),
    [
        ({"dump_path": "/nonexistent"}, "dump_path /nonexistent is not a folder that can be written to"),
        ({"dump_path": 3}, "dump_path is missing, or no text"),
        ({}, "dump_list names no model, and dump_op_switch is not on"),
        ({"dump_list": "net"}, "dump_list is no list"),
        ({"dump_mode": "both"}, "dump_mode is none of input, output, all"),
        ({"dump_op_switch": True}, "dump_op_switch is neither on nor off"),
        ({"dump_op_switch": "on", "dump_data": "npy"}, "dump_data is neither tensor nor stats"),
        ({"dump_op_switch": "on", "dump_level": "deep"}, "dump_level is none of op, kernel, all"),
        ({"dump_op_switch": "on", "dump_scene": "lite_exception"}, "dump_scene is not supported"),
    ],
)
def test_wrong_configurations(tmp_path: pathlib.Path, dump: dict[str, object], reason: str) -> None:
    torch.npu.init_dump()
    with pytest.raises(RuntimeError, match=reason):
        torch.npu.set_dump(configuration(tmp_path, **dump))
    with pytest.raises(RuntimeError, match="dumping was started before"):
        torch.npu.init_dump()


def test_order_of_calls(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match="call aclmdlInitDump first"):
        torch.npu.set_dump(configuration(tmp_path, dump_op_switch="on"))

# SPDX-License-Identifier: BSD-3-Clause
"""What a conversion changes leaves the results as they were: fused models against onnxruntime, and what is left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import FLOAT, Atc, convolution, model
from onnx import helper

f = np.float32
draw = np.random.default_rng(7)


def number(value: float) -> np.ndarray:
    return np.array(value, f)


def gelu() -> tuple[onnx.ModelProto, dict, list]:
    nodes = [
        helper.make_node("Div", ["x", "root"], ["a"]),
        helper.make_node("Erf", ["a"], ["b"]),
        helper.make_node("Add", ["b", "one"], ["c"]),
        helper.make_node("Mul", ["x", "c"], ["d"]),
        helper.make_node("Mul", ["d", "half"], ["y"]),
    ]
    constants = {"root": number(2**0.5), "one": number(1), "half": number(0.5)}
    return model(nodes, {"x": [3, 5]}, ["y"], constants), {"x": draw.normal(size=(3, 5)).astype(f)}, ["Gelu"]


def layer_norm() -> tuple[onnx.ModelProto, dict, list]:
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[-1]),
        helper.make_node("Sub", ["x", "m"], ["d"]),
        helper.make_node("Pow", ["d", "two"], ["p"]),
        helper.make_node("ReduceMean", ["p"], ["v"], axes=[-1]),
        helper.make_node("Add", ["v", "eps"], ["e"]),
        helper.make_node("Sqrt", ["e"], ["s"]),
        helper.make_node("Div", ["d", "s"], ["n"]),
        helper.make_node("Mul", ["n", "w"], ["k"]),
        helper.make_node("Add", ["k", "b"], ["y"]),
    ]
    constants = {"two": number(2), "eps": number(1e-5), "w": draw.normal(size=6).astype(f), "b": draw.normal(size=6).astype(f)}
    return model(nodes, {"x": [2, 4, 6]}, ["y"], constants), {"x": draw.normal(size=(2, 4, 6)).astype(f)}, ["LayerNormalization"]


def attention() -> tuple[onnx.ModelProto, dict, list]:
    nodes = [
        helper.make_node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "t"], ["s"]),
        helper.make_node("Div", ["s", "root"], ["e"]),
        helper.make_node("Add", ["e", "mask"], ["a"]),
        helper.make_node("Softmax", ["a"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    sizes = {"q": [2, 3, 5, 8], "k": [2, 3, 7, 8], "v": [2, 3, 7, 4], "mask": [2, 1, 5, 7]}
    inputs = {name: draw.normal(size=size).astype(f) for name, size in sizes.items()}
    return model(nodes, sizes, ["y"], {"root": number(8**0.5)}), inputs, ["Transpose", "Attention"]


def matmul_bias() -> tuple[onnx.ModelProto, dict, list]:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["b", "p"], ["y"])]
    constants = {"w": draw.normal(size=(6, 4)).astype(f), "b": draw.normal(size=4).astype(f)}
    return model(nodes, {"x": [2, 3, 6]}, ["y"], constants), {"x": draw.normal(size=(2, 3, 6)).astype(f)}, ["MatMulBias"]


def conv_norm() -> tuple[onnx.ModelProto, dict, list]:
    return convolution(), {"x": draw.normal(size=(1, 3, 8, 8)).astype(f)}, ["Conv", "Relu"]


def folded() -> tuple[onnx.ModelProto, dict, list]:
    """A condition that is known, and weights that are computed."""
    then = helper.make_graph([helper.make_node("Relu", ["x"], ["t"])], "t", [], [helper.make_tensor_value_info("t", FLOAT, None)])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "e", [], [helper.make_tensor_value_info("e", FLOAT, None)])
    nodes = [
        helper.make_node("Less", ["one", "two"], ["c"]),
        helper.make_node("If", ["c"], ["r"], then_branch=then, else_branch=other),
        helper.make_node("Add", ["one", "two"], ["three"]),
        helper.make_node("Mul", ["r", "three"], ["y"]),
    ]
    return model(nodes, {"x": [4]}, ["y"], {"one": number(1), "two": number(2)}), {"x": draw.normal(size=4).astype(f)}, None


def function() -> tuple[onnx.ModelProto, dict, list]:
    """A function of functions, with an attribute that is handed on."""
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    leak = helper.make_node("LeakyRelu", ["a"], ["b"])
    leak.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    inner = helper.make_function("own", "Leak", ["a"], ["b"], [leak], sets, ["slope"])
    pass_on = helper.make_node("Leak", ["p"], ["q"], domain="own")
    pass_on.attribute.append(onnx.AttributeProto(name="slope", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    outer = helper.make_function(
        "own", "Twice", ["p"], ["r"], [pass_on, helper.make_node("Add", ["q", "q"], ["r"])], sets, ["slope"]
    )
    nodes = [
        helper.make_node("Twice", ["x"], ["h"], domain="own", slope=0.25),
        helper.make_node("Leak", ["h"], ["y"], domain="own", slope=0.5),
    ]
    made = model(nodes, {"x": [5]}, ["y"], functions=[inner, outer])
    made.opset_import.append(sets[1])
    return made, {"x": draw.normal(size=5).astype(f)}, ["LeakyRelu", "Add", "LeakyRelu"]


CASES = [gelu, layer_norm, attention, matmul_bias, conv_norm, folded, function]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
@pytest.mark.parametrize("level", ["O0", "O3"])
def test_results_stay(atc: Atc, run: Callable, case: Callable, level: str) -> None:
    made, inputs, left = case()
    made.graph.output[0].type.tensor_type.elem_type = FLOAT
    status, text = atc.convert(made, f"--oo_level={level}")
    assert status == 0, text
    wanted = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)
    got = run(atc.folder / "m.om", list(inputs.values()), [w.dtype for w in wanted])
    for a, b in zip(got, wanted, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    if level == "O3" and left:
        assert [op["type"] for op in atc.shown()["graph"]["op"]] == left


@pytest.mark.parametrize("case", [conv_norm, matmul_bias, gelu, layer_norm, attention], ids=lambda c: c.__name__)
def test_half_precision_stays_near(atc: Atc, run: Callable, case: Callable) -> None:
    made, inputs, _ = case()
    assert atc.convert(made, "--precision_mode_v2=fp16")[0] == 0
    wanted = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)
    got = run(atc.folder / "m.om", list(inputs.values()), [w.dtype for w in wanted])
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-2, atol=1e-2)


def test_fusions_can_be_turned_off(atc: Atc) -> None:
    made, _, _ = conv_norm()
    (atc.folder / "off.cfg").write_text('{"Switch": {"GraphFusion": {"ConvBatchnormFusionPass": "off"}}}')
    status, text = atc.convert(made, "--fusion_switch_file=off.cfg")
    assert status == 0 and "ConvBatchnormFusionPass" not in text
    assert [op["type"] for op in atc.shown()["graph"]["op"]] == ["Conv", "BatchNormalization", "Relu"]


def test_open_sizes_are_followed_through_shape_arithmetic(atc: Atc) -> None:
    """Reshape to [b, t, 2, 3], written as exports do, has known types and needs no shape arithmetic any more."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "i0"], ["b"]),
        helper.make_node("Gather", ["s", "i1"], ["t"]),
        helper.make_node("Unsqueeze", ["b", "i0v"], ["bv"]),
        helper.make_node("Unsqueeze", ["t", "i0v"], ["tv"]),
        helper.make_node("Concat", ["bv", "tv", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    i = np.int64
    constants = {"i0": np.array(0, i), "i1": np.array(1, i), "i0v": np.array([0], i), "rest": np.array([2, 3], i)}
    assert atc.convert(model(nodes, {"x": ["b", "t", 6]}, ["y"], constants))[0] == 0
    assert [op["type"] for op in atc.shown()["graph"]["op"]] == ["Reshape"]
    assert "y: DT_FLOAT [s0, s1, 2, 3]" in atc("--mode=6", "--om=m.om")[1]

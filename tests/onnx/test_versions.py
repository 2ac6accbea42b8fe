# SPDX-License-Identifier: BSD-3-Clause
"""Operators in older versions and with rarer attributes, through atc and acl, against onnxruntime: what the node tests, which
are of the newest versions, leave out."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import acl

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "om"))
from conftest import convert  # noqa: E402
from sample import Program  # noqa: E402

TYPES = {np.dtype(np.float32): T.FLOAT, np.dtype(np.int64): T.INT64, np.dtype(np.int32): T.INT32}
random = np.random.default_rng(0)
CASES: dict[str, tuple] = {}


def x(*shape: int) -> np.ndarray:
    return random.standard_normal(shape).astype(np.float32)


def grid() -> np.ndarray:
    return np.clip(x(1, 3, 4, 2), -1.3, 1.3)


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def case(
    name: str, op: str, version: int, inputs: list, constants: list = (), nout: int = 1, order: list = (), **attributes: Any
) -> None:
    """One node: inputs i0 …, then constants c0 …, or both in another order ("": left out)."""
    CASES[name] = (op, version, inputs, constants, nout, list(order), attributes)


case("softmax11", "Softmax", 11, [x(2, 3, 4)], axis=1)
case("logsoftmax9", "LogSoftmax", 9, [x(2, 3, 4)], axis=2)
case("clip9", "Clip", 9, [x(3, 4)], min=-0.5, max=0.3)
case("clip11", "Clip", 11, [x(3, 4)], [f32(-0.5).reshape(())])
case("clip12max", "Clip", 12, [x(3, 4)], [f32(0.1).reshape(())], order=["i0", "", "c0"])
case("pad9", "Pad", 9, [x(2, 3)], pads=[1, 0, 0, 2], value=1.5)
case("pad9r", "Pad", 9, [x(4, 3)], pads=[1, 1, 2, 2], mode="reflect")
case("pad11e", "Pad", 11, [x(4, 3)], [i64(0, 2, 1, 3)], mode="edge")
case("slice9", "Slice", 9, [x(4, 5)], starts=[1, -3], ends=[4, 2147483647], axes=[0, 1])
case("slice10", "Slice", 10, [x(4, 5)], [i64(3, 0), i64(-100, 5), i64(0, 1), i64(-1, 2)])
case("topk9", "TopK", 9, [x(3, 6)], nout=2, k=2, axis=1)
case("topk10", "TopK", 10, [x(3, 6)], [i64(3)], nout=2)
case("resize10n", "Resize", 10, [x(1, 2, 4, 5)], [f32(1, 1, 2, 1.5)], mode="nearest")
case("resize10l", "Resize", 10, [x(1, 2, 4, 5)], [f32(1, 1, 2, 1.5)], mode="linear")
case("up9", "Upsample", 9, [x(1, 2, 4, 5)], [f32(1, 1, 2, 3)], mode="linear")
case(
    "resize11hp",
    "Resize",
    11,
    [x(1, 2, 4, 5)],
    [f32(), f32(), i64(1, 2, 7, 9)],
    mode="linear",
    coordinate_transformation_mode="pytorch_half_pixel",
    order=["i0", "c0", "c1", "c2"],
)
case(
    "resize11cubic",
    "Resize",
    11,
    [x(1, 2, 6, 6)],
    [f32(), f32(1, 1, 1.7, 0.6)],
    mode="cubic",
    coordinate_transformation_mode="half_pixel",
)
case(
    "resize13ac",
    "Resize",
    13,
    [x(1, 2, 4, 5)],
    [f32(), f32(), i64(1, 2, 8, 3)],
    mode="linear",
    coordinate_transformation_mode="align_corners",
    order=["i0", "c0", "c1", "c2"],
)
case(
    "resize18aa",
    "Resize",
    18,
    [x(1, 2, 12, 12)],
    [i64(5, 7)],
    mode="linear",
    antialias=1,
    axes=[2, 3],
    order=["i0", "", "", "c0"],
)
case("squeeze11", "Squeeze", 11, [x(1, 3, 1)], axes=[0])
case("unsq11", "Unsqueeze", 11, [x(3, 4)], axes=[0, -1])
case("reducesum11", "ReduceSum", 11, [x(3, 4, 5)], axes=[-1, 0], keepdims=0)
case("reducemean13", "ReduceMean", 13, [x(3, 4, 5)])
case("bn9", "BatchNormalization", 9, [x(2, 3, 4, 4)], [x(3), x(3), x(3), np.abs(x(3))])
case("dropout10", "Dropout", 10, [x(3, 4)], ratio=0.3)
case("split11", "Split", 11, [x(6, 4)], nout=2, axis=0, split=[2, 4])
case("split13", "Split", 13, [x(7, 4)], [i64(3, 4)], nout=2)
case("argmax12", "ArgMax", 12, [x(3, 5)], axis=1, select_last_index=1)
case("gemm9", "Gemm", 9, [x(3, 4), x(5, 4), x(5)], transB=1, alpha=0.5, beta=2.0)
case(
    "convT", "ConvTranspose", 11, [x(1, 3, 5, 5)], [x(3, 2, 3, 3), x(2)], strides=[2, 2], pads=[1, 0, 0, 1], output_padding=[1, 1]
)
case("conv1d", "Conv", 11, [x(2, 3, 9)], [x(4, 3, 3), x(4)], pads=[2, 1], strides=[2], dilations=[2])
case("conv3d", "Conv", 11, [x(1, 2, 5, 6, 7)], [x(4, 1, 3, 3, 3)], group=2, pads=[1, 0, 1, 0, 1, 1])
case("convsame", "Conv", 11, [x(1, 3, 7, 7)], [x(4, 3, 4, 4)], auto_pad="SAME_LOWER", strides=[2, 2])
case("maxpoolceil", "MaxPool", 12, [x(1, 2, 7, 8)], nout=2, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 1, 1, 0], ceil_mode=1)
case(
    "avgpool",
    "AveragePool",
    11,
    [x(1, 2, 7, 8)],
    kernel_shape=[3, 2],
    strides=[2, 2],
    pads=[1, 0, 1, 1],
    count_include_pad=1,
    ceil_mode=1,
)
case("avgpool3", "AveragePool", 11, [x(1, 2, 5, 6, 7)], kernel_shape=[2, 2, 2], pads=[1, 1, 1, 0, 0, 0])
case("instn", "InstanceNormalization", 9, [x(2, 3, 5)], [x(3), x(3)])
case("einsum", "Einsum", 12, [x(2, 3, 4), x(2, 4, 5)], equation="bij,bjk->bik")
case("einsum2", "Einsum", 12, [x(3, 4), x(4, 5), x(5, 2)], equation="ij,jk,kl->li")
case("einsum3", "Einsum", 12, [x(2, 3, 4, 5), x(5, 4)], equation="...ij,ji->...")
case(
    "lstm",
    "LSTM",
    9,
    [x(5, 2, 3)],
    [x(2, 16, 3), x(2, 16, 4), x(2, 32), np.array([5, 3], np.int32)],
    nout=3,
    hidden_size=4,
    direction="bidirectional",
)
case(
    "gru",
    "GRU",
    9,
    [x(5, 2, 3)],
    [x(1, 12, 3), x(1, 12, 4), x(1, 24), np.array([2, 5], np.int32)],
    nout=2,
    hidden_size=4,
    direction="reverse",
    linear_before_reset=1,
)
case("gru0", "GRU", 9, [x(5, 2, 3)], [x(1, 12, 3), x(1, 12, 4), x(1, 24)], nout=2, hidden_size=4)
case("rnn", "RNN", 9, [x(5, 2, 3)], [x(1, 4, 3), x(1, 4, 4), x(1, 8)], nout=2, hidden_size=4, activations=["Relu"])
case("scatterel11", "ScatterElements", 11, [x(3, 4), i64(1, -1, 0, 2).reshape(1, 4), x(1, 4)], axis=0)
case("gathernd12", "GatherND", 12, [x(2, 3, 4), i64(0, -1, 1, 2).reshape(2, 1, 2)], batch_dims=0)
case("nonzero9", "NonZero", 9, [x(3, 4)])
case("onehot11", "OneHot", 11, [i64(1, -1, 5)], [i64(4), f32(0.0, 1.0)], axis=0)
case("cumsum11", "CumSum", 11, [x(3, 4)], [np.array(1, np.int64)], reverse=1, exclusive=1)
case("tile", "Tile", 9, [x(2, 3)], [i64(2, 2)])
case("gridsample16", "GridSample", 16, [x(1, 2, 5, 6), grid()], padding_mode="reflection")
case("gridb", "GridSample", 16, [x(1, 2, 5, 6), grid()], mode="bicubic", padding_mode="border", align_corners=1)
case(
    "roialign10",
    "RoiAlign",
    10,
    [x(1, 2, 8, 8)],
    [f32(0, 0, 5, 6, 1, 1, 7, 3).reshape(2, 4), i64(0, 0)],
    output_height=2,
    output_width=3,
    sampling_ratio=2,
)
case("mvn", "MeanVarianceNormalization", 13, [x(2, 3, 4, 5)])
case("lpn", "LpNormalization", 9, [x(3, 4)], p=1, axis=0)
case("qlin", "QuantizeLinear", 10, [x(3, 4)], [f32(0.02).reshape(()), np.array(128, np.uint8)])
case("depth", "DepthToSpace", 11, [x(1, 8, 2, 3)], blocksize=2, mode="CRD")
case("gridc", "GridSample", 16, [x(1, 2, 5, 6), grid()], mode="bicubic", padding_mode="reflection", align_corners=0)
case("gridz", "GridSample", 16, [x(1, 2, 5, 6), grid()], mode="bicubic", padding_mode="zeros")
case("gridn", "GridSample", 16, [x(1, 2, 5, 6), grid()], mode="nearest", padding_mode="border")


@pytest.mark.parametrize("name", list(CASES))
def test_against_onnxruntime(name: str, tmp_path: pathlib.Path) -> None:
    op, version, inputs, constants, nout, order, attributes = CASES[name]
    given = {f"i{k}": value for k, value in enumerate(inputs)}
    known = {f"c{k}": value for k, value in enumerate(constants)}
    outputs = [f"o{k}" for k in range(nout)]
    node = h.make_node(op, order or [*given, *known], outputs, **attributes)
    graph = h.make_graph(
        [node],
        name,
        [h.make_tensor_value_info(n, TYPES[v.dtype], v.shape) for n, v in given.items()],
        [onnx.ValueInfoProto(name=n) for n in outputs],
        [onnx.numpy_helper.from_array(v, n) for n, v in known.items()],
    )
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", version)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    wanted = session.run(None, given)
    acl.init()
    program = Program(str(convert(tmp_path / "m.onnx", tmp_path / "m.om", "--precision_mode_v2=origin")))
    got = program.run(inputs)
    program.close()
    for a, b in zip(got, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)

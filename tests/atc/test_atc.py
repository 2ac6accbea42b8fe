# SPDX-License-Identifier: BSD-3-Clause
"""atc's command line: what it prints, its exit statuses, sizes and types of inputs, and what bad input gets."""

from __future__ import annotations

import json
import pathlib
import re

import numpy as np
import onnx
import pytest
from conftest import FLOAT, Atc, convolution, model
from onnx import TensorProto, helper

START = "ATC start working now, please wait for a moment.\n"
SUCCESS = "ATC run success, welcome to the next use.\n"
FAILURE = "ATC run failed, Please check the detail log, Try 'atc --help' for more information\n"
ARGUMENT, FILE, MODEL, UNSUPPORTED = 1, 2, 3, 4


def refused(result: tuple[int, str], status: int, code: str, *words: str) -> None:
    """The run ended with that status, one block of that code and the words in it."""
    assert result[0] == status, result
    assert result[1].startswith(START) and result[1].endswith(FAILURE), result[1]
    assert re.search(rf"^{code}: \[PID: \d+\] \d{{4}}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{{3}}\.\d{{3}} ", result[1], re.M), result[1]
    for word in words:
        assert word in result[1], (word, result[1])


# ---- what works ----
def test_conversion_says_what_the_original_says(atc: Atc) -> None:
    status, text = atc.convert(convolution())
    assert status == 0 and text.startswith(START) and text.endswith(SUCCESS)
    assert (atc.folder / "m.om").read_bytes().startswith(b"ANYNPUOM")


def test_help_names_every_option(atc: Atc) -> None:
    status, text = atc("--help")
    options = re.findall(r"^  --(\w+)", text, re.M)
    assert status == 0 and len(options) == len(set(options)) == 81
    for one in ("model", "input_shape", "dynamic_dims", "precision_mode_v2", "oo_level", "hccl_sub_comm_config"):
        assert one in options


def test_options_of_no_effect_say_so(atc: Atc) -> None:
    status, text = atc.convert(convolution(), "--buffer_optimize=off_optimize", "--core_type=AiCore", "--deterministic=1")
    assert status == 0
    assert re.findall(r"^\[NOTE\] --(\w+)=", text, re.M) == ["buffer_optimize"]


def test_values_may_stand_apart(atc: Atc) -> None:
    onnx.save(convolution(), str(atc.folder / "m.onnx"))
    assert atc("--model", "m.onnx", "--framework", "5", "--output", "m.om", "--soc_version", "Ascend310P3")[0] == 0
    assert (atc.folder / "m.om").exists()


def test_json_of_both_kinds_of_model(atc: Atc) -> None:
    assert atc.convert(convolution(), "--oo_level=O0")[0] == 0
    shown = atc.shown()
    assert [op["type"] for op in shown["graph"]["op"]] == ["Conv", "BatchNormalization", "Relu"]
    assert shown["soc_version"] == "Ascend910B3" and "--framework=5" in shown["atc_cmdline"]
    status, _ = atc("--mode=1", "--framework=5", "--om=m.onnx", "--json=o.json")
    assert status == 0
    assert json.loads((atc.folder / "o.json").read_text())["graph"]["op"][0]["attr"]["pads"] == [1, 1, 1, 1]


def test_information(atc: Atc) -> None:
    atc.convert(convolution("n"))
    status, text = atc("--mode=6", "--om=m.om")
    assert status == 0 and "[0] x: DT_FLOAT [s0, 3, 8, 8]" in text and "s0 n: from 1 on" in text


def test_check_only_writes_the_report_and_no_model(atc: Atc) -> None:
    onnx.save(convolution(), str(atc.folder / "m.onnx"))
    status, _ = atc("--mode=3", "--model=m.onnx", "--framework=5", "--check_report=r.json")
    report = json.loads((atc.folder / "r.json").read_text())
    assert status == 0 and report["result"] == "success" and report["nodes"] == 3 and not (atc.folder / "m.om").exists()


def test_outputs_and_types(atc: Atc) -> None:
    status, text = atc.convert(convolution(), "--oo_level=O0", "--out_nodes=conv:0;relu:0", "--output_type=conv:0:FP16",
                               "--input_fp16_nodes=x")  # fmt: skip
    assert status == 0, text
    info = atc("--mode=6", "--om=m.om")[1]
    assert "[0] x: DT_FLOAT16 [1, 3, 8, 8]" in info
    assert "[0] c: DT_FLOAT16 [1, 4, 8, 8]" in info and "[1] y: DT_FLOAT [1, 4, 8, 8]" in info


def test_half_precision_reaches_weights_and_not_the_ends(atc: Atc) -> None:
    assert atc.convert(convolution(), "--precision_mode=force_fp16")[0] == 0
    types = {t["name"]: t["dtype"] for t in atc.shown()["tensors"] if t.get("constant")}
    assert set(types.values()) == {"DT_FLOAT16"}
    assert "x: DT_FLOAT [" in atc("--mode=6", "--om=m.om")[1]
    half = (atc.folder / "m.om").stat().st_size
    assert atc("--model=m.onnx", "--framework=5", "--output=m", "--soc_version=Ascend910B3")[0] == 0  # the default, as on a chip
    assert {t["dtype"] for t in atc.shown()["tensors"] if t.get("constant")} == {"DT_FLOAT16"}
    assert abs((atc.folder / "m.om").stat().st_size - half) < 64  # but for the command line


# ---- sizes ----
@pytest.mark.parametrize(
    ("options", "gears"),
    [
        (["--input_shape=x:-1,3,8,8", "--dynamic_batch_size=1,2,4"], [[1], [2], [4]]),
        (["--input_shape=x:1,3,-1,-1", "--dynamic_image_size=8,8;16,12"], [[8, 8], [16, 12]]),
        (["--input_shape=x:-1,3,-1,8", "--dynamic_dims=1,8;2,16"], [[1, 8], [2, 16]]),
    ],
)
def test_declared_sizes(atc: Atc, options: list[str], gears: list[list[int]]) -> None:
    status, text = atc.convert(convolution("n"), *options)
    assert status == 0, text
    assert atc.shown()["gears"]["sizes"] == gears


def test_ranges(atc: Atc) -> None:
    status, text = atc.convert(convolution("n"), "--input_shape=x:1~8,3,8,8")
    assert status == 0, text
    assert atc.shown()["symbols"] == [{"name": "n", "low": 1, "high": 8}]
    assert atc.convert(convolution("n"), "--input_shape_range=x:[1~8,3,-1,8]")[0] == 0
    assert [s["high"] for s in atc.shown()["symbols"]] == [8, -1]


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (["--input_shape=z:1,3,8,8"], "E10016", "Opname z"),
        (["--input_shape=x:1,3,8"], "E10049", "Dimension count 3"),
        (["--input_shape=x:1,3,a,8"], "E10002", "no whole number"),
        (["--input_shape=x:0,3,8,8"], "E10011", "positive"),
        (["--input_shape=x:1,3,8,8;x:1,3,8,8"], "E10002", "twice"),
        (["--input_shape=x"], "E10002", "colon"),
        (["--input_shape=x:8~1,3,8,8"], "E10002", "range"),
        (["--input_shape=x:1,3,8,8", "--dynamic_batch_size=1,2"], "E10031", "batch"),
        (["--input_shape=x:-1,-1,8,8", "--dynamic_batch_size=1,2"], "E10018", "batch"),
        (["--input_shape=x:-1,3,8,8", "--dynamic_image_size=8,8;9,9"], "E10019", "height and width"),
        (["--input_shape=x:1,3,-1,-1", "--dynamic_image_size=8;9"], "E10020", "dynamic_image_size"),
        (["--input_shape=x:-1,3,8,8", "--dynamic_batch_size=1"], "E10035", "less than the minimum"),
        (["--input_shape=x:-1,3,8,8", "--dynamic_batch_size=1,2,1"], "E10039", "duplicate"),
        (["--input_shape=x:-1,3,8,8", "--dynamic_batch_size=1,0"], "E10038", "greater than 0"),
        (["--input_shape=x:-1,3,8,8", "--dynamic_dims=1,2;3,4"], "E10045", "-1 axes"),
        (["--input_shape=x:-1,3,8,8", "--dynamic_dims=1;3,4"], "E10037", "inconsistent"),
        (["--input_shape=x:1~2,3,8,8", "--dynamic_batch_size=1,2"], "E10040", "~"),
        (["--dynamic_batch_size=1,2"], "E10040", "input [x]"),
        (["--dynamic_batch_size=1,2", "--dynamic_dims=1;2"], "E10009", "mutually exclusive"),
        (["--input_shape=x:1,3,8,8", "--input_shape_range=x:[1,3,8,8]"], "E10047", "mutually exclusive"),
    ],
)
def test_wrong_sizes(atc: Atc, options: list[str], code: str, word: str) -> None:
    refused(atc.convert(convolution("n"), *options), ARGUMENT, code, word)


def test_sizes_that_contradict_the_model(atc: Atc) -> None:
    refused(atc.convert(convolution(), "--input_shape=x:1,5,8,8"), MODEL, "E13025", "[conv]")
    assert not (atc.folder / "m.om").exists()


# ---- wrong command lines ----
@pytest.mark.parametrize(
    ("options", "status", "code", "word"),
    [
        (["--framework=7"], ARGUMENT, "E10003", "7"),
        (["--framework=0"], UNSUPPORTED, "E10055", "Caffe"),
        (["--framework=1"], UNSUPPORTED, "E10055", "MindSpore"),
        (["--framework=3"], UNSUPPORTED, "E10055", "tf2onnx"),
        (["--inpt_shape=x:1"], ARGUMENT, "E10014", "--input_shape meant?"),
        (["--log=loud"], ARGUMENT, "E10010", "loud"),
        (["--mode=9"], ARGUMENT, "E10003", "0|1|3"),
        (["--mode=30"], UNSUPPORTED, "E10055", "--mode=30"),
        (["--precision_mode=fast"], ARGUMENT, "E10003", "force_fp16"),
        (["--precision_mode=force_fp32", "--precision_mode_v2=fp16"], ARGUMENT, "E10056", "simultaneously"),
        (["--soc_version=H100"], ARGUMENT, "E10001", "Ascend910B3"),
        (["--output=folder/"], ARGUMENT, "E10022", "file name"),
        (["--weight=w.caffemodel"], UNSUPPORTED, "E10055", "Caffe"),
        (["--singleop=o.json"], UNSUPPORTED, "E10055", "aclnn"),
        (["--out_nodes=nobody:0"], ARGUMENT, "E11017", "nobody"),
        (["--output_type=FP8"], ARGUMENT, "E10001", "FP8"),
        (["--input_fp16_nodes=conv"], ARGUMENT, "E10017", "Data"),
        (["--input_fp16_nodes=z"], ARGUMENT, "E10016", "z"),
        (["--output=no/such/folder/m"], FILE, "E13004", "no/such/folder/m.om"),
        (["--insert_op_conf=none.cfg"], FILE, "E13001", "none.cfg"),
        (["--output="], ARGUMENT, "E10004", "--output"),
        (["m.onnx"], ARGUMENT, "E10054", "quotation"),
    ],
)
def test_wrong_arguments(atc: Atc, options: list[str], status: int, code: str, word: str) -> None:
    refused(atc.convert(convolution(), *options), status, code, word)


def test_what_is_required(atc: Atc) -> None:
    refused(atc("--framework=5"), ARGUMENT, "E10007", "--model")
    refused(atc("--model=m.onnx"), ARGUMENT, "E10007", "--framework")
    refused(atc("--model=m.onnx", "--framework=5"), ARGUMENT, "E10007", "--output")
    refused(atc("--model=m.onnx", "--framework=5", "--output=m"), ARGUMENT, "E10007", "--soc_version")
    refused(atc("--mode=1", "--om=m.om"), ARGUMENT, "E10007", "--json")
    refused(atc("--mode=6"), ARGUMENT, "E10057", "--om")
    refused(atc(), ARGUMENT, "E10007", "--model")


# ---- wrong files ----
def test_missing_file(atc: Atc) -> None:
    refused(atc.convert("none.onnx"), FILE, "E13001", "none.onnx")
    refused(atc("--mode=6", "--om=none.om"), FILE, "E13001", "none.om")


def test_cut_and_foreign_onnx(atc: Atc) -> None:
    whole = convolution().SerializeToString()
    for name, content in {"cut": whole[: len(whole) // 2], "empty": b"", "text": b"hello world", "zeros": bytes(500)}.items():
        (atc.folder / f"{name}.onnx").write_bytes(content)
        refused(atc.convert(f"{name}.onnx"), MODEL, "E10041", f"{name}.onnx")


def test_damaged_and_foreign_om(atc: Atc) -> None:
    assert atc.convert(convolution())[0] == 0
    om = (atc.folder / "m.om").read_bytes()
    flipped = bytearray(om)
    flipped[-1] ^= 1
    for name, content, word in (
        ("cut", om[:-7], "is cut"),
        ("flip", bytes(flipped), "checksum"),
        ("text", b"hello", "no offline model"),
    ):
        (atc.folder / f"{name}.om").write_bytes(content)
        refused(atc("--mode=6", f"--om={name}.om"), MODEL, "E10041", word)
    (atc.folder / "chip.om").write_bytes(b"IMOD" + bytes(300))
    refused(atc("--mode=6", "--om=chip.om"), UNSUPPORTED, "E10055", "Huawei's ATC", "Convert the original ONNX model")


def test_all_unsupported_operators_at_once(atc: Atc) -> None:
    inside = helper.make_graph([helper.make_node("Inner", ["x"], ["z"], "deep", domain="my.ops")], "i", [],
                               [helper.make_tensor_value_info("z", FLOAT, None)])  # fmt: skip
    nodes = [
        helper.make_node("NoSuchOp", ["x"], ["a"], "first"),
        helper.make_node("Relu", ["a"], ["r"], "fine"),
        helper.make_node("If", ["c"], ["y"], "choice", then_branch=inside, else_branch=inside),
    ]
    made = model(nodes, {"x": [2]}, ["y"], {"c": np.array(True)})
    refused(atc.convert(made), UNSUPPORTED, "E10501", "[first] with optype [ai.onnx::17::NoSuchOp]",
            "[deep] with optype [my.ops::1::Inner]", "no operator of ONNX itself")  # fmt: skip
    report = json.loads((atc.folder / "check_result.json").read_text())
    assert report["result"] == "failed"
    assert {n["op_name"] for n in report["unsupported"]} == {"first", "deep"}


def test_unsupported_types_and_versions(atc: Atc) -> None:
    text = model([helper.make_node("Identity", ["x"], ["y"])], {"x": [1]}, ["y"])
    text.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    refused(atc.convert(text), UNSUPPORTED, "E10055", "string")
    refused(atc.convert(model([helper.make_node("Relu", ["x"], ["y"])], {"x": [1]}, ["y"], opset=7)), UNSUPPORTED, "E10055",
            "version 7", "from 9 on")  # fmt: skip
    refused(atc.convert(model([helper.make_node("Relu", ["x"], ["y"])], {"x": [1]}, ["y"], opset=99)), UNSUPPORTED, "E10055",
            "version 99")  # fmt: skip


def test_all_nodes_that_are_unsupported_as_they_stand(atc: Atc) -> None:
    """Casts to types that the device lacks: each is named."""
    nodes = [helper.make_node("Cast", ["x"], [f"y{i}"], f"cast{i}", to=TensorProto.STRING) for i in range(3)]
    made = model(nodes, {"x": [2]}, ["y0", "y1", "y2"])
    refused(atc.convert(made), UNSUPPORTED, "E10055", "[cast0]", "[cast1]", "[cast2]")


def test_four_bit_numbers_where_they_have_no_addresses(atc: Atc) -> None:
    """Views take them, conversions do; what moves single elements does not, and says so."""
    shape = np.array([4, 3])
    nodes = [helper.make_node("Cast", ["x"], ["small"], "narrow", to=TensorProto.INT4),
             helper.make_node("Reshape", ["small", "shape"], ["r"], "view"),
             helper.make_node("Cast", ["r"], ["y"], "widen", to=FLOAT)]  # fmt: skip
    assert atc.convert(model(nodes, {"x": [3, 4]}, ["y"], {"shape": shape}, opset=21))[0] == 0
    nodes[1] = helper.make_node("Transpose", ["small"], ["r"], "turn")
    refused(atc.convert(model(nodes, {"x": [3, 4]}, ["y"], opset=21)), UNSUPPORTED, "E10055", "[turn]", "DT_INT4")


def test_models_that_contradict_themselves(atc: Atc) -> None:
    loose = model([helper.make_node("Relu", ["nothing"], ["y"], "r")], {"x": [1]}, ["y"])
    refused(atc.convert(loose), MODEL, "E10041", "[nothing]", "nothing makes")
    twice = model([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["y"])], {"x": [1]}, ["y"])
    refused(atc.convert(twice), MODEL, "E10041", "two values have the name [y]")
    short = convolution()
    short.graph.initializer[0].raw_data = short.graph.initializer[0].raw_data[:-4]
    refused(atc.convert(short), MODEL, "E10041", "tensor [w] has")


# ---- data beside the file ----
def save_external(folder: pathlib.Path) -> None:
    onnx.save(convolution(), str(folder / "m.onnx"), save_as_external_data=True, location="m.data", size_threshold=0)


def test_external_data(atc: Atc) -> None:
    save_external(atc.folder)
    assert atc.convert("m.onnx")[0] == 0
    data = (atc.folder / "m.data").read_bytes()
    (atc.folder / "m.data").write_bytes(data[:100])
    refused(atc.convert("m.onnx"), MODEL, "E10041", "m.data")
    (atc.folder / "m.data").unlink()
    refused(atc.convert("m.onnx"), FILE, "E13001", "m.data")


@pytest.mark.parametrize("place", ["../m.data", "/etc/passwd", "a/../../m.data", ""])
def test_external_data_stays_in_the_folder(atc: Atc, place: str) -> None:
    save_external(atc.folder)
    made = onnx.load(str(atc.folder / "m.onnx"), load_external_data=False)
    for entry in made.graph.initializer[0].external_data:
        if entry.key == "location":
            entry.value = place
    onnx.save(made, str(atc.folder / "m.onnx"))
    refused(atc.convert("m.onnx"), MODEL, "E10041", "outside of the model's folder")


# ---- AIPP ----
AIPP = """
# as for a camera
aipp_op {
  related_input_rank: 0
  aipp_mode: static
  input_format: RGB888_U8
  src_image_size_w: 12
  src_image_size_h: 10
  crop: true
  load_start_pos_w: 2
  load_start_pos_h: 1
  crop_size_w: 8
  crop_size_h: 8
  mean_chn_0: 104
  var_reci_chn_0: 0.5
}
"""


def test_aipp(atc: Atc) -> None:
    (atc.folder / "a.cfg").write_text(AIPP)
    status, text = atc.convert(convolution(), "--insert_op_conf=a.cfg")
    assert status == 0, text
    aipp = atc.shown()["aipp"][0]
    assert aipp["crop"] is True and aipp["mean_chn_0"] == 104 and aipp["var_reci_chn_0"] == 0.5 and aipp["var_reci_chn_1"] == 1


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("aipp_mode: static", "aipp_mode: magic", "magic"),
        ("crop_size_w: 8", "crop_size_w: 11", "outside of the source image"),
        ("mean_chn_0: 104", "mean_chn_7: 104", "mean_chn_7"),
        ("mean_chn_0: 104", "mean_chn_0: many", "many"),
        ("related_input_rank: 0", "related_input_rank: 4", "no input"),
        ("crop: true", "crop: yes", "yes"),
        ("  crop: true", "  resize: true", "resize is not supported"),
        ("}", "", "}"),
        ("aipp_op", "op", "aipp_op"),
    ],
)
def test_wrong_aipp(atc: Atc, old: str, new: str, word: str) -> None:
    (atc.folder / "a.cfg").write_text(AIPP.replace(old, new))
    refused(atc.convert(convolution(), "--insert_op_conf=a.cfg"), ARGUMENT, "E10052", "line", word)


# ---- the program on PATH ----
def test_the_package_says_what_its_build_lacked(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    import anynpu.atc

    monkeypatch.setattr(anynpu.atc, "toolkit_path", lambda: str(tmp_path))
    assert anynpu.atc.main() == 5
    assert "libprotobuf-c-dev" in capsys.readouterr().err

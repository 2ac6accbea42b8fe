# SPDX-License-Identifier: BSD-3-Clause
"""The node tests of the onnx package on this toolkit: each model is converted by atc, run through acl, and compared.

    node_tests.py                      all; writes docs/ONNX.md
    node_tests.py --quick              one case of each operator, nothing written; 1 when one fails that must not
    node_tests.py --only 'resize|nms'  by a regular expression; tells why cases fail

Every model is converted in a process of its own and run in a worker, so that a crash is one case's failure. What can't be run is
in OUTSIDE, with the reason; such cases count neither for nor against.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures as futures
import dataclasses
import multiprocessing as mp
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings
from typing import Any

import anynpu
import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper, version_converter

import acl

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "om"))
import sample  # noqa: E402

sample.NUMPY |= {6: np.int16, 7: np.uint16, 8: np.uint32, 10: np.uint64, 16: np.complex64, 17: np.complex128}
sample.NUMPY |= {27: ml_dtypes.bfloat16, 35: ml_dtypes.float8_e5m2, 36: ml_dtypes.float8_e4m3fn, 37: ml_dtypes.float8_e8m0fnu}
NIBBLES = {29: ml_dtypes.int4, 40: ml_dtypes.float4_e2m1fn}  # two a byte, the first in the low half

OLDEST = 9  # version of ONNX's operators that atc takes

# Element types that no aclDataType stands for.
FOREIGN = {
    getattr(TensorProto, name)
    for name in "FLOAT8E4M3FNUZ FLOAT8E5M2FNUZ UINT4 UINT2 INT2 FLOAT6E2M3 FLOAT6E3M2".split()
    if hasattr(TensorProto, name)
}
SEQUENCES = "sequences and optional values: an offline model's inputs and outputs are tensors"
STRINGS = "tensors of strings: a device has none"
OUTSIDE = {
    "ImageDecoder": "decodes image files; atc's AIPP or the host does that",
    "RegexFullMatch": STRINGS,
    "StringConcat": STRINGS,
    "StringNormalizer": STRINGS,
    "StringSplit": STRINGS,
    "TfIdfVectorizer": "counts words of texts; belongs before the model",
    "Bernoulli": "the expected results are another generator's random numbers",
}
ROUNDED = "expects the roundings of a reference that computes each step in 16 bits; ours has fewer of them"
BY_NAME = {
    r"test_training_dropout(_default)?(_mask)?$": "the expected results are another generator's random numbers",
    r"test_attention_.*(bf16|fp16)": ROUNDED,
    r"test_scan_sum": "Scan of version 8, which had a batch dimension; atc takes versions from 9 on",
    r"test_dft_inverse": "expects the rounding errors of a transform in float where the exact result is 0",
}


@dataclasses.dataclass
class Result:
    """What became of a case: "ok", "failed" or "outside", and why."""

    name: str
    operator: str
    state: str
    reason: str = ""


def element_types(model: onnx.ModelProto) -> set[int]:
    """All element types that the model names."""
    found: set[int] = set()

    def graph(g: onnx.GraphProto) -> None:
        for value in [*g.input, *g.output, *g.value_info]:
            kind = value.type.WhichOneof("value")
            found.add(-1 if kind and kind != "tensor_type" else value.type.tensor_type.elem_type)
        found.update(t.data_type for t in g.initializer)
        for node in g.node:
            for a in node.attribute:
                if a.type == onnx.AttributeProto.TENSOR:
                    found.add(a.t.data_type)
                elif a.type == onnx.AttributeProto.GRAPH:
                    graph(a.g)
                elif a.type == onnx.AttributeProto.TYPE_PROTO:
                    found.add(-1)
                elif a.name in ("to", "dtype", "output_dtype") and a.type == onnx.AttributeProto.INT:
                    found.add(a.i)

    graph(model.graph)
    return found


def why_outside(case: Any, operator: str) -> str:
    """Why a case isn't tried, or ""."""
    domains = {node.domain for node in case.model.graph.node} - {"", "ai.onnx"}
    if domains:
        return f"operators of the domain {', '.join(sorted(domains))}"
    if operator in OUTSIDE:
        return OUTSIDE[operator]
    types = element_types(case.model)
    if TensorProto.STRING in types:
        return STRINGS
    if -1 in types or any(n.op_type.startswith(("Sequence", "Optional")) for n in case.model.graph.node):
        return SEQUENCES
    if types & FOREIGN:
        names = ", ".join(sorted(TensorProto.DataType.Name(t) for t in types & FOREIGN))
        return f"elements of {names}: no aclDataType stands for them"
    return ""


def as_array(value: Any) -> np.ndarray:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def packed(array: np.ndarray) -> np.ndarray:
    """What a device holds of an array."""
    if array.dtype not in NIBBLES.values():
        return array
    codes = np.zeros((array.size + 1) // 2 * 2, np.uint8)
    codes[: array.size] = array.reshape(-1).view(np.uint8) & 15
    return codes[0::2] | codes[1::2] << 4


def unpacked(codes: np.ndarray, shape: list[int], kind: int) -> np.ndarray:
    halves = np.stack([codes & 15, codes >> 4], axis=-1).reshape(-1)[: int(np.prod(shape))]
    if kind == 29:
        return ((halves.astype(np.int8) ^ 8) - 8).astype(ml_dtypes.int4).reshape(shape)
    return halves.view(NIBBLES[kind]).reshape(shape)


class Runner(sample.Program):
    """A converted model; inputs may be empty, results have the types that the execution tells."""

    def run(self, arrays: list[np.ndarray], batch: int = 0) -> list[np.ndarray]:
        """Gives empty inputs a byte, which nothing reads."""
        return super().run([packed(a) if a.nbytes else np.zeros(1, np.uint8) for a in arrays], batch)

    def fetch(self, dataset: int, i: int) -> np.ndarray:
        shape, kind = self.result_type(dataset, i)
        if kind not in NIBBLES:
            return super().fetch(dataset, i)
        return unpacked(self.fetch_as(dataset, i, np.empty((int(np.prod(shape)) + 1) // 2, np.uint8)), shape, kind)


def plain(text: str) -> str:
    """A reason without what differs from run to run."""
    return re.sub(r"\[PID: \d+\] [\d.:-]+ ?", "", text)


def compare(got: np.ndarray, wanted: np.ndarray, case: Any) -> str:
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"a result is {got.dtype}{list(got.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    if got.dtype.kind not in "biufc":
        got, wanted = got.astype(np.float32), wanted.astype(np.float32)
    close = np.isclose(got, wanted, rtol=case.rtol, atol=case.atol, equal_nan=True)
    return "" if close.all() else f"{(~close).sum()} of {close.size} numbers differ"


def execute(om: str, data: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    """The results for each of the inputs."""
    program = Runner(om)
    try:
        return [program.run(inputs) for inputs in data]
    finally:
        program.close()


def judge(case: Any, results: list[list[np.ndarray]]) -> str:
    """Why the case failed, or ""."""
    for (_, outputs), got in zip(case.data_sets, results, strict=True):
        for a, b in zip(got, outputs, strict=False):
            wrong = compare(a, as_array(b), case)
            if wrong:
                return wrong
    return ""


def collect() -> dict[str, Any]:
    """The package's cases by name; making them warns a lot."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases(None)}


def work(pipe: Any) -> None:
    """A worker: gets (offline model, inputs), answers (results, why there are none)."""
    sample.check(acl.init(), "init")
    while (job := pipe.recv()) is not None:
        try:
            pipe.send((execute(*job), ""))
        except Exception as error:  # noqa: BLE001 — every failure is a result
            text = " ".join(str(error).replace("\\n", " ").split())
            pipe.send((None, text[:300] or repr(error)))


class Worker:
    """A process that runs models; started again when one kills it."""

    def __init__(self) -> None:
        self.process: Any = None

    def start(self) -> None:
        context = mp.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def run(self, case: Any, om: pathlib.Path) -> str:
        if self.process is None:
            self.start()
        try:
            self.pipe.send((str(om), [[as_array(x) for x in inputs] for inputs, _ in case.data_sets]))
            if self.pipe.poll(120):
                results, reason = self.pipe.recv()
                return reason or judge(case, results)
            reason = "no result after 120 s"
        except (EOFError, OSError):
            reason = "the process died"
        self.process.kill()
        self.process.join()
        self.process = None
        return reason

    def close(self) -> None:
        if self.process is not None:
            self.pipe.send(None)
            self.process.join(20)


def convert(case: Any, folder: pathlib.Path) -> tuple[pathlib.Path | None, str]:
    """The offline model, or why there is none."""
    source, om = folder / f"{case.name}.onnx", folder / f"{case.name}.om"
    model = case.model
    if any(o.domain in ("", "ai.onnx") and o.version < OLDEST for o in model.opset_import):
        model = version_converter.convert_version(model, OLDEST)  # as atc's refusal advises
    source.write_bytes(model.SerializeToString())
    command = [str(pathlib.Path(anynpu.toolkit_path()) / "bin" / "atc"), f"--model={source}", "--framework=5"]
    command += [f"--output={om.with_suffix('')}", "--soc_version=Ascend910B3", "--precision_mode_v2=origin", "--log=error"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    except subprocess.TimeoutExpired:
        return None, "conversion took more than 120 s"
    source.unlink()
    if done.returncode == 0 and om.exists():
        return om, ""
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    told = [line for line in lines if re.search(r"E\d{4,5}|rror|nsupported", line)] or lines[-1:]
    return None, f"atc: {' '.join(told[:2])[:300]}" if told else f"atc ended with {done.returncode}"


def operator_of(name: str, cases: dict[str, Any]) -> str:
    """The operator that a case is about; those that end in _expanded are about the one whose function they spell out."""
    nodes = cases[name].model.graph.node
    base = re.sub(r"_expanded.*$", "", name)
    if base != name and base in cases:
        nodes = cases[base].model.graph.node
    domain = nodes[-1].domain
    if base != name and base not in cases:
        return "spelled out"
    return (f"{domain}::" if domain not in ("", "ai.onnx") else "") + (nodes[-1].op_type if len(nodes) > 1 else nodes[0].op_type)


def run(cases: dict[str, Any], names: list[str], folder: pathlib.Path) -> list[Result]:
    results, worker = [], Worker()
    todo = []
    for name in names:
        operator = operator_of(name, cases)
        reason = why_outside(cases[name], operator)
        if reason:
            results.append(Result(name, operator, "outside", reason))
        else:
            todo.append((name, operator))
    with futures.ThreadPoolExecutor(1) as pool:  # converts the next ones while one runs
        made = [(name, operator, pool.submit(convert, cases[name], folder)) for name, operator in todo]
        for name, operator, future in made:
            om, reason = future.result()
            if om is not None:
                reason = worker.run(cases[name], om)
                om.unlink()
            state = "failed" if reason else "ok"
            for pattern, why in BY_NAME.items():
                if reason and re.match(pattern, name):
                    state, reason = "outside", why
            results.append(Result(name, operator, state, plain(reason)))
    worker.close()
    return results


def first_of_each(cases: dict[str, Any]) -> list[str]:
    """A case of each operator, the first that can be run."""
    seen: dict[str, str] = {}
    for name in cases:
        operator = operator_of(name, cases)
        if "expanded" not in name and not why_outside(cases[name], operator):
            seen.setdefault(operator, name)
    return list(seen.values())


HEAD = """# ONNX operators

<!-- Written by tests/onnx/node_tests.py. -->

What `atc` converts and the device computes, by the node tests of the package onnx {version}: each test's model is converted, run
through `acl` and compared with the expected result. Cases whose names end in `_expanded` spell an operator out as others, and
count for it. Other operators are refused at conversion, by name.

**{ok} of {tried} cases pass ({percent:.1f} %)**; {outside} more are not tried (listed at the end with the reasons), so that
{whole:.1f} % of all that the package has for ONNX's own domain pass.

| operator | passed | cases |
|---|---:|---:|
"""


def rows_of_source() -> set[str]:
    """The operators of ONNX's own domain that have a row."""
    files = (ROOT / "cann" / "graph" / "operators").glob("*.c")
    text = "".join(path.read_text() for path in files if path.name != "fused.c")  # which are of a domain of our own
    return set(re.findall(r'\b[A-Z_]*ROW\(\s*"(\w+)"', text))


def page(results: list[Result]) -> str:
    by_operator: dict[str, list[Result]] = collections.defaultdict(list)
    for r in results:
        by_operator[r.operator].append(r)
    tried = [r for r in results if r.state != "outside"]
    ok = sum(r.state == "ok" for r in tried)
    own = [r for r in results if not r.reason.startswith("operators of the domain")]
    shares = {"percent": 100 * ok / max(1, len(tried)), "whole": 100 * ok / max(1, len(own))}
    text = HEAD.format(version=onnx.__version__, ok=ok, tried=len(tried), outside=len(results) - len(tried), **shares)
    for operator in sorted(by_operator):
        rows = [r for r in by_operator[operator] if r.state != "outside"]
        if rows:
            text += f"| {operator} | {sum(r.state == 'ok' for r in rows)} | {len(rows)} |\n"
    others = sorted(rows_of_source() - set(by_operator))
    text += f"\nThese are there too and have no node test of their own: {', '.join(others)}.\n"
    failed = [r for r in tried if r.state == "failed"]
    if failed:
        text += "\n## Cases that fail\n\n"
        text += "".join(f"- `{r.name}`: {r.reason}\n" for r in sorted(failed, key=lambda r: r.name))
    text += "\n## Cases that are not tried\n\n| why | operators | cases |\n|---|---|---:|\n"
    outside = collections.defaultdict(list)
    for r in results:
        if r.state == "outside":
            outside[r.reason].append(r.operator)
    for reason, operators in sorted(outside.items(), key=lambda item: -len(item[1])):
        text += f"| {reason} | {', '.join(sorted(set(operators)))} | {len(operators)} |\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", metavar="REGEX")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "ONNX.md")
    args = parser.parse_args()
    cases = collect()
    names = first_of_each(cases) if args.quick else [n for n in cases if not args.only or re.search(args.only, n)]
    with tempfile.TemporaryDirectory() as folder:
        results = run(cases, names, pathlib.Path(folder))
    count = collections.Counter(r.state for r in results)
    if args.quick or args.only:
        for r in results:
            if r.state == "failed" or (args.only and r.state == "outside"):
                print(f"{r.name}: {r.state}: {r.reason}")
    else:
        args.out.write_text(page(results))
    tried = count["ok"] + count["failed"]
    print(f"{count['ok']} of {tried} node tests pass, {count['outside']} are not for a device")
    return 0 if count["failed"] == 0 or (not args.quick and count["ok"] >= 0.9 * tried) else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""Speed of offline models: onnxruntime's time / ours, the same number of threads, in one interleaved run (minimum of many);
and the time to load a large model by mapping it.

    PYTHONPATH=build/release/python OMP_NUM_THREADS=2 python tests/bench/offline.py [--out FILE.json] [names…]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "om"))

import anynpu
import numpy as np
import onnxruntime
import torch
from networks import NETWORKS
from sample import Program, check

import acl

REST = 0.02  # the other's threads stop spinning
THREADS = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))


def convert(onnx: pathlib.Path, om: pathlib.Path) -> None:
    atc = pathlib.Path(os.environ.get("ASCEND_HOME_PATH") or anynpu.toolkit_path()) / "bin" / "atc"
    options = ["--framework=5", "--soc_version=Ascend910B3", "--precision_mode_v2=origin"]
    subprocess.run([str(atc), f"--model={onnx}", f"--output={om.with_suffix('')}", *options], check=True, capture_output=True)


class Resident(Program):
    """A program whose inputs lie on the device: what is timed is the execution."""

    def __init__(self, path: str, arrays: list[np.ndarray]) -> None:
        super().__init__(path)
        self.given, memory = self.dataset([a.nbytes for a in arrays])
        for (address, size), array in zip(memory, arrays, strict=True):
            check(acl.rt.memcpy(address, size, acl.util.numpy_to_ptr(array), size, 1), "memcpy")
        count = acl.mdl.get_num_outputs(self.desc)
        self.made, _ = self.dataset([acl.mdl.get_output_size_by_index(self.desc, i) for i in range(count)])

    def execute(self) -> None:
        check(acl.mdl.execute(self.model, self.given, self.made), "execute")


def speed(name: str, folder: pathlib.Path, rounds: int) -> dict[str, float]:
    network = NETWORKS[name]()
    onnx, om = folder / f"{name}.onnx", folder / f"{name}.om"
    network.export(onnx)
    convert(onnx, om)
    arrays = [t.numpy() for t in network.inputs]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(str(onnx), options, providers=["CPUExecutionProvider"])
    feed = dict(zip(network.names, arrays, strict=True))
    ours = Resident(str(om), arrays)
    best = {"onnxruntime": float("inf"), "ours": float("inf")}
    for _ in range(rounds):
        for who, run in (("onnxruntime", lambda: session.run(None, feed)), ("ours", ours.execute)):
            time.sleep(REST)
            begin = time.perf_counter()
            run()
            best[who] = min(best[who], time.perf_counter() - begin)
    ours.close()
    return {f"{who} ms": 1e3 * t for who, t in best.items()} | {"ratio": best["onnxruntime"] / best["ours"]}


def load(folder: pathlib.Path, megabytes: int = 100) -> float:
    """Milliseconds to load a model of that size whose file is in the page cache, best of some."""
    side = int((megabytes * 1e6 / 4 / 4) ** 0.5)
    torch.manual_seed(0)
    net = torch.nn.Sequential(*[torch.nn.Linear(side, side) for _ in range(4)]).eval()
    onnx, om = folder / "large.onnx", folder / "large.om"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, (torch.rand(1, side),), str(onnx), dynamo=False, input_names=["x"], output_names=["y"])
    convert(onnx, om)
    best = float("inf")
    for _ in range(7):
        begin = time.perf_counter()
        model, status = acl.mdl.load_from_file(str(om))
        best = min(best, time.perf_counter() - begin)
        check(status, "load_from_file")
        check(acl.mdl.unload(model), "unload")
    print(f"load of {om.stat().st_size / 1e6:.0f} MB: {1e3 * best:.2f} ms")
    return 1e3 * best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(NETWORKS))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(THREADS)
    check(acl.init(), "init")
    check(acl.rt.set_device(0), "set_device")
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for name in args.names:
            results[name] = row = speed(name, folder, args.rounds)
            times = f"onnxruntime {row['onnxruntime ms']:8.3f} ms, ours {row['ours ms']:8.3f} ms"
            print(f"{name:10s} {times}, ratio {row['ratio']:.2f}", flush=True)
        results["load ms"] = load(folder)
    if args.out:
        args.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

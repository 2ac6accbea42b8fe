# SPDX-License-Identifier: BSD-3-Clause
"""Runs public training scripts written for CUDA, unmodified, on npu and on the CPU, and compares what they print.

    python scripts.py --fetch FOLDER            # clones the scripts (with git; outside this repository)
    python scripts.py FOLDER [--only REGEX] [--write docs/MIGRATION.md] [--out results.json]

On npu a script runs either after the one line `from torch_npu.contrib import transfer_to_npu` or with TORCH_TRANSFER_TO_NPU=1
and nothing else; on the CPU by its own option for that. A run must end well; on npu it must have used the device's memory.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import prepare

SOURCES = {
    "examples": ("https://github.com/pytorch/examples", "1bef748fab064e2fc3beddcbda60fd51cb9612d2"),
    "minGPT": ("https://github.com/karpathy/minGPT", "37baab71b9abea1b76ab957409a1cc2fbfba8a26"),
    "nanoGPT": ("https://github.com/karpathy/nanoGPT", "3adf61e154c3fe3fca428ad6bc3818b27a3b8291"),
}


@dataclass(frozen=True)
class Script:
    """A row: which file, how it is called, what of its output is compared."""

    name: str
    folder: str  # under FOLDER; copied, and the working folder
    file: str
    options: str
    on_gpu: str  # its own option to use CUDA, if it needs one
    on_cpu: str  # its own option not to
    metric: str  # what the pattern finds
    pattern: str  # regular expression; the last match counts
    tolerance: float  # of the metric, npu against cpu: dropout and sampling differ by device
    by_variable: bool = False  # TORCH_TRANSFER_TO_NPU=1 instead of the line
    prepare: Callable[[Path, Path], None] | None = None


E = "examples/"
SCRIPTS = [
    Script("mnist", E + "mnist", "main.py", "--epochs 3", "", "--no-cuda", "test accuracy, %", r"Accuracy: \d+/\d+ \((\d+)%", 3),
    Script("mnist_rnn", E + "mnist_rnn", "main.py", "--epochs 6", "--cuda", "", "test accuracy, %", r"\((\d+)%\)\n", 15, True),
    Script("vae", E + "vae", "main.py", "--epochs 5", "", "--no-cuda", "test loss", r"Test set loss: ([\d.]+)", 4),
    Script(
        "dcgan", E + "dcgan", "main.py", "--dataset mnist --dataroot . --niter 2 --ngf 16 --ndf 16 --imageSize 64 --manualSeed 1",
        "--cuda", "", "D(x)", r"D\(x\): ([\d.]+)", 0.3,
    ),
    Script(
        "siamese_network", E + "siamese_network", "main.py", "--epochs 2 --lr 0.3", "", "--no-cuda",
        "test loss", r"Average loss: ([\d.]+)", 0.05, True,
    ),
    Script(
        "super_resolution", E + "super_resolution", "main.py",
        "--upscale_factor 3 --batchSize 4 --testBatchSize 2 --nEpochs 4 --lr 0.001 --threads 1", "--cuda", "",
        "PSNR, dB", r"Avg. PSNR: ([-\d.]+)", 0.1, False, prepare.photographs,
    ),
    Script(
        "word_language_model, LSTM", E + "word_language_model", "main.py",
        "--data small --model LSTM --emsize 64 --nhid 64 --epochs 3 --log-interval 100", "--cuda", "",
        "test perplexity", r"test ppl\s+([\d.]+)", 60, False, prepare.words,
    ),
    Script(
        "word_language_model, Transformer", E + "word_language_model", "main.py",
        "--data small --model Transformer --emsize 64 --nhid 64 --epochs 3 --lr 2 --log-interval 100", "--cuda", "",
        "test perplexity", r"test ppl\s+([\d.]+)", 60, True, prepare.words,
    ),
    Script(
        "minGPT, adder", "minGPT", "projects/adder/adder.py", "--trainer.max_iters=200 --trainer.num_workers=0", "",
        "--trainer.device=cpu", "training loss", r"iter 190: train loss ([\d.]+)", 0.2,
    ),
    Script(
        "nanoGPT", "nanoGPT", "train.py",
        "config/train_shakespeare_char.py --compile=False --eval_iters=5 --log_interval=10 --block_size=64 --batch_size=8 "
        "--n_layer=2 --n_head=4 --n_embd=64 --max_iters=150 --lr_decay_iters=150 --warmup_iters=10 --eval_interval=150 "
        "--dropout=0.0",
        "", "--device=cpu --dtype=float32", "validation loss", r"step 150: train loss [\d.]+, val loss ([\d.]+)", 0.05, True,
        prepare.characters,
    ),
]  # fmt: skip

LINE = "from torch_npu.contrib import transfer_to_npu"
RUN = """
import atexit, json, os, runpy, sys
def report():
    import torch
    used = torch.npu.utils.cpu_fallback_count() if hasattr(torch, "npu") else {}
    peak = torch.npu.max_memory_allocated() if hasattr(torch, "npu") and torch.npu.is_initialized() else 0
    with open(os.environ["REPORT"], "w") as file:
        json.dump({"peak": peak, "fallbacks": used}, file)
owner = os.getpid()
atexit.register(lambda: os.getpid() == owner and report())
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def environment(script: Script, device: str, work: Path, report: Path) -> dict[str, str]:
    here = Path(__file__).parent
    path = [str(work), str(here / "stand_in"), os.environ.get("PYTHONPATH", "")]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, path)), REPORT=str(report), MPLBACKEND="Agg")
    env.pop("TORCH_TRANSFER_TO_NPU", None)
    env["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # word_language_model loads a whole module, as PyTorch before 2.6 allowed
    env.setdefault("OMP_NUM_THREADS", "1")  # the same work for both, whatever else the machine does
    if device == "cpu":
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    elif script.by_variable:
        env["TORCH_TRANSFER_TO_NPU"] = "1"
    return env


def run(script: Script, device: str, scripts: Path, timeout: float) -> dict:
    """One run in a copy of its folder: seconds, metric, and what the device did."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work"
        shutil.copytree(scripts / script.folder, work)
        if script.prepare:
            script.prepare(work, scripts)
        options = script.options.split() + (script.on_cpu if device == "cpu" else script.on_gpu).split()
        code = RUN if device == "cpu" or script.by_variable else LINE + RUN
        report = Path(folder) / "report.json"
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code, script.file, *options],
            cwd=work, env=environment(script, device, work, report), capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        found = re.findall(script.pattern, done.stdout)
        if done.returncode != 0 or not found:
            raise RuntimeError(
                f"{script.name} on {device} ended with {done.returncode}:\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
            )
        return {"seconds": round(seconds, 1), "value": float(found[-1]), **json.loads(report.read_text())}


def compare(script: Script, scripts: Path, timeout: float) -> dict:
    cpu, npu = (run(script, device, scripts, timeout) for device in ("cpu", "npu"))
    near = abs(npu["value"] - cpu["value"]) <= script.tolerance
    return {"name": script.name, "metric": script.metric, "cpu": cpu, "npu": npu, "ok": near and npu["peak"] > 0}


def table(rows: list[dict], by_name: dict[str, Script]) -> str:
    """The rows as the Markdown table of docs/MIGRATION.md."""
    lines = [
        "| script | options | compared | cpu | npu | seconds cpu / npu | run on the CPU instead |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        script = by_name[row["name"]]
        fell = ", ".join(f"`{name.removeprefix('aten::')}`" for name in row["npu"]["fallbacks"]) or "nothing"
        lines.append(
            f"| {script.name} | `{(script.options + ' ' + script.on_gpu).strip()}` | {script.metric} | {row['cpu']['value']:g} "
            f"| {row['npu']['value']:g} | {row['cpu']['seconds']:g} / {row['npu']['seconds']:g} | {fell} |"
        )
    return "\n".join(lines)


def write(page: Path, text: str) -> None:
    """Puts the table between the page's two marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- scripts -->\n")
    after = rest.partition("<!-- end -->")[2]
    page.write_text(f"{before}<!-- scripts -->\n{text}\n<!-- end -->{after}", encoding="utf-8")


def fetch(scripts: Path) -> None:
    for name, (url, commit) in SOURCES.items():
        if not (scripts / name).exists():
            subprocess.run(["git", "clone", "--quiet", url, str(scripts / name)], check=True)
            subprocess.run(["git", "-C", str(scripts / name), "checkout", "--quiet", commit], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fetch", action="store_true", help="clone the scripts into the folder and end")
    parser.add_argument("--only", default="", help="regular expression on names")
    parser.add_argument("--timeout", type=float, default=600, help="seconds a run")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--out", type=Path, help="results as JSON; those of other scripts in it are kept")
    args = parser.parse_args()
    if args.fetch:
        fetch(args.folder)
        return 0
    known = json.loads(args.out.read_text()) if args.out and args.out.exists() else []
    rows, ran, failed = {row["name"]: row for row in known}, 0, 0
    for script in SCRIPTS:
        if not re.search(args.only, script.name):
            continue
        ran += 1
        try:
            row = compare(script, args.folder, args.timeout)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAILED {script.name}: {error}", flush=True)
            continue
        rows[script.name] = row
        if args.out:
            args.out.write_text(json.dumps(list(rows.values()), indent=1))
        failed += not row["ok"]
        state = "ok" if row["ok"] else "DIFFERS"
        print(f"{state:8}{row['name']:<34}{row['metric']}: cpu {row['cpu']}  npu {row['npu']}", flush=True)
    by_name = {script.name: script for script in SCRIPTS}
    if args.write and not failed:
        write(args.write, table([rows[name] for name in by_name if name in rows], by_name))
    print(f"{ran} scripts ran, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""Host cost of a call: our torch_npu against the official wheel, both on our libraries, the same machine, in turn.

Each round starts one process per package; a process times calls on 4 floats (one thread, minimum of many batches). The
official wheel's environment is made by tests/swap/swap.py. Prints a row a case: µs of ours, µs of the wheel, ratio; and
what the same call costs on a CPU tensor, of which PyTorch's own part is common to all three: where ours is no dearer than
that, as for view, nothing is left to save.

    python host_cost.py [--rounds 3] [--out host_cost.json]
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = 0.6
TIMER = """
import json, time, torch, torch_npu
torch.set_num_threads(1)
device = "DEVICE"
a, b, c = (torch.ones(4).to(device) for _ in range(3))
calls = {
    "torch.add(out=)": lambda: torch.add(a, b, out=c),
    "a + b": lambda: a + b,
    "torch.empty": lambda: torch.empty(4, device=device),
    "view": lambda: a.view(2, 2),
}
best = {}
for name, call in calls.items():
    for _ in range(200):
        call()
    torch.npu.synchronize()
    best[name] = 1e9
    for _ in range(40):
        begin = time.perf_counter()
        for _ in range(500):
            call()
        best[name] = min(best[name], (time.perf_counter() - begin) / 500 * 1e6)
        torch.npu.synchronize()
print(json.dumps(best))
"""


def environments() -> dict[str, tuple[pathlib.Path, dict[str, str]]]:
    """Interpreter and variables of the two packages."""
    toolkit = ROOT / "build/release/python/anynpu/toolkit"
    wheel = ROOT / "build/swap/venv/bin/python"
    if not wheel.exists():
        sys.exit(f"{wheel} is missing: make it with `make swap`")
    base = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH")} | {"OMP_NUM_THREADS": "1"}
    official = base | {"ASCEND_HOME_PATH": str(toolkit), "ASCEND_OPP_PATH": str(toolkit / "opp"),
                       "LD_LIBRARY_PATH": str(toolkit / "lib64")}
    ours = pathlib.Path(sys.executable), base | {"PYTHONPATH": str(ROOT / "build/release/python")}
    return {"ours": ours, "wheel": (wheel, official), "cpu": ours}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    args = parser.parse_args()
    best: dict[str, dict[str, float]] = {"ours": {}, "wheel": {}, "cpu": {}}
    for _ in range(args.rounds):
        for name, (python, env) in environments().items():
            program = TIMER.replace("DEVICE", "cpu" if name == "cpu" else "npu")
            command = [python, "-W", "ignore", "-c", program]  # not from the root folder: its torch_npu would be imported
            done = subprocess.run(command, env=env, cwd=ROOT / "tests/swap", stdout=subprocess.PIPE, check=True, text=True)
            for case, micros in json.loads(done.stdout.splitlines()[-1]).items():
                best[name][case] = min(best[name].get(case, micros), micros)
    rows = [{"case": case, "ours_us": round(best["ours"][case], 3), "wheel_us": round(best["wheel"][case], 3),
             "cpu_us": round(best["cpu"][case], 3),
             "ratio": round(best["ours"][case] / best["wheel"][case], 3)} for case in best["ours"]]
    for row in rows:
        print(f"{row['case']:<18} ours {row['ours_us']:6.2f} µs   wheel {row['wheel_us']:6.2f} µs   ratio {row['ratio']:.2f}"
              f" (target ≤ {TARGET})   on a CPU tensor {row['cpu_us']:6.2f} µs")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(rows, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()

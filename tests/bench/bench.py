# SPDX-License-Identifier: BSD-3-Clause
"""Speed of npu:0 against torch on the CPU: ratios (CPU time / NPU time, more is better) in one interleaved run.

Each case is a function per device; the two are called in turn, many times, and the minimum of each counts, so that other
load on the machine hurts both alike. Cases of one thread run in a process of their own with OMP_NUM_THREADS=1.

    python bench.py [--out bench.json] [--cases a,b] [--seconds 2]
"""
from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable

import torch
import torch_npu  # noqa: F401
from networks import NETWORKS, trainer

# case → ratio that it should reach
TARGETS = {
    "add_out_4": 0.95, "add_4": 0.9, "item_round_trip": None,
    "matmul_256": 1.0, "matmul_512": 1.0, "matmul_1024": 1.0, "matmul_2048": 1.0,
} | {name: 0.9 if name == "digits_cnn_b64" else 0.8 for name in NETWORKS}
# Mixed precision: the network's name and the type of autocast; on both devices (_amp), or on the NPU alone with its own float32
# training in the CPU's place (_npu_f32).
MIXED = {f"{name}_{dtype}_{against}": (name, dtype, against) for name in ("nanogpt_b8_t128_f32", "cnn28x28_b64")
         for dtype, against in (("bf16", "amp"), ("bf16", "npu_f32"), ("fp16", "npu_f32"))}
TARGETS |= {case: 0.9 if dtype == "fp16" else 1.0 for case, (_, dtype, _) in MIXED.items()}
ONE_THREAD = ("add_out_4", "add_4", "item_round_trip")
REPEATS = {"add_out_4": 1000, "add_4": 1000, "item_round_trip": 200}


def make(case: str, device: str) -> Callable[[], object]:
    """The function to time; it ends with the device idle."""
    torch.manual_seed(0)
    if case in NETWORKS:
        step = trainer(NETWORKS[case], device)
        return lambda: step().item()
    if case in MIXED:
        name, dtype, against = MIXED[case]
        low = torch.float16 if dtype == "fp16" else torch.bfloat16
        mixed = trainer(NETWORKS[name], "npu:0", None if device == "cpu" else low) if against == "npu_f32" else (
            trainer(NETWORKS[name], device, low))
        return lambda: mixed().item()
    if case == "item_round_trip":
        x = torch.ones(1, device=device)
        return lambda: (x + 1).item()
    if case in ("add_4", "add_out_4"):
        a, b, c = (torch.randn(4, device=device) for _ in range(3))
        return (lambda: torch.add(a, b, out=c)) if case == "add_out_4" else (lambda: a + b)
    size = int(case.split("_")[1])
    a, b = (torch.randn(size, size).to(device) for _ in range(2))
    wait = torch.npu.synchronize if device != "cpu" else lambda: None

    def matmul() -> None:
        torch.matmul(a, b)
        wait()

    return matmul


def best_times(case: str, seconds: float) -> dict[str, float]:
    """Minimum time of a call on each device in microseconds."""
    calls = {device: make(case, device) for device in ("cpu", "npu:0")}
    repeats = REPEATS.get(case, 1)
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        for _ in range(3):
            call()
    rounds, end = 0, time.perf_counter() + seconds
    while rounds < 7 or time.perf_counter() < end:
        rounds += 1
        for device, call in calls.items():
            begin = time.perf_counter()
            for _ in range(repeats):
                call()
            if device != "cpu":
                torch.npu.synchronize()
            best[device] = min(best[device], (time.perf_counter() - begin) / repeats * 1e6)
    return best


def machine() -> str:
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    return f"{model}, {len(os.sched_getaffinity(0))} cores; torch {torch.__version__}, torch_npu {torch_npu.__version__}"


def measure(cases: list[str], seconds: float) -> list[dict]:
    rows = []
    for case in cases:
        best = best_times(case, seconds)
        target = TARGETS[case]
        row = {"case": case, "threads": torch.get_num_threads(), "cpu_us": round(best["cpu"], 3),
               "npu_us": round(best["npu:0"], 3), "ratio": round(best["cpu"] / best["npu:0"], 3), "target": target}
        rows.append(row)
        print(f"{case:<22}{row['threads']:>3} threads {row['cpu_us']:>12,.2f} µs cpu {row['npu_us']:>12,.2f} µs npu"
              f"   ratio {row['ratio']:5.2f}" + (f"  (target {target})" if target else ""), file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--cases", help="comma-separated; all by default")
    parser.add_argument("--seconds", type=float, default=2.0, help="a case")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    cases = args.cases.split(",") if args.cases else list(TARGETS)
    if args.worker:
        torch.set_num_threads(args.threads)
        print(json.dumps(measure(cases, args.seconds)))
        return
    rows: list[dict] = []
    single, rest = [c for c in cases if c in ONE_THREAD], [c for c in cases if c not in ONE_THREAD]
    for threads, chosen in ((1, single), (args.threads, rest)):
        if chosen:
            command = [sys.executable, __file__, "--worker", "--cases", ",".join(chosen), "--seconds", str(args.seconds),
                       "--threads", str(threads)]
            done = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": str(threads)}, stdout=subprocess.PIPE, check=True)
            rows += json.loads(done.stdout)
    result = {"machine": machine(), "unit": "µs, the least of many interleaved calls", "rows": rows}
    if args.out:
        with open(args.out, "w") as file:
            json.dump(result, file, indent=1, ensure_ascii=False)
    short = [r for r in rows if r["target"] and r["ratio"] < r["target"]]
    print(f"{result['machine']}: {len(rows) - len(short)} of {len(rows)} cases reach their target"
          + "".join(f"; {r['case']} {r['ratio']} < {r['target']}" for r in short))


if __name__ == "__main__":
    main()

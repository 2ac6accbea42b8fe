# SPDX-License-Identifier: BSD-3-Clause
"""`anynpu compare script.py --devices cpu,npu`: the guides' exercise, answered. The same script runs once on each device, in a
process of its own; losses are laid over each other (losses.png), throughput stands beside them, and the report says at which
step and at which operator the devices part beyond the tolerance, and what mixed precision changes.

Here the runs are started and their records read; compare_run.py makes the records. Files in --out: losses.png, report.json,
and each run's record and output.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from typing import Any

Run = dict[str, Any]


def _start(device: str, amp: bool, chosen: argparse.Namespace, beside: bool = False) -> Run:
    name = f"{device}{'-amp' if amp else ''}{'-operators' if beside else ''}"
    record, output = (os.path.join(chosen.out, f"{name}.{kind}") for kind in ("json", "log"))
    command = [sys.executable, "-m", "anynpu.compare_run", "--device", device, "--record", record]
    command += ["--steps", str(chosen.operators if beside else chosen.steps), "--operators", str(chosen.operators * beside)]
    command += ["--rtol", str(chosen.rtol), "--atol", str(chosen.atol)] + (["--amp"] if amp else [])
    if os.path.exists(record):
        os.unlink(record)
    with open(output, "w", encoding="utf-8") as file:
        status = subprocess.run([*command, chosen.script, *chosen.arguments], stdout=file, stderr=subprocess.STDOUT).returncode
    try:
        with open(record, encoding="utf-8") as file:
            run = json.load(file)
    except (OSError, ValueError):
        run = {"losses": [], "times": [], "samples": 0, "operators": None}
    return run | {"name": name, "device": device, "amp": amp, "status": status, "output": output}


def _throughput(run: Run) -> tuple[float, float]:
    """(steps/s, samples/s) from the median interval between losses, the first steps left out."""
    between = [b - a for a, b in zip(run["times"], run["times"][1:])]
    between = between[min(2, len(between) // 3) :]
    pace = 1 / statistics.median(between) if between and statistics.median(between) > 0 else 0.0
    return pace, pace * run["samples"]


def first_divergence(one: list[float], two: list[float], rtol: float, atol: float) -> int | None:
    """The first step whose losses differ by more than atol + rtol·|one|, or of which only one is a number; None: none does."""
    for step, (a, b) in enumerate(zip(one, two)):
        if math.isfinite(a) != math.isfinite(b) or (math.isfinite(a) and abs(a - b) > atol + rtol * abs(a)):
            return step
    return None


def draw(runs: list[Run], path: str) -> bool:
    """The loss curves as PNG; False where there is no matplotlib."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return False
    figure, axes = pyplot.subplots(2, 1, sharex=True, figsize=(8, 6), height_ratios=[3, 1])
    reference = runs[0]["losses"]
    for k, run in enumerate(runs):
        axes[0].plot(run["losses"], label=run["name"], linewidth=2.5 - k * 0.5, linestyle=["-", "--", "-.", ":"][k % 4])
        if k and run["losses"] and reference:
            difference = [abs(a - b) for a, b in zip(reference, run["losses"])]
            axes[1].plot(difference, label=f"|{run['name']} - {runs[0]['name']}|")
    axes[0].set_ylabel("loss")
    if axes[0].lines:
        axes[0].legend()
    axes[1].set_ylabel("difference")
    axes[1].set_xlabel("step")
    if axes[1].lines:
        axes[1].set_yscale("symlog", linthresh=1e-8)
        axes[1].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return True


def _operators(run: Run) -> list[str]:
    found = run["operators"]
    if not found:
        return []
    first, worst = found["first"], f"{found['worst_name']} ({found['worst']:.2e} relative)"
    lines = [f"{run['name']}: {found['compared']} operators of the first steps, each beside the CPU's on the same inputs"]
    if not first:
        lines.append(f"  none differs beyond the tolerance; the farthest is {worst}")
    else:
        call = f"{first['name']}({first['inputs']})"
        lines.append(f"  first that differs: {call}, step {first['step']}, by {first['difference']:.3e}")
        if first["where"]:
            lines.append(f"    at {first['where']}")
    if found["skipped"]:
        lines.append(f"  not compared (random, or no CPU kernel): {', '.join(found['skipped'][:8])}")
    return lines


def _mixed(runs: list[Run]) -> list[str]:
    lines = []
    for run in runs:
        plain = next((r for r in runs if r["amp"] is False and r["device"] == run["device"]), None)
        if not run["amp"] or not plain or not run["losses"] or not plain["losses"]:
            continue
        pace, base = _throughput(run)[0], _throughput(plain)[0]
        ratio = f"{pace / base:.2f} times the steps/s" if base else "no pace measured"
        a, b = plain["losses"][-1], run["losses"][min(len(run["losses"]), len(plain["losses"])) - 1]
        lines.append(f"mixed precision on {run['device']}: {ratio}, last loss {b:.6g} against {a:.6g} ({b - a:+.2e})")
    return lines


def report(runs: list[Run], chosen: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    """The text and what report.json holds."""
    reference = runs[0]
    head = f"{'run':>10} {'steps':>6} {'first loss':>12} {'last loss':>12} {'steps/s':>9} {'samples/s':>10}"
    lines = [f"{head}  parts from {reference['name']} at"]
    data = []
    for run in runs:
        pace, samples = _throughput(run)
        parted = first_divergence(reference["losses"], run["losses"], chosen.rtol, chosen.atol) if run is not reference else None
        losses = run["losses"]
        ends = (f"{losses[0]:.6g}", f"{losses[-1]:.6g}") if losses else ("-", "-")
        where = "" if run is reference else "no step" if parted is None else f"step {parted}"
        if parted is not None:
            where += f" ({losses[parted]:.6g} against {reference['losses'][parted]:.6g})"
        if run["status"]:
            where = f"ended with status {run['status']}: see {run['output']}"
        lines.append(f"{run['name']:>10} {len(losses):>6} {ends[0]:>12} {ends[1]:>12} {pace:>9.2f} {samples:>10.1f}  {where}")
        keep = {k: run[k] for k in ("name", "device", "amp", "status", "losses", "operators")}
        data.append(keep | {"steps_per_second": pace, "samples_per_second": samples, "first_diverging_step": parted})
    for run in runs:
        lines += _operators(run)
        if run["device"] != "cpu" and run.get("on_device") is False:
            lines.append(f"{run['name']}: the script computed nothing there: it names its device itself (DEVICE is set for it)")
        for name, times in sorted(run.get("fallbacks", {}).items(), key=lambda item: -item[1])[:5]:
            lines.append(f"{run['name']}: {name} ran on the CPU {times} times")
    lines += _mixed(runs)
    return lines, {"script": chosen.script, "rtol": chosen.rtol, "atol": chosen.atol, "runs": data}


def compare(chosen: argparse.Namespace) -> int:
    """Runs, prints, writes; 0: all ran and agree, 1: they part, 3: a run failed or recorded no loss."""
    devices = [name for name in chosen.devices.split(",") if name]
    unknown = [name for name in devices if name.partition(":")[0] not in ("cpu", "npu", "cuda")]
    if unknown or not devices:
        print(f"anynpu: --devices {chosen.devices}: cpu, npu or cuda, parted by commas", file=sys.stderr)
        return 2
    if not os.path.isfile(chosen.script):
        print(f"anynpu: {chosen.script} is no file", file=sys.stderr)
        return 2
    os.makedirs(chosen.out, exist_ok=True)
    runs = []
    for amp in (False, True) if chosen.amp else (False,):
        for device in devices:
            print(f"running {chosen.script} on {device}{' with autocast' if amp else ''} …", file=sys.stderr, flush=True)
            runs.append(_start(device, amp, chosen))
            if device != "cpu" and not amp and chosen.operators > 0:  # a run of its own: it would spoil the pace
                runs[-1]["operators"] = _start(device, amp, chosen, beside=True)["operators"]
    lines, data = report(runs, chosen)
    picture = os.path.join(chosen.out, "losses.png")
    if draw(runs, picture):
        lines.append(f"curves: {picture}")
    else:
        lines.append("no curves: pip install matplotlib")
    print("\n".join(lines))
    with open(os.path.join(chosen.out, "report.json"), "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
    if any(run["status"] or not run["losses"] for run in runs):
        return 3
    plain = [run for run in data["runs"] if not run["amp"]]
    return int(any(run["first_diverging_step"] is not None for run in plain))

# SPDX-License-Identifier: BSD-3-Clause
"""Timing npu:0 against the CPU in one interleaved run, and the form of a benchmark case.

The two devices are called in turn, many times, and the minimum of each counts, so that other load on the machine hurts both
alike. Calls of some microseconds are timed in batches; a batch ends with the device idle.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch_npu

Call = Callable[[], object]
BATCH_US = 200.0
"""Cheaper calls are timed several at once."""


@dataclass(frozen=True)
class Case:
    """Something to time on two devices."""

    family: str
    make: Callable[[str], Call]
    """Device → the function to time. "cpu" is what is compared with: it may well run on the NPU, with other settings."""
    target: float | None = None
    """The ratio that it should reach by itself."""
    threads: int = 0
    """0: all."""


def wait() -> None:
    torch.npu.synchronize()


def batch_time(call: Call, repeats: int) -> float:
    """Microseconds of a call."""
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    wait()
    return (time.perf_counter() - begin) / repeats * 1e6


def best_times(make: Callable[[str], Call], seconds: float) -> tuple[float, float]:
    """Minimum time of a call, in microseconds, on the CPU and on the NPU."""
    calls = make("cpu"), make("npu:0")
    for call in calls:
        batch_time(call, 1)
    repeats = [max(1, min(500, int(BATCH_US / batch_time(call, 2)))) for call in calls]
    best = [float("inf"), float("inf")]
    rounds, end = 0, time.perf_counter() + seconds
    while rounds < 3 or time.perf_counter() < end:
        rounds += 1
        for i, call in enumerate(calls):
            best[i] = min(best[i], batch_time(call, repeats[i]))
    return best[0], best[1]


def measure(cases: dict[str, Case], seconds: float) -> list[dict]:
    """A row a case; what fails or falls back says so in its row."""
    rows = []
    for name, case in cases.items():
        row = {"case": name, "family": case.family, "threads": torch.get_num_threads(), "target": case.target}
        before = torch_npu.npu.utils.cpu_fallback_count()
        torch.manual_seed(0)
        try:
            cpu, npu = best_times(case.make, seconds)
            row |= {"cpu_us": round(cpu, 3), "npu_us": round(npu, 3), "ratio": round(cpu / npu, 3)}
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        after = torch_npu.npu.utils.cpu_fallback_count()
        row["fallbacks"] = sorted(op for op, n in after.items() if n > before.get(op, 0))
        rows.append(row)
        print(line(row), file=sys.stderr, flush=True)
    return rows


def line(row: dict) -> str:
    text = f"{row['case']:<36}{row['threads']:>2} threads "
    if "error" in row:
        return text + row["error"]
    text += f"{row['cpu_us']:>12,.2f} µs cpu {row['npu_us']:>12,.2f} µs npu   ratio {row['ratio']:5.2f}"
    text += f"  (target {row['target']})" if row["target"] else ""
    return text + (f"  fell back: {', '.join(row['fallbacks'])}" if row["fallbacks"] else "")


def machine() -> str:
    """Processor, cores, versions."""
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    return f"{model}, {len(os.sched_getaffinity(0))} cores; torch {torch.__version__}, torch_npu {torch_npu.__version__}"

# SPDX-License-Identifier: BSD-3-Clause
"""Speed of npu:0 against torch on the CPU: ratios (CPU time / NPU time, more is better), interleaved (timing.py).

    python bench.py [--cases WORD,WORD] [--family F,F] [--seconds 0.15] [--out bench.json] [--page docs/PERFORMANCE.md]

Runs the cases of families.py, layers.py and models.py whose names contain a WORD, each family in a process of its own, then what
needs processes of its own (beside.py: importing, threads, company). `--page` writes all of it as a page.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys

import beside
import families
import layers
import models
import page
import torch
from timing import Case, machine, measure

SECONDS = {"networks": 4.0, "mixed precision": 4.0, "host": 4.0}
"""Times the seconds of a case: where the target is near, or calls are long."""


def all_cases() -> dict[str, Case]:
    return layers.cases() | families.cases() | models.cases()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", help="words, of which one must be in a case's name; all by default")
    parser.add_argument("--family", help="families; all by default")
    parser.add_argument("--seconds", type=float, default=0.15, help="a case")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--from", dest="source", type=pathlib.Path, help="makes the page of this result; measures nothing")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.source:
        args.page.write_text(page.text(json.loads(args.source.read_text())))
        return
    words, chosen = (args.cases or "").split(","), args.family.split(",") if args.family else None
    cases = {name: case for name, case in all_cases().items()
             if any(w in name for w in words) and (not chosen or case.family in chosen)}  # fmt: skip
    if args.worker:
        torch.set_num_threads(args.threads)
        print(json.dumps(measure(cases, args.seconds)))
        return
    rows: list[dict] = []
    for family in dict.fromkeys(case.family for case in cases.values()):
        threads = next(case.threads for case in cases.values() if case.family == family) or args.threads
        command = [sys.executable, __file__, "--worker", "--family", family, "--threads", str(threads),
                   "--cases", args.cases or "", "--seconds", str(args.seconds * SECONDS.get(family, 1))]  # fmt: skip
        done = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": str(threads)}, stdout=subprocess.PIPE)
        if done.returncode == 0:
            rows += json.loads(done.stdout)
        else:
            error = f"the process ended with {done.returncode}"
            rows.append({"case": family, "family": family, "target": None, "fallbacks": [], "error": error})
    result = {"machine": machine(), "unit": "µs, the least of many interleaved calls", "rows": rows}
    if not args.cases and not chosen:
        result |= beside.measure_all()
    if args.out:
        args.out.write_text(json.dumps(result, indent=1, ensure_ascii=False))
    if args.page:
        args.page.write_text(page.text(result))
    print(page.summary(result))
    sys.exit(any("error" in row for row in rows))


if __name__ == "__main__":
    main()

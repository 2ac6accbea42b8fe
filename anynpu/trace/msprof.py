# SPDX-License-Identifier: BSD-3-Clause
"""`msprof --export=on --output=DIR`: tables and timeline of a PROF_… folder, into its mindstudio_profiler_output.

What tools of the real toolkit ask for: the official torch_npu runs it after a profiling session. Recording a program of its own
(`msprof --application=…`) and hardware samples are not there and say so.
"""

import argparse
import os
import re
import sys
import tempfile
import time

from . import tables, timeline
from .profile import Profile
from .read import NotATrace, Trace, find

# The official torch_npu looks every 100 ms whether a table is there, and drops the analysis if msprof ends before it looked.
SETTLE_SECONDS = 0.5


def export(folder: str) -> list[str]:
    """Exports one PROF_… folder; returns the files written. Readers wait for the first table: all appear whole, tables last."""
    made = []
    for path in find(folder):
        profile = Profile(Trace(path))
        out = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(path))), "mindstudio_profiler_output")
        os.makedirs(out, mode=0o750, exist_ok=True)
        stamp = time.strftime("%Y%m%d%H%M%S")
        for old in os.listdir(out):
            if re.fullmatch(r"(msprof|op_summary|op_statistic|api_statistic|task_time|communication)_?\d*\.(json|csv)", old):
                os.unlink(os.path.join(out, old))
        with tempfile.TemporaryDirectory(dir=os.path.dirname(out), prefix=".export_") as draft:

            def name(kind: str, end: str = "csv", draft: str = draft, stamp: str = stamp) -> str:
                return os.path.join(draft, f"{kind}_{stamp}.{end}")

            timeline.write(profile, name("msprof", "json"), framework=False)
            tables.task_time(profile, name("task_time"))
            tables.write(name("op_summary"), tables.SUMMARY_COLUMNS, tables.kernel_rows(profile))
            tables.op_statistic(profile, name("op_statistic"))
            tables.api_statistic(profile, name("api_statistic"))
            for file in sorted(os.listdir(draft), key=lambda file: file.endswith(".csv")):
                os.replace(os.path.join(draft, file), os.path.join(out, file))
        made += [os.path.join(out, file) for file in sorted(os.listdir(out))]
    return made


def analyze(folder: str) -> list[str]:
    """communication.json of one PROF_… folder, into its folder `analyze`; [""] when no collective ran."""
    made = []
    for path in find(folder):
        out = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(path))), "analyze")
        os.makedirs(out, mode=0o750, exist_ok=True)
        target = os.path.join(out, "communication.json")
        tables.communication(Profile(Trace(path)), target)
        made.append(target if os.path.exists(target) else "")
    return made


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="msprof", description="export profiling data of AnyNPU's software CANN")
    parser.add_argument("--export", choices=("on", "off"), default="off", help="write tables and timeline of --output")
    parser.add_argument("--parse", choices=("on", "off"), default="off", help="the same: there is no form between")
    parser.add_argument("--analyze", choices=("on", "off"), default="off", help="communication.json, into the folder analyze")
    parser.add_argument("--rule", metavar="NAMES", default="communication", help="what to analyze: communication")
    parser.add_argument("--type", choices=("text",), default="text", help="of the export")
    parser.add_argument("--output", metavar="DIR", help="a PROF_... folder, or one that holds such")
    known, rest = parser.parse_known_args(arguments)
    if rest:
        print(f"[ERROR] msprof of AnyNPU does not know {' '.join(rest)}: it exports (--export=on --output=DIR)", file=sys.stderr)
        return 1
    if "on" not in (known.export, known.parse, known.analyze) or not known.output:
        parser.print_help()
        return 0 if not arguments and len(sys.argv) == 1 else 1
    if not os.path.isdir(known.output):
        print(f"[ERROR] {known.output} is no folder", file=sys.stderr)
        return 1
    try:
        made = export(known.output) if "on" in (known.export, known.parse) else analyze(known.output)
    except (NotATrace, OSError) as error:
        print(f"[ERROR] {error}", file=sys.stderr)
        return 1
    if not made:
        print(f"[ERROR] no trace of AnyNPU at or below {known.output}", file=sys.stderr)
        return 1
    for path in filter(None, made):
        print(f"[INFO] {path}")
    if "on" in (known.export, known.parse):
        time.sleep(SETTLE_SECONDS)
    print("[INFO] Export all data done.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/CONFORMANCE.md from what opinfo.py and models.py measured, and checks the figures against their floors.

  python report.py --opinfo opinfo.json --models models.json --write ../../docs/CONFORMANCE.md --floor 99.3 --models-floor 80

State of an operator for a dtype, the worst of its checks (forward, backward, in-place, out=):

  native     right, by a kernel of the NPU
  composite  right, made of other operators by PyTorch
  fallback   right, but some part ran on the CPU
  missing    refused, not implemented
  error      refused with another error where the CPU gives a result
  wrong      another value, shape, dtype or layout than the CPU's
  crash      the process died or hung

Exits 1 if a floor is not reached or anything crashed or hung.
"""

import argparse
import json
import pathlib
import platform
import re
import sys
from collections import Counter, defaultdict

STATES = ["native", "composite", "fallback", "missing", "error", "wrong", "crash"]
SHORT = {"native": "N", "composite": "C", "fallback": "f", "missing": "–", "error": "E", "wrong": "**W**", "crash": "**X**"}


def state(record):
    """State that one check gives, or None if it compared nothing."""
    status = record["status"]
    if status == "skip":
        return None
    if status in ("crash", "timeout"):
        return "crash"
    if status == "wrong":
        return "wrong"
    if status == "error":
        text = str(record.get("detail", "")).lower()
        return "missing" if "not implemented" in text or "not currently supported" in text else "error"
    if record.get("fallbacks"):
        return "fallback"
    return "native" if record.get("kernel") else "composite"


def states(records):
    """{(op, dtype): worst state}"""
    worst = {}
    for record in records:
        found = state(record)
        if found is None:
            continue
        key = record["op"], record["dtype"]
        worst[key] = max(worst.get(key, "native"), found, key=STATES.index)
    return worst


def machine():
    """CPU, cores and system in a line."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), name)
    except OSError:
        pass
    return name, platform.machine(), platform.platform(terse=True)


def page(opinfo, models):
    """The text of CONFORMANCE.md."""
    by = states(opinfo["records"])
    dtypes = [d for d in opinfo["meta"]["args"]["dtypes"].split(",") if any(k[1] == d for k in by)]
    ops = sorted({op for op, _ in by})
    total = opinfo["table"]["ALL checks"]
    name, arch, system = machine()
    lines = [
        "# Conformance",
        "",
        "Made by `make conform` (tests/conformance); do not edit.",
        "",
        f"{opinfo['meta']['when'].split()[0]} · {name} ({arch}) · {system} · Python {platform.python_version()} · "
        f"torch {opinfo['meta']['torch']} · {opinfo['meta'].get('backend', 'torch_npu')}",
        "",
        "PyTorch's own operator samples (`op_db`) run on `npu` and on the CPU; values, shapes, dtypes and layouts must agree. A",
        "check is one operator with one dtype in one form (forward, backward, in-place, `out=`).",
        "",
        f"**{total['ok']} of {total['run']} checks ok ({total['pct']} %)**, {total['tight']} of them within "
        f"`torch.testing`'s default "
        f"tolerances; wrong {total['wrong']}, error {total['error']}, crash {total['crash']}, timeout "
        f"{total['timeout']}; "
        f"{opinfo['summary']['ops_ok']} of {opinfo['summary']['ops_run']} operators ok in all checks.",
        "",
        "| state | meaning | " + " | ".join(dtypes) + " |",
        "|---|---|" + "---:|" * len(dtypes),
    ]
    meaning = dict(
        native="a kernel of the NPU",
        composite="made of other operators by PyTorch",
        fallback="right, some part on the CPU",
        missing="refused: not implemented",
        error="another error",
        wrong="differs from the CPU",
        crash="the process died or hung",
    )
    count = {d: Counter(s for (_, e), s in by.items() if e == d) for d in dtypes}
    for s in STATES:
        lines.append(f"| {s} ({SHORT[s]}) | {meaning[s]} | " + " | ".join(str(count[d][s]) for d in dtypes) + " |")
    if models:
        c = models["summary"]
        lines += [
            "",
            "## Networks",
            "",
            f"{c['ok']} of {sum(c.values())} small networks and training loops agree with the CPU (losses of 5 steps, weights, "
            "outputs).",
        ]
        bad = [r for r in models["records"] if r["status"] not in ("ok", "skip")]
        lines += [f"- {r['name']}: {r['status']}: {clean(r.get('detail', ''))}" for r in bad]
    failures = defaultdict(list)
    for record in opinfo["records"]:
        if state(record) in ("missing", "error", "wrong", "crash"):
            failures[record["op"]].append(record)
    if failures:
        lines += ["", "## What is not right yet", ""]
        for op in sorted(failures):
            first = failures[op][0]
            where = ", ".join(sorted({f"{r['dtype']} {r['check']}" for r in failures[op]}))
            lines.append(f"- `{op}` ({where}): {first['status']}: {clean(first.get('detail', ''))}")
    fell = Counter()
    for record in opinfo["records"]:
        fell.update({k: 1 for k in record.get("fallbacks") or {}})
    if fell:
        lines += ["", f"## Operators that run on the CPU ({len(fell)})", ""]
        lines.append(", ".join(f"`{k.removeprefix('aten::')}`" for k in sorted(fell)))
    lines += ["", "## Every operator", "", "| operator | " + " | ".join(dtypes) + " |", "|---|" + ":-:|" * len(dtypes)]
    for op in ops:
        lines.append(f"| `{op}` | " + " | ".join(SHORT[by[op, d]] if (op, d) in by else "" for d in dtypes) + " |")
    return "\n".join(lines) + "\n"


def clean(text):
    """One line of an error text, safe inside Markdown."""
    text = re.sub(r"/[^\s\"']*/(?=[^/\s\"']+)", "", text)  # folders are the machine's own
    return " ".join(str(text).split()).replace("|", "\\|")[:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opinfo", required=True, help="JSON of opinfo.py")
    parser.add_argument("--models", default="", help="JSON of models.py")
    parser.add_argument("--write", default="", help="where the page goes")
    parser.add_argument("--floor", type=float, default=0, help="percent of opinfo checks that must be ok")
    parser.add_argument("--models-floor", type=int, default=0, help="networks that must agree")
    a = parser.parse_args()
    opinfo = json.loads(pathlib.Path(a.opinfo).read_text())
    models = json.loads(pathlib.Path(a.models).read_text()) if a.models else None
    if a.write:
        pathlib.Path(a.write).write_text(page(opinfo, models))
    total = opinfo["table"]["ALL checks"]
    faults = []
    if (total["pct"] or 0) < a.floor:
        faults.append(f"{total['pct']} % of checks ok, {a.floor} % wanted")
    if total["crash"] or total["timeout"]:
        faults.append(f"{total['crash']} crashes, {total['timeout']} timeouts")
    if models and models["summary"]["ok"] < a.models_floor:
        faults.append(f"{models['summary']['ok']} networks ok, {a.models_floor} wanted")
    agree = f"; {models['summary']['ok']}/{len(models['records'])} networks" if models else ""
    print(f"{total['ok']}/{total['run']} checks ok ({total['pct']} %){agree}" + "".join(f"; NOT: {f}" for f in faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

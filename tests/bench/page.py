# SPDX-License-Identifier: BSD-3-Clause
"""docs/PERFORMANCE.md from a result of bench.py."""

from __future__ import annotations

import math
import re

from families import DTYPES, FAMILIES, SHAPES

LEAST = 0.5
"""A case below it needs a reason."""
REASONS = [
    (r"^cumsum", "running sums are kept in double"),
    (r"^flip", "a copy with a step of -1, element by element"),
    (r"^nonzero", "counted first, then written"),
    (r"^(erf|log|log1p|sin|atan|pow|tanh|exp|elu|silu|sigmoid|softplus|gelu|mish)\b",
     "at most 2 units in the last place and the same bits on every processor: no fused instructions"),
    (r"^softmax columns (bf16|f16)", "exponentials are computed twice: as floats they would not fit a cache"),
    (r"softmax|cross_entropy", "the same exponential as everywhere, without fused instructions"),
    (r"^(sum|amax|prod|norm|std|var|mean).* (bf16|f16) ", "blocks are widened to float before they are reduced"),
    (r"^(sum|amax|prod)", "partial results of a fixed order, the same on every processor and for any number of threads"),
    (r" 1e3$", "a microsecond of work: what counts is the call"),
]
"""Pattern of names → why such a case is slow here. The first that matches counts."""

HEAD = """# How fast it is

Ratios: time on `device="cpu"` / time on `npu:0`, so more is better; 1.00 is PyTorch's own speed on the same cores. Both
are called in turn in one process, with the same threads, and the least of many times counts. Written by `make bench`
(`tests/bench`); {machine}.
"""


def mean(ratios: list[float]) -> float:
    """Geometric."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def ratios(rows: list[dict]) -> list[float]:
    return [r["ratio"] for r in rows if "ratio" in r]


def number(us: float) -> str:
    return f"{us:,.2f}" if us < 100 else f"{us:,.0f}"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(r) + " |" for r in (head, *rows)]
    return [lines[0], "|---" + "|--:" * (len(head) - 1) + "|", *lines[1:], ""]


def family_means(rows: list[dict]) -> list[str]:
    """The mean of each family, in all and by type and size."""
    lines = []
    for family, (_, target) in FAMILIES.items():
        own = [r for r in rows if r["family"] == family]
        cells = [f"{mean(ratios(own)):.2f}", f"{target:.1f}"]
        cells += [f"{mean(ratios([r for r in own if r['case'].split()[-2] == d])):.2f}" for d in DTYPES]
        cells += [f"{mean(ratios([r for r in own if r['case'].split()[-1] == s])):.2f}" for s in SHAPES]
        worst = min((r for r in own if "ratio" in r), key=lambda r: r["ratio"], default=None)
        cells.append(f"{worst['case']}: {worst['ratio']:.2f}" if worst else "")
        lines.append([family, *cells])
    return table(["family", "mean", "target", *DTYPES, *SHAPES, "worst"], lines)


def cases(rows: list[dict]) -> list[str]:
    lines = [[r["case"], number(r["cpu_us"]), number(r["npu_us"]), f"{r['ratio']:.2f}", str(r["target"] or ""),
              ", ".join(r["fallbacks"])] for r in rows if "ratio" in r]  # fmt: skip
    return table(["case", "cpu µs", "npu µs", "ratio", "target", "fell back"], lines)


def operators(rows: list[dict]) -> list[str]:
    """A line an operator, the types beside each other."""
    found = {r["case"]: r for r in rows if "ratio" in r}
    names = list(dict.fromkeys(r["case"].rsplit(" ", 2)[0] for r in rows))
    head = ["operator", *(f"{d} {s}" for d in DTYPES for s in SHAPES)]

    def cell(name: str) -> str:
        r = found.get(name)
        return f"{r['ratio']:.2f}" + ("*" if r["fallbacks"] else "") if r else "—"

    return table(head, [[n, *(cell(f"{n} {d} {s}") for d in DTYPES for s in SHAPES)] for n in names])


def slow(rows: list[dict]) -> list[str]:
    lines = []
    for r in rows:
        if r.get("ratio", 1) < LEAST:
            why = next((text for pattern, text in REASONS if re.search(pattern, r["case"])), "not yet looked into")
            if r["fallbacks"]:
                why = f"runs on the CPU: {', '.join(r['fallbacks'])}"
            lines.append([r["case"], f"{number(r['cpu_us'])}", number(r["npu_us"]), f"{r['ratio']:.2f}", why])
    return table(["case", "cpu µs", "npu µs", "ratio", "why"], lines) if lines else ["None.", ""]


def beside(result: dict) -> list[str]:
    out = ["## Threads, memory, company", ""]
    if "scaling" in result:
        one = [[name, number(a), number(b), f"{a / b:.2f}"] for name, (a, b) in result["scaling"].items()]
        out += table(["npu, µs", "1 thread", "all threads", "speed-up"], one)
    if "company" in result:
        company = [[name, number(a), number(b), f"{a / b:.2f}"] for name, (a, b) in result["company"].items()]
        out += table(["npu, µs", "alone", "between products of PyTorch's own threads", "ratio"], company)
    if "two_processes" in result:
        steps = [[device, f"{a:.1f}", f"{b:.1f}"] for device, (a, b) in result["two_processes"].items()]
        out += table(["a step of cnn28x28_b64, ms", "alone", "two processes, each"], steps)
    if "attention_bytes" in result:
        sizes = [[str(n), f"{b / 2**20:.1f}"] for n, b in result["attention_bytes"].items()]
        out += table(["attention, forward and backward: tokens", "MiB of device memory"], sizes)
    if "import_seconds" in result:
        took = result["import_seconds"]
        out += [f"`import torch` takes {took['torch']:.2f} s, `import torch_npu` after it {took['torch_npu']:.2f} s.", ""]
    return out


def text(result: dict) -> str:
    rows = result["rows"]
    out = [HEAD.format(machine=result["machine"]), "## Families", ""]
    out += ["Geometric means over all cases: float32, bfloat16 and float16, 1e3 to 1e7 elements.", ""]
    out += family_means(rows)
    rest = [r for r in rows if r["family"] not in FAMILIES]
    for family in dict.fromkeys(r["family"] for r in rest):
        own = [r for r in rest if r["family"] == family]
        out += [f"## {family.capitalize()}", "", f"Geometric mean {mean(ratios(own)):.2f}.", "", *cases(own)]
    out += beside(result)
    out += [f"## Cases below {LEAST}", "", *slow(rows)]
    out += ["## Operators", "", "Ratios; * fell back to the CPU.", ""]
    for family in FAMILIES:
        out += [f"### {family.capitalize()}", "", *operators([r for r in rows if r["family"] == family])]
    failed = [f"- {r['case']}: {r['error']}" for r in rows if "error" in r]
    return "\n".join(out + (["## Failed", "", *failed, ""] if failed else []))


def summary(result: dict) -> str:
    """Some lines for the terminal."""
    rows = result["rows"]
    lines = [result["machine"]]
    for family in dict.fromkeys(r["family"] for r in rows):
        own = [r for r in rows if r["family"] == family]
        goal = f" (target {FAMILIES[family][1]})" if family in FAMILIES else ""
        below = sum(r < LEAST for r in ratios(own))
        lines.append(f"{family:<16} mean {mean(ratios(own)):5.2f}{goal}, {below} of {len(own)} below {LEAST}")
    short = [r for r in rows if r["target"] and r.get("ratio", 0) < r["target"]]
    return "\n".join(lines + [f"  {r['case']}: {r.get('ratio', 'failed')} < {r['target']}" for r in short])

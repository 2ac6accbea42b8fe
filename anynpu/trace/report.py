# SPDX-License-Identifier: BSD-3-Clause
"""`anynpu trace DIR`: the dearest operators, overlap, copies, fallbacks in the terminal, and an HTML page with the timeline."""

import os
import sys

from .export import folders
from .figures import Figures, gather
from .profile import Cost
from .read import NotATrace, Trace, find


def milliseconds(ns: float) -> str:
    return f"{ns / 1e6:.3f}"


def cost_lines(costs: list[Cost], count: int = 10) -> list[str]:
    """The table of the dearest operators."""
    whole = sum(c.total for c in costs) or 1
    lines = [f"{'operator':<32} {'core':<16} {'calls':>8} {'total ms':>11} {'mean µs':>10} {'max µs':>10} {'share':>7}"]
    for c in costs[:count]:
        lines.append(f"{c.name[:32]:<32} {c.core:<16} {c.count:>8} {milliseconds(c.total):>11} {c.total / c.count / 1000:>10.1f} "
                     f"{c.most / 1000:>10.1f} {100 * c.total / whole:>6.1f}%")  # fmt: skip
    rest = costs[count:]
    if rest:
        total = sum(c.total for c in rest)
        calls = sum(c.count for c in rest)
        lines.append(f"{f'{len(rest)} more':<49} {calls:>8} {milliseconds(total):>11} {'':>21} {100 * total / whole:>6.1f}%")
    return lines


def summary(f: Figures) -> str:
    """What the terminal shows."""
    t = f.trace
    state = "" if t.complete else "  (the program ended before the recording did)"
    lines = [f"{t.path}{state}"]
    lines.append(f"{f.tasks:,} tasks, {f.operators:,} operators, {f.calls:,} calls of the CANN"
                 + (f", {t.lost:,} records lost" if t.lost else ""))  # fmt: skip
    if not f.tasks:
        return "\n".join([*lines, "no task of a device was recorded"])
    lines += ["", *cost_lines(f.costs), ""]
    lines.append(
        f"{'step':<8} {'device':>6} {'length ms':>11} {'computing':>10} {'communication':>14} {'overlapped':>11} {'free':>9}"
    )
    for s in f.steps[:20]:
        length = s.end - s.begin or 1
        share = [f"{100 * part / length:.1f}%" for part in (s.computing, s.communication, s.overlapped, s.free)]
        lines.append(f"{s.name or 'all':<8} {s.device:>6} {milliseconds(length):>11} {share[0]:>10} {share[1]:>14} "
                     f"{share[2]:>11} {share[3]:>9}")  # fmt: skip
    if len(f.steps) > 20:
        lines.append(f"… {len(f.steps) - 20} more steps")
    if f.copies:
        lines.append("")
        for c in sorted(f.copies.values(), key=lambda c: c.name):
            lines.append(f"{c.name:<32} {c.count:>8} copies {milliseconds(c.ns):>10} ms {c.bytes / 1e6:>10.3f} MB "
                         f"{c.bytes / (c.ns or 1):>8.2f} GB/s {100 * c.beside / (c.ns or 1):>5.1f}% beside kernels")  # fmt: skip
    lines.append("")
    if f.fallbacks:
        lines.append("ran on the CPU (no kernel of the NPU):")
        lines += [f"  {name:<40} {count:>8} times {milliseconds(ns):>11} ms" for name, count, ns in f.fallbacks]
    else:
        lines.append(
            "nothing ran on the CPU in place of the NPU" if f.operators else "operators were not recorded: no word on fallbacks"
        )
    return "\n".join(lines)


def main(path: str, page: str | None, everything: bool) -> int:
    """Prints the newest trace (or all) at or below `path` and writes its page; the exit status."""
    from . import page as pages

    if not os.path.exists(path):
        print(f"anynpu trace: there is no {path}", file=sys.stderr)
        return 2
    found = find(path)
    if not found:
        where = f" ({len(folders(path))} folders of the profiler, none with a trace of AnyNPU)" if os.path.isdir(path) else ""
        print(f"anynpu trace: no *.trace at or below {path}{where}", file=sys.stderr)
        return 1
    status = 0
    for number, file in enumerate(found if everything else found[-1:]):
        try:
            figures = gather(Trace(file, rows=False))
        except NotATrace as error:
            print(f"anynpu trace: {error}", file=sys.stderr)
            status = 1
            continue
        print(("\n" if number else "") + summary(figures))
        target = page if page and not (everything and len(found) > 1) else None
        if target is None:
            base = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
            target = os.path.join(base, f"trace{number if everything and len(found) > 1 else ''}.html")
        pages.write(figures, target)
        print(f"\ntimeline: {target}")
    if len(found) > 1 and not everything:
        print(f"({len(found) - 1} older traces below {path}: --all shows them)")
    return status

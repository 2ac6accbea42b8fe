# SPDX-License-Identifier: BSD-3-Clause
"""One HTML page with a profile's figures and its timeline: everything inside, no network. The program in it is viewer.py's.

Of long traces it holds the longest-lasting events (figures.EVENTS) and says so.
"""

import html
import json
import time
from typing import Any

import numpy as np

from . import read
from .figures import Figures
from .report import milliseconds
from .viewer import PAGE

LAUNCHERS = (read.OPERATOR, read.BACKWARD, read.USER, read.STEP)


def _depths(begin: np.ndarray, end: np.ndarray) -> list[int]:
    """How deep each interval (ordered by begin, longest first) lies in others."""
    depth, stack = [], []
    for b, e in zip(begin.tolist(), end.tolist(), strict=True):
        while stack and stack[-1] < e:
            stack.pop()
        while stack and stack[-1] <= b:
            stack.pop()
        depth.append(len(stack))
        stack.append(e)
    return depth


class _Data:
    """The page's tracks: names once, numbers in columns."""

    def __init__(self, origin: int) -> None:
        self.origin = origin
        self.names: dict[str, int] = {}
        self.tracks: list[dict[str, Any]] = []
        self.place: dict[int, tuple[int, int]] = {}  # correlation of an operator → (track, index)

    def name(self, text: str) -> int:
        return self.names.setdefault(text, len(self.names))

    def track(self, group: str, name: str, kind: str, rows: np.ndarray, texts: list[str], notes: list[str], nest: bool) -> int:
        begin, end = rows["begin"].astype(np.int64), rows["end"].astype(np.int64)
        self.tracks.append({
            "group": group, "name": name, "kind": kind, "start": (begin - self.origin).tolist(), "length": (end - begin).tolist(),
            "text": [self.name(t) for t in texts], "note": [self.name(n) for n in notes],
            "depth": _depths(begin, end) if nest else [], "link": [],
        })  # fmt: skip
        return len(self.tracks) - 1


def data(f: Figures) -> dict[str, Any]:
    """What the viewer shows."""
    t, host, api, tasks = f.trace, f.kept[read.HOST], f.kept[read.API], f.kept[read.TASK]
    starts = [rows["begin"].min() for rows in (host, tasks, api) if len(rows)]
    origin = int(min(starts)) if starts else 0
    d = _Data(origin)

    for thread in np.unique(host["thread"]).tolist():
        rows = host[host["thread"] == thread]
        rows = rows[np.lexsort((-rows["end"], rows["begin"]))]
        texts = [t.text(r["name"]) + (" (on the CPU)" if r["scope"] == read.FALLBACK else "") for r in rows]
        notes = [f"inputs {t.text(r['shapes'])}" if r["shapes"] else "" for r in rows]
        number = d.track("Operators", f"{t.threads.get(thread, 'thread')} {thread}", "host", rows, texts, notes, True)
        d.tracks[number]["mark"] = [i for i, r in enumerate(rows) if r["scope"] == read.FALLBACK]
        for i, r in enumerate(rows):
            if r["scope"] in LAUNCHERS:
                d.place.setdefault(int(r["correlation"]), (number, i))
    for thread in np.unique(api["thread"]).tolist():
        rows = api[api["thread"] == thread]
        rows = rows[np.lexsort((-rows["end"], rows["begin"]))]
        name = f"{t.threads.get(thread, 'thread')} {thread}"
        d.track("CANN", name, "call", rows, [t.text(r["name"]) for r in rows], [""] * len(rows), True)
    for device in f.devices:
        for stream in np.unique(tasks["stream"][tasks["device"] == device]).tolist():
            rows = tasks[(tasks["device"] == device) & (tasks["stream"] == stream)]
            notes = []
            for r in rows:
                shapes = ", ".join(f"[{','.join(map(str, s))}] {ty}" for out, ty, _, s in t.tensors(r) if not out)
                size = f"{int(r['bytes']):,} bytes" if r["bytes"] else ""
                notes.append(" · ".join(part for part in (shapes, size, f"task {r['task']}, {r['blocks']} blocks") if part))
            name = "copies" if stream == read.NO_STREAM else f"stream {stream}"
            track = d.track(f"NPU {device}", name, "task", rows, [t.text(r["name"]) for r in rows], notes, False)
            d.tracks[track]["class"] = rows["class"].tolist()
            d.tracks[track]["link"] = [d.place.get(number or -1, (-1, -1)) for number in rows["correlation"].tolist()]
        _overlap(d, f, device)
    return {"origin": (origin + t.offset) / 1000, "names": list(d.names), "tracks": d.tracks,
            "all": f.tasks + f.operators + f.calls, "kept": sum(len(track["start"]) for track in d.tracks)}  # fmt: skip


def _overlap(d: _Data, f: Figures, device: int) -> None:
    for name in ("computing", "communication", "overlapped"):
        begin, end = f.busy[device, name]
        if not len(begin):
            continue
        rows = np.zeros(len(begin), [("begin", "<i8"), ("end", "<i8")])
        rows["begin"], rows["end"] = begin, end
        d.track(f"NPU {device}", name, "sum", rows, [name] * len(rows), [""] * len(rows), False)


def _cell(value: object) -> str:
    return f"<td>{html.escape(str(value))}</td>"


def _table(head: list[str], rows: list[list[object]]) -> str:
    top = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    return f"<table><tr>{top}</tr>" + "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows) + "</table>"


def tables(f: Figures) -> str:
    """The tables above the timeline."""
    costs = f.costs
    whole = sum(c.total for c in costs) or 1
    rows: list[list[object]] = [[c.name, c.core, f"{c.count:,}", milliseconds(c.total), f"{c.total / c.count / 1000:.1f}",
                                 f"{100 * c.total / whole:.1f} %"] for c in costs[:10]]  # fmt: skip
    parts = [
        "<section><h2>Costliest operators</h2>",
        _table(["operator", "core", "calls", "total ms", "mean µs", "share"], rows),
        "</section>",
    ]
    steps: list[list[object]] = []
    for s in f.steps[:12]:
        length = s.end - s.begin or 1
        steps.append([s.name or "all", s.device, milliseconds(length)]
                     + [f"{100 * n / length:.1f} %" for n in (s.computing, s.communication, s.overlapped, s.free)])  # fmt: skip
    parts += [
        "<section><h2>Steps</h2>",
        _table(["step", "NPU", "ms", "computing", "communication", "overlapped", "free"], steps),
        "</section>",
    ]
    fallbacks: list[list[object]] = [[name, f"{count:,}", milliseconds(ns)] for name, count, ns in f.fallbacks]
    parts += [
        "<section><h2>Ran on the CPU</h2>",
        _table(["operator", "times", "ms"], fallbacks) if fallbacks else "<p>nothing</p>",
        "</section>",
    ]
    return "".join(parts)


def write(f: Figures, path: str) -> None:
    """The page. Texts of the trace are escaped: a name cannot become markup or program."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(f.trace.real_ns / 1e9))
    facts = f"{f.tasks:,} tasks · {f.operators:,} operators · process {f.trace.pid} · {f.trace.soc} · {when}"
    if not f.trace.complete:
        facts += " · the program ended before the recording did"
    body = json.dumps(data(f), separators=(",", ":")).replace("<", "\\u003c")
    made = PAGE.replace("%FACTS%", html.escape(facts)).replace("%FIGURES%", tables(f)).replace("%DATA%", body)
    with open(path, "w", encoding="utf-8") as file:
        file.write(made)

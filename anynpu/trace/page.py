# SPDX-License-Identifier: BSD-3-Clause
"""One HTML page with a profile's figures and its timeline: everything inside, no network. The program in it is viewer.py's.

The page holds at most EVENTS events; of longer traces the longest-lasting ones are kept and the page says so.
"""

import html
import json
import time
from typing import Any

import numpy as np

from . import read
from .profile import Profile, common, union
from .report import milliseconds
from .viewer import PAGE

EVENTS = 200_000


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

    def __init__(self, p: Profile, origin: int) -> None:
        self.p, self.origin = p, origin
        self.names: dict[str, int] = {}
        self.tracks: list[dict[str, Any]] = []
        self.place: dict[int, tuple[int, int]] = {}  # host row → (track, index)

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


def _thin(rows: np.ndarray, most: int) -> np.ndarray:
    """Indices of the longest rows, in order."""
    if len(rows) <= most:
        return np.arange(len(rows))
    return np.sort(np.argpartition(rows["begin"] - rows["end"], most)[:most])


def data(p: Profile) -> dict[str, Any]:
    """What the viewer shows."""
    t = p.trace
    starts = [rows["begin"].min() for rows in (p.host, p.tasks, t.api) if len(rows)]
    origin = int(min(starts)) if starts else 0
    whole = len(p.host) + len(p.tasks) + len(t.api)
    share = min(1.0, EVENTS / max(whole, 1))
    d = _Data(p, origin)

    host = _thin(p.host, int(len(p.host) * share) + 1)
    for thread in np.unique(p.host["thread"][host]).tolist():
        chosen = host[p.host["thread"][host] == thread]
        chosen = chosen[np.lexsort((-p.host["end"][chosen], p.host["begin"][chosen]))]
        rows = p.host[chosen]
        texts = [t.text(r["name"]) + (" (on the CPU)" if r["scope"] == read.FALLBACK else "") for r in rows]
        notes = [f"inputs {t.text(r['shapes'])}" if r["shapes"] else "" for r in rows]
        number = d.track("Operators", f"{t.threads.get(thread, 'thread')} {thread}", "host", rows, texts, notes, True)
        d.tracks[number]["mark"] = [i for i, r in enumerate(rows) if r["scope"] == read.FALLBACK]
        for i, row in enumerate(chosen.tolist()):
            d.place[row] = number, i
    api = t.api[_thin(t.api, int(len(t.api) * share) + 1)]
    for thread in np.unique(api["thread"]).tolist():
        rows = api[api["thread"] == thread]
        rows = rows[np.lexsort((-rows["end"], rows["begin"]))]
        d.track(
            "CANN",
            f"{t.threads.get(thread, 'thread')} {thread}",
            "call",
            rows,
            [t.text(r["name"]) for r in rows],
            [""] * len(rows),
            True,
        )
    kept = _thin(p.tasks, int(len(p.tasks) * share) + 1)
    for device in p.devices:
        for stream in np.unique(p.tasks["stream"][p.tasks["device"] == device]).tolist():
            chosen = kept[(p.tasks["device"][kept] == device) & (p.tasks["stream"][kept] == stream)]
            if not len(chosen):
                continue
            rows = p.tasks[chosen]
            notes = []
            for r in rows:
                shapes = ", ".join(f"[{','.join(map(str, s))}] {ty}" for out, ty, _, s in t.tensors(r) if not out)
                size = f"{int(r['bytes']):,} bytes" if r["bytes"] else ""
                notes.append(" · ".join(part for part in (shapes, size, f"task {r['task']}, {r['blocks']} blocks") if part))
            name = "copies" if stream == read.NO_STREAM else f"stream {stream}"
            number = d.track(f"NPU {device}", name, "task", rows, [p.names[int(r["name"])] for r in rows], notes, False)
            d.tracks[number]["class"] = rows["class"].tolist()
            d.tracks[number]["link"] = [d.place.get(int(p.launcher[i]), (-1, -1)) for i in chosen]
        _overlap(d, p, device)
    return {"origin": (origin + t.offset) / 1000, "names": list(d.names), "tracks": d.tracks, "all": whole,
            "kept": sum(len(track["start"]) for track in d.tracks)}  # fmt: skip


def _overlap(d: _Data, p: Profile, device: int) -> None:
    mine = p.tasks[p.tasks["device"] == device]
    compute, comm = mine[mine["class"] == read.KERNEL], mine[mine["class"] == read.COLLECTIVE]
    busy, talking = union(compute["begin"], compute["end"]), union(comm["begin"], comm["end"])
    for name, (begin, end) in (("computing", busy), ("communication", talking), ("overlapped", common(busy, talking))):
        if not len(begin):
            continue
        rows = np.zeros(len(begin), [("begin", "<i8"), ("end", "<i8")])
        rows["begin"], rows["end"] = begin, end
        d.track(f"NPU {device}", name, "sum", rows[_thin(rows, EVENTS // 10)], [name] * min(len(rows), EVENTS // 10),
                [""] * min(len(rows), EVENTS // 10), False)  # fmt: skip


def _cell(value: object) -> str:
    return f"<td>{html.escape(str(value))}</td>"


def _table(head: list[str], rows: list[list[object]]) -> str:
    top = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    return f"<table><tr>{top}</tr>" + "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows) + "</table>"


def figures(p: Profile) -> str:
    """The tables above the timeline."""
    costs = p.costs()
    whole = sum(c.total for c in costs) or 1
    rows: list[list[object]] = [[c.name, c.core, f"{c.count:,}", milliseconds(c.total), f"{c.total / c.count / 1000:.1f}",
                                 f"{100 * c.total / whole:.1f} %"] for c in costs[:10]]  # fmt: skip
    parts = [
        "<section><h2>Costliest operators</h2>",
        _table(["operator", "core", "calls", "total ms", "mean µs", "share"], rows),
        "</section>",
    ]
    steps: list[list[object]] = []
    for s in p.steps[:12]:
        length = s.end - s.begin or 1
        steps.append([s.name or "all", s.device, milliseconds(length)]
                     + [f"{100 * n / length:.1f} %" for n in (s.computing, s.communication, s.overlapped, s.free)])  # fmt: skip
    parts += [
        "<section><h2>Steps</h2>",
        _table(["step", "NPU", "ms", "computing", "communication", "overlapped", "free"], steps),
        "</section>",
    ]
    fallbacks: list[list[object]] = [[name, f"{count:,}", milliseconds(ns)] for name, count, ns in p.fallbacks()]
    parts += [
        "<section><h2>Ran on the CPU</h2>",
        _table(["operator", "times", "ms"], fallbacks) if fallbacks else "<p>nothing</p>",
        "</section>",
    ]
    return "".join(parts)


def write(p: Profile, path: str) -> None:
    """The page. Texts of the trace are escaped: a name cannot become markup or program."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(p.trace.real_ns / 1e9))
    facts = f"{len(p.tasks):,} tasks · {len(p.host):,} operators · process {p.trace.pid} · {p.trace.soc} · {when}"
    if not p.trace.complete:
        facts += " · the program ended before the recording did"
    body = json.dumps(data(p), separators=(",", ":")).replace("<", "\\u003c")
    made = PAGE.replace("%FACTS%", html.escape(facts)).replace("%FIGURES%", figures(p)).replace("%DATA%", body)
    with open(path, "w", encoding="utf-8") as file:
        file.write(made)

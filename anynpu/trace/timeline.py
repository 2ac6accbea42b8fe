# SPDX-License-Identifier: BSD-3-Clause
"""The timeline in Chrome's trace form (chrome://tracing, Perfetto, MindStudio Insight): trace_view.json, one event at a time.

Layers: Python (operators by thread), CANN (calls by thread), Ascend Hardware (streams by device), Communication, Overlap
Analysis. Arrows: async_npu from an operator to its task, HostToDevice from a call to its task, fwdbwd from an operator to its
backward.
Times are text of microseconds, so that no nanosecond is lost.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import read
from .profile import Profile, common, core_of, op_type, union
from .tables import LEVEL_NAMES

PYTHON, CANN, HARDWARE, COMMUNICATION, OVERLAP = range(5)
LAYERS = ["Python", "CANN", "Ascend Hardware", "Communication", "Overlap Analysis"]
Event = dict[str, Any]


def _pid(p: Profile, layer: int, device: int = 0) -> int:
    return p.trace.pid * 1000 + layer * 100 + device


def _names(p: Profile, framework: bool) -> Iterator[Event]:
    def process(layer: int, device: int, label: str) -> Iterator[Event]:
        pid = _pid(p, layer, device)
        yield {"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": {"name": LAYERS[layer]}}
        yield {"name": "process_labels", "ph": "M", "pid": pid, "tid": 0, "args": {"labels": label}}
        yield {"name": "process_sort_index", "ph": "M", "pid": pid, "tid": 0, "args": {"sort_index": layer * 100 + device}}

    def thread(layer: int, device: int, tid: int, name: str) -> Event:
        return {"name": "thread_name", "ph": "M", "pid": _pid(p, layer, device), "tid": tid, "args": {"name": name}}

    for layer, rows in ((PYTHON, p.host if framework else p.host[:0]), (CANN, p.trace.api)):
        if not len(rows):
            continue
        yield from process(layer, 0, "CPU")
        for tid in np.unique(rows["thread"]).tolist():
            yield thread(layer, 0, tid, f"Thread {tid} ({p.trace.threads.get(tid, '')})")
    for device in p.devices:
        mine = p.tasks[p.tasks["device"] == device]
        yield from process(HARDWARE, device, f"NPU {device}")
        for stream in np.unique(mine["stream"]).tolist():
            label = "Copies outside streams" if stream == read.NO_STREAM else f"Stream {stream}"
            yield thread(HARDWARE, device, stream, label)
        if (mine["class"] == read.COLLECTIVE).any():
            yield from process(COMMUNICATION, device, f"NPU {device}")
            yield thread(COMMUNICATION, device, 0, "Group")
        yield from process(OVERLAP, device, f"NPU {device}")
        for tid, name in enumerate(("Computing", "Communication", "Communication(Not Overlapped)", "Free")):
            yield thread(OVERLAP, device, tid, name)


def _slice(p: Profile, name: str, pid: int, tid: int, begin: int, end: int, args: Event, cat: str = "") -> Event:
    event = {"name": name, "ph": "X", "pid": pid, "tid": tid, "ts": p.us(begin), "dur": int(end - begin) / 1000, "args": args}
    return {**event, "cat": cat} if cat else event


def _host(p: Profile) -> Iterator[Event]:
    cats = {read.OPERATOR: "cpu_op", read.BACKWARD: "cpu_op", read.USER: "user_annotation", read.STEP: "user_annotation",
            read.FALLBACK: "cpu_fallback", read.PYTHON: "python_function", read.COLLECT: "GC"}  # fmt: skip
    pid = _pid(p, PYTHON)
    for h in p.host:
        args: Event = {}
        if h["sequence"] >= 0:
            args["Sequence number"] = int(h["sequence"])
        if h["forward_thread"]:
            args["Fwd thread id"] = int(h["forward_thread"])
        for key, column in (("Input Dims", "shapes"), ("Input type", "dtypes"), ("Call stack", "stack"), ("Detail", "detail")):
            if h[column]:
                args[key] = p.trace.text(h[column])
        if h["flops"]:
            args["flops"] = int(h["flops"])
        name = p.trace.text(h["name"])
        if h["scope"] == read.FALLBACK:
            name = f"{name} (on the CPU)"
        yield _slice(p, name, pid, int(h["thread"]), h["begin"], h["end"], args, cats.get(int(h["scope"]), "cpu_op"))


def _calls(p: Profile) -> Iterator[Event]:
    pid = _pid(p, CANN)
    for a in p.trace.api:
        level = LEVEL_NAMES.get(int(a["level"]), str(a["level"]))
        yield _slice(p, f"{level}@{p.trace.text(a['name'])}", pid, int(a["thread"]), a["begin"], a["end"],
                     {"Thread Id": int(a["thread"]), "level": level})  # fmt: skip


def _tasks(p: Profile) -> Iterator[Event]:
    kinds = {read.COPY: "MEMCPY_ASYNC", read.FILL: "MEMSET"}
    for t, wait in zip(p.tasks, p.waiting, strict=True):
        name, kind = p.names[int(t["name"])], int(t["class"])
        device, stream = int(t["device"]), int(t["stream"])
        args: Event = {"Task Type": kinds.get(kind) or core_of(name, kind), "Stream Id": stream, "Task Id": int(t["task"]),
                       "Block Num": int(t["blocks"]), "Wait Time(us)": int(wait) / 1000}  # fmt: skip
        if t["bytes"]:
            args["size(B)"] = int(t["bytes"])
            args["bandwidth(GB/s)"] = round(int(t["bytes"]) / max(int(t["end"] - t["begin"]), 1), 3)
        if t["tensors"]:
            (args["Input Shapes"], *_), (args["Output Shapes"], *_) = p.shapes(t)
        if t["status"]:
            args["status"] = int(t["status"])
        yield _slice(p, name, _pid(p, HARDWARE, device), stream, t["begin"], t["end"], args)
        if kind == read.COLLECTIVE:
            yield _slice(p, op_type(name), _pid(p, COMMUNICATION, device), 0, t["begin"], t["end"], args)
    for t in p.waits:
        yield _slice(p, p.trace.text(t["name"]), _pid(p, HARDWARE, int(t["device"])), int(t["stream"]), t["begin"], t["end"],
                     {"Task Type": "EVENT" if t["class"] == read.EVENT else "CALLBACK", "Task Id": int(t["task"])})  # fmt: skip


def _marks(p: Profile) -> Iterator[Event]:
    for m in p.trace.marks:
        args = {"domain": p.trace.text(m["domain"]) or "default"}
        yield _slice(p, p.trace.text(m["text"]), _pid(p, CANN), int(m["thread"]), m["begin"], m["end"], args, "mstx")


def _arrow(p: Profile, name: str, number: int, start: tuple[int, int, int], end: tuple[int, int, int]) -> Iterator[Event]:
    for phase, (pid, tid, time) in (("s", start), ("f", end)):
        event = {"name": name, "cat": name, "ph": phase, "id": str(number), "pid": pid, "tid": tid, "ts": p.us(time)}
        yield {**event, "bp": "e"} if phase == "f" else event


def _arrows(p: Profile, framework: bool) -> Iterator[Event]:
    by_thread: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    calls = p.trace.api
    for thread in np.unique(calls["thread"]).tolist():
        mine = calls[calls["thread"] == thread]
        by_thread[thread] = mine["begin"], mine["end"]
    for number, (t, op) in enumerate(zip(p.tasks, p.launcher, strict=True)):
        target = _pid(p, HARDWARE, int(t["device"])), int(t["stream"]), int(t["begin"])
        if framework and op >= 0:
            h = p.host[op]
            yield from _arrow(p, "async_npu", number, (_pid(p, PYTHON), int(h["thread"]), int(h["begin"])), target)
        begin, end = by_thread.get(int(t["thread"]), (None, None))
        if begin is None or end is None:
            continue
        at = int(np.searchsorted(begin, t["launch"], "right")) - 1
        if at >= 0 and end[at] >= t["launch"]:
            yield from _arrow(p, "HostToDevice", number, (_pid(p, CANN), int(t["thread"]), int(begin[at])), target)
    if framework:
        yield from _backward(p)


def _backward(p: Profile) -> Iterator[Event]:
    forward: dict[tuple[int, int], int] = {}
    chosen = np.flatnonzero((p.host["sequence"] >= 0) & (p.host["scope"] == read.OPERATOR) & (p.host["forward_thread"] == 0))
    for i in chosen.tolist():
        forward.setdefault((int(p.host["framework_thread"][i]), int(p.host["sequence"][i])), i)
    for i in np.flatnonzero((p.host["scope"] == read.BACKWARD) & (p.host["sequence"] >= 0)).tolist():
        h = p.host[i]
        source = forward.get((int(h["forward_thread"]), int(h["sequence"])))
        if source is not None:
            f, pid = p.host[source], _pid(p, PYTHON)
            yield from _arrow(p, "fwdbwd", int(h["sequence"]), (pid, int(f["thread"]), int(f["begin"])),
                              (pid, int(h["thread"]), int(h["begin"])))  # fmt: skip


def _gaps(a: tuple[np.ndarray, np.ndarray], low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """What the disjoint intervals leave of [low, high]."""
    begin, end = np.concatenate(([low], a[1])), np.concatenate((a[0], [high]))
    return begin[end > begin], end[end > begin]


def _overlap(p: Profile) -> Iterator[Event]:
    for device in p.devices:
        mine = p.tasks[p.tasks["device"] == device]
        if not len(mine):
            continue
        compute, comm = mine[mine["class"] == read.KERNEL], mine[mine["class"] == read.COLLECTIVE]
        busy, talking = union(compute["begin"], compute["end"]), union(comm["begin"], comm["end"])
        low, high = int(mine["begin"].min()), int(mine["end"].max())
        bare = common(talking, _gaps(busy, low, high))
        idle = _gaps(union(np.concatenate((busy[0], talking[0])), np.concatenate((busy[1], talking[1]))), low, high)
        rows = ("Computing", busy), ("Communication", talking), ("Communication(Not Overlapped)", bare), ("Free", idle)
        for tid, (name, (begin, end)) in enumerate(rows):
            for b, e in zip(begin.tolist(), end.tolist(), strict=True):
                yield _slice(p, name, _pid(p, OVERLAP, device), tid, b, e, {"analysis type": name})


def events(p: Profile, framework: bool = True) -> Iterator[Event]:
    """Everything; without `framework` only what the CANN itself saw."""
    yield from _names(p, framework)
    if framework:
        yield from _host(p)
    yield from _calls(p)
    yield from _marks(p)
    yield from _tasks(p)
    yield from _overlap(p)
    yield from _arrows(p, framework)


def write(p: Profile, path: str, framework: bool = True, metadata: dict[str, object] | None = None) -> None:
    """trace_view.json: a list of events; with `metadata` an object whose traceEvents they are."""
    encode = json.JSONEncoder(separators=(",", ":"), default=str).encode
    with open(path, "w") as file:
        if metadata is not None:
            parts = "".join(f"{encode(str(key))}:{encode(value)},\n" for key, value in metadata.items())
            file.write('{"schemaVersion":1,"displayTimeUnit":"ms",\n' + parts + '"traceEvents":')
        between = "[\n"
        for event in events(p, framework):
            file.write(between + encode(event))
            between = ",\n"
        file.write(("[" if between == "[\n" else "") + "\n]" + ("}\n" if metadata is not None else "\n"))

# SPDX-License-Identifier: BSD-3-Clause
"""The official tables of a profile: CSV and JSON files with the official columns.

What a software device has no counters for is not made up: columns of AI-core metrics are left out, OP State and HF32 Eligible are
what holds here (static, NO).
"""

import csv
import json
import os
from collections.abc import Iterable, Iterator

import numpy as np

from . import read
from .profile import Profile, core_of, op_type

KERNEL_COLUMNS = ["Device_id", "Model ID", "Task ID", "Stream ID", "Name", "Type", "OP State", "Accelerator Core",
                  "Start Time(us)", "Duration(us)", "Wait Time(us)", "Block Num", "Mix Block Num", "HF32 Eligible",
                  "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types",
                  "Output Formats"]  # fmt: skip
SUMMARY_COLUMNS = ["Device_id", "Model ID", "Task ID", "Stream ID", "Op Name", "OP Type", "OP State", "Task Type",
                   "Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)", *KERNEL_COLUMNS[11:]]  # fmt: skip
LEVEL0 = [0, 4, 5, 7, 8, 9, 10, 11]
STEP_COLUMNS = ["Device_id", "Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage",
                "Bubble", "Communication(Not Overlapped and Exclude Receive)", "Preparing"]  # fmt: skip
STATISTIC_COLUMNS = ["Device_id", "Model Name", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
                     "Max Time(us)", "Ratio(%)"]  # fmt: skip
API_COLUMNS = ["Device_id", "Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance"]
OPERATOR_COLUMNS = ["Name", "Input Shapes", "Call Stack", "Host Self Duration(us)", "Host Total Duration(us)",
                    "Device Self Duration(us)", "Device Total Duration(us)", "Device Self Duration With AICore(us)",
                    "Device Total Duration With AICore(us)"]  # fmt: skip
MEMORY_COLUMNS = ["Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)", "Active Release Time(us)", "Duration(us)",
                  "Active Duration(us)", "Allocation Total Allocated(MB)", "Allocation Total Reserved(MB)",
                  "Allocation Total Active(MB)", "Release Total Allocated(MB)", "Release Total Reserved(MB)",
                  "Release Total Active(MB)", "Stream Ptr", "Device Type"]  # fmt: skip
RECORD_COLUMNS = ["Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)", "Stream Ptr",
                  "Device Type"]  # fmt: skip
TASK_COLUMNS = ["Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)", "task_start(us)",
                "task_stop(us)"]  # fmt: skip
LEVEL_NAMES = {20000: "acl", 15000: "model", 10000: "node", 5500: "communication", 5000: "runtime"}


def us(ns: int | np.integer) -> str:
    """A length of time."""
    return f"{int(ns) / 1000:.3f}"


def write(path: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """One CSV file; no file when there are no rows."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerow(first)
        out.writerows(rows)


def kernel_rows(p: Profile) -> Iterator[list[object]]:
    """A row for each kernel and collective, in the order of time."""
    kinds = {read.KERNEL, read.COLLECTIVE}
    for task, wait in zip(p.tasks, p.waiting, strict=True):
        if int(task["class"]) not in kinds:
            continue
        name = p.names[int(task["name"])]
        inputs, outputs = p.shapes(task)
        kind = op_type(name)
        core = core_of(name, int(task["class"]))
        yield [task["device"], 4294967295, task["task"], task["stream"], f"{name}_{kind}" if kind != name else name, kind,
               "N/A" if core == "COMMUNICATION" else "static", core, p.us(task["begin"]) + "\t", us(task["end"] - task["begin"]),
               us(wait), task["blocks"], 0, "NO", *inputs, *outputs]  # fmt: skip


def kernel_details(p: Profile, path: str, shapes: bool = True) -> None:
    columns = list(range(len(KERNEL_COLUMNS))) if p.level else LEVEL0 + (list(range(14, 20)) if shapes else [])
    kept = np.isin(p.tasks["class"], (read.KERNEL, read.COLLECTIVE))
    names = p.step_names
    steps = p.step_of[kept]

    def rows() -> Iterator[list[object]]:
        for step, row in zip(steps, kernel_rows(p), strict=True):
            picked = [row[c] for c in columns]
            yield [names[step] if step >= 0 else "", *picked] if names else picked

    write(path, (["Step Id"] if names else []) + [KERNEL_COLUMNS[c] for c in columns], rows())


def op_statistic(p: Profile, path: str) -> None:
    costs = [c for c in p.costs() if c.core != "COMMUNICATION"]
    whole = {d: sum(c.total for c in costs if c.device == d) or 1 for d in p.devices}
    write(path, STATISTIC_COLUMNS, ([c.device, "N/A", c.name, c.core, c.count, us(c.total), us(c.least), us(c.total / c.count),
                                     us(c.most), f"{100 * c.total / whole[c.device]:.3f}"] for c in costs))  # fmt: skip


def api_statistic(p: Profile, path: str) -> None:
    calls = p.trace.api

    def rows() -> Iterator[list[object]]:
        for level in np.unique(calls["level"]):
            mine = calls[calls["level"] == level]
            for name in np.unique(mine["name"]):
                time = (mine["end"] - mine["begin"])[mine["name"] == name] / 1000
                yield ["host", LEVEL_NAMES.get(int(level), str(level)), p.trace.text(name), f"{time.sum():.3f}", len(time),
                       f"{time.mean():.3f}", f"{time.min():.3f}", f"{time.max():.3f}", f"{time.var():.3f}"]  # fmt: skip

    write(path, API_COLUMNS, sorted(rows(), key=lambda r: -float(str(r[3]))))


def step_trace_time(p: Profile, path: str) -> None:
    write(path, STEP_COLUMNS, ([s.device, s.name, us(s.computing), us(s.not_overlapped), us(s.overlapped), us(s.communication),
                                us(s.free), us(s.end - s.begin), us(0), us(s.not_overlapped), us(s.first_task - s.host)]
                               for s in p.steps))  # fmt: skip


def task_time(p: Profile, path: str) -> None:
    kinds = {read.COPY: "MEMCPY_ASYNC", read.FILL: "MEMSET", read.COLLECTIVE: "COMMUNICATION"}

    def rows() -> Iterator[list[object]]:
        for t in p.tasks:
            name = p.names[int(t["name"])]
            core = "KERNEL_AICORE" if core_of(name, 0) == "AI_CORE" else "KERNEL_AIVEC"
            yield [t["device"], name, kinds.get(int(t["class"]), core), t["stream"], t["task"],
                   us(t["end"] - t["begin"]), p.us(t["begin"]) + "\t", p.us(t["end"]) + "\t"]  # fmt: skip

    write(path, TASK_COLUMNS, rows())


def operator_details(p: Profile, path: str) -> None:
    """A row for each call of an operator: host time and the time of the kernels it launched."""
    time = (p.tasks["end"] - p.tasks["begin"]).astype(np.int64)
    kernels = p.tasks["class"] == read.KERNEL
    cube = np.array([core_of(p.names[int(n)], 0) == "AI_CORE" for n in p.tasks["name"]], bool) & kernels
    own = np.zeros((2, len(p.host)), np.int64)
    for k, chosen in enumerate((kernels, cube)):
        np.add.at(own[k], p.launcher[chosen & (p.launcher >= 0)], time[chosen & (p.launcher >= 0)])
    calls = list(p.operators())
    whole = own.copy()
    for index, _, _, below in reversed(calls):  # children come after their parents
        for child in below:
            whole[:, index] += whole[:, child]

    def rows() -> Iterator[list[object]]:
        for index, total, self_time, _ in calls:
            h = p.host[index]
            if h["scope"] == read.STEP:
                continue
            yield [p.trace.text(h["name"]), p.trace.text(h["shapes"]), p.trace.text(h["stack"]), us(self_time), us(total),
                   us(own[0][index]), us(whole[0][index]), us(own[1][index]), us(whole[1][index])]  # fmt: skip

    write(path, OPERATOR_COLUMNS, rows())


def _innermost(p: Profile) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """By thread: begins, ends and indices of operators, for looking up what ran at a moment."""
    rows = np.flatnonzero(np.isin(p.host["scope"], (read.OPERATOR, read.BACKWARD)))
    found = {}
    for thread in np.unique(p.host["thread"][rows]):
        mine = rows[p.host["thread"][rows] == thread]
        mine = mine[np.argsort(p.host["begin"][mine], kind="stable")]
        found[int(thread)] = p.host["begin"][mine], p.host["end"][mine], mine
    return found


def _op_at(p: Profile, table: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]], thread: int, time: int) -> str:
    begin, end, index = table.get(thread, (np.zeros(0),) * 3)
    at = int(np.searchsorted(begin, time, "right")) - 1
    for i in range(at, max(at - 64, -1), -1):  # the latest begun that has not ended is the innermost
        if end[i] >= time:
            return p.trace.text(p.host["name"][index[i]])
    return ""


def memory(p: Profile, folder: str) -> None:
    """operator_memory.csv and memory_record.csv from what the framework's allocator (PTA) and programs (APP) did."""
    rows = p.trace.memory[p.trace.memory["memory_kind"] == 0]
    table = _innermost(p)
    mb = 1 << 20

    def totals(m: np.void) -> list[str]:
        return [f"{int(m[c]) / mb:.6f}" for c in ("allocated", "reserved", "active")]

    def pairs() -> Iterator[list[object]]:
        alive: dict[tuple[int, int], np.void] = {}
        made: list[tuple[int, list[object]]] = []

        def row(a: np.void, f: np.void | None) -> list[object]:
            name = _op_at(p, table, int(a["thread"]), int(a["time"])) or "unknown"
            released = [p.us(f["time"]) + "\t"] * 2 + [us(f["time"] - a["time"])] * 2 if f is not None else [""] * 4
            return [name, f"{int(a['change']) / 1024:g}", p.us(a["time"]) + "\t", *released, *totals(a),
                    *(totals(f) if f is not None else [""] * 3), int(a["stream"]), f"NPU:{a['device']}"]  # fmt: skip

        for m in rows:
            key = int(m["device"]), int(m["address"])
            if m["change"] > 0:
                alive[key] = m
            elif key in alive:
                a = alive.pop(key)
                made.append((int(a["time"]), row(a, m)))
        made += [(int(a["time"]), row(a, None)) for a in alive.values()]
        for _, each in sorted(made, key=lambda pair: pair[0]):
            yield each

    write(os.path.join(folder, "operator_memory.csv"), MEMORY_COLUMNS, pairs())

    def record(m: np.void) -> list[object]:
        when, where = p.us(m["time"]) + "\t", f"NPU:{m['device']}"
        if m["memory_kind"] == 0:
            return ["PTA", when, *totals(m), int(m["stream"]), where]
        return ["APP", when, "", totals(m)[1], "", "", where]

    write(os.path.join(folder, "memory_record.csv"), RECORD_COLUMNS, map(record, p.trace.memory))


def communication(p: Profile, path: str) -> None:
    """communication.json: each collective's time and bandwidth, by step. Transit includes waiting for the peers."""
    chosen = np.flatnonzero(p.tasks["class"] == read.COLLECTIVE)
    if not len(chosen):
        return
    whole: dict[str, dict[str, dict[str, object]]] = {}
    names = p.step_names
    for number, i in enumerate(chosen):
        t = p.tasks[i]
        name = op_type(p.names[int(t["name"])])
        step = "step" + (names[p.step_of[i]] if p.step_of[i] >= 0 else "")
        point = "p2p" if any(part in name.lower() for part in ("send", "recv", "receive")) else "collective"
        took, size = int(t["end"] - t["begin"]) / 1e6, int(t["bytes"]) / (1 << 20)
        whole.setdefault(step, {"p2p": {}, "collective": {}})[point][f"{name}__{t['stream']}_{number}_1@"] = {
            "Communication Time Info": {
                "Start Timestamp(us)": float(p.us(t["begin"])), "Elapse Time(ms)": took, "Transit Time(ms)": took,
                "Wait Time(ms)": 0, "Synchronization Time(ms)": 0, "Idle Time(ms)": 0, "Wait Time Ratio": 0,
                "Synchronization Time Ratio": 0,
            },
            "Communication Bandwidth Info": {
                "SDMA": {"Transit Size(MB)": size, "Transit Time(ms)": took,
                         "Bandwidth(GB/s)": int(t["bytes"]) / 1e6 / took if took else 0, "Large Packet Ratio": 0,
                         "Size Distribution": {}},
            },
        }  # fmt: skip
    with open(path, "w") as file:
        json.dump(whole, file, indent=1)

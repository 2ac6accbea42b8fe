# SPDX-License-Identifier: BSD-3-Clause
"""What a trace says: which operator launched which task, steps, waiting, overlap, costs.

Times are nanoseconds of the trace's clock; `Profile.us` turns one into the microseconds of the day that the official files hold.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from . import read
from .read import Trace

CUBE = ("MatMul", "Matmul", "Mm", "BatchMatMul", "Addmm", "Addbmm", "Baddbmm", "Addmv", "Mv", "Dot", "Gemm", "Linear",
        "Convolution", "Attention")  # fmt: skip


def op_type(name: str) -> str:
    """ "aclnnInplaceAdd" → "Add", "HcclAllReduce" → "hcom_allReduce"."""
    if name.startswith("aclnn"):
        return name[5:].removeprefix("Inplace") or name
    if name.startswith("Hccl"):
        return "hcom_" + name[4:5].lower() + name[5:]
    return name


def core_of(name: str, task_class: int) -> str:
    """Which core of a chip would run it: AI_CORE products and convolutions, COMMUNICATION collectives, else AI_VECTOR_CORE."""
    if task_class == read.COLLECTIVE:
        return "COMMUNICATION"
    return "AI_CORE" if any(part in name for part in CUBE) else "AI_VECTOR_CORE"


def union(begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The intervals' union: disjoint intervals in order."""
    if not len(begin):
        return begin, end
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    first = np.concatenate(([True], begin[1:] > end[:-1]))
    last = np.concatenate((first[1:], [True]))
    return begin[first], end[last]


def covered(a: tuple[np.ndarray, np.ndarray], low: int, high: int) -> int:
    """Length of the disjoint intervals within [low, high)."""
    return int(np.maximum(np.minimum(a[1], high) - np.maximum(a[0], low), 0).sum())


def common(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Intersection of two lists of disjoint intervals in order."""
    if not len(a[0]) or not len(b[0]):
        return a[0][:0], a[1][:0]
    points = np.unique(np.concatenate((a[0], a[1], b[0], b[1])))
    low, high = points[:-1], points[1:]

    def inside(intervals: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        at = np.searchsorted(intervals[0], low, "right") - 1
        return (at >= 0) & (intervals[1][np.maximum(at, 0)] >= high)

    both = inside(a) & inside(b)
    return union(low[both], high[both])


@dataclass
class Step:
    """One step of the program on one device (device times; `host`: when the program began it)."""

    name: str
    device: int
    host: int
    begin: int
    end: int
    computing: int = 0
    communication: int = 0
    overlapped: int = 0
    first_task: int = 0

    @property
    def not_overlapped(self) -> int:
        return self.communication - self.overlapped

    @property
    def free(self) -> int:
        return self.end - self.begin - self.computing - self.not_overlapped


@dataclass
class Cost:
    """The tasks of one operator type on one device."""

    device: int
    name: str
    core: str
    count: int
    total: int
    least: int
    most: int


def costs_of(tasks: np.ndarray, trace: Trace, before: Iterable[Cost] = ()) -> list[Cost]:
    """The kernels and collectives among rows of tasks by device, type and core, dearest first; `before` is counted in."""
    rows = tasks[np.isin(tasks["class"], (read.KERNEL, read.COLLECTIVE))]
    table = {(c.device, c.name, c.core): c for c in before}
    for device in np.unique(rows["device"]).tolist():
        mine = rows[rows["device"] == device]
        for number in np.unique(mine["name"]).tolist():
            chosen = mine[mine["name"] == number]
            time, text = chosen["end"] - chosen["begin"], trace.text(number)
            key = device, op_type(text), core_of(text, int(chosen["class"][0]))
            new = Cost(*key, len(time), int(time.sum()), int(time.min()), int(time.max()))
            old = table.get(key)
            table[key] = new if old is None else Cost(*key, old.count + new.count, old.total + new.total,
                                                      min(old.least, new.least), max(old.most, new.most))  # fmt: skip
    return sorted(table.values(), key=lambda c: -c.total)


def fallbacks_of(host: np.ndarray, trace: Trace, before: Iterable[tuple[str, int, int]] = ()) -> list[tuple[str, int, int]]:
    """Operators among rows of host that ran on the CPU: name, times, nanoseconds; dearest first; `before` is counted in."""
    table = {name: (count, ns) for name, count, ns in before}
    rows = host[host["scope"] == read.FALLBACK]
    for number in np.unique(rows["name"]).tolist():
        mine = rows[rows["name"] == number]
        count, ns = table.get(trace.text(number), (0, 0))
        table[trace.text(number)] = count + len(mine), ns + int((mine["end"] - mine["begin"]).sum())
    return sorted(((name, count, ns) for name, (count, ns) in table.items()), key=lambda f: -f[2])


@dataclass
class Profile:
    """A trace and what follows from it; see the functions for the views."""

    trace: Trace
    level: int = 1
    device_names: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tasks = self.trace.tasks
        work = np.isin(tasks["class"], (read.KERNEL, read.COPY, read.FILL, read.COLLECTIVE))
        self.tasks = tasks if work.all() else tasks[work]
        self.waits = tasks[np.isin(tasks["class"], (read.EVENT, read.CALLBACK))]
        self.host = self.trace.host
        self.devices = sorted({int(d) for d in np.unique(self.tasks["device"])})
        self.names = {int(i): self.trace.text(i) for i in np.unique(self.tasks["name"])}
        order = np.argsort(self.host["correlation"], kind="stable")
        order = order[np.isin(self.host["scope"][order], (read.OPERATOR, read.BACKWARD, read.USER, read.STEP))]
        keys = self.host["correlation"][order]
        at = np.searchsorted(keys, self.tasks["correlation"])
        found = (at < len(keys)) & (self.tasks["correlation"] > 0)
        found[found] = keys[at[found]] == self.tasks["correlation"][found]
        self.launcher = np.full(len(self.tasks), -1, np.int64)  # index into host of the operator that launched the task
        self.launcher[found] = order[at[found]]
        self.waiting = self._waiting()
        self.steps = self._steps()
        self.step_of = self._step_of()

    def us(self, ns: int | np.integer) -> str:
        """Microseconds of the day, to the nanosecond."""
        total = int(ns) + self.trace.offset
        return f"{total // 1000}.{total % 1000:03d}"

    def _waiting(self) -> np.ndarray:
        """For each task, how long its stream did nothing before it (0 for the stream's first)."""
        t = self.tasks
        order = np.lexsort((t["begin"], t["stream"], t["device"]))
        gap = np.zeros(len(t), np.int64)
        stream, device, begin, end = (t[column][order] for column in ("stream", "device", "begin", "end"))
        same = (stream[1:] == stream[:-1]) & (device[1:] == device[:-1])
        gap[order[1:]] = np.where(same, np.maximum(begin[1:] - end[:-1], 0), 0)
        return gap

    def _marked_steps(self) -> list[tuple[str, int, int]]:
        rows = self.host[self.host["scope"] == read.STEP]
        rows = rows[np.argsort(rows["begin"], kind="stable")]
        return [(self.trace.text(r["name"]).rpartition("#")[2], int(r["begin"]), int(r["end"])) for r in rows]

    def _steps(self) -> list[Step]:
        found = []
        for device in self.devices:
            mine = self.tasks[self.tasks["device"] == device]
            compute = mine[mine["class"] == read.KERNEL]
            comm = mine[mine["class"] == read.COLLECTIVE]
            busy = union(compute["begin"], compute["end"]), union(comm["begin"], comm["end"])
            both = common(*busy)
            marked = self._marked_steps()
            for name, begin, end in marked or [("", 0, 2**62)]:
                inside = mine[(mine["launch"] >= begin) & (mine["launch"] < end)]
                if not len(inside):
                    continue
                low, high = int(inside["begin"].min()), int(inside["end"].max())
                step = Step(name, device, begin if marked else low, low, high, first_task=low)
                step.computing, step.communication = (covered(b, low, high) for b in busy)
                step.overlapped = covered(both, low, high)
                found.append(step)
        return found

    def _step_of(self) -> np.ndarray:
        """For each task the index of its marked step by launch time, -1: none."""
        marked = self._marked_steps()
        begins = np.array([b for _, b, _ in marked], np.int64)
        ends = np.array([e for _, _, e in marked], np.int64)
        if not len(begins):
            return np.full(len(self.tasks), -1)
        at = np.searchsorted(begins, self.tasks["launch"], "right") - 1
        return np.where((at >= 0) & (self.tasks["launch"] < ends[np.maximum(at, 0)]), at, -1)

    @property
    def step_names(self) -> list[str]:
        return [name for name, _, _ in self._marked_steps()]

    def costs(self) -> list[Cost]:
        """Kernels and collectives by device, type and core, dearest first."""
        return costs_of(self.tasks, self.trace)

    def fallbacks(self) -> list[tuple[str, int, int]]:
        """Operators that ran on the CPU: name, times, nanoseconds; dearest first."""
        return fallbacks_of(self.host, self.trace)

    def shapes(self, task: np.void) -> tuple[list[str], list[str]]:
        """Columns of a task's inputs and outputs: [shapes, dtypes, formats] as the official tables write them."""
        columns: tuple[list[list[str]], list[list[str]]] = ([[], [], []], [[], [], []])
        for output, dtype, form, shape in self.trace.tensors(task):
            into = columns[output]
            into[0].append(",".join(map(str, shape)))
            into[1].append(dtype)
            into[2].append(form)
        made = []
        for c in columns:
            made.append([f'"{";".join(c[0])}"', ";".join(c[1]), ";".join(c[2])] if c[0] else ["N/A"] * 3)
        return made[0], made[1]

    def operators(self) -> Iterator[tuple[int, int, int, list[int]]]:
        """Each operator call of the host with its own time: (index into host, total ns, self ns, indices of children)."""
        rows = np.flatnonzero(np.isin(self.host["scope"], (read.OPERATOR, read.BACKWARD, read.USER, read.STEP)))
        h = self.host[rows]
        order = rows[np.lexsort((-h["end"], h["begin"], h["thread"]))]
        children: dict[int, list[int]] = {int(i): [] for i in order}
        stack: list[int] = []
        thread, begin, end = self.host["thread"], self.host["begin"], self.host["end"]
        for index in order.tolist():
            while stack and (thread[stack[-1]] != thread[index] or end[stack[-1]] < end[index] or end[stack[-1]] <= begin[index]):
                stack.pop()
            if stack:
                children[stack[-1]].append(index)
            stack.append(index)
        time = end - begin
        for index in order.tolist():
            below = children[index]
            total = int(time[index])
            yield index, total, max(total - int(time[below].sum()), 0), below

# SPDX-License-Identifier: BSD-3-Clause
"""What `anynpu trace` shows of a trace, gathered window by window (windows.py): costs, steps, copies, fallbacks, and the longest
events for the page's timeline."""

from dataclasses import dataclass, field

import numpy as np

from . import read
from .profile import Cost, Step, common, costs_of, covered, fallbacks_of, union
from .read import Trace
from .windows import MOST, Windows

EVENTS = 200_000
"""Events of the page; of longer traces the longest-lasting ones."""

WORK = (read.KERNEL, read.COPY, read.FILL, read.COLLECTIVE)
Intervals = tuple[np.ndarray, np.ndarray]


@dataclass
class Copies:
    """All copies of one kind."""

    name: str
    count: int = 0
    ns: int = 0
    bytes: int = 0
    beside: int = 0
    """Nanoseconds of them during which kernels of the same device ran."""


@dataclass
class Figures:
    trace: Trace
    tasks: int = 0
    operators: int = 0
    calls: int = 0
    devices: list[int] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    copies: dict[int, Copies] = field(default_factory=dict)
    fallbacks: list[tuple[str, int, int]] = field(default_factory=list)
    kept: dict[int, np.ndarray] = field(default_factory=dict)
    """By kind of record: the longest events, in the order of time."""
    busy: dict[tuple[int, str], Intervals] = field(default_factory=dict)
    """By device and "computing", "communication" or "overlapped": the longest stretches."""


def longest(rows: np.ndarray, most: int) -> np.ndarray:
    """The longest-lasting rows, in the order they had."""
    if len(rows) <= most:
        return rows
    return rows[np.sort(np.argpartition(rows["begin"] - rows["end"], most)[:most])]


def _longest_stretches(a: Intervals, b: Intervals, most: int) -> Intervals:
    begin, end = np.concatenate((a[0], b[0])), np.concatenate((a[1], b[1]))
    if len(begin) > most:
        chosen = np.sort(np.argpartition(begin - end, most)[:most])
        begin, end = begin[chosen], end[chosen]
    return begin, end


def _work(rows: np.ndarray) -> np.ndarray:
    return rows[np.isin(rows["class"], WORK)]


def _steps(windows: Windows, trace: Trace) -> list[Step]:
    """The program's steps on each device from their first task to the end of their last; one step when none is marked."""
    marked = [(trace.text(r["name"]).rpartition("#")[2], int(r["begin"]), int(r["end"])) for r in windows.steps]
    whole = not marked
    marked = marked or [("", 0, 2**62)]
    begins, ends = (np.array([m[i] for m in marked], np.int64) for i in (1, 2))
    bounds: dict[tuple[int, int], tuple[int, int]] = {}
    for block in windows.blocks(read.TASK):
        rows = _work(block)
        at = np.searchsorted(begins, rows["launch"], "right") - 1
        inside = (at >= 0) & (rows["launch"] < ends[np.maximum(at, 0)])
        rows, at = rows[inside], at[inside]
        for number, device in np.unique(np.stack((at, rows["device"].astype(np.int64)), 1), axis=0).tolist():
            mine = rows[(at == number) & (rows["device"] == device)]
            low, high = bounds.get((device, number), (2**63 - 1, -(2**63)))
            bounds[device, number] = min(low, int(mine["begin"].min())), max(high, int(mine["end"].max()))
    return [
        Step(marked[number][0], device, low if whole else marked[number][1], low, high, first_task=low)
        for (device, number), (low, high) in sorted(bounds.items())
    ]


class _Clipped:
    """Tasks of one sort as stretches within a window: those that began before it and still run are carried over."""

    def __init__(self) -> None:
        self.begin = self.end = np.zeros(0, np.int64)

    def take(self, rows: np.ndarray, low: int, high: int) -> Intervals:
        """The union of the rows and of what was carried, within [low, high)."""
        begin, end = np.concatenate((self.begin, rows["begin"])), np.concatenate((self.end, rows["end"]))
        over = end > high
        self.begin, self.end = np.full(int(over.sum()), high), end[over]
        begin, end = np.maximum(begin, low), np.minimum(end, high)
        return union(begin[end > begin], end[end > begin])


class _Gatherer:
    """Adds windows to the figures."""

    def __init__(self, figures: Figures, share: float) -> None:
        self.figures, self.share = figures, share
        self.clipped: dict[tuple[int, int, int], _Clipped] = {}

    def _stretches(self, rows: np.ndarray, device: int, kind: int, name: int, low: int, high: int) -> Intervals:
        return self.clipped.setdefault((device, kind, name), _Clipped()).take(rows, low, high)

    def add(self, low: int, high: int, work: np.ndarray) -> None:
        f = self.figures
        f.costs = costs_of(work, f.trace, f.costs)
        f.devices = sorted({*f.devices, *np.unique(work["device"]).tolist()})
        names = np.unique(work["name"][work["class"] == read.COPY]).tolist()
        for number in names:
            copies = f.copies.setdefault(number, Copies(f.trace.text(number)))
            mine = work[(work["class"] == read.COPY) & (work["name"] == number)]
            copies.count += len(mine)
            copies.ns += int((mine["end"] - mine["begin"]).sum())
            copies.bytes += int(mine["bytes"].sum())
        for device in f.devices:
            mine = work[work["device"] == device]
            busy, talking = (
                self._stretches(mine[mine["class"] == kind], device, kind, 0, low, high)
                for kind in (read.KERNEL, read.COLLECTIVE)
            )
            both = common(busy, talking)
            for step in f.steps:
                if step.device == device and step.end > low and step.begin < high:
                    step.computing += covered(busy, step.begin, step.end)
                    step.communication += covered(talking, step.begin, step.end)
                    step.overlapped += covered(both, step.begin, step.end)
            for name, found in (("computing", busy), ("communication", talking), ("overlapped", both)):
                old = f.busy.get((device, name), (found[0][:0], found[1][:0]))
                f.busy[device, name] = _longest_stretches(old, found, EVENTS // 10)
            for number, copies in f.copies.items():
                rows = mine[(mine["class"] == read.COPY) & (mine["name"] == number)]
                begin, end = common(self._stretches(rows, device, read.COPY, number, low, high), busy)
                copies.beside += int((end - begin).sum())

    def keep(self, kind: int, rows: np.ndarray, of: int) -> None:
        old = self.figures.kept.get(kind)
        self.figures.kept[kind] = longest(rows if old is None else np.concatenate((old, rows)), int(of * self.share) + 1)


def gather(trace: Trace, most: int = MOST) -> Figures:
    """The figures of a trace that was made with rows=False; `most`: events that are looked at together."""
    f = Figures(trace)
    with Windows(trace, most) as windows:
        f.operators, f.calls = windows.count[read.HOST], windows.count[read.API]
        f.steps = _steps(windows, trace)
        g = _Gatherer(f, min(1.0, EVENTS / max(sum(windows.count.values()), 1)))
        for w in windows:
            work = _work(w.tasks)
            f.tasks += len(work)
            f.fallbacks = fallbacks_of(w.host, trace, f.fallbacks)
            g.add(w.low, w.high, work)
            for kind, rows in ((read.TASK, work), (read.API, w.api), (read.HOST, w.host)):
                g.keep(kind, rows, windows.count[kind])
    return f

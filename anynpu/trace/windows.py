# SPDX-License-Identifier: BSD-3-Clause
"""A trace in windows of time, each small enough for memory: `anynpu trace` of any number of events takes what one window takes.

Records come thread by thread, roughly in order. They are written to temporary files as they come, then apart by time into one
file a window, and each window is sorted when it is its turn. Twice the trace's size is needed where temporary files go (TMPDIR);
a trace that fits one window needs no file.
"""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from . import read
from .read import Trace

MOST = 1 << 19
"""Events of a window; each takes about 120 bytes, and 500 while figures are made of it."""

KINDS = (read.TASK, read.API, read.HOST)
BLOCK = 1 << 17
EVERY = 64
"""Every so manieth event's time is kept, to divide the trace into windows of equal size."""


@dataclass
class Window:
    """The events that began within [low, high), in the order of their begin."""

    low: int
    high: int
    tasks: np.ndarray
    api: np.ndarray
    host: np.ndarray


class Windows:
    """Reads the trace (made with rows=False) once. Use as a context: it holds temporary files."""

    def __init__(self, trace: Trace, most: int = MOST) -> None:
        self.count = dict.fromkeys(KINDS, 0)
        self.steps = np.zeros(0, read.DTYPES[read.HOST])  # the rows that mark steps of the program
        self._most = most
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._held: dict[int, list[np.ndarray]] = {kind: [] for kind in KINDS}
        self._edges = np.zeros(0, np.int64)  # between windows
        self._fill(trace)

    def __enter__(self) -> "Windows":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._folder:
            self._folder.cleanup()

    def _path(self, kind: int, window: int | str = "all") -> str:
        assert self._folder
        return os.path.join(self._folder.name, f"{kind}.{window}")

    def _fill(self, trace: Trace) -> None:
        times, marked = [], []
        for kind, rows in trace.pieces():
            if kind not in KINDS:
                continue
            self.count[kind] += len(rows)
            times.append(rows["begin"][::EVERY].copy())
            if kind == read.HOST:
                marked.append(rows[rows["scope"] == read.STEP])
            self._held[kind].append(rows)
            if self._folder is None and sum(self.count.values()) > self._most:
                self._folder = tempfile.TemporaryDirectory(prefix="anynpu-trace-")
            if self._folder:
                self._spill()
        if marked:
            steps = np.concatenate(marked)
            self.steps = steps[np.argsort(steps["begin"], kind="stable")]
        if self._folder:
            parts = -(-sum(self.count.values()) // self._most)
            self._edges = np.unique(np.quantile(np.concatenate(times), np.arange(1, parts) / parts).astype(np.int64))
            for kind in KINDS:
                self._divide(kind)

    def _spill(self) -> None:
        for kind, parts in self._held.items():
            with open(self._path(kind), "ab") as file:
                for rows in parts:
                    rows.tofile(file)
            parts.clear()

    def _divide(self, kind: int) -> None:
        """One file a window; they keep the order of writing, so that equal times stay as they were."""
        for rows in self.blocks(kind):
            window = np.searchsorted(self._edges, rows["begin"], "right")
            for number in np.unique(window).tolist():
                with open(self._path(kind, number), "ab") as file:
                    rows[window == number].tofile(file)

    def blocks(self, kind: int) -> Iterator[np.ndarray]:
        """All rows of a kind in pieces, in no order."""
        if not self._folder:
            yield from self._held[kind]
            return
        path, dtype = self._path(kind), read.DTYPES[kind]
        with open(path, "rb") as file:
            while len(rows := np.fromfile(file, dtype, BLOCK)):
                yield rows

    def _rows(self, kind: int, window: int) -> np.ndarray:
        dtype = read.DTYPES[kind]
        if not self._folder:
            rows = np.concatenate([np.zeros(0, dtype), *self._held[kind]])
        else:
            path = self._path(kind, window)
            rows = np.fromfile(path, dtype) if os.path.exists(path) else np.zeros(0, dtype)
        begin = rows["begin"]
        return rows if (begin[1:] >= begin[:-1]).all() else rows[np.argsort(begin, kind="stable")]

    def __iter__(self) -> Iterator[Window]:
        ends = [-(2**63), *self._edges.tolist(), 2**63 - 1]
        for number, (low, high) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
            yield Window(low, high, *(self._rows(kind, number) for kind in KINDS))

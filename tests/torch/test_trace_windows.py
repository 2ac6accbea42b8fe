# SPDX-License-Identifier: BSD-3-Clause
"""`anynpu trace` takes a trace window by window: the same figures as at once, in memory that does not grow with the trace."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from anynpu.trace import Profile, Trace, page, read
from anynpu.trace.figures import Figures, gather
from anynpu.trace.report import summary

UNIT = read.UNIT
NAMES = ["aclnnAdd", "aclnnMatmul", "HcclAllReduce", "MemcpyDtoH", "aten::add", "ProfilerStep#0", "ProfilerStep#1", "aten::qr"]


def records(kind: int, count: int, **columns: object) -> bytes:
    fields = read._head + read._fields[kind]
    rows = np.zeros(count, np.dtype(fields))
    rows["kind"], rows["words"] = kind, rows.itemsize // 8
    for name, values in columns.items():
        rows[name] = values
    return rows


def chunks(name: bytes, thread: int, rows: np.ndarray) -> bytes:
    room = (UNIT - read._chunk.size) // rows.itemsize
    made = []
    for order, at in enumerate(range(0, len(rows), room)):
        body = read._chunk.pack(read.CHUNK, UNIT, thread, order, name) + rows[at : at + room].tobytes()
        made.append(body.ljust(UNIT, b"\0"))
    return b"".join(made)


def make(path: Path, count: int, seed: int = 0) -> Path:
    """A trace of `count` tasks on two devices and three streams, each launched by an operator, in two steps."""
    rng = np.random.default_rng(seed)
    begin = np.sort(rng.integers(10**6, 10**6 + count * 1000, count))
    kind = rng.choice([read.KERNEL, read.KERNEL, read.COLLECTIVE, read.COPY], count)
    name = np.where(kind == read.COLLECTIVE, 3, np.where(kind == read.COPY, 4, rng.integers(1, 3, count)))
    tasks = records(read.TASK, count, stream=rng.integers(0, 3, count), task=np.arange(count), device=rng.integers(0, 2, count),
                    name=name, correlation=np.arange(1, count + 1), launch=begin - 500, begin=begin,
                    end=begin + rng.integers(1, 3000, count), bytes=np.where(kind == read.COPY, 4096, 0), blocks=1,
                    **{"class": kind})  # fmt: skip
    half = int(begin[count // 2]) - 500
    scope = np.where(rng.random(count) < 0.01, read.FALLBACK, read.OPERATOR)
    host = records(read.HOST, count, name=np.where(scope == read.FALLBACK, 8, 5), begin=begin - 600, end=begin - 400,
                   correlation=np.arange(1, count + 1), scope=scope, sequence=-1)  # fmt: skip
    steps = records(read.HOST, 2, name=[6, 7], begin=[0, half], end=[half, 2**50], scope=read.STEP, sequence=-1)
    text = b""
    for number, value in enumerate(NAMES, 1):
        raw = value.encode()
        words = 3 + (len(raw) + 7) // 8
        head = np.zeros(3, "<u8")
        head[0], head[1], head[2] = read.STRING | words << 16, number, len(raw)
        text += head.tobytes() + raw.ljust((words - 3) * 8, b"\0")
    first = (read._chunk.pack(read.CHUNK, UNIT, 7, 0, b"main") + text).ljust(UNIT, b"\0")
    header = read._header.pack(b"ANYTRACE", 1, 0, 42, 0xFF, 0, 10**18, 2**50, 10**18 + 2**50, 0, 2**64 - 1, b"Ascend910B3")
    body = (
        chunks(b"stream", 8, tasks[::2]) + chunks(b"stream", 9, tasks[1::2]) + chunks(b"main", 7, np.concatenate((steps, host)))
    )
    path.write_bytes(header.ljust(UNIT, b"\0") + first + body)
    return path


def figures(path: Path, most: int) -> Figures:
    return gather(Trace(str(path), rows=False), most)


@pytest.mark.parametrize("most", [500, 3000, 1 << 20])
def test_windows_give_the_same_figures(tmp_path: Path, most: int) -> None:
    path = make(tmp_path / "a.trace", 4000)
    whole, f = Profile(Trace(str(path))), figures(path, most)
    assert (f.tasks, f.operators) == (len(whole.tasks), len(whole.host)) == (4000, 4002)
    assert f.costs == whole.costs()
    assert f.fallbacks == whole.fallbacks() and f.fallbacks[0][0] == "aten::qr"
    assert f.steps == whole.steps and len(f.steps) == 4 and f.steps[0].overlapped > 0
    copies = f.copies[4]
    rows = whole.tasks[whole.tasks["class"] == read.COPY]
    assert (copies.count, copies.bytes) == (len(rows), int(rows["bytes"].sum())) and 0 < copies.beside < copies.ns
    assert copies == figures(path, 1 << 22).copies[4]


def test_the_page_has_the_longest_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "a.trace", 4000)
    monkeypatch.setattr("anynpu.trace.figures.EVENTS", 900)
    small, whole = page.data(figures(path, 500)), page.data(figures(path, 1 << 20))
    for d in (small, whole):
        assert d["all"] == 8002 and d["kept"] < 1600
    tasks = [sorted(length for t in d["tracks"] if t["kind"] == "task" for length in t["length"]) for d in (small, whole)]
    assert tasks[0] == tasks[1]
    links = [link for t in small["tracks"] if t["kind"] == "task" for link in t["link"] if link[0] >= 0]
    assert links and all(small["tracks"][track]["kind"] == "host" for track, _ in links)
    assert "aten::qr" in summary(figures(path, 500))


PEAK = r"""
import re, sys
from anynpu.trace import Trace
from anynpu.trace import figures
from anynpu.trace.figures import gather
from anynpu.trace.report import summary
figures.EVENTS = 10_000
summary(gather(Trace(sys.argv[1], rows=False), 1 << 14))
print(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
"""


def test_memory_does_not_grow_with_the_trace(tmp_path: Path) -> None:
    peak = []
    for count in (150_000, 900_000):
        path = make(tmp_path / f"{count}.trace", count)
        done = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr
        peak.append(int(done.stdout))
    assert peak[1] < peak[0] + 60 * 1024, f"{peak} KB: the longer trace has 180 MB more of records"

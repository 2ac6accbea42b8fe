# SPDX-License-Identifier: BSD-3-Clause
"""Reads trace files (cann/include/anynpu/trace.h) into columns.

Every kind of record becomes one NumPy array of its fixed part (about 100 bytes an event; while reading and relating, up to six
times that), the rest (descriptions of tensors) stays in the mapped file until it is asked for. What is broken is left out, never
raised: a trace that a crash left behind, cut off or overwritten, gives what is whole in it.
"""

import mmap
import os
import struct
from collections.abc import Iterator

import numpy as np

UNIT = 65536
MAGIC = b"ANYTRACE"
CHUNK = 0x4B4E4843
STRING, TASK, API, HOST, MEMORY, MARK, REPORT = range(1, 8)
KERNEL, COPY, FILL, COLLECTIVE, EVENT, CALLBACK = range(6)
OPERATOR, BACKWARD, USER, STEP, FALLBACK, PYTHON, COLLECT = range(7)
NO_STREAM = 0xFFFFFFFF

_head = [("kind", "<u2"), ("words", "<u2"), ("thread", "<u4")]
_fields = {
    TASK: [("stream", "<u4"), ("task", "<u4"), ("device", "<u2"), ("class", "<u2"), ("blocks", "<u4"), ("name", "<u8"),
           ("correlation", "<u8"), ("launch", "<i8"), ("begin", "<i8"), ("end", "<i8"), ("bytes", "<u8"), ("status", "<i4"),
           ("tensors", "<u2"), ("tensor_bytes", "<u2")],
    API: [("name", "<u8"), ("begin", "<i8"), ("end", "<i8"), ("level", "<u4"), ("type", "<u4"), ("item", "<u8")],
    HOST: [("name", "<u8"), ("begin", "<i8"), ("end", "<i8"), ("correlation", "<u8"), ("forward_thread", "<u8"),
           ("sequence", "<i8"), ("shapes", "<u8"), ("dtypes", "<u8"), ("stack", "<u8"), ("detail", "<u8"), ("flops", "<u8"),
           ("scope", "<u4"), ("framework_thread", "<u4")],
    MEMORY: [("time", "<i8"), ("address", "<u8"), ("change", "<i8"), ("allocated", "<u8"), ("reserved", "<u8"),
             ("active", "<u8"), ("stream", "<u8"), ("device", "<u2"), ("memory_kind", "<u2"), ("unused", "<u4")],
    MARK: [("text", "<u8"), ("domain", "<u8"), ("begin", "<i8"), ("end", "<i8"), ("stream", "<u4"), ("task", "<u4")],
    REPORT: [("report", "<u4"), ("bytes", "<u4")],
}  # fmt: skip
DTYPES = {kind: np.dtype(_head + fields + [("offset", "<u8")]) for kind, fields in _fields.items()}
SIZES = {kind: np.dtype(_head + fields).itemsize for kind, fields in _fields.items()}
_header = struct.Struct("<8sIIIIqqqqQQ32s")
_chunk = struct.Struct("<IIII16s")

DTYPE_NAMES = {
    0: "FLOAT", 1: "FLOAT16", 2: "INT8", 3: "INT32", 4: "UINT8", 6: "INT16", 7: "UINT16", 8: "UINT32", 9: "INT64", 10: "UINT64",
    11: "DOUBLE", 12: "BOOL", 13: "STRING", 16: "COMPLEX64", 17: "COMPLEX128", 27: "DT_BF16", 29: "INT4", 30: "UINT1",
    33: "COMPLEX32", 34: "HIFLOAT8", 35: "FLOAT8_E5M2", 36: "FLOAT8_E4M3FN",
}  # fmt: skip
FORMAT_NAMES = {0: "NCHW", 1: "NHWC", 2: "ND", 3: "NC1HWC0", 27: "NDHWC", 29: "FRACTAL_NZ", 30: "NCDHW", 47: "NCL"}


class NotATrace(ValueError):
    """The file is no trace of ours."""


class Trace:
    """One file: arrays `tasks`, `api`, `host`, `memory`, `marks`, `reports`, sorted by time, and the header's facts.

    Args:
        path: the file.
        rows: False leaves the arrays to pieces(), for traces larger than memory.
    """

    def __init__(self, path: str, rows: bool = True):
        self.path = path
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _header.size:
                raise NotATrace(f"{path}: {size} bytes are no trace")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        values = _header.unpack_from(self._map)
        if values[0] != MAGIC:
            raise NotATrace(f"{path} does not begin as a trace does")
        if values[1] != 1:
            raise NotATrace(f"{path}: version {values[1]} of the form, this program reads 1")
        _, _, _, self.pid, self.kinds, self.mono_ns, self.real_ns, self.end_mono_ns, self.end_real_ns, self.lost, rank, soc = (
            values
        )
        self.rank = None if rank == 2**64 - 1 else rank
        self.soc = soc.rstrip(b"\0").decode(errors="replace")
        self.complete = self.end_mono_ns != 0
        self.strings: dict[int, str] = {0: ""}
        self.threads: dict[int, str] = {}
        if rows:
            self._read()

    @property
    def offset(self) -> int:
        """Nanoseconds from the trace's clock to the time of day."""
        return self.real_ns - self.mono_ns

    def text(self, name: int) -> str:
        """The string of an id; its number in hexadecimal when the trace has lost it."""
        found = self.strings.get(int(name))
        return f"{int(name):#x}" if found is None else found

    def tensors(self, task: np.void) -> list[tuple[bool, str, str, tuple[int, ...]]]:
        """The tensors of a row of `tasks`: (is an output, dtype, format, shape)."""
        at = int(task["offset"]) + SIZES[TASK]
        end = min(at + int(task["tensor_bytes"]), len(self._map))
        found = []
        while at + 4 <= end:
            dtype, form, rank, flags = self._map[at : at + 4]
            if at + 4 + 4 * rank > end:
                break
            shape = struct.unpack_from(f"<{rank}I", self._map, at + 4)
            found.append((bool(flags & 1), DTYPE_NAMES.get(dtype, str(dtype)), FORMAT_NAMES.get(form, str(form)), shape))
            at += 4 + 4 * rank
        return found

    def _read(self) -> None:
        parts: dict[int, list[np.ndarray]] = {kind: [] for kind in DTYPES}
        for kind, rows in self.pieces():
            parts[kind].append(rows)
        self.tasks, self.api, self.host, self.memory, self.marks, self.reports = (
            self._join(parts[kind], kind) for kind in (TASK, API, HOST, MEMORY, MARK, REPORT)
        )

    def pieces(self) -> Iterator[tuple[int, np.ndarray]]:
        """The records chunk by chunk, as (kind, rows); not in the order of time. Fills `strings` and `threads` on the way."""
        data, size, at = self._map, len(self._map), UNIT
        while at + _chunk.size <= size:
            magic, length, thread, _order, name = _chunk.unpack_from(data, at)
            if magic != CHUNK or length < UNIT or length % UNIT:
                at += UNIT  # taken, but never written, before the process died
                continue
            self.threads.setdefault(thread, name.split(b"\0")[0].decode(errors="replace"))
            yield from self._read_chunk(at, min(at + length, size), thread)
            data.madvise(mmap.MADV_DONTNEED, at, min(length, size - at))  # it has been read: not to be held in memory
            at += length

    def _read_chunk(self, begin: int, end: int, thread: int) -> Iterator[tuple[int, np.ndarray]]:
        piece = self._map[begin:end]
        words = np.frombuffer(piece[: len(piece) // 8 * 8], "<u8")
        heads = words.tolist()
        offsets: dict[int, list[int]] = {kind: [] for kind in DTYPES}
        at, count = _chunk.size // 8, len(heads)
        strings = self.strings
        while at < count:
            head = heads[at]
            kind, length = head & 0xFFFF, head >> 16 & 0xFFFF
            if length == 0 or at + length > count:
                break
            if kind in offsets:
                if length * 8 >= SIZES[kind]:
                    offsets[kind].append(at)
            elif kind == STRING and length >= 3:
                many = min(heads[at + 2] & 0xFFFFFFFF, (length - 3) * 8)
                strings[heads[at + 1]] = piece[at * 8 + 24 : at * 8 + 24 + many].decode(errors="replace")
            at += length
        bytes_of = words.view(np.uint8)
        for kind, found in offsets.items():
            if not found:
                continue
            first = np.array(found, np.int64) * 8
            made = np.zeros(len(found), DTYPES[kind])
            raw = bytes_of[first[:, None] + np.arange(SIZES[kind])]
            made.view(np.uint8).reshape(len(found), -1)[:, : SIZES[kind]] = raw
            made["thread"][made["thread"] == 0] = thread
            made["offset"] = first + begin
            yield kind, made

    @staticmethod
    def _join(parts: list[np.ndarray], kind: int) -> np.ndarray:
        whole = np.concatenate(parts) if parts else np.zeros(0, DTYPES[kind])
        parts.clear()  # large traces: one copy less
        if kind == REPORT:
            return whole
        times = whole["time" if kind == MEMORY else "begin"]
        if (times[1:] >= times[:-1]).all():
            return whole
        return whole[np.argsort(times, kind="stable")]


def find(path: str) -> list[str]:
    """The trace files at or below `path`, oldest first."""
    if os.path.isfile(path):
        return [path]
    found = []
    for folder, _, files in os.walk(path):
        found += [os.path.join(folder, name) for name in files if name.endswith(".trace")]
    return sorted(found, key=lambda name: (os.path.getmtime(name), name))

# SPDX-License-Identifier: BSD-3-Clause
"""torch.profiler on the NPU: the activity PrivateUse1 is recorded by the bridge (kineto.cpp); here its name NPU, and metadata.

PyTorch's own trace writer breaks the file when metadata holds a quote, a backslash or a control character (it turns every
backslash into a slash). Such values reach it as plain marks, which are replaced by the true JSON in the exported file.
"""

import functools
import json
import operator
import os
import shutil
import tempfile
from typing import Any

from torch.autograd.profiler_util import FunctionEvent, FunctionEventAvg
from torch.profiler import ProfilerActivity
from torch.profiler import profiler as torch_profiler

from .. import _C

_BAD = {'"', "\\", *map(chr, range(32))}


def _mark(prof: Any, text: str) -> str:
    """A mark that stands for the JSON text in what PyTorch writes."""
    marks = prof.__dict__.setdefault("_npu_marks", {})
    mark = f"torch_npu-metadata-{len(marks)}"
    marks[f'"{mark}"'] = text
    return mark


def _restore(path: str, marks: dict[str, str]) -> None:
    """Puts the true values in, line by line."""
    folder = os.path.dirname(os.path.abspath(path))
    with open(path, encoding="utf-8", errors="surrogateescape") as source:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="surrogateescape", dir=folder, delete=False) as target:
            for line in source:
                if "torch_npu-metadata-" in line:
                    for mark, text in marks.items():
                        line = line.replace(mark, text)
                target.write(line)
    shutil.copymode(path, target.name)
    os.replace(target.name, path)


def install() -> None:
    """Registers the activity and mends the metadata; once."""
    _C._npu_register_kineto()
    if not hasattr(ProfilerActivity, "NPU"):
        ProfilerActivity.NPU = ProfilerActivity.PrivateUse1
    for kind in (FunctionEvent, FunctionEventAvg):  # sort_by="self_npu_time_total", event.npu_time, …
        for name in (
            "self_device_time_total",
            "device_time_total",
            "device_time",
            "device_memory_usage",
            "self_device_memory_usage",
        ):
            setattr(kind, name.replace("device", "npu"), property(operator.attrgetter(name)))
    cls = torch_profiler._KinetoProfile
    if hasattr(cls.add_metadata, "__wrapped__"):
        return
    add, add_json, export = cls.add_metadata, cls.add_metadata_json, cls.export_chrome_trace

    def key_of(prof: Any, key: str) -> str:
        return _mark(prof, json.dumps(key)) if _BAD & set(str(key)) else key

    @functools.wraps(add)
    def add_metadata(self: Any, key: str, value: str) -> None:
        add(self, key_of(self, key), _mark(self, json.dumps(value)) if _BAD & set(str(value)) else value)

    @functools.wraps(add_json)
    def add_metadata_json(self: Any, key: str, value: str) -> None:
        if _BAD & set(str(value)) - {'"', "\n"} or '\\"' in value:
            value = json.dumps(_mark(self, json.dumps(json.loads(value))))
        add_json(self, key_of(self, key), value)

    @functools.wraps(export)
    def export_chrome_trace(self: Any, path: str) -> Any:
        marks = self.__dict__.get("_npu_marks")
        if not marks:
            return export(self, path)
        plain = str(path).removesuffix(".gz")
        result = export(self, plain)
        _restore(plain, marks)
        if plain != str(path):
            import gzip

            with open(plain, "rb") as source, gzip.open(path, "wb") as target:
                shutil.copyfileobj(source, target)
            os.unlink(plain)
        return result

    cls.add_metadata, cls.add_metadata_json, cls.export_chrome_trace = add_metadata, add_metadata_json, export_chrome_trace

# SPDX-License-Identifier: BSD-3-Clause
"""Activities that a profiler records, and one recording: a folder, the CANN's session in it, the observer of operators."""

import gc
import json
import os
import shutil
import socket
import time
import uuid
import warnings
from collections.abc import Callable, Iterable
from enum import Enum

import torch

from .. import _C, _variables
from .experimental_config import ExportType, ProfilerLevel, _ExperimentalConfig

__all__ = ["ProfilerActivity", "Recording", "supported_activities"]

ACL_API, TASK_TIME, MSPROFTX, TASK_TIME_L0, TASK_MEMORY, HCCL = 0x1, 0x2, 0x80, 0x800, 0x1000, 0x20
_TYPES = {
    ProfilerLevel.Level0: TASK_TIME_L0 | HCCL,
    ProfilerLevel.Level1: TASK_TIME | ACL_API | HCCL,
    ProfilerLevel.Level2: TASK_TIME | ACL_API | HCCL,
    ProfilerLevel.Level_none: 0,
}
COLLECT = 6  # enum anynpu_host_scope


class ProfilerActivity(Enum):
    """CPU: operators of PyTorch. NPU: tasks of the device."""

    CPU = 0
    NPU = 1

    def __str__(self) -> str:
        return f"ProfilerActivity.{self.name}"


def supported_activities() -> set[ProfilerActivity]:
    """What this CANN can record."""
    return set(ProfilerActivity) if _C._npu_trace_available() else {ProfilerActivity.NPU}


def activities_of(given: Iterable[object] | None) -> set[ProfilerActivity]:
    """The activities of a list that may hold torch.profiler's too; the supported ones for None or something unknown."""
    if given is None:
        return supported_activities()
    known = {str(a): a for a in ProfilerActivity}
    known |= {"ProfilerActivity.PrivateUse1": ProfilerActivity.NPU}
    found = set()
    for activity in given:
        name = str(activity)
        if name not in known:
            warnings.warn(f"Invalid activities ({name}), only CPU and NPU are supported, reset it to default.", stacklevel=4)
            return supported_activities()
        found.add(known[name])
    return found or supported_activities()


def rank() -> int | None:
    """The process's rank; None where there is one process."""
    text = _variables.raw("RANK") or ""
    if text.isdigit():
        return int(text)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    return None


class Recording:
    """One time from start to stop: its own folder `<worker>_<pid>_<time>_ascend_pt` with what was recorded."""

    def __init__(
        self,
        activities: set[ProfilerActivity],
        config: _ExperimentalConfig,
        parent: str,
        worker: str | None,
        options: dict[str, bool],
        schedule: Callable[..., object] | None,
    ) -> None:
        self.activities, self.config, self.options, self.schedule = activities, config, options, schedule
        stamp = time.strftime("%Y%m%d%H%M%S") + f"{time.time_ns() // 1000000 % 1000:03d}"
        self.path = os.path.join(parent, f"{worker or socket.gethostname()}_{os.getpid()}_{stamp}_ascend_pt")
        self.began = time.time_ns(), time.monotonic_ns()
        self._collecting = 0

    def start(self) -> None:
        """Begins to record.

        Raises:
            RuntimeError: something records already, or the folder cannot be written.
        """
        os.makedirs(self.path, mode=0o750, exist_ok=True)
        types = _TYPES[self.config._profiler_level] if ProfilerActivity.NPU in self.activities else 0
        if self.config.tx_enabled or not types:
            types |= MSPROFTX
        if self.options["profile_memory"]:
            types |= TASK_MEMORY
        device = torch.npu.current_device() if ProfilerActivity.NPU in self.activities else -1
        _C._npu_prof_start(self.path, device, types)
        if ProfilerActivity.CPU in self.activities:
            try:
                _C._npu_observe_start(
                    self.options["record_shapes"], self.options["with_stack"], self.options["with_flops"],
                    self.options["profile_memory"],
                )  # fmt: skip
            except RuntimeError:
                _C._npu_prof_stop()
                raise
            if self.config.with_gc:
                gc.callbacks.append(self._collected)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        now = _C._npu_trace_now()
        if phase == "start":
            self._collecting = now
        elif self._collecting and now - self._collecting >= (self.config.gc_detect_threshold or 0) * 1e6:
            _C._npu_trace_range(f"GC generation {info['generation']}", self._collecting, now, COLLECT)

    def stop(self) -> None:
        """Ends it: everything that was launched has then run and is in the folder."""
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
        if ProfilerActivity.CPU in self.activities:
            _C._npu_observe_stop()
        try:
            if ProfilerActivity.NPU in self.activities and torch.npu.is_initialized():
                torch.npu.synchronize()
        finally:
            _C._npu_prof_stop()

    def describe(self, metadata: dict[str, object], trace_id: str | None) -> None:
        """Writes profiler_info[_rank].json and profiler_metadata.json."""
        from ..version import __version__

        own = rank()
        info: dict[str, object] = {
            "config": {
                "common_config": {"activities": sorted(map(str, self.activities)),
                                  "schedule": getattr(self.schedule, "__dict__", None) or None, **self.options},
                "experimental_config": dict(vars(self.config)),
            },
            "start_info": {"syscntEnable": False, "sysCntFreq": 0, "startCnt": 0, "startMonotonic": self.began[1]},
            "end_info": {"FWKCollectionTimeEnd": time.time_ns(), "FWKCollectionMonotonicEnd": time.monotonic_ns()},
            "torch_npu_version": __version__,
            "cann_version": _C._cann_version(),
        }  # fmt: skip
        if own is not None:
            info["rank_id"] = own
        name = "profiler_info.json" if own is None else f"profiler_info_{own}.json"
        with open(os.path.join(self.path, name), "w") as file:
            json.dump(info, file, indent=4, default=str)
        environment = {k: v for k, v in sorted(os.environ.items()) if k.startswith(("ASCEND_", "HCCL_", "ANYNPU_", "TORCH_NPU_"))}
        facts = {"ENV_VARIABLES": environment, **metadata, "trace_id": trace_id or f"{uuid.uuid4().int:032X}"}
        with open(os.path.join(self.path, "profiler_metadata.json"), "w") as file:
            json.dump(facts, file, indent=4, default=str)

    def discard(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    @property
    def exports_text(self) -> bool:
        return ExportType.Text in self.config.export_type

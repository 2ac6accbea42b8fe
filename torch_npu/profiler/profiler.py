# SPDX-License-Identifier: BSD-3-Clause
"""torch_npu.profiler: operators of PyTorch and tasks of the NPU on one clock, exported into the official files.

    with torch_npu.profiler.profile(on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./result")) as prof:
        for batch in loader:
            train(batch)
            prof.step()
    print(prof.key_averages().table(sort_by="self_npu_time_total"))

Recording is the CANN's (aclprof…): into mapped files, in bounded memory; a killed program leaves a readable trace (`analyse`).
"""

import json
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.autograd.profiler_util import EventList

from .. import _variables
from . import profiler_interface as interface
from .experimental_config import _ExperimentalConfig
from .profiler_interface import Recording, supported_activities
from .scheduler import ProfilerAction, always

__all__ = ["analyse", "profile", "supported_activities", "tensorboard_trace_handler"]

_LIMIT = 50 * 1024  # bytes of metadata


def analyse(profiler_path: str, max_process_number: int | None = None, export_type: str | list[str] | None = None) -> None:
    """Exports what was recorded at or below `profiler_path` (with analyse_flag=False, or by a program that was killed).

    Args:
        profiler_path: a folder `…_ascend_pt`, or one that holds such.
        max_process_number: how many processes work at once; the default is the number of cores.
        export_type: ExportType.Text, ExportType.Db or both instead of what was set for recording.

    Raises:
        FileNotFoundError: there is no such folder, or nothing of ours in it.
    """
    from anynpu.trace import export

    if not os.path.isdir(profiler_path):
        raise FileNotFoundError(f"{profiler_path} is no folder")
    kinds = [export_type] if isinstance(export_type, str) else export_type
    found = export.folders(profiler_path)
    if not found:
        raise FileNotFoundError(f"no folder of the profiler (…_ascend_pt with PROF_…) at or below {profiler_path}")
    if len(found) > 1 and (max_process_number or os.cpu_count() or 1) > 1:
        import concurrent.futures
        import multiprocessing

        with concurrent.futures.ProcessPoolExecutor(
            min(len(found), max_process_number or os.cpu_count() or 1), mp_context=multiprocessing.get_context("spawn")
        ) as pool:
            list(pool.map(export.analyse, found, [kinds] * len(found)))
        return
    for folder in found:
        export.analyse(folder, kinds)


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> Callable[["profile"], None]:
    """For on_trace_ready: exports each recording to `dir_name/<worker>_<pid>_<time>_ascend_pt/ASCEND_PROFILER_OUTPUT`.

    Args:
        dir_name: default $ASCEND_WORK_PATH/profiling_data, else the current folder.
        worker_name: default the host's name.
        analyse_flag: False: record only; `analyse` exports later.
        async_mode: export beside the program, in a thread; joined at its end.
    """
    from anynpu.trace import export

    def handler(prof: "profile") -> None:
        path = prof._recorded
        if not analyse_flag or path is None:
            return
        if not async_mode:
            export.analyse(path)
            return
        thread = threading.Thread(target=export.analyse, args=(path,), name="npu-profiler")
        thread.start()
        prof._exports.append(thread)

    handler.folder, handler.worker = dir_name, worker_name  # type: ignore[attr-defined]
    return handler


class _KinetoProfile:
    """Start, stop, export: without a schedule."""

    def __init__(
        self,
        *,
        activities: Iterable[object] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        flags = {"record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
                 "with_flops": with_flops, "with_modules": with_modules}  # fmt: skip
        for name, value in flags.items():
            if not isinstance(value, bool):
                warnings.warn(f"Parameter {name} is of boolean type, reset it to False.", stacklevel=3)
                flags[name] = False
        if experimental_config is not None and not isinstance(experimental_config, _ExperimentalConfig):
            warnings.warn(
                "Parameter experimental_config is an instance of _ExperimentalConfig, reset it to default.", stacklevel=3
            )
            experimental_config = None
        self.activities = interface.activities_of(activities)
        self.config = experimental_config or _ExperimentalConfig()
        self.metadata: dict[str, object] = {}
        self.schedule: Callable[[int], ProfilerAction] = always
        self._options = flags
        self._make_trace_id = custom_trace_id_callback
        self._recording: Recording | None = None
        self._recorded: str | None = None  # folder of the last one
        self._scratch: str | None = None
        self._exports: list[threading.Thread] = []
        self._parent, self._worker = self._place(None)

    # ---- recording ----
    def _place(self, handler: object) -> tuple[str | None, str | None]:
        """Where recordings go; None: a scratch folder of this process, for exports by hand."""
        folder, worker = getattr(handler, "folder", None), getattr(handler, "worker", None)
        if folder:
            return os.path.abspath(os.path.expanduser(folder)), worker
        work = _variables.raw("ASCEND_WORK_PATH")
        if work:
            return os.path.join(os.path.abspath(work), "profiling_data"), worker
        return (os.getcwd(), worker) if handler is not None else (None, worker)

    def _begin(self) -> None:
        parent = self._parent
        if parent is None:
            self._scratch = self._scratch or tempfile.mkdtemp(prefix="torch_npu_profiler_")
            parent = self._scratch
        recording = Recording(self.activities, self.config, parent, self._worker, self._options, self.schedule)
        recording.start()
        self._recording = recording

    def _end(self) -> None:
        recording, self._recording = self._recording, None
        if recording is None:
            return
        recording.stop()
        recording.describe(self._group_facts() | self.metadata, self.get_trace_id())
        self._recorded = recording.path

    @staticmethod
    def _group_facts() -> dict[str, object]:
        dist = torch.distributed
        if not (dist.is_available() and dist.is_initialized()):
            return {}
        return {"parallel_group_info": {"default_group": {"group_name": "default_group", "group_rank": dist.get_rank(),
                                                          "global_ranks": list(range(dist.get_world_size()))}}}  # fmt: skip

    def start(self) -> None:
        """Begins to record.

        Raises:
            RuntimeError: another profiler is recording, or the folder cannot be written.
        """
        self._begin()

    def stop(self) -> None:
        """Ends recording; waits for what was launched."""
        self._end()

    def __del__(self) -> None:
        if getattr(self, "_recording", None) is not None:
            try:
                self.stop()
            except Exception as error:  # the interpreter may be going down
                warnings.warn(f"the profiler was not stopped: {error}", stacklevel=2)
        if getattr(self, "_scratch", None):
            shutil.rmtree(self._scratch, ignore_errors=True)  # type: ignore[arg-type]

    # ---- results ----
    def _profile(self) -> Any:
        from anynpu.trace import export

        if self._recorded is None:
            raise RuntimeError("nothing was recorded yet: leave the profiler's block or call stop() first")
        found = export.load_folder(self._recorded)
        if found is None:
            raise RuntimeError(f"no trace in {self._recorded}")
        return found

    def export_chrome_trace(self, output_path: str) -> None:
        """The timeline of the last recording, for chrome://tracing and Perfetto; compressed when the name ends in .gz.

        Raises:
            RuntimeError: nothing was recorded.
        """
        from anynpu.trace import timeline

        profile = self._profile()
        if not output_path.endswith(".gz"):
            timeline.write(profile, output_path, metadata=self.metadata)
            return
        import gzip

        with tempfile.NamedTemporaryFile(suffix=".json") as plain:
            timeline.write(profile, plain.name, metadata=self.metadata)
            with open(plain.name, "rb") as source, gzip.open(output_path, "wb") as target:
                shutil.copyfileobj(source, target)

    def export_stacks(self, output_path: str, metric: str = "self_cpu_time_total") -> None:
        """Stacks with their time (metric: self_cpu_time_total or self_npu_time_total), for flame graphs; needs with_stack."""
        from ._events import stacks

        if not self._options["with_stack"]:
            warnings.warn("Function export_stacks() requires with_stack=True.", stacklevel=2)
            return
        if metric not in ("self_cpu_time_total", "self_npu_time_total"):
            warnings.warn(f"metric {metric!r}: taken as self_cpu_time_total", stacklevel=2)
        stacks(self._profile(), output_path, metric)

    def export_memory_timeline(self, output_path: str, device: str | None = None) -> None:
        """Allocated, reserved and active bytes over time as JSON: [[µs of the day], [allocated], [reserved], [active]]."""
        if not self._options["profile_memory"]:
            warnings.warn("profile_memory=True required for memory profiling.", stacklevel=2)
            return
        profile = self._profile()
        index = torch.device(device or "npu:0").index or 0
        memory = profile.trace.memory
        rows = memory[(memory["device"] == index) & (memory["memory_kind"] == 0)]
        columns = [[float(profile.us(t)) for t in rows["time"]], *(rows[c].tolist() for c in ("allocated", "reserved", "active"))]
        with open(output_path, "w") as file:
            json.dump(columns, file)

    def events(self) -> EventList:
        """The last recording as PyTorch's list of events."""
        from ._events import event_list

        return event_list(self._profile(), self._options["with_flops"], self._options["profile_memory"])

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Operators and kernels by name: `print(prof.key_averages().table(sort_by="self_npu_time_total"))`."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    # ---- metadata ----
    def add_metadata(self, key: str, value: str) -> None:
        """A text to keep with the trace. Any characters."""
        if not isinstance(key, str) or not isinstance(value, str):
            warnings.warn("The key and value of metadata must be string. Skip this metadata.", stacklevel=2)
            return
        self._keep(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """JSON to keep with the trace."""
        try:
            self._keep(key, json.loads(value))
        except (TypeError, ValueError):
            warnings.warn("The metadata value must be json format string. Skip this metadata", stacklevel=2)

    def _keep(self, key: str, value: object) -> None:
        if len(json.dumps({**self.metadata, key: value})) > _LIMIT:
            warnings.warn("Too many metadata added. Skip this metadata", stacklevel=3)
        else:
            self.metadata[key] = value

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """The function that names the next recordings."""
        self._make_trace_id = callback

    def get_trace_id(self) -> str | None:
        """What names the recording; None without a callback (then a number is made up)."""
        return self._make_trace_id() if self._make_trace_id else None

    def enable_profiler_in_child_thread(self) -> None:
        """Threads that the program starts are recorded without it; checks that something records.

        Raises:
            RuntimeError: nothing is being recorded.
        """
        if self._recording is None:
            raise RuntimeError("enable_profiler_in_child_thread: this profiler is not recording")

    def disable_profiler_in_child_thread(self) -> None:
        """The counterpart of enable_profiler_in_child_thread; what the thread did stays recorded."""


class profile(_KinetoProfile):
    """Records by a schedule; see the module for an example.

    Args:
        activities: of ProfilerActivity (torch.profiler's are understood too); default both.
        schedule: step number → ProfilerAction; default: every step, from start to stop.
        on_trace_ready: called with the profiler after each recording: tensorboard_trace_handler(…), or a function of one's own.
        record_shapes, profile_memory, with_stack, with_flops, with_modules: what to record of each operator. with_modules is
            taken for compatibility: module names are TorchScript's.
        experimental_config: levels, export types, …
        execution_trace_observer: started and stopped with the profiler.
        custom_trace_id_callback: names each recording.
    """

    def __init__(
        self,
        *,
        activities: Iterable[object] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        execution_trace_observer: Any = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        use_cuda: bool | None = None,
    ) -> None:
        super().__init__(
            activities=activities, record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack,
            with_flops=with_flops, with_modules=with_modules, experimental_config=experimental_config,
            custom_trace_id_callback=custom_trace_id_callback,
        )  # fmt: skip
        if use_cuda is not None:
            warnings.warn("This is npu environment, use_cuda is invalid", stacklevel=2)
        if schedule is not None and not callable(schedule):
            warnings.warn("schedule is not Callable, set by default.", stacklevel=2)
            schedule = None
        if on_trace_ready is not None and not callable(on_trace_ready):
            warnings.warn("on_trace_ready is not Callable, set by default.", stacklevel=2)
            on_trace_ready = None
        self.record_steps = schedule is not None
        self.schedule = schedule or always
        self.on_trace_ready = on_trace_ready
        self._parent, self._worker = self._place(on_trace_ready)
        self.execution_trace_observer = execution_trace_observer
        self.step_num = 0
        self._offset = 0  # of the step's name, for dynamic_profile
        self.current_action = ProfilerAction.NONE
        self._step: Any = None
        self.stopped = True

    def __enter__(self) -> "profile":
        self.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self.stop()

    def start(self) -> None:
        self.stopped = False
        self._go_to(self.schedule(self.step_num))
        self._open_step()
        if self.execution_trace_observer:
            self.execution_trace_observer.start()

    def stop(self) -> None:
        if self.stopped:
            return
        self.stopped = True
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()
        self._close_step()
        recorded = self._recording is not None
        self._end()
        self.current_action = ProfilerAction.NONE
        if recorded:
            self._ready()
        for thread in self._exports:
            thread.join()
        self._exports.clear()

    def step(self) -> None:
        """Tells that the program's next step begins."""
        if self.stopped:
            warnings.warn("Profiler is stopped, step takes no effect!", stacklevel=2)
            return
        self._close_step()
        self.step_num += 1
        self._go_to(self.schedule(self.step_num))
        self._open_step()

    def _open_step(self) -> None:
        if self._recording is not None and (self.record_steps or self.step_num):
            self._step = torch.autograd.profiler.record_function(f"ProfilerStep#{self.step_num + self._offset}")
            self._step.__enter__()

    def _close_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _go_to(self, action: ProfilerAction) -> None:
        """From the last step's action to this one's."""
        records = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if self._recording is not None and (not records or self.current_action is ProfilerAction.RECORD_AND_SAVE):
            self._end()
            self._ready()
        if records and self._recording is None:
            self._begin()
        self.current_action = action

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

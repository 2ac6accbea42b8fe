# SPDX-License-Identifier: BSD-3-Clause
"""The folder that torch_npu.profiler writes (`…_ascend_pt`): from its trace to ASCEND_PROFILER_OUTPUT."""

import glob
import json
import os
import sqlite3

from . import tables, timeline
from .profile import Profile
from .read import Trace, find

OUTPUT = "ASCEND_PROFILER_OUTPUT"


def folders(path: str) -> list[str]:
    """The profiler's folders at or below `path`."""
    if glob.glob(os.path.join(path, "PROF_*")):
        return [path]
    return sorted(
        os.path.join(path, name)
        for name in os.listdir(path)
        if name.endswith("_ascend_pt") and os.path.isdir(os.path.join(path, name))
    )


def config_of(folder: str) -> dict[str, object]:
    """The experimental_config that profiler_info.json has kept."""
    for path in glob.glob(os.path.join(folder, "profiler_info*.json")):
        with open(path) as file:
            return json.load(file).get("config", {}).get("experimental_config", {}) or {}
    return {}


def load_folder(folder: str) -> Profile | None:
    """The profile of one folder; None when there is no trace in it."""
    found = find(folder)
    if not found:
        return None
    level = {"Level_none": 0, "Level0": 0}.get(str(config_of(folder).get("_profiler_level", "Level1")), 1)
    return Profile(Trace(found[-1]), level)


def text(p: Profile, out: str) -> None:
    """The CSV and JSON files."""
    os.makedirs(out, mode=0o750, exist_ok=True)

    def name(file: str) -> str:
        return os.path.join(out, file)

    timeline.write(p, name("trace_view.json"))
    tables.kernel_details(p, name("kernel_details.csv"))
    tables.op_statistic(p, name("op_statistic.csv"))
    tables.step_trace_time(p, name("step_trace_time.csv"))
    tables.operator_details(p, name("operator_details.csv"))
    tables.api_statistic(p, name("api_statistic.csv"))
    tables.memory(p, out)
    tables.communication(p, name("communication.json"))


def database(p: Profile, path: str) -> None:
    """The same as an SQLite file: TASK, PYTORCH_API, CANN_API and their STRING_IDS, times in nanoseconds of the day."""
    if os.path.exists(path):
        os.unlink(path)
    shift = p.trace.offset
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT)")
        base.execute("CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER,"
                     " globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER,"
                     " taskId INTEGER, name INTEGER)")  # fmt: skip
        base.execute("CREATE TABLE PYTORCH_API (startNs INTEGER, endNs INTEGER, globalTid INTEGER, connectionId INTEGER,"
                     " name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER,"
                     " callchainId INTEGER)")  # fmt: skip
        base.execute("CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,"
                     " connectionId INTEGER, name INTEGER)")  # fmt: skip
        number: dict[int, int] = {}

        def string(of: int) -> int:
            return number.setdefault(int(of), len(number))

        base.executemany("INSERT INTO TASK VALUES (?,?,?,?,?,?,?,?,?,?,?)", (
            (int(t["begin"]) + shift, int(t["end"]) + shift, int(t["device"]), int(t["correlation"]), i, p.trace.pid,
             int(t["class"]), 4294967295, int(t["stream"]), int(t["task"]), string(t["name"]))
            for i, t in enumerate(p.tasks)))  # fmt: skip
        base.executemany("INSERT INTO PYTORCH_API VALUES (?,?,?,?,?,?,?,?,?,?)", (
            (int(h["begin"]) + shift, int(h["end"]) + shift, p.trace.pid << 32 | int(h["thread"]), int(h["correlation"]),
             string(h["name"]), int(h["sequence"]), int(h["forward_thread"]), string(h["dtypes"]), string(h["shapes"]),
             string(h["stack"])) for h in p.host))  # fmt: skip
        base.executemany("INSERT INTO CANN_API VALUES (?,?,?,?,?,?)", (
            (int(a["begin"]) + shift, int(a["end"]) + shift, int(a["level"]), p.trace.pid << 32 | int(a["thread"]), 0,
             string(a["name"])) for a in p.trace.api))  # fmt: skip
        base.executemany("INSERT INTO STRING_IDS VALUES (?,?)", ((n, p.trace.text(i)) for i, n in number.items()))


def analyse(folder: str, export_type: list[str] | None = None) -> str | None:
    """Exports one folder; the path of its output, None when it holds no trace."""
    p = load_folder(folder)
    if p is None:
        return None
    kinds = export_type or config_of(folder).get("_export_type") or ["text"]
    out = os.path.join(folder, OUTPUT)
    os.makedirs(out, mode=0o750, exist_ok=True)
    if "text" in kinds:
        text(p, out)
    if "db" in kinds:
        database(p, os.path.join(out, f"ascend_pytorch_profiler{'' if p.trace.rank is None else f'_{p.trace.rank}'}.db"))
    return out

# SPDX-License-Identifier: BSD-3-Clause
"""torch_npu.profiler and torch.profiler on the NPU: what is recorded, exported and printed."""

import csv
import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import pytest
import torch
import torch_npu
from anynpu.trace import NotATrace, Trace, export, find, load, report, summarize, timeline
from anynpu.trace import read as trace_read
from torch_npu.profiler import ExportType, ProfilerAction, ProfilerActivity, ProfilerLevel, _ExperimentalConfig, profile, schedule

BOTH = [ProfilerActivity.CPU, ProfilerActivity.NPU]


def net() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).npu()


def train(model: torch.nn.Module, x: torch.Tensor) -> None:
    model(x).square().mean().backward()


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with open(folder / name, newline="") as file:
        return list(csv.DictReader(file))


def ns(text: str) -> int:
    """Microseconds of the day, written with three decimals, as nanoseconds: a float would lose them."""
    whole, _, part = text.strip().partition(".")
    return int(whole) * 1000 + int(part)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, profile]:
    """Three steps of training, two of them recorded with everything on."""
    place = tmp_path_factory.mktemp("profiler")
    model, x = net(), torch.randn(16, 32).npu()
    config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1, export_type=[ExportType.Text, ExportType.Db])
    with profile(
        activities=BOTH, schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(str(place), "me"), record_shapes=True, profile_memory=True,
        with_stack=True, with_flops=True, experimental_config=config,
    ) as prof:  # fmt: skip
        prof.add_metadata("note", 'a "quote",\na newline, a \\ and \x01')
        prof.add_metadata_json("more", '{"list": [1, 2]}')
        for _ in range(4):
            train(model, x)
            x.cpu()
            torch.linalg.eigvalsh(x[:, :16] + x[:, :16].T)
            prof.step()
    (folder,) = place.glob("me_*_ascend_pt")
    return folder, prof


def test_folder(recorded: tuple[Path, profile]) -> None:
    folder, _ = recorded
    out = folder / "ASCEND_PROFILER_OUTPUT"
    names = {path.name for path in out.iterdir()}
    assert {"trace_view.json", "kernel_details.csv", "operator_details.csv", "step_trace_time.csv", "op_statistic.csv",
            "operator_memory.csv", "memory_record.csv", "api_statistic.csv", "ascend_pytorch_profiler.db"} <= names  # fmt: skip
    info = json.loads((folder / "profiler_info.json").read_text())
    assert info["config"]["experimental_config"]["_profiler_level"] == "Level1"
    assert info["config"]["common_config"]["record_shapes"] is True
    metadata = json.loads((folder / "profiler_metadata.json").read_text())
    assert metadata["note"] == 'a "quote",\na newline, a \\ and \x01'
    assert metadata["more"] == {"list": [1, 2]}


def test_kernels(recorded: tuple[Path, profile]) -> None:
    kernels = rows(recorded[0] / "ASCEND_PROFILER_OUTPUT", "kernel_details.csv")
    addmm = [k for k in kernels if k["Type"] == "Addmm"]
    assert len(addmm) == 4  # two layers, two steps
    assert {k["Step Id"] for k in kernels} == {"1", "2"}
    first = addmm[0]
    assert first["Input Shapes"] == '"32;16,32;32,32"' and first["Output Shapes"] == '"16,32"'
    assert first["Input Data Types"] == "FLOAT;FLOAT;FLOAT" and first["Accelerator Core"] == "AI_CORE"
    assert float(first["Duration(us)"]) > 0 and first["Device_id"] == "0"
    assert abs(ns(first["Start Time(us)"]) - time.time_ns()) < 600e9
    starts = [ns(k["Start Time(us)"]) for k in kernels]
    assert starts == sorted(starts)


def test_statistics_add_up(recorded: tuple[Path, profile]) -> None:
    out = recorded[0] / "ASCEND_PROFILER_OUTPUT"
    kernels = rows(out, "kernel_details.csv")
    table = {r["OP Type"]: r for r in rows(out, "op_statistic.csv")}
    for kind in ("Addmm", "Relu"):
        mine = [float(k["Duration(us)"]) for k in kernels if k["Type"] == kind]
        assert int(table[kind]["Count"]) == len(mine)
        assert float(table[kind]["Total Time(us)"]) == pytest.approx(sum(mine), abs=0.01)
        assert float(table[kind]["Max Time(us)"]) == pytest.approx(max(mine), abs=0.01)
    assert sum(float(r["Ratio(%)"]) for r in table.values()) == pytest.approx(100, abs=0.1)
    calls = {r["API Name"]: r for r in rows(out, "api_statistic.csv")}
    assert int(calls["aclnnAddmm"]["Count"]) == 4


def test_steps_add_up(recorded: tuple[Path, profile]) -> None:
    steps = rows(recorded[0] / "ASCEND_PROFILER_OUTPUT", "step_trace_time.csv")
    assert [s["Step"] for s in steps] == ["1", "2"]
    for s in steps:
        parts = [float(s[c]) for c in ("Computing", "Communication(Not Overlapped)", "Free")]
        assert sum(parts) == pytest.approx(float(s["Stage"]), abs=0.01) and parts[0] > 0 and parts[2] >= 0


def test_operators(recorded: tuple[Path, profile]) -> None:
    operators = rows(recorded[0] / "ASCEND_PROFILER_OUTPUT", "operator_details.csv")
    addmm = [o for o in operators if o["Name"] == "aten::addmm"]
    assert len(addmm) == 4 and addmm[0]["Input Shapes"].startswith("32;16,32;32,32")
    assert "test_profiler.py" in addmm[0]["Call Stack"] and "train" in addmm[0]["Call Stack"]
    for o in addmm:
        assert float(o["Device Self Duration With AICore(us)"]) > 0
        assert float(o["Host Total Duration(us)"]) >= float(o["Host Self Duration(us)"]) > 0
    linear = [o for o in operators if o["Name"] == "aten::linear"]
    assert all(float(o["Device Total Duration(us)"]) > float(o["Device Self Duration(us)"]) == 0 for o in linear)


def test_memory(recorded: tuple[Path, profile]) -> None:
    out = recorded[0] / "ASCEND_PROFILER_OUTPUT"
    made = rows(out, "operator_memory.csv")
    relu = [m for m in made if m["Name"] == "aten::relu"]
    assert len(relu) == 2 and float(relu[0]["Size(KB)"]) == 2 and relu[0]["Device Type"] == "NPU:0"
    assert float(relu[0]["Duration(us)"]) > 0 and ns(relu[0]["Release Time(us)"]) > ns(relu[0]["Allocation Time(us)"])
    assert all(float(r["Total Reserved(MB)"]) >= float(r["Total Allocated(MB)"]) for r in rows(out, "memory_record.csv"))


def test_timeline(recorded: tuple[Path, profile]) -> None:
    events = json.loads((recorded[0] / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    slices = [e for e in events if e["ph"] == "X"]
    layer = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert set(layer.values()) == {"Python", "CANN", "Ascend Hardware", "Overlap Analysis"}
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in slices} <= named
    kernels = [e for e in slices if e["name"] == "aclnnAddmm"]
    begin = {(e["id"]): e for e in events if e["name"] == "async_npu" and e["ph"] == "s"}
    ends = {(e["pid"], e["tid"], e["ts"]): e["id"] for e in events if e["name"] == "async_npu" and e["ph"] == "f"}
    for k in kernels:  # the arrow comes from the operator that encloses the launch, on the same clock
        source = begin[ends[k["pid"], k["tid"], k["ts"]]]
        (op,) = [
            e
            for e in slices
            if (e["pid"], e["tid"], e["ts"]) == (source["pid"], source["tid"], source["ts"]) and e["name"] == "aten::addmm"
        ]
        assert ns(op["ts"]) <= ns(k["ts"])
    assert any(e["name"] == "HostToDevice" for e in events) and any(e["name"] == "fwdbwd" for e in events)
    assert [e for e in slices if e["name"].startswith("MemcpyDtoH") and e["args"]["size(B)"] == 2048]
    assert [e for e in slices if e["name"].startswith("aten::") and e["name"].endswith("(on the CPU)")]
    assert {e["name"] for e in slices if e["name"].startswith("ProfilerStep#")} == {"ProfilerStep#1", "ProfilerStep#2"}


def test_database(recorded: tuple[Path, profile]) -> None:
    with sqlite3.connect(recorded[0] / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler.db") as base:
        (count,) = base.execute(
            "SELECT count(*) FROM TASK t JOIN STRING_IDS s ON s.id = t.name WHERE s.value = 'aclnnAddmm'"
        ).fetchone()
        (calls,) = base.execute(
            "SELECT count(*) FROM PYTORCH_API p JOIN STRING_IDS s ON s.id = p.name WHERE s.value = 'aten::addmm'"
        ).fetchone()
    assert count == calls == 4


def test_answers(recorded: tuple[Path, profile], tmp_path: Path) -> None:
    _, prof = recorded
    table = prof.key_averages().table(sort_by="self_npu_time_total")
    assert "aten::addmm" in table and "Self NPU" in table
    averages = {a.key: a for a in prof.key_averages()}
    assert averages["aten::addmm"].count == 4 and averages["aten::addmm"].self_npu_time_total > 0
    assert averages["aten::addmm"].flops == 2 * (2 * 16 * 32 * 32 + 2 * 16 * 32 * 4)
    for metric in ("self_cpu_time_total", "self_npu_time_total"):
        prof.export_stacks(str(tmp_path / "stacks"), metric)
    for line in (tmp_path / "stacks").read_text().splitlines():
        stack, _, value = line.rpartition(" ")
        assert int(value) > 0 and " " not in stack
    prof.export_chrome_trace(str(tmp_path / "t.json.gz"))
    whole = json.loads(gzip.open(tmp_path / "t.json.gz").read())
    assert whole["note"] == 'a "quote",\na newline, a \\ and \x01' and len(whole["traceEvents"]) > 50
    prof.export_memory_timeline(str(tmp_path / "memory.json"))
    assert len(json.loads((tmp_path / "memory.json").read_text())[1]) > 4


def test_terminal_and_page(recorded: tuple[Path, profile], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main(str(recorded[0]), str(tmp_path / "page.html"), False) == 0
    text = capsys.readouterr().out
    assert "Addmm" in text and "computing" in text and "aten::_linalg_eigh" in text and "MemcpyDtoH" in text
    page = (tmp_path / "page.html").read_text()
    assert "Addmm" in page and "http" not in page.split("<script>")[0] and "src=" not in page
    assert report.main(str(tmp_path), None, False) == 1  # nothing there
    assert report.main(str(tmp_path / "none"), None, False) == 2


def test_schedule() -> None:
    n, w, r, s = ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert [plan(i) for i in range(11)] == [n, n, w, r, s, n, w, r, s, n, n]
    plan = schedule(wait=2, active=1, skip_first_wait=1)
    assert [plan(i) for i in range(4)] == [s, n, n, s]
    with pytest.raises(ValueError, match="-1"):
        plan(-1)
    with pytest.warns(UserWarning, match="active"):
        assert schedule(wait=0, active=0).active == 1


def test_configuration() -> None:
    with pytest.warns(UserWarning, match="profiler_level"):
        assert _ExperimentalConfig(profiler_level="Level7")._profiler_level == "Level0"
    with pytest.warns(UserWarning, match="no such counters"):
        _ExperimentalConfig(profiler_level="Level1", l2_cache=True)
    with pytest.warns(UserWarning, match="mstx"):
        assert _ExperimentalConfig(profiler_level="Level_none").tx_enabled
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _ExperimentalConfig()
        _ExperimentalConfig(profiler_level="Level2", mstx=True, mstx_domain_include=["a"], gc_detect_threshold=1.5)
    assert torch_npu.profiler.supported_activities() == set(BOTH)
    assert len(torch_npu.profiler.supported_ai_core_metrics()) == 9


def test_cycles_and_nothing_left(tmp_path: Path) -> None:
    seen = []
    x = torch.ones(4).npu()
    with profile(
        activities=BOTH, schedule=schedule(wait=1, warmup=0, active=1, repeat=2), on_trace_ready=lambda p: seen.append(p.step_num)
    ) as prof:
        for _ in range(6):
            x + 1
            prof.step()
        assert seen == [2, 4]
    assert seen == [2, 4]
    scratch = prof._scratch
    assert scratch is None or os.path.isdir(scratch)
    del prof


def test_one_at_a_time() -> None:
    first, second = profile(activities=BOTH), profile(activities=BOTH)
    first.start()
    with pytest.raises(RuntimeError, match="already"):
        second.start()
    first.stop()
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        second.key_averages()
    first.start()  # can be used again
    torch.ones(3).npu() + 1
    first.stop()
    assert any(e.key == "aclnnAdd" or e.key == "aclnnAdds" for e in first.key_averages())


def test_other_threads_and_gc() -> None:
    import gc
    import threading

    config = _ExperimentalConfig(gc_detect_threshold=0.0)
    x = torch.ones(8).npu()
    with profile(activities=BOTH, experimental_config=config) as prof:
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
        gc.collect()
    p = load(prof._recorded)
    exp = [h for h in p.host if p.trace.text(h["name"]) == "aten::exp"]
    assert exp and exp[0]["thread"] != os.getpid()
    assert any(h["scope"] == trace_read.COLLECT for h in p.host)


# ---- torch.profiler ----
def test_torch_profiler(tmp_path: Path) -> None:
    model, x = net(), torch.randn(16, 32).npu()
    train(model, x)
    activity = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[activity.CPU, activity.PrivateUse1], record_shapes=True, profile_memory=True) as prof:
        prof.add_metadata("note", 'a "quote",\na newline and a \\')
        prof.add_metadata_json("json", '{"a": "b \\"c\\""}')
        with torch.profiler.record_function("my block"):
            train(model, x)
        x.cpu()
    averages = {a.key: a for a in prof.key_averages()}
    assert averages["aten::addmm"].self_device_time_total > 0
    assert averages["aclnnAddmm"].count == 2
    assert averages["aten::addmm"].self_npu_time_total == averages["aclnnAddmm"].self_npu_time_total
    assert averages["aten::relu"].device_memory_usage >= 2048
    assert "Self NPU" in prof.key_averages().table(sort_by="self_npu_time_total")
    path = tmp_path / "t.json"
    prof.export_chrome_trace(str(path))
    whole = json.loads(path.read_text())
    assert whole["note"] == 'a "quote",\na newline and a \\' and whole["json"] == {"a": 'b "c"'}
    events = whole["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel" and e["name"] == "aclnnAddmm"]
    assert len(kernels) == 2 and kernels[0]["args"]["input dims"] == [[32], [16, 32], [32, 32]]
    assert any(e.get("cat") == "gpu_memcpy" and e["args"]["bytes"] == 2048 for e in events)
    ops = [e for e in events if e.get("cat") == "cpu_op" and e["name"] == "aten::addmm"]
    assert ops[0]["ts"] <= kernels[0]["ts"] <= kernels[0]["ts"] + kernels[0]["dur"] <= ops[0]["ts"] + ops[0]["dur"] + 1e6
    assert any(e.get("cat") == "ac2g" and e["ph"] == "f" for e in events)


def test_torch_profiler_defaults() -> None:
    assert torch.profiler.ProfilerActivity.PrivateUse1 in torch.profiler.supported_activities()
    with torch.profiler.profile() as prof:
        torch.ones(4).npu().exp()
    assert any(e.device_type == torch.profiler.DeviceType.PrivateUse1 for e in prof.events())
    with torch.autograd.profiler.profile(use_device="npu", use_kineto=True) as old:
        torch.ones(4).npu().exp()
    assert "aclnnExp" in old.table()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as host:
        torch.ones(4).npu().exp()
    assert not any(e.device_type == torch.profiler.DeviceType.PrivateUse1 for e in host.events())


# ---- files ----
KILLED = """
    import os, torch, torch_npu
    prof = torch_npu.profiler.profile(on_trace_ready=torch_npu.profiler.tensorboard_trace_handler({place!r}))
    prof.start()
    x = torch.ones(8).npu()
    for _ in range(50):
        x = x.exp().log()
    print("ready", flush=True)
    while True:
        x = x.exp().log()
"""


def test_a_killed_program_leaves_a_trace(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED.format(place=str(tmp_path)))], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout and child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGKILL)
    torch_npu.profiler.profiler.analyse(str(tmp_path))
    (folder,) = tmp_path.glob("*_ascend_pt")
    kernels = rows(folder / "ASCEND_PROFILER_OUTPUT", "kernel_details.csv")
    assert len(kernels) >= 100
    p = load(str(tmp_path))
    assert not p.trace.complete and "ended before" in report.summary(summarize(str(tmp_path)))
    with pytest.raises(FileNotFoundError):
        torch_npu.profiler.profiler.analyse(str(tmp_path / "none"))


def test_damaged_traces(recorded: tuple[Path, profile], tmp_path: Path) -> None:
    """Cut off or overwritten anywhere, a trace gives what is whole in it or says that it is none; nothing else."""
    import random

    data = Path(find(str(recorded[0]))[0]).read_bytes()
    dice = random.Random(1)
    path = tmp_path / "x.trace"
    for _ in range(60):
        damaged = bytearray(data[: dice.choice([len(data), dice.randrange(len(data))])])
        for _ in range(dice.randrange(20)):
            if damaged:
                damaged[dice.randrange(len(damaged)) if dice.random() < 0.5 else dice.randrange(min(200000, len(damaged)))] = (
                    dice.randrange(256)
                )
        path.write_bytes(damaged)
        try:
            p = load(str(path))
        except NotATrace:
            continue
        report.summary(summarize(str(tmp_path)))
        export.text(p, str(tmp_path / "out"))
    json.loads((tmp_path / "out" / "trace_view.json").read_text())


def test_streams_overlap(tmp_path: Path) -> None:
    """A copy on its own stream lies beside a product: their times overlap, on two tracks."""
    a = torch.randn(900, 900).npu()
    host = torch.empty(8 << 20, dtype=torch.uint8).pin_memory()
    side = torch.npu.Stream()
    with profile(activities=BOTH) as prof:
        for _ in range(3):
            a @ a
            with torch.npu.stream(side):
                host.npu(non_blocking=True)
        torch.npu.synchronize()
    p = load(prof._recorded)
    streams = {int(t["stream"]) for t in p.tasks}
    assert len(streams - {trace_read.NO_STREAM}) >= 2
    copies = p.tasks[p.tasks["class"] == trace_read.COPY]
    assert (copies["bytes"] == 8 << 20).sum() >= 3
    timeline.write(p, str(tmp_path / "t.json"))


def test_dynamic_profile(tmp_path: Path) -> None:
    program = f"""
        import json, os, torch, torch_npu
        from torch_npu.profiler import dynamic_profile as dp
        place = {str(tmp_path)!r}
        dp.init(place)
        x = torch.ones(4).npu()
        path = os.path.join(place, "profiler_config.json")
        for i in range(8):
            x + 1
            if i == 2:
                config = json.load(open(path))
                config.update(prof_dir=place, analyse=True, active=2, start_step=5)
                json.dump(config, open(path, "w"))
            dp.step()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=60)
    (folder,) = tmp_path.glob("*_ascend_pt")
    assert len(rows(folder / "ASCEND_PROFILER_OUTPUT", "kernel_details.csv")) == 2


def test_header_of_the_reader() -> None:
    """The reader's fields are those of anynpu/trace.h, in size."""
    sizes = {
        trace_read.TASK: 80,
        trace_read.API: 48,
        trace_read.HOST: 104,
        trace_read.MEMORY: 72,
        trace_read.MARK: 48,
        trace_read.REPORT: 16,
    }
    assert trace_read.SIZES == sizes
    with pytest.raises(NotATrace):
        Trace(__file__)

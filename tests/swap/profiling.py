# SPDX-License-Identifier: BSD-3-Clause
"""The official wheel's profiler on our CANN: its own files hold our device's tasks, related to its operators."""

import csv
import json
import pathlib
import tempfile

import torch
import torch_npu


def rows(path: pathlib.Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    place = pathlib.Path(tempfile.mkdtemp())
    prof = torch_npu.profiler
    x = torch.randn(64, 64).npu()
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).npu()
    config = prof._ExperimentalConfig(profiler_level=prof.ProfilerLevel.Level1, aic_metrics=prof.AiCMetrics.AiCoreNone)
    with prof.profile(
        activities=[prof.ProfilerActivity.CPU, prof.ProfilerActivity.NPU],
        schedule=prof.schedule(wait=0, warmup=1, active=2, repeat=1),
        on_trace_ready=prof.tensorboard_trace_handler(str(place)),
        record_shapes=True,
        profile_memory=True,
        experimental_config=config,
    ) as recording:
        for _ in range(4):
            net(x).square().mean().backward()
            torch.npu.synchronize()
            recording.step()
    (out,) = place.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT")
    kernels = rows(out / "kernel_details.csv")
    addmm = [k for k in kernels if k["Type"] == "Addmm"]
    assert len(addmm) == 4 and addmm[0]["Input Shapes"] == '"64;64,64;64,64"', addmm[:1]
    assert {k["Step Id"] for k in kernels} == {"1", "2"}, {k["Step Id"] for k in kernels}
    operators = [o for o in rows(out / "operator_details.csv") if o["Name"] == "aten::addmm"]
    assert len(operators) == 4 and all(float(o["Device Total Duration(us)"]) > 0 for o in operators), operators[:1]
    for step in rows(out / "step_trace_time.csv"):
        assert float(step["Computing"]) > 0
    assert rows(out / "op_statistic.csv") and rows(out / "api_statistic.csv") and rows(out / "memory_record.csv")
    events = json.loads((out / "trace_view.json").read_text())
    assert any(e.get("cat") == "async_npu" for e in events) and any(e["name"] == "aclnnAddmm" for e in events)
    print(f"profiler: {len(kernels)} kernels in {len(list(out.iterdir()))} files")


if __name__ == "__main__":
    main()

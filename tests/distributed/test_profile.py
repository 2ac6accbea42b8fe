# SPDX-License-Identifier: BSD-3-Clause
"""A DDP training that is profiled: each rank's files say what it communicated, when, and how much of it was hidden."""

import csv
import json
from pathlib import Path

import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

LAYERS, WIDTH, STEPS = 4, 64, 3


def train(rank, world, folder):
    import torch_npu
    from torch_npu.profiler import profile, schedule, tensorboard_trace_handler

    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]).npu()
    net = DDP(net, bucket_cap_mb=0.02)  # several buckets a step
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    experimental = torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1)
    handler = tensorboard_trace_handler(folder, worker_name=f"rank{rank}")
    plan = schedule(wait=0, warmup=1, active=STEPS, repeat=1)
    with profile(schedule=plan, on_trace_ready=handler, experimental_config=experimental) as prof:
        for _ in range(STEPS + 1):
            optimizer.zero_grad()
            net(torch.randn(8, WIDTH).npu()).square().mean().backward()
            optimizer.step()
            prof.step()
    (made,) = Path(folder).glob(f"rank{rank}_*_ascend_pt")
    return str(made)


def test_communication_of_ddp(two, tmp_path):
    folders = [Path(folder) for folder in two.run(train, str(tmp_path))]
    size = LAYERS * (WIDTH * WIDTH + WIDTH) * 4 / (1 << 20)  # MB of gradients a step
    for rank, folder in enumerate(folders):
        assert json.loads((folder / f"profiler_info_{rank}.json").read_text())["rank_id"] == rank
        out = folder / "ASCEND_PROFILER_OUTPUT"
        steps = json.loads((out / "communication.json").read_text())
        assert sorted(steps) == [f"step{number}" for number in sorted(int(s.removeprefix("step")) for s in steps)]
        assert len(steps) == STEPS
        elapsed = {}
        for step, kinds in steps.items():
            assert not kinds["p2p"]
            reduces = {name: info for name, info in kinds["collective"].items() if name.startswith("hcom_allReduce__")}
            assert len(reduces) >= 2, kinds["collective"].keys()
            moved = sum(i["Communication Bandwidth Info"]["SDMA"]["Transit Size(MB)"] for i in reduces.values())
            assert abs(moved - size) < 1e-3, (moved, size)
            times = [info["Communication Time Info"] for info in kinds["collective"].values()]
            assert all(t["Elapse Time(ms)"] > 0 and t["Start Timestamp(us)"] > 1e15 for t in times)
            elapsed[step.removeprefix("step")] = sum(t["Elapse Time(ms)"] for t in times)
        with open(out / "step_trace_time.csv") as file:
            table = list(csv.DictReader(file))
        assert {row["Step"] for row in table} == set(elapsed)
        for row in table:
            time = {name: float(row[name]) for name in row if name not in ("Device_id", "Step")}
            assert 0 < time["Communication"] <= elapsed[row["Step"]] * 1000 + 1, (row, elapsed)
            whole = time["Computing"] + time["Communication(Not Overlapped)"] + time["Free"]
            assert abs(whole - time["Stage"]) < 1, row
            assert abs(time["Communication"] - time["Communication(Not Overlapped)"] - time["Overlapped"]) < 1, row
        names = {event["name"] for event in json.loads((out / "trace_view.json").read_text())}
        assert "hcom_allReduce" in names and "HcclAllReduce" in names

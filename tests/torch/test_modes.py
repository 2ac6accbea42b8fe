# SPDX-License-Identifier: BSD-3-Clause
"""The shake modes: a small training run gives the same bits however its tasks are scheduled, and never touches device memory
from the host, nor needs more than the published interface."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import torch, torch_npu, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
layers = [nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)]
net = nn.Sequential(*layers).npu()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
x, y = torch.randn(16, 1, 8, 8).npu(), torch.randint(10, (16,)).npu()
side = torch.npu.Stream()
losses = []
for _ in range(4):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        losses.append(loss.detach().clone())
    loss.record_stream(side)  # its memory is not the next step's before the copy is made
torch.npu.synchronize()
print([value.item().hex() for value in losses])
print(torch_npu.npu.utils.cpu_fallback_count())
"""


def run(**variables: str) -> list[str]:
    env = os.environ | {"OMP_NUM_THREADS": "2"} | variables
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def plain() -> list[str]:
    return run()


@pytest.mark.parametrize(
    "mode",
    [{"ANYNPU_GUARD": "1"}, {"ANYNPU_JITTER": "200"}, {"ANYNPU_BLOCKING": "1"}, {"ANYNPU_INLINE_US": "0"},
     {"ANYNPU_GUARD": "1", "ANYNPU_EXTENSION": "0"}, {"OMP_NUM_THREADS": "1"}, {"ASCEND_LAUNCH_BLOCKING": "1"},
     {"PYTORCH_NO_NPU_MEMORY_CACHING": "1"}],
    ids=lambda mode: "-".join(f"{k}={v}" for k, v in mode.items()),
)
def test_the_same_bits(plain: list[str], mode: dict[str, str]) -> None:
    assert run(**mode) == plain
    assert plain[1] == "{}"


@pytest.mark.parametrize("level", ["base", "v3"])
def test_every_level_of_the_cpu_gives_the_same_bits(plain: list[str], level: str) -> None:
    assert run(ANYNPU_CPU=level) == plain

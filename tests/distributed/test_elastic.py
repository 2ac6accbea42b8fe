# SPDX-License-Identifier: BSD-3-Clause
"""Elastic restart: torchrun starts all ranks anew when one has died, and training goes on to the same end."""

import json
import os
import pathlib
import subprocess
import sys

import elastic
import torch


def alone(world):
    """The weights after all steps in one process, on the CPU."""
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(elastic.STEPS):
        x = torch.randn(world, 4, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        (net(x) - 1).square().mean().backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in net.parameters()])


def test_restart(tmp_path):
    script = pathlib.Path(elastic.__file__)
    command = [sys.executable, "-m", "torch_npu.distributed.run", "--standalone", "--nproc_per_node=2", "--max-restarts=2",
               str(script), str(tmp_path)]  # fmt: skip
    done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["life"] == 1 and result["began"] == elastic.DIES_AT
    torch.testing.assert_close(torch.tensor(result["weights"]), alone(2), rtol=1e-5, atol=1e-6)

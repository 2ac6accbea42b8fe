# SPDX-License-Identifier: BSD-3-Clause
"""torch.nn.DataParallel on the devices of one process, as scripts written for several GPUs use it, and the functions below it."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch
import torch_npu  # noqa: F401
from torch import nn
from torch.nn.parallel import comm

pytestmark = pytest.mark.skipif(torch.npu.device_count() < 2, reason="one device")


def steps(module: nn.Module, device: str) -> tuple[list[float], list[torch.Tensor]]:
    torch.manual_seed(3)
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    losses = []
    for _ in range(3):
        x, y = torch.randn(6, 4), torch.randn(6, 2)
        loss = nn.functional.mse_loss(module(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().cpu() for p in module.parameters()]


def test_training_equals_one_device() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    seen: list[torch.device] = []
    both = nn.DataParallel(copy.deepcopy(model).npu())
    both.module[0].register_forward_hook(lambda m, args, out: seen.append(out.device))
    losses, parameters = steps(both, "npu")
    wanted = steps(model, "cpu")
    torch.testing.assert_close(losses, wanted[0])
    torch.testing.assert_close(parameters, wanted[1])
    assert {d.index for d in seen} == set(range(torch.npu.device_count()))


def test_nothing_is_said_of_nccl() -> None:
    program = "import torch; m = torch.nn.DataParallel(torch.nn.Linear(4, 2).npu()); m(torch.ones(4, 4).npu()).sum().backward()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_functions() -> None:
    x = torch.arange(6.0).reshape(3, 2)
    for source in (x, x.npu()):
        parts = comm.scatter(source, [0, 1], [1, 2])
        assert [p.device.index for p in parts] == [0, 1] and [len(p) for p in parts] == [1, 2]
        assert torch.equal(comm.gather(parts, destination="cpu"), x)
        assert comm.gather(parts, destination=1).device.index == 1
        assert all(torch.equal(c.cpu(), x) for c in comm.broadcast(source, [0, 1]))
    out = [torch.empty(1, 2, device="npu:0"), torch.empty(2, 2, device="npu:1")]
    assert torch.equal(torch.cat([p.cpu() for p in comm.scatter(x.npu(), out=out)]), x)
    assert torch.equal(comm.gather(out, out=torch.empty(3, 2, device="npu:1")).cpu(), x)
    copies = comm.broadcast_coalesced([x.npu(), x.npu() + 1], [0, 1])
    assert torch.equal(copies[1][1].cpu(), x + 1) and copies[1][0].device.index == 1
    assert torch.equal(comm.reduce_add([c[0] for c in copies], 0).cpu(), 2 * x)


def test_wrong_arguments() -> None:
    x = torch.ones(3, 2).npu()
    with pytest.raises(RuntimeError, match="same length"):
        comm.scatter(x, [0, 1], [1, 1, 1])
    with pytest.raises(RuntimeError, match="Total size"):
        comm.scatter(x, out=[torch.empty(1, 2).npu()])
    with pytest.raises(RuntimeError, match="index 0 has shape"):
        comm.broadcast(x, out=[torch.empty(1, 2).npu()])
    with pytest.raises(RuntimeError, match="devices\\[0\\]"):
        comm.broadcast_coalesced([x], [1, 0])

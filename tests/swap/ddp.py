# SPDX-License-Identifier: BSD-3-Clause
"""The official torch_npu's DDP on our libhccl.so: two processes; run by swap.py in the wheel's environment."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import torch_npu
from torch.nn.parallel import DistributedDataParallel


def net() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))


def train(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def rank(r: int, world: int, port: int) -> None:
    torch.npu.set_device(r)
    dist.init_process_group("hccl", f"tcp://127.0.0.1:{port}", rank=r, world_size=world)
    t = torch.full((1000,), float(r + 1)).npu()
    dist.all_reduce(t)
    assert t.eq(3).all().item()
    dist.broadcast(t, 0)
    parts = [torch.empty(2).npu() for _ in range(world)]
    dist.all_gather(parts, torch.full((2,), float(r)).npu())
    assert [p.tolist() for p in parts] == [[0, 0], [1, 1]]
    out = torch.empty(2).npu()
    dist.reduce_scatter_tensor(out, torch.arange(4.0).npu())
    assert out.tolist() == [[0, 2], [4, 6]][r]
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(8, 8, generator=generator), torch.randn(8, 4, generator=generator)
    model = DistributedDataParallel(net().npu(), device_ids=[r])
    train(model, x.chunk(world)[r].npu(), y.chunk(world)[r].npu())
    alone = net()
    train(alone, x, y)
    for p, q in zip(model.module.parameters(), alone.parameters()):
        torch.testing.assert_close(p.detach().cpu(), q.detach(), rtol=1e-4, atol=1e-5)
    dist.barrier()
    dist.destroy_process_group()


def main() -> int:
    assert "anynpu" not in torch_npu.__version__, f"this is not the official wheel: {torch_npu.__version__}"
    multiprocessing.spawn(rank, (2, 20000 + os.getpid() % 20000), 2)
    print("   ok  DDP on two processes: weights equal those of one process with the whole batch")
    return 0


if __name__ == "__main__":
    sys.exit(main())

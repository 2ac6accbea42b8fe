# SPDX-License-Identifier: BSD-3-Clause
"""The handwritten digits on several ranks: DistributedDataParallel over the backend "hccl", started by torchrun.

    torchrun --nproc_per_node=8 examples/ddp.py       one run of 8 ranks, each on a device of its own
    python examples/ddp.py --ranks 1,2,8              such runs in turn, and a table (what `make run-ddp` does)

Each run shows that the gradients after backward are the same bits on all ranks and those of one process with the whole
batch, then trains, and measures accuracy and samples/s. Batches are the same 64 images whatever the number of ranks, and
batch norm takes its statistics over all of them (SyncBatchNorm), so every run ends with the same network up to rounding.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_npu  # noqa: F401
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from first_run import BATCH, DigitsNet, accuracy, digits


def gradients(rank: int, world: int, images: torch.Tensor, labels: torch.Tensor) -> dict[str, float]:
    """One backward pass over the batch, split over the ranks: how far the gradients are apart, relative to their size.

    "ranks": between ranks; "whole": from one process that takes the whole batch at once.
    """
    torch.manual_seed(0)
    alone = DigitsNet(dropout=0).npu()
    torch.manual_seed(0)
    net = DistributedDataParallel(torch.nn.SyncBatchNorm.convert_sync_batchnorm(DigitsNet(dropout=0).npu()))
    mine = slice(rank * len(images) // world, (rank + 1) * len(images) // world)
    F.cross_entropy(net(images[mine].npu()), labels[mine].npu()).backward()
    F.cross_entropy(alone(images.npu()), labels.npu()).backward()
    grads = torch.cat([p.grad.flatten() for p in net.parameters()])
    whole = torch.cat([p.grad.flatten() for p in alone.parameters()])
    every = [torch.empty_like(grads) for _ in range(world)]
    dist.all_gather(every, grads)
    size = whole.abs().max()
    return {"ranks": ((torch.stack(every) - grads).abs().max() / size).item(),
            "whole": ((grads - whole).abs().max() / size).item()}


def train(rank: int, world: int, epochs: int) -> dict[str, float]:
    """Trains on this rank's part of every batch; test accuracy, and samples/s of all ranks together (fastest epoch)."""
    train_set, test_set = digits()
    images, labels = train_set.tensors
    torch.manual_seed(0)
    net = DistributedDataParallel(torch.nn.SyncBatchNorm.convert_sync_batchnorm(DigitsNet(dropout=0).npu()))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-2)
    order = torch.Generator().manual_seed(1)
    steps = len(images) // BATCH
    best = float("inf")
    for _ in range(epochs):
        shuffled = torch.randperm(len(images), generator=order)
        torch.npu.synchronize()
        dist.barrier(device_ids=[torch.npu.current_device()])
        began = time.perf_counter()
        for batch in shuffled[: steps * BATCH].view(steps, world, -1):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(images[batch[rank]].npu()), labels[batch[rank]].npu())
            loss.backward()
            optimizer.step()
        torch.npu.synchronize()
        best = min(best, time.perf_counter() - began)
    dist.all_reduce(loss, dist.ReduceOp.AVG)
    return {"accuracy": accuracy(net.module, test_set, "npu"), "loss": loss.item(), "samples/s": steps * BATCH / best}


def work(epochs: int, out: str | None) -> int:
    """What each rank does."""
    local = int(os.environ["LOCAL_RANK"])
    torch.npu.set_device(local)
    dist.init_process_group(backend="hccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    train_set, _ = digits()
    result = {"ranks": world, "gradients": gradients(rank, world, *(t[:BATCH] for t in train_set.tensors))}
    result |= train(rank, world, epochs)
    dist.destroy_process_group()
    ok = result["gradients"]["ranks"] == 0 and result["gradients"]["whole"] < 1e-5 and result["accuracy"] >= 0.97
    if rank == 0:
        g = result["gradients"]
        print(f"   {'ok ' if ok else 'NOT'} {world} ranks: gradients between ranks {g['ranks']:.0e}, "
              f"from one process {g['whole']:.1e}; accuracy {result['accuracy']:.2%}, "
              f"loss {result['loss']:.6f}, {result['samples/s']:.0f} samples/s", flush=True)
        if out:
            pathlib.Path(out).write_text(json.dumps(result))
    return 0 if ok else 1


def launch(counts: list[int], epochs: int) -> int:
    """One torchrun after the other, and what they have in common."""
    results = []
    for n in counts:
        out = pathlib.Path(f"build/ddp_{n}.json")
        out.parent.mkdir(exist_ok=True)
        out.unlink(missing_ok=True)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={n}", __file__,
                   "--epochs", str(epochs), "--out", str(out)]
        env = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // n)), **os.environ}
        done = subprocess.run(command, env=env, timeout=900)
        if done.returncode or not out.exists():
            print(f"   NOT the run of {n} ranks failed")
            return 1
        results.append(json.loads(out.read_text()))
    spread = max(r["loss"] for r in results) - min(r["loss"] for r in results)
    same = len({round(r["accuracy"], 3) for r in results}) == 1
    print(f"   {'ok ' if same else 'NOT'} the same accuracy on {', '.join(str(r['ranks']) for r in results)} ranks; "
          f"the last losses are {spread:.0e} apart")
    return 0 if same else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2,8", help="numbers of ranks to run, when not under torchrun")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--out", help="write the result as JSON")
    options = parser.parse_args()
    if "LOCAL_RANK" in os.environ:
        return work(options.epochs, options.out)
    return launch([int(n) for n in options.ranks.split(",")], options.epochs)


if __name__ == "__main__":
    sys.exit(main())

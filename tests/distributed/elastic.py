# SPDX-License-Identifier: BSD-3-Clause
"""A training script for torchrun --max-restarts: in its first life a rank dies in the midst of a step; the next life goes on
from the last checkpoint. Run by test_elastic.py: `elastic.py FOLDER`; rank 0 writes what came out to FOLDER/result.json."""

import json
import os
import pathlib
import signal
import sys

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch.nn.parallel import DistributedDataParallel

STEPS, DIES_AT = 6, 3


def main(folder: pathlib.Path) -> None:
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    life = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl")
    torch.manual_seed(0)
    net = DistributedDataParallel(torch.nn.Linear(4, 1).npu())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    saved, begin = folder / "checkpoint.pt", 0
    if saved.exists():
        begin, weights = torch.load(saved)
        net.module.load_state_dict(weights)
    for step in range(begin, STEPS):
        x = torch.randn(world, 4, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        loss = (net(x[rank : rank + 1].npu()) - 1).square().mean()
        if life == 0 and step == DIES_AT and rank == world - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        optimizer.step()
        if rank == 0:
            torch.save((step + 1, {name: value.cpu() for name, value in net.module.state_dict().items()}), folder / "new.pt")
            os.replace(folder / "new.pt", saved)  # whole or not at all
        dist.barrier()
    if rank == 0:
        weights = torch.cat([p.detach().flatten().cpu() for p in net.parameters()]).tolist()
        (folder / "result.json").write_text(json.dumps({"life": life, "began": begin, "weights": weights}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))

# SPDX-License-Identifier: BSD-3-Clause
"""Speed of collectives: gloo's time on the CPU / ours on the NPU, more is better, in one interleaved run of several processes.

    python distributed.py [--ranks 2] [--computers] [--out distributed.json] [--seconds 1.5]

For each case the ranks time one backend and then the other, many times in turn; a round's time is the slowest rank's, and
the minimum of the rounds counts. "ddp_cnn" is a training step of the CNN: the communication that is not hidden behind
computing is the step with DistributedDataParallel less the same step inside no_sync(). With --computers the ranks are on
two computers (network namespaces; needs root), which gloo and ours join by TCP.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import torch_npu  # noqa: F401

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "distributed")]
import computers
from models import NETWORKS
from pool import free_port
from torch.nn.parallel import DistributedDataParallel

KB, MB = 1 << 10, 1 << 20
SIZES = {"4 KB": 4 * KB, "1 MB": MB, "64 MB": 64 * MB}
REPEATS = {4 * KB: 100, MB: 10}
# ratio that a case should reach
TARGETS = {(kind, size): wanted for kind in ("all_reduce", "all_gather", "reduce_scatter")
           for size, wanted in (("4 KB", 40), ("1 MB", 10), ("64 MB", 3))}  # fmt: skip


def collective(kind: str, device: str, bytes: int, world: int, group: dist.ProcessGroup) -> Callable[[], None]:
    """One call of the collective; `bytes` is the whole tensor: what is reduced, or what is gathered to."""
    numel = bytes // 4 // world * world
    whole, part = torch.ones(numel, device=device), torch.ones(numel // world, device=device)
    if kind == "all_reduce":
        return lambda: dist.all_reduce(whole, group=group)
    if kind == "all_gather":
        return lambda: dist.all_gather_into_tensor(whole, part, group=group)
    return lambda: dist.reduce_scatter_tensor(part, whole, group=group)


def wait(device: str) -> None:
    if device == "npu":
        torch.npu.synchronize()


def best_times(
    calls: dict[str, Callable[[], None]], seconds: float, repeats: int, gloo: dist.ProcessGroup, devices: dict[str, str]
) -> dict[str, float]:
    """Minimum over the rounds of the slowest rank's time of a call, in microseconds."""
    best = dict.fromkeys(calls, float("inf"))
    for name, call in calls.items():
        call()
        wait(devices[name])
    until, go = time.perf_counter() + seconds, torch.ones(1)
    while go.item():
        for name, call in calls.items():
            dist.barrier(gloo)
            begin = time.perf_counter()
            for _ in range(repeats):
                call()
            wait(devices[name])
            took = torch.tensor([(time.perf_counter() - begin) / repeats * 1e6])
            dist.all_reduce(took, dist.ReduceOp.MAX, group=gloo)
            best[name] = min(best[name], took.item())
        go.fill_(time.perf_counter() < until)
        dist.all_reduce(go, dist.ReduceOp.MAX, group=gloo)
    return best


def ddp_step(device: str, group: dist.ProcessGroup, talks: bool) -> Callable[[], None]:
    """Forward and backward of the CNN under DDP, with the collectives or without."""
    network = NETWORKS["digits_cnn_b64"]
    torch.manual_seed(0)
    net = DistributedDataParallel(network.make().to(device), process_group=group)
    x, y = (t.to(device) for t in network.batch())

    def step() -> None:
        net.zero_grad()
        with contextlib.nullcontext() if talks else net.no_sync():
            torch.nn.functional.cross_entropy(net(x), y).backward()

    return step


def exposed(groups: dict[str, dist.ProcessGroup], seconds: float) -> dict[str, float]:
    """What the collectives add to a training step, in microseconds; at least 1."""
    calls = {f"{d}{talks}": ddp_step(d, g, talks) for d, g in groups.items() for talks in (True, False)}
    best = best_times(calls, seconds, 3, groups["cpu"], {name: name[:3] for name in calls})
    return {d: max(1.0, best[f"{d}True"] - best[f"{d}False"]) for d in groups}


def serve(rank: int, world: int, where: str, names: list[str], seconds: float, only: list[str], out: str) -> None:
    if names:
        computers.enter(names[rank % 2])
        os.environ["GLOO_SOCKET_IFNAME"] = computers.INTERFACE
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // world))
    torch.npu.set_device(rank)
    dist.init_process_group("cpu:gloo,npu:hccl", f"tcp://{where}", rank=rank, world_size=world)
    gloo = dist.new_group(backend="gloo")
    groups = {"cpu": gloo, "npu": dist.group.WORLD}
    results = []
    for kind in ("all_reduce", "all_gather", "reduce_scatter"):
        for name, bytes in (SIZES | {"8 MB": 8 * MB} if names else SIZES).items():
            if only and kind not in only:
                continue
            calls = {d: collective(kind, d, bytes, world, groups[d]) for d in groups}
            best = best_times(calls, seconds, REPEATS.get(bytes, 1), gloo, {d: d for d in groups})
            results.append({"case": kind, "size": name, "gloo_us": best["cpu"], "hccl_us": best["npu"],
                            "ratio": best["cpu"] / best["npu"], "target": 1 if names else TARGETS[kind, name]})  # fmt: skip
            if rank == 0:
                r = results[-1]
                print(f"{kind:15}{name:>7}  gloo {r['gloo_us']:10.1f} µs  hccl {r['hccl_us']:10.1f} µs  "
                      f"ratio {r['ratio']:6.1f}  (wanted {r['target']})", flush=True)  # fmt: skip
    if not only or "ddp_cnn" in only:
        best = exposed(groups, 3 * seconds)
        results.append({"case": "ddp_cnn", "size": "exposed", "gloo_us": best["cpu"], "hccl_us": best["npu"],
                        "ratio": best["cpu"] / best["npu"], "target": 5})  # fmt: skip
        if rank == 0:
            print(f"ddp_cnn exposed communication of a step: gloo {best['cpu']:.0f} µs, hccl {best['npu']:.0f} µs, "
                  f"ratio {best['cpu'] / best['npu']:.1f}  (wanted 5)", flush=True)  # fmt: skip
    if rank == 0 and out:
        pathlib.Path(out).write_text(json.dumps({"ranks": world, "results": results}, indent=1))
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--computers", action="store_true", help="the ranks are on two computers")
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--only", default="", help="collectives, parted by commas")
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    os.environ.setdefault("ANYNPU_DEVICES", str(options.ranks))
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // options.ranks)))
    only = [word for word in options.only.split(",") if word]
    two = computers.Computers() if options.computers else None
    try:
        where = f"{two.address(0)}:29500" if two else f"127.0.0.1:{free_port()}"
        arguments = (options.ranks, where, two.names if two else [], options.seconds, only, options.out)
        multiprocessing.spawn(serve, arguments, options.ranks)
    finally:
        if two:
            two.close()


if __name__ == "__main__":
    main()

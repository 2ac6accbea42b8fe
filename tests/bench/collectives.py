# SPDX-License-Identifier: BSD-3-Clause
"""Collectives of libhccl.so against gloo: two (or more) processes on this computer, both libraries in the same processes,
interleaved, the minimum of many. Calls go straight to the C library (ctypes), gloo through torch.distributed.

    PYTHONPATH=build/release/python python tests/bench/collectives.py [--ranks 2] [--rounds 20]
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SIZES = (4096, 65536, 1 << 20, 64 << 20)
OPS = ("all_reduce", "all_gather", "reduce_scatter")
FP32, SUM, HUGE_FIRST = 4, 0, 0


def toolkit() -> pathlib.Path:
    for folder in os.environ.get("PYTHONPATH", "").split(":"):
        found = pathlib.Path(folder) / "anynpu/toolkit/lib64"
        if found.is_dir():
            return found
    sys.exit("PYTHONPATH must name build/release/python")


class Hccl:
    """One rank on libhccl.so; buffers of the largest size."""

    def __init__(self, rank: int, ranks: int, root_file: pathlib.Path) -> None:
        lib = toolkit()
        self.acl = ctypes.CDLL(str(lib / "libascendcl.so"), ctypes.RTLD_GLOBAL)
        self.hccl = ctypes.CDLL(str(lib / "libhccl.so"))
        self.acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.check(self.acl.aclInit(None))
        self.check(self.acl.aclrtSetDevice(0))
        self.stream, self.comm = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.acl.aclrtCreateStream(ctypes.byref(self.stream)))
        root = ctypes.create_string_buffer(4108)
        if rank == 0:
            self.check(self.hccl.HcclGetRootInfo(root))
            part = root_file.with_suffix(".part")
            part.write_bytes(root.raw)
            part.rename(root_file)
        while not root_file.exists():
            time.sleep(0.01)
        root = ctypes.create_string_buffer(root_file.read_bytes(), 4108)
        self.check(self.hccl.HcclCommInitRootInfo(ranks, root, rank, ctypes.byref(self.comm)))
        self.send, self.recv = self.memory(SIZES[-1]), self.memory(SIZES[-1])
        self.ranks = ranks

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError((self.acl.aclGetRecentErrMsg() or b"").decode())

    def memory(self, size: int) -> ctypes.c_void_p:
        out = ctypes.c_void_p()
        self.check(self.acl.aclrtMalloc(ctypes.byref(out), ctypes.c_size_t(size), HUGE_FIRST))
        self.check(self.acl.aclrtMemset(out, ctypes.c_size_t(size), 0, ctypes.c_size_t(size)))
        return out

    def prepare(self, op: str, size: int):
        """A function without arguments that does one collective of `size` bytes (the larger side) and waits."""
        n = ctypes.c_uint64(size // 4 if op == "all_reduce" else size // 4 // self.ranks)
        sync, stream, comm, send, recv = self.acl.aclrtSynchronizeStream, self.stream, self.comm, self.send, self.recv
        if op == "all_reduce":
            call, args = self.hccl.HcclAllReduce, (send, send, n, FP32, SUM, comm, stream)
        elif op == "all_gather":
            call, args = self.hccl.HcclAllGather, (send, recv, n, FP32, comm, stream)
        else:
            call, args = self.hccl.HcclReduceScatter, (send, recv, n, FP32, SUM, comm, stream)

        def run() -> None:
            self.check(call(*args))
            self.check(sync(stream))

        return run


class Gloo:
    """The same rank on gloo."""

    def __init__(self, rank: int, ranks: int, store: pathlib.Path) -> None:
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.ranks = torch, dist, ranks
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)

    def prepare(self, op: str, size: int):
        a = self.torch.zeros(size // 4)
        b = self.torch.zeros(size // 4 // self.ranks)
        if op == "all_reduce":
            return lambda: self.dist.all_reduce(a)
        if op == "all_gather":
            return lambda: self.dist.all_gather_into_tensor(a, b)
        return lambda: self.dist.reduce_scatter_tensor(b, a)


def measure(run, times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - began) / times * 1e6


def rank_main(rank: int, ranks: int, rounds: int, folder: pathlib.Path) -> None:
    gloo, hccl = Gloo(rank, ranks, folder / "store"), Hccl(rank, ranks, folder / "root")
    for op in OPS:
        for size in SIZES:
            times = max(1, min(50, (4 << 20) // size))
            g, h = gloo.prepare(op, size), hccl.prepare(op, size)
            best = [float("inf")] * 2
            g(), h()
            for _ in range(rounds):
                best = [min(best[0], measure(g, times)), min(best[1], measure(h, times))]
            if rank == 0:
                print(
                    f"{op:15} {size:>9} B  gloo {best[0]:10.1f} us  hccl {best[1]:10.1f} us  ratio {best[0] / best[1]:6.1f}"
                    f"  {size / best[1] / 1e3:6.2f} GB/s",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rank", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.rank >= 0:
        rank_main(args.rank, args.ranks, args.rounds, args.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        env = {"OMP_NUM_THREADS": "1", **os.environ}
        common = ["--ranks", str(args.ranks), "--rounds", str(args.rounds), "--folder", folder]
        commands = [[sys.executable, __file__, *common, "--rank", str(r)] for r in range(args.ranks)]
        ranks = [subprocess.Popen(command, env=env) for command in commands]
        sys.exit(max(abs(p.wait()) for p in ranks))


if __name__ == "__main__":
    main()

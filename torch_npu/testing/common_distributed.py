# SPDX-License-Identifier: BSD-3-Clause
"""Tests of torch.distributed on NPUs: conditions on the number of devices, and process groups for a test."""

import os
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

__all__ = ["TestSkip", "TEST_SKIPS", "skipIfUnsupportMultiNPU", "with_comms", "init_pg"]


class TestSkip(NamedTuple):
    """Why a rank's process ends without running its test: the status that tells its parent so, and the words."""

    exit_code: int
    message: str


TEST_SKIPS = {
    "multi-npu": TestSkip(75, "Multi-NPU condition not satisfied"),
    **{f"multi-npu-{n}": TestSkip(75, f"Need at least {n} ASCEND devices") for n in range(1, 9)},
    "hccl": TestSkip(76, "c10d not compiled with HCCL support"),
    "known_issues": TestSkip(77, "Test skipped due to known issues"),
}


def skipIfUnsupportMultiNPU(npu_number_needed: int) -> Callable:  # noqa: N802
    """Decorator: the test needs so many devices."""

    def decorate(fn: Callable) -> Callable:
        @wraps(fn)
        def test(*args: Any, **kwargs: Any) -> Any:
            if torch.npu.device_count() < npu_number_needed:
                raise unittest.SkipTest(f"Multi-NPU {npu_number_needed} condition not satisfied")
            return fn(*args, **kwargs)

        return test

    return decorate


def init_pg(backend: str = "hccl", world_size: int = 1, rank: int = 0, file_name: str = "file://") -> None:
    """Makes the default process group; the ranks meet in a file, and with "hccl" rank r computes on device r.

    Args:
        backend: "hccl" or "gloo".
        file_name: a path; empty or absent when the first rank comes.

    Raises:
        RuntimeError: another backend, or fewer devices than ranks.
    """
    if backend not in ("hccl", "gloo"):
        raise RuntimeError(f"Backend {backend} not supported!")
    if backend == "hccl" and torch.npu.device_count() < world_size:
        raise RuntimeError(f"Need at least {world_size} ASCEND devices")
    dist.init_process_group(backend=backend, world_size=world_size, rank=rank, init_method=f"file://{file_name}")
    if backend == "hccl":
        torch.npu.set_device(rank)


def with_comms(func: Callable) -> Callable:
    """Decorator of a method of a multi-process test case: a process group around it, on NPUs if there are enough, else gloo.

    Raises:
        RuntimeError: `func` is None.
    """
    if func is None:
        raise RuntimeError("Test function is None.")

    @wraps(func)
    def test(self: Any, *args: Any, **kwargs: Any) -> None:
        backend = "hccl" if torch.npu.device_count() >= self.world_size else "gloo"
        init_pg(backend, self.world_size, self.rank, self.file_name)
        torch.npu.manual_seed(0)
        func(self, *args, **kwargs)
        self.destroy_pg()

    return test


@contextmanager
def _dynamo_dist_per_rank_init(rank: int, world_size: int, init_pg_: bool = True) -> Iterator[None]:
    """A rank of a test of torch.compile: its device, its process group (if init_pg_), and nothing compiled before."""

    def forget() -> None:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()

    torch.npu.set_device(rank)
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "6789"
    if init_pg_:
        dist.init_process_group(backend="hccl", rank=rank, world_size=world_size)
    forget()
    try:
        yield
    finally:
        forget()
        if init_pg_:
            dist.destroy_process_group()

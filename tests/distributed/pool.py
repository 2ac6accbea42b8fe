# SPDX-License-Identifier: BSD-3-Clause
"""Processes that hold the ranks of a process group and run functions that a test sends them."""

import datetime
import multiprocessing
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import computers

LONG = os.environ.get("ANYNPU_LONG") == "1"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _serve(
    rank: int, world: int, where: str, seconds: float, environment: dict[str, str], computer: str, pipe: Any
) -> None:
    os.environ.update(environment)
    if computer:
        computers.enter(computer)
    import torch
    import torch.distributed as dist
    import torch_npu  # noqa: F401

    torch.npu.set_device(rank)
    dist.init_process_group(
        "hccl", f"tcp://{where}", rank=rank, world_size=world, timeout=datetime.timedelta(seconds=120)
    )
    # The time-out that a test wants is for collectives, not for the start of processes on a busy machine.
    backend = dist.group.WORLD._get_backend(torch.device("npu"))
    backend._set_default_timeout(datetime.timedelta(seconds=seconds))
    pipe.send(("ready", None))
    while True:
        call = pipe.recv()
        if call is None:
            break
        function, arguments = call
        try:
            pipe.send(("ok", function(rank, world, *arguments)))
        except BaseException:
            pipe.send(("error", traceback.format_exc()))
    dist.destroy_process_group()


class Pool:
    """`world` processes, rank r on device r; `seconds` is the group's timeout. With `two` computers, ranks are on them in
    turn."""

    def __init__(
        self, world: int, seconds: float = 60, two: computers.Computers | None = None, **environment: str
    ) -> None:
        self.world = world
        self.broken = False
        context = multiprocessing.get_context("spawn")
        environment = {"ANYNPU_DEVICES": str(max(2, world)), "OMP_NUM_THREADS": "1", **environment}
        where = f"{two.address(0)}:29500" if two else f"127.0.0.1:{free_port()}"
        self.pipes, self.processes = [], []
        before = dict(os.environ)
        os.environ.update(environment)  # also for what is read when the child imports
        try:
            for rank in range(world):
                ours, theirs = context.Pipe()
                computer = two.names[rank % 2] if two else ""
                arguments = (rank, world, where, seconds, environment, computer, theirs)
                process = context.Process(target=_serve, args=arguments, daemon=True)
                process.start()
                theirs.close()
                self.pipes.append(ours)
                self.processes.append(process)
        finally:
            os.environ.clear()
            os.environ.update(before)
        self._collect(time.time() + 120)

    def _collect(self, until: float, lost_is_fine: bool = False) -> list[Any]:
        answers: list[Any] = []
        for rank, pipe in enumerate(self.pipes):
            try:
                if not pipe.poll(max(0.0, until - time.time())):
                    self.kill()
                    raise AssertionError(f"rank {rank} of {self.world} hangs; answers so far: {answers}")
                answers.append(pipe.recv())
            except (EOFError, ConnectionError):
                answers.append(("lost", None))
        errors = [f"rank {rank}:\n{text}" for rank, (kind, text) in enumerate(answers) if kind == "error"]
        lost = [rank for rank, (kind, _) in enumerate(answers) if kind == "lost"]
        if errors or (lost and not lost_is_fine):
            self.kill()
            raise AssertionError(f"lost ranks: {lost}\n" + "\n".join(errors))
        return [value for _, value in answers]

    def post(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Starts function(rank, world, *arguments) on every rank."""
        assert not self.broken, "an earlier test broke this pool"
        for pipe in self.pipes:
            pipe.send((function, arguments))

    def collect(self, timeout: float = 90, lost_is_fine: bool = False) -> list[Any]:
        """What every rank returned; with lost_is_fine None for a process that is gone."""
        return self._collect(time.time() + timeout, lost_is_fine)

    def run(self, function: Callable[..., Any], *arguments: Any, timeout: float = 90) -> list[Any]:
        self.post(function, *arguments)
        return self.collect(timeout)

    def kill(self) -> None:
        self.broken = True
        for process in self.processes:
            process.kill()

    def close(self) -> None:
        for pipe in self.pipes:
            try:
                pipe.send(None)
            except (BrokenPipeError, OSError):
                pass
        for process in self.processes:
            process.join(20)
        hanging = [rank for rank, process in enumerate(self.processes) if process.is_alive()]
        self.kill()
        assert not hanging, f"ranks {hanging} hang at the end"


_open: dict[int, Pool] = {}


def shared(world: int) -> Pool:
    """The pool of this size that tests share; made anew if a test broke it."""
    if world not in _open or _open[world].broken:
        _open[world] = Pool(world)
    return _open[world]


def close_all() -> None:
    for pool in _open.values():
        pool.close()
    _open.clear()
    sys.stdout.flush()

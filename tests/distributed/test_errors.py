# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong ends in an error that says what, soon, on every rank that waits; the process lives on."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time

import pytest
import torch
import torch.distributed as dist
import torch_npu
from pool import LONG


def alone(rank, world, way):
    """Rank 0 calls a collective that nobody joins."""
    began = time.time()
    if rank == 0:
        t = torch.ones(1000).npu()
        with pytest.raises(RuntimeError) as caught:
            if way == "sync":
                dist.all_reduce(t)
                t[0].item()
            elif way == "async":
                dist.all_reduce(t, async_op=True).wait()
                (t + 1)[0].item()
            elif way == "synchronize":
                dist.all_reduce(t, async_op=True)
                torch.npu.synchronize()
            elif way == "barrier":
                dist.barrier()
            else:
                dist.recv(t, 1)
                t[0].item()
        assert time.time() - began < 15, time.time() - began
        with pytest.raises(RuntimeError):  # the failed communicator says so
            dist.all_reduce(t) if way != "recv" else dist.recv(t, 1)
            t[0].item()
        assert (torch.ones(3).npu() * 2).tolist() == [2, 2, 2]  # the device lives
        return str(caught.value)
    time.sleep(5)
    return ""


@pytest.mark.parametrize("way", ["sync", "async", "synchronize", "barrier", "recv"])
def test_timeout(own_pool, way):
    pool = own_pool(2, seconds=2)
    pool.run(_open_group)
    text = pool.run(alone, way)[0]
    assert "ERR" in text, text


def _open_group(rank, world):
    dist.all_reduce(torch.ones(1).npu())
    if rank == 0:
        dist.send(torch.ones(1).npu(), 1)
    elif rank == 1:
        dist.recv(torch.ones(1).npu(), 0)
    torch.npu.synchronize()


def again(rank, world):
    t = torch.ones(4).npu()
    if rank == 0:
        with pytest.raises(RuntimeError):
            dist.all_reduce(t)
            t.tolist()
    else:
        time.sleep(4)
    torch_npu.distributed.reinit_process_group()
    t = torch.ones(4).npu()
    dist.all_reduce(t)
    assert t.tolist() == [world] * 4
    dist.barrier()


def test_reinit_after_timeout(own_pool):
    pool = own_pool(2, seconds=3)  # rank 0 waits from 0 to 3 in vain and from 3 to 6 for the new group; rank 1 comes at 4
    pool.run(_open_group)
    pool.run(again)


def mismatch(rank, world, kind):
    t = torch.ones(
        4 if rank == 0 or kind != "count" else 5, dtype=torch.float32 if rank == 0 or kind != "dtype" else torch.int32
    ).npu()
    began = time.time()
    with pytest.raises(RuntimeError) as caught:
        if kind == "operator" and rank == 1:
            dist.broadcast(t, 0)
        else:
            dist.all_reduce(t)
        torch.npu.synchronize()
    assert time.time() - began < 20
    return str(caught.value)


@pytest.mark.parametrize("kind", ["count", "dtype", "operator"])
def test_mismatch(own_pool, kind):
    pool = own_pool(2, seconds=30)
    pool.run(_open_group)
    for text in pool.run(mismatch, kind):
        assert "rank" in text.lower() and "ERR" in text, text


def until_killed(rank, world, victim, after, seed):
    """Random collectives until one fails; the victim dies in the midst."""
    chance = random.Random(seed)
    began = time.time()
    try:
        while time.time() - began < 30:
            if rank == victim and time.time() - began > after:
                os.kill(os.getpid(), signal.SIGKILL)
            t = torch.ones(chance.choice([1, 1000, 300000])).npu()
            if chance.random() < 0.5:
                dist.all_reduce(t)
            else:
                dist.all_reduce(t, async_op=True).wait()
            if chance.random() < 0.3:
                torch.npu.synchronize()
        return "nothing failed"
    except RuntimeError as error:
        return time.time() - began, str(error)


@pytest.mark.parametrize("seed", range(100 if LONG else 3))
def test_killed_rank(own_pool, seed):
    chance = random.Random(seed)
    world, after = chance.choice([2, 3]), chance.uniform(0, 0.5)
    victim = chance.randrange(world)
    pool = own_pool(world, seconds=20)
    pool.run(_open_group)
    pool.post(until_killed, victim, after, seed)
    answers = pool.collect(60, lost_is_fine=True)
    for rank, answer in enumerate(answers):
        assert rank == victim or (answer[0] < 30 and answer[1]), answers


def dumped(rank, world, prefix):
    alone(rank, world, "async")
    if rank == 0:
        until = time.time() + 30
        while not os.path.exists(prefix + "0") and time.time() < until:
            time.sleep(0.1)
        time.sleep(0.5)
        with open(prefix + "0", "rb") as file:
            entries = pickle.load(file)["entries"]
        assert entries[-1]["profiling_name"] == "hccl:all_reduce" and entries[-1]["state"] != "completed"


def test_flight_recorder_on_timeout(own_pool, tmp_path):
    prefix = str(tmp_path / "trace_")
    pool = own_pool(
        2,
        seconds=2,
        TORCH_HCCL_TRACE_BUFFER_SIZE="100",
        TORCH_HCCL_DUMP_ON_TIMEOUT="1",
        TORCH_HCCL_DEBUG_INFO_TEMP_FILE=prefix,
    )
    pool.run(_open_group)
    pool.run(dumped, prefix)


UNSEEN = """
import sys, time, torch, torch_npu, torch.distributed as dist
rank, seen, store = int(sys.argv[1]), sys.argv[2] == "seen", dist.FileStore(sys.argv[3], 2)
torch.npu.set_device(rank)
dist.init_process_group("hccl", store=store, rank=rank, world_size=2)
t = torch.ones(1000).npu()
dist.all_reduce(t)
torch.npu.synchronize()
if rank == 0:
    time.sleep(1)
    try:
        dist.all_reduce(t)
        if seen:
            torch.npu.synchronize()
    except RuntimeError as error:
        print("told:", error)
    time.sleep(1)
"""


@pytest.mark.parametrize("way", ["unseen", "seen"])
def test_failure_that_nobody_asks_for(tmp_path, way):
    """A rank's last collective fails (its peer has ended) and the script does not look: it must not end as if all were well."""
    command = [sys.executable, "-c", UNSEEN]
    environment = dict(os.environ, ANYNPU_DEVICES="2", OMP_NUM_THREADS="1")
    ranks = [
        subprocess.Popen([*command, str(rank), way, str(tmp_path / "store")], env=environment, text=True, stderr=subprocess.PIPE)
        for rank in range(2)
    ]
    texts = [rank.communicate(timeout=60)[1] for rank in ranks]
    assert ranks[1].returncode == 0, texts[1]
    if way == "seen":
        assert ranks[0].returncode == 0, texts[0]
    else:
        assert ranks[0].returncode == 1 and "failed, which was not noticed before its end" in texts[0], texts[0]

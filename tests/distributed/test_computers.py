# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on two computers (network namespaces): what they compute, a slow cable, a long one, and one that breaks."""

import time

import pytest
import torch
import torch.distributed as dist
from computers import Computers, NotPermitted
from pool import LONG
from test_parallel import DDP, close, make_net, reference, steps_of


@pytest.fixture
def computers():
    """computers(delay=…) makes two computers for this test alone."""
    made = []

    def make(**arguments):
        try:
            made.append(Computers(**arguments))
        except NotPermitted as why:
            pytest.skip(str(why))
        return made[-1]

    yield make
    for one in made:
        one.close()


def sums(rank, world, times, elements):
    """Seconds for so many sums, each of which is checked."""
    dist.barrier()
    began = time.time()
    for i in range(times):
        t = torch.full((elements,), float(rank + i)).npu()
        dist.all_reduce(t)
        assert (t == world * i + sum(range(world))).all().item()
    return time.time() - began


def ddp(rank, world):
    net = steps_of(DDP(make_net().npu()), rank, world)
    close(net.module.named_parameters(), reference(world).named_parameters())
    every = [None] * world
    dist.all_gather_object(every, [p.detach().cpu() for p in net.module.parameters()])
    assert all(torch.equal(a, b) for one in every for a, b in zip(one, every[0]))


@pytest.mark.parametrize("world", [2, 4] if LONG else [2])
def test_ddp_between_computers(own_pool, computers, world):
    pool = own_pool(world, two=computers())
    pool.run(sums, 20, 10)
    pool.run(ddp)


def test_slow_cable(own_pool, computers):
    two = computers()
    pool = own_pool(2, two=two)
    fast = max(pool.run(sums, 2, 1 << 20))
    two.slow_down(200)
    slow = max(pool.run(sums, 2, 1 << 20))
    # 4 MB cross in each direction, 160 ms at 200 Mbit/s, twice
    assert slow > 0.25 and slow > fast, (fast, slow)


def test_long_cable(own_pool, computers):
    pool = own_pool(2, two=computers(delay=0.03))
    assert max(pool.run(sums, 3, 10)) > 3 * 0.03
    pool.run(sums, 2, 300000)
    pool.run(ddp)


def until_it_breaks(rank, world):
    began = time.time()
    try:
        while time.time() - began < 30:
            t = torch.ones(300000).npu()
            dist.all_reduce(t)
            t[0].item()
        return "nothing failed"
    except RuntimeError as error:
        assert (torch.ones(3).npu() * 2).tolist() == [2, 2, 2]  # the device lives
        return time.time() - began, str(error)


def test_cut_cable(own_pool, computers):
    two = computers()
    pool = own_pool(2, seconds=5, two=two)
    pool.run(sums, 2, 10)
    pool.post(until_it_breaks)
    time.sleep(1)
    two.cut()
    for answer in pool.collect(60):
        seconds, text = answer
        assert seconds < 20 and "ERR" in text and ("EI0002" in text or "EI0013" in text), answer

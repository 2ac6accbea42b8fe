# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of collectives on random groups, sizes and types, some asynchronous, against a model in one process: every rank
knows all ranks' tensors, since each is computed from (rank, seed)."""

import random

import pytest
import torch
import torch.distributed as dist
from model import MOVABLE, NUMBERS, data, reduced, same
from pool import LONG, shared

REDUCTIONS = [dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN]
_groups: dict[tuple[int, ...], object] = {}


def make_groups(rank, world):
    """All subsets of at least two ranks, once a process."""
    if _groups:
        return
    for mask in range(1, 1 << world):
        members = tuple(r for r in range(world) if mask >> r & 1)
        if len(members) > 1:
            _groups[members] = dist.group.WORLD if len(members) == world else dist.new_group(list(members))


def step(chance, rank, salt):
    """One random collective: (function that checks its result, its work), or None where this rank takes no part."""
    members = chance.choice(sorted(_groups))
    group = _groups[members]
    kind = chance.choice(["all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter", "reduce"])
    dtype = chance.choice(NUMBERS if "reduce" in kind else MOVABLE)
    size = chance.choice([0, 1, 5, 33, 1024, 70001 if LONG else 4097])
    op, root, wait = chance.choice(REDUCTIONS), chance.choice(members), chance.random() < 0.5
    cuts = [[chance.randrange(4) for _ in members] for _ in members]
    if rank not in members:
        return None
    n, me = len(members), members.index(rank)
    mine = [data(r, size, dtype, salt) for r in members]
    t = mine[me].npu()
    if kind == "all_reduce":
        work = dist.all_reduce(t, op, group=group, async_op=not wait)
        check = lambda: same(t, reduced(mine, op), (salt, kind))
    elif kind == "reduce":
        work = dist.reduce(t, root, op, group=group, async_op=not wait)
        check = lambda: rank != root or same(t, reduced(mine, op), (salt, kind))
    elif kind == "broadcast":
        work = dist.broadcast(t, root, group=group, async_op=not wait)
        check = lambda: same(t, mine[members.index(root)], (salt, kind))
    elif kind == "all_gather":
        out = torch.zeros(size * n, dtype=dtype).npu()
        work = dist.all_gather_into_tensor(out, t, group=group, async_op=not wait)
        check = lambda: same(out, torch.cat(mine), (salt, kind))
    elif kind == "reduce_scatter":
        whole = [data(r, size * n, dtype, salt) for r in members]
        out = torch.zeros(size, dtype=dtype).npu()
        work = dist.reduce_scatter_tensor(out, whole[me].npu(), op, group=group, async_op=not wait)
        check = lambda: same(out, reduced(whole, op)[me * size : me * size + size], (salt, kind))
    elif kind == "all_to_all":
        part = lambda s, d: data(members[s], cuts[s][d], dtype, salt + d)
        want = torch.cat([part(s, me) for s in range(n)])
        out = torch.zeros(len(want), dtype=dtype).npu()
        sent = torch.cat([part(me, d) for d in range(n)]).npu()
        receive = [cuts[s][me] for s in range(n)]
        work = dist.all_to_all_single(out, sent, receive, cuts[me], group=group, async_op=not wait)
        check = lambda: same(out, want, (salt, kind))
    elif kind == "gather":
        outs = [torch.zeros(size, dtype=dtype).npu() for _ in members] if rank == root else None
        work = dist.gather(t, outs, dst=root, group=group, async_op=not wait)
        check = lambda: [same(o, m, (salt, kind)) for o, m in zip(outs or [], mine)]
    else:
        parts = [m.npu() for m in mine] if rank == root else None
        work = dist.scatter(t, parts, src=root, group=group, async_op=not wait)
        check = lambda: same(t, mine[me], (salt, kind))
    return check, None if wait else work


def program(rank, world, seed):
    make_groups(rank, world)
    chance = random.Random(seed)
    pending = []
    for i in range(12):
        done = step(chance, rank, seed * 100 + i)
        if done:
            pending.append(done)
        if chance.random() < 0.3:
            order = list(range(len(pending)))
            for at in order:
                check, work = pending[at]
                if work:
                    work.wait()
                check()
            pending.clear()
    for check, work in pending:
        if work:
            work.wait()
        check()


def programs(rank, world, first, count):
    for seed in range(first, first + count):
        try:
            program(rank, world, seed)
        except Exception as error:
            raise AssertionError(f"program {seed}") from error


@pytest.mark.parametrize("world", [2, 3])
def test_random_programs(world):
    count = 500 if LONG else 15
    for first in range(0, count, 50):
        shared(world).run(programs, first, min(50, count - first), timeout=600)

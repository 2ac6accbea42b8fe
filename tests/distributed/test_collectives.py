# SPDX-License-Identifier: BSD-3-Clause
"""Every collective by type, size and number of ranks, in place and not, contiguous and not."""

import pytest
import torch
import torch.distributed as dist
from model import MOVABLE, NUMBERS, SIZES, data, reduced, same
from pool import LONG

OPS = [dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.PRODUCT, dist.ReduceOp.AVG]


def npu(t: torch.Tensor) -> torch.Tensor:
    return t.npu()


def strided(t: torch.Tensor) -> torch.Tensor:
    """The same values on the NPU, every second element of a longer tensor."""
    wide = torch.zeros(t.numel() * 2, dtype=t.dtype)
    wide[::2] = t
    return wide.npu()[::2]


def all_reduce(rank: int, world: int) -> None:
    for dtype in [*NUMBERS, torch.bool]:
        for size in SIZES:
            for op in OPS:
                if op == dist.ReduceOp.AVG and dtype == torch.bool:
                    continue
                want = reduced([data(r, size, dtype) for r in range(world)], op)
                for make in (npu, strided):
                    t = make(data(rank, size, dtype))
                    dist.all_reduce(t, op)
                    same(t, want, ("all_reduce", dtype, size, op, make))
    z = data(rank, 5, torch.complex64).npu()
    dist.all_reduce(z)
    same(z, sum(data(r, 5, torch.complex64) for r in range(world)), "complex")
    t = data(rank, 6, torch.float32).npu()
    dist.all_reduce(t, dist._make_nccl_premul_sum(0.5))
    same(t, sum(data(r, 6, torch.float32) for r in range(world)) * 0.5, "premul")


def broadcast(rank: int, world: int) -> None:
    for dtype in MOVABLE:
        for size in SIZES:
            for root in range(world):
                t = (strided if size == 7 else npu)(data(rank, size, dtype))
                dist.broadcast(t, root)
                same(t, data(root, size, dtype), ("broadcast", dtype, size, root))


def reduce(rank: int, world: int) -> None:
    for dtype in [*NUMBERS, torch.bool]:
        for size in SIZES:
            for root in range(world):
                t = (strided if size == 7 else npu)(data(rank, size, dtype))
                dist.reduce(t, root)
                want = reduced([data(r, size, dtype) for r in range(world)], dist.ReduceOp.SUM)
                same(t, want if rank == root else data(rank, size, dtype), ("reduce", dtype, size, root))
    t = torch.full((3,), float(rank + 1)).npu()
    dist.reduce(t, 0, dist.ReduceOp.AVG)
    same(t, torch.full((3,), (world + 1) / 2 if rank == 0 else rank + 1.0), "avg")


def all_gather(rank: int, world: int) -> None:
    for dtype in MOVABLE:
        for size in SIZES:
            parts = [data(r, size, dtype) for r in range(world)]
            mine = (strided if size == 7 else npu)(parts[rank])
            out = [torch.zeros(size, dtype=dtype).npu() for _ in range(world)]
            dist.all_gather(out, mine)
            for r in range(world):
                same(out[r], parts[r], ("all_gather", dtype, size))
            one = torch.zeros(size * world, dtype=dtype).npu()
            dist.all_gather_into_tensor(one, mine)
            same(one, torch.cat(parts), ("all_gather_into_tensor", dtype, size))
            dist.all_gather_into_tensor(one, one[rank * size : (rank + 1) * size])  # in place
            same(one, torch.cat(parts), ("all_gather_into_tensor in place", dtype, size))
    pieces = [data(r, r * 3, torch.float32) for r in range(world)]  # uneven, the first is empty
    out = [torch.zeros(r * 3).npu() for r in range(world)]
    dist.all_gather(out, pieces[rank].npu())
    for r in range(world):
        same(out[r], pieces[r], "all_gather uneven")
    flat = torch.zeros(4 * world).npu()
    dist.all_gather(list(flat.view(world, 4)), torch.full((4,), float(rank)).npu())  # lists of neighbours are written directly
    same(flat, torch.arange(world).repeat_interleave(4).float(), "neighbours")


def reduce_scatter(rank: int, world: int) -> None:
    for dtype in NUMBERS:
        for size in SIZES:
            for op in OPS if size in (1, 7) else OPS[:1]:
                whole = [data(r, size * world, dtype, salt=1) for r in range(world)]
                want = reduced(whole, op)[rank * size : (rank + 1) * size]
                mine = (strided if size == 7 else npu)(whole[rank])
                out = torch.zeros(size, dtype=dtype).npu()
                dist.reduce_scatter_tensor(out, mine, op)
                same(out, want, ("reduce_scatter_tensor", dtype, size, op))
                out = torch.zeros(size, dtype=dtype).npu()
                dist.reduce_scatter(out, [npu(p) for p in whole[rank].split(size)] if size else [out] * world, op)
                same(out, want, ("reduce_scatter", dtype, size, op))
    counts = [r + 1 for r in range(world)]
    whole = [data(r, sum(counts), torch.float32) for r in range(world)]
    out = torch.zeros(rank + 1).npu()
    dist.reduce_scatter(out, [npu(p) for p in whole[rank].split(counts)])
    same(out, sum(whole).split(counts)[rank], "reduce_scatter uneven")


def all_to_all(rank: int, world: int) -> None:
    def sent(source: int, target: int, dtype: torch.dtype, size: int) -> torch.Tensor:
        return data(source, size, dtype, salt=target)

    for dtype in MOVABLE:
        for size in SIZES:
            mine = torch.cat([sent(rank, t, dtype, size) for t in range(world)])
            want = [sent(s, rank, dtype, size) for s in range(world)]
            out = torch.zeros(size * world, dtype=dtype).npu()
            dist.all_to_all_single(out, (strided if size == 7 else npu)(mine))
            same(out, torch.cat(want), ("all_to_all_single", dtype, size))
            outs = [torch.zeros(size, dtype=dtype).npu() for _ in range(world)]
            dist.all_to_all(outs, [npu(sent(rank, t, dtype, size)) for t in range(world)])
            for s in range(world):
                same(outs[s], want[s], ("all_to_all", dtype, size))
    count = lambda s, t: (s * 2 + t * 3) % 4  # some parts are empty
    mine = [data(rank, count(rank, t), torch.float32, t).view(-1, 1).expand(-1, 3) for t in range(world)]
    want = [data(s, count(s, rank), torch.float32, rank).view(-1, 1).expand(-1, 3) for s in range(world)]
    out = torch.zeros(sum(map(len, want)), 3).npu()
    dist.all_to_all_single(out, torch.cat(mine).npu(), [len(w) for w in want], [len(m) for m in mine])
    same(out, torch.cat(want), "uneven rows")


def gather_scatter(rank: int, world: int) -> None:
    for dtype in MOVABLE:
        for size in SIZES:
            root = size % world
            out = [torch.zeros(size, dtype=dtype).npu() for _ in range(world)] if rank == root else None
            dist.gather((strided if size == 7 else npu)(data(rank, size, dtype)), out, dst=root)
            for r in range(world if rank == root else 0):
                same(out[r], data(r, size, dtype), ("gather", dtype, size))
            t = (strided if size == 7 else npu)(torch.zeros(size, dtype=dtype))
            parts = [npu(data(r, size, dtype, 2)) for r in range(world)] if rank == root else None
            dist.scatter(t, parts, src=root)
            same(t, data(rank, size, dtype, 2), ("scatter", dtype, size))


def uneven_forms(rank: int, world: int) -> None:
    from torch_npu import distributed as extra

    rows = [r + 1 for r in range(world)]
    parts = [data(r, rows[r] * 3, torch.float32).view(-1, 3) for r in range(world)]
    out = torch.zeros(sum(rows), 3).npu()
    extra.all_gather_into_tensor_uneven(out, parts[rank].npu(), rows)
    same(out, torch.cat(parts), "all_gather_into_tensor_uneven")
    whole = [data(r, sum(rows) * 3, torch.float32).view(-1, 3) for r in range(world)]
    got = torch.zeros(rows[rank], 3).npu()
    work = extra.reduce_scatter_tensor_uneven(got, whole[rank].npu(), rows, async_op=True)
    work.wait()
    same(got, sum(whole).split(rows)[rank], "reduce_scatter_tensor_uneven")
    matrix = [[(s + t) % 3 for t in range(world)] for s in range(world)]
    mine = [data(rank, matrix[rank][t], torch.int32, t) for t in range(world)]
    want = [data(s, matrix[s][rank], torch.int32, rank) for s in range(world)]
    got = torch.zeros(sum(map(len, want)), dtype=torch.int32).npu()
    extra.all_to_all_vc(got, torch.cat(mine).npu(), torch.tensor(matrix))
    same(got, torch.cat(want), "all_to_all_vc")


def coalesced(rank: int, world: int) -> None:
    sizes = (3, 0, 1000)
    ts = [data(rank, n, torch.float32).npu() for n in sizes]
    with dist._coalescing_manager(device=ts[0].device):
        for t in ts:
            dist.all_reduce(t)
    for t, n in zip(ts, sizes):
        same(t, sum(data(r, n, torch.float32) for r in range(world)), "coalesced all_reduce")
    outs = [torch.zeros(n * world).npu() for n in sizes]
    with dist._coalescing_manager(device=ts[0].device, async_ops=True) as manager:
        for out, n in zip(outs, sizes):
            dist.all_gather_into_tensor(out, data(rank, n, torch.float32).npu())
    manager.wait()
    for out, n in zip(outs, sizes):
        same(out, torch.cat([data(r, n, torch.float32) for r in range(world)]), "coalesced all_gather")
    outs = [torch.zeros(n).npu() for n in sizes]
    with dist._coalescing_manager(device=ts[0].device):
        for out, n in zip(outs, sizes):
            dist.reduce_scatter_tensor(out, data(rank, n * world, torch.float32).npu())
    for out, n in zip(outs, sizes):
        want = sum(data(r, n * world, torch.float32) for r in range(world))[rank * n : rank * n + n]
        same(out, want, "coalesced reduce_scatter")
    dist.all_reduce_coalesced(ts)


def objects(rank: int, world: int) -> None:
    every = [None] * world
    dist.all_gather_object(every, {"rank": rank, "data": list(range(rank))})
    assert every == [{"rank": r, "data": list(range(r))} for r in range(world)]
    got = [None] * world if rank == world - 1 else None
    dist.gather_object(("x", rank), got, dst=world - 1)
    assert rank != world - 1 or got == [("x", r) for r in range(world)]
    box = [f"of {rank}", rank]
    dist.broadcast_object_list(box, 0)
    assert box == ["of 0", 0]
    box = [None]
    dist.scatter_object_list(box, [{"to": r} for r in range(world)] if rank == 0 else None, 0)
    assert box == [{"to": rank}]
    if world > 1:
        if rank == 0:
            dist.send_object_list([1, "two", None], 1)
        if rank == 1:
            box = [None] * 3
            dist.recv_object_list(box, 0)
            assert box == [1, "two", None]


def big(rank: int, world: int) -> None:
    """64 MB (all ranks' parts together) of every type. data() repeats itself after four elements."""

    def made(r: int, dtype: torch.dtype, size: int, salt: int = 0) -> torch.Tensor:
        return filled(data(r, 4, dtype, salt), size)

    def filled(four: torch.Tensor, size: int) -> torch.Tensor:
        return four.view(torch.uint8).npu().repeat(size // 4).view(four.dtype)

    def check(got: torch.Tensor, four: torch.Tensor, what: str) -> None:
        assert torch.equal(got.view(torch.uint8), filled(four, got.numel()).view(torch.uint8)), (what, four.dtype)

    def reductions(dtype: torch.dtype, n: int, each: int) -> None:
        total = reduced([data(r, 4, dtype) for r in range(world)], dist.ReduceOp.SUM)
        t = made(rank, dtype, n)
        dist.all_reduce(t)
        check(t, total, "all_reduce")
        t = made(rank, dtype, n)
        dist.reduce(t, world - 1)
        check(t, total if rank == world - 1 else data(rank, 4, dtype), "reduce")
        t = made(rank, dtype, n)
        mine = t[rank * each : (rank + 1) * each]
        dist.reduce_scatter_tensor(mine, t)
        check(mine, total, "reduce_scatter in place")

    def copies(dtype: torch.dtype, n: int, each: int) -> None:
        t = made(rank, dtype, n)
        dist.broadcast(t, world - 1)
        check(t, data(world - 1, 4, dtype), "broadcast")
        t = made(rank, dtype, n)
        dist.all_gather_into_tensor(t, t[rank * each : (rank + 1) * each])
        for r, piece in enumerate(t.split(each)):
            check(piece, data(r, 4, dtype), "all_gather in place")
        out = torch.empty_like(t)
        dist.all_to_all_single(out, torch.cat([made(rank, dtype, each, to).view(torch.uint8) for to in range(world)]).view(dtype))
        for r, piece in enumerate(out.split(each)):
            check(piece, data(r, 4, dtype, rank), "all_to_all")
        pieces = list(out.split(each)) if rank == 0 else None
        dist.gather(made(rank, dtype, each), pieces, dst=0)
        for r, piece in enumerate(pieces or []):
            check(piece, data(r, 4, dtype), "gather")
        dist.scatter(t[:each], pieces, src=0)
        check(t[:each], data(rank, 4, dtype), "scatter")

    for dtype in MOVABLE:
        each = (64 << 20) // dtype.itemsize // world // 4 * 4
        if dtype in [*NUMBERS, torch.bool]:
            reductions(dtype, each * world, each)
        copies(dtype, each * world, each)


COLLECTIVES = [
    all_reduce, broadcast, reduce, all_gather, reduce_scatter, all_to_all, gather_scatter, uneven_forms, coalesced, objects
]  # fmt: skip
LONG_ONES = [big] if LONG else []


@pytest.mark.parametrize("collective", COLLECTIVES + LONG_ONES, ids=lambda f: f.__name__)
def test_collective(ranks, collective):
    ranks.run(collective, timeout=600 if LONG else 120)

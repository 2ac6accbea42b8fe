# SPDX-License-Identifier: BSD-3-Clause
"""Asynchronous work and streams, messages between two ranks, groups, barriers, options, the flight recorder."""

import copy
import datetime
import json
import pickle
import time

import pytest
import torch
import torch.distributed as dist
import torch_npu
from model import data, same


def hccl_of(group=None):
    return (group or dist.group.WORLD)._get_backend(torch.device("npu"))


# ---- asynchronous ----
def async_work(rank, world):
    a = torch.full((1000, 300), float(rank + 1)).npu()
    for _ in range(3):
        b = a @ torch.ones(300, 300).npu()  # the collective must wait for it
        work = dist.all_reduce(b, async_op=True)
        work.wait()
        c = b + 1  # and this for the collective
        want = 300.0 * world * (world + 1) / 2 + 1
        assert c.eq(want).all(), (c[0, 0], want)
    assert work.is_completed() and work.is_success() and work.exception() is None
    assert work.result()[0].data_ptr() == b.data_ptr()
    works = [dist.all_reduce(torch.full((100,), float(i)).npu(), async_op=True) for i in range(50)]
    results = [w.result()[0] for w in works]  # the tensors live on in the works
    for i, work in enumerate(works):
        work.wait()
        assert results[i].eq(i * world).all()


def futures(rank, world):
    t = torch.full((10,), float(rank)).npu()
    future = dist.all_reduce(t, async_op=True).get_future()
    doubled = future.then(lambda f: f.value()[0] * 2)
    want = world * (world - 1) / 2
    assert future.wait()[0].eq(want).all() and doubled.wait().eq(want * 2).all()


def other_stream(rank, world):
    side = torch.npu.Stream()
    t = torch.full((100000,), float(rank)).npu()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        t.add_(1)
        dist.all_reduce(t)
        t.mul_(2)
        mixed = dist.all_reduce(t, async_op=True)
        dist.all_reduce(t.clone())  # synchronous behind asynchronous: in the order of the calls
        mixed.wait()
    torch.npu.current_stream().wait_stream(side)
    assert t.eq(world * world * (world + 1)).all()


def freed_early(rank, world):
    for i in range(20):  # memory must not be handed out again before the collective has read it
        t = torch.full((50000,), float(i)).npu()
        out = torch.empty(50000 * world).npu()
        work = dist.all_gather_into_tensor(out, t, async_op=True)
        del t
        torch.full((50000,), -1.0).npu()
        work.wait()
        assert out.eq(i).all()


@pytest.mark.parametrize("case", [async_work, futures, other_stream, freed_early], ids=lambda f: f.__name__)
def test_async(ranks, case):
    ranks.run(case)


# ---- messages ----
def ring(rank, world):
    after, before = (rank + 1) % world, (rank - 1) % world
    got = torch.zeros(1000).npu()
    send = dist.isend(data(rank, 1000, torch.float32).npu(), after)  # all send first
    receive = dist.irecv(got, before)
    send.wait(), receive.wait()
    same(got, data(before, 1000, torch.float32), "ring")
    for i in range(10):  # in order
        if rank == 0:
            dist.send(torch.full((3,), float(i)).npu(), 1)
        elif rank == 1:
            t = torch.zeros(3, 2).npu()[:, 0]
            dist.recv(t, 0)
            assert t.tolist() == [i] * 3


def both_ways(rank, world):
    if rank > 1:
        return  # a third rank need not take part
    size = 1 << 20
    got = torch.zeros(size).npu()
    works = [dist.isend(torch.full((size,), float(rank)).npu(), 1 - rank), dist.irecv(got, 1 - rank)]
    [w.wait() for w in works]
    assert got.eq(1 - rank).all()


def batch(rank, world):
    others = [r for r in range(world) if r != rank]
    got = {r: torch.zeros(r + 1, dtype=torch.int32).npu() for r in others}
    ops = [dist.P2POp(dist.irecv, got[r], r) for r in others]
    ops += [dist.P2POp(dist.isend, torch.full((rank + 1,), rank, dtype=torch.int32).npu(), r) for r in others]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    for r in others:
        assert got[r].tolist() == [r] * (r + 1)


def refuses(rank, world):
    with pytest.raises(NotImplementedError, match="does not support recv from any source"):
        dist.recv(torch.zeros(1).npu())
    with pytest.raises(ValueError, match="Cannot use ReduceOp.BXOR with HCCL"):
        dist.all_reduce(torch.ones(1, dtype=torch.int32).npu(), dist.ReduceOp.BXOR)
    with pytest.raises(ValueError, match="Cannot use ReduceOp.AVG with Boolean inputs"):
        dist.all_reduce(torch.ones(1, dtype=torch.bool).npu(), dist.ReduceOp.AVG)
    with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
        dist.all_reduce(torch.ones(1))
    with pytest.raises((RuntimeError, ValueError), match="world_size times input|world size"):
        dist.all_gather_into_tensor(torch.zeros(5).npu(), torch.zeros(3).npu())
    dist.barrier()  # the group lives on


@pytest.mark.parametrize("case", [ring, both_ways, batch, refuses], ids=lambda f: f.__name__)
def test_messages(three, case):
    three.run(case)


# ---- groups ----
def groups(rank, world):
    alone = [dist.new_group([r]) for r in range(world)]
    pair = dist.new_group([0, world - 1])
    t = torch.ones(1).npu()
    dist.all_reduce(t, group=alone[rank])
    assert t.item() == 1
    if rank in (0, world - 1):
        dist.all_reduce(t, group=pair)
        assert t.item() == 2
        assert hccl_of(pair).get_hccl_comm_name(0) != hccl_of().get_hccl_comm_name(0)
    else:
        assert pair == dist.GroupMember.NON_GROUP_MEMBER
    options = torch_npu._C._distributed_c10d.ProcessGroupHCCL.Options()
    options.hccl_config = {"hccl_buffer_size": 50, "group_name": "mine"}
    group = dist.new_group(pg_options=options)
    dist.all_reduce(t, group=group)
    assert hccl_of(group).options.hccl_config["hccl_buffer_size"] == 50
    dist.destroy_process_group(group)
    bad = torch_npu._C._distributed_c10d.ProcessGroupHCCL.Options()
    bad.hccl_config = {"hccl_bufer_size": 50}
    with pytest.raises(RuntimeError, match="hccl_config has no key 'hccl_bufer_size'"):
        torch_npu._C._distributed_c10d.ProcessGroupHCCL(dist.HashStore(), 0, 1, bad)
    assert copy.deepcopy(options).hccl_config == options.hccl_config
    for wrong, text in [
        ({"group_name": 1}, "Value type of group_name should be string"),
        ({"hccl_sdma_qos": "1"}, "Value type of hccl_sdma_qos should be int"),
        ({"hccl_exec_timeout": 1 << 31}, r"exceeds INT32_MAX\(2147483647\)"),
        ({"hccl_algo": "a" * 1700}, "The length of hccl_algo is 1700"),
    ]:
        bad.hccl_config = wrong
        with pytest.raises(RuntimeError, match=text):
            dist.new_group(pg_options=bad)
    options.hccl_config = {}  # the group keeps what it was made with
    assert hccl_of(group).options.hccl_config["hccl_buffer_size"] == 50
    subgroup, _ = dist.new_subgroups(group_size=1)
    dist.barrier(subgroup)


def barriers(rank, world):
    dist.barrier()
    dist.barrier(device_ids=[rank])
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=30))
    began = time.time()
    if rank == 1:
        time.sleep(1)
    dist.barrier()
    assert rank == 1 or time.time() - began > 0.8, "the barrier let go too early"
    work = dist.barrier(async_op=True)
    work.wait()
    if rank != 1:
        who = "Rank 1 failed to pass monitoredBarrier in 500 ms|reached monitoredBarrier"
        with pytest.raises(RuntimeError, match=who):
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=0.5))
    else:
        time.sleep(1)
        with pytest.raises(RuntimeError, match="reached monitoredBarrier"):
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=0.5))


def to_itself(rank, world):
    everybody = range(world)
    sent = [torch.full((peer + 1, 3), float(rank * 10 + peer)).npu() for peer in everybody]
    got = [torch.empty(rank + 1, 3).npu() for _ in everybody]
    batch = [dist.P2POp(dist.isend, sent[peer], peer) for peer in everybody]
    batch += [dist.P2POp(dist.irecv, got[peer], peer) for peer in everybody]
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    assert [t[0, 0].item() for t in got] == [peer * 10.0 + rank for peer in everybody]
    alone = torch.arange(5.0).npu()
    kept = torch.zeros(5).npu()
    works = dist.batch_isend_irecv([dist.P2POp(dist.irecv, kept, rank), dist.P2POp(dist.isend, alone, rank)])
    for work in works:
        work.wait()
    assert all(work.is_completed() for work in works) and kept.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="works only in batch_isend_irecv"):
        hccl_of().send([alone], rank, 0)
    hccl_of()._group_start()
    hccl_of().send([alone], rank, 0)
    with pytest.raises(RuntimeError, match="sends 1 messages to itself and receives 0"):
        hccl_of()._group_end()
    with pytest.raises(RuntimeError, match="ends that was not started"):
        hccl_of()._group_end()


def names(rank, world):
    assert dist.get_backend() == "hccl" and dist.is_hccl_available()
    backend = hccl_of()
    assert backend.name() == "hccl" and backend.rank() == rank and backend.size() == world
    assert backend.supports_splitting and backend.supports_coalescing
    assert torch_npu.distributed.is_hccl_available()
    assert isinstance(backend.get_hccl_comm_name(rank), str)


@pytest.mark.parametrize("case", [groups, barriers, to_itself, names], ids=lambda f: f.__name__)
def test_groups(three, case):
    three.run(case)


def split(rank, world):
    dist.destroy_process_group()
    store = dist.TCPStore("127.0.0.1", split.port, world, is_master=rank == 0)
    dist.init_process_group(store=store, rank=rank, world_size=world, device_id=torch.device("npu", rank))
    assert dist.get_backend() == "hccl"  # by the device
    half = dist.split_group(split_ranks=[[0, 2], [1]])
    t = torch.full((2,), float(rank + 1)).npu()
    dist.all_reduce(t, group=half)
    assert t.tolist() == ([4.0, 4.0] if rank != 1 else [2.0, 2.0])
    sub = dist.new_group([1, 2])
    if rank:
        dist.all_reduce(t, group=sub)
        assert t.tolist() == [6.0, 6.0]
    dist.barrier()


split.port = 29641


def test_split_group(own_pool):
    own_pool(3).run(split)


def second_life(rank, world):
    """The same keys in the same store twice: what the first life left is no answer in the second."""
    dist.destroy_process_group()
    store = dist.TCPStore("127.0.0.1", second_life.port, world, is_master=rank == 0)
    for life in range(2):
        dist.init_process_group("hccl", store=store, rank=rank, world_size=world)
        began = time.time()
        if life and rank == 1:
            time.sleep(1)
        dist.monitored_barrier(timeout=datetime.timedelta(seconds=30))
        assert not life or rank == 1 or time.time() - began > 0.8, "an answer of the first life"
        dist.barrier()
        dist.destroy_process_group()


second_life.port = 29643


def test_monitored_barrier_after_a_restart(own_pool):
    own_pool(2).run(second_life)


def mixed(rank, world):
    dist.destroy_process_group()
    store = dist.TCPStore("127.0.0.1", mixed.port, world, is_master=rank == 0)
    dist.init_process_group("cpu:gloo,npu:hccl", store=store, rank=rank, world_size=world)
    for device in ("cpu", "npu"):
        t = torch.ones(3, device=device)
        dist.all_reduce(t)
        assert t.tolist() == [world] * 3
    dist.destroy_process_group()


mixed.port = 29642


def test_gloo_beside_hccl(own_pool):
    own_pool(2).run(mixed)


def recorder(rank, world):
    for _ in range(3):
        dist.all_reduce(torch.ones(4, 5).npu())
    work = dist.all_reduce(torch.ones(4).npu(), async_op=True)
    work.wait()
    torch.npu.synchronize()
    assert work._get_duration() >= 0
    dump = pickle.loads(torch_npu._C._distributed_c10d._dump_hccl_trace())
    assert dump["version"] == "2.10" and len(dump["entries"]) == 4
    first = dump["entries"][0]
    assert first["profiling_name"] == "hccl:all_reduce" and first["input_sizes"] == [[4, 5]]
    assert first["state"] == "completed" and first["input_dtypes"] == ["Float"]
    assert any("test_groups.py" in frame["filename"] for frame in first["frames"])
    as_json = json.loads(torch_npu._C._distributed_c10d._dump_hccl_trace_json())
    assert len(as_json["entries"]) == 4 and as_json["pg_config"]


def test_flight_recorder(own_pool):
    own_pool(2, TORCH_HCCL_TRACE_BUFFER_SIZE="100").run(recorder)


def in_graph(rank, world):
    """Collectives inside a captured graph, replayed with new contents, beside ones that are called."""
    sent = torch.zeros(1000).npu()
    small, large = torch.zeros(1000).npu(), torch.zeros(world * 1000).npu()
    dist.all_reduce(torch.ones(1).npu())  # opens the communicator, which a capture cannot
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        small.copy_(sent * 2)
        dist.all_reduce(small)
        work = dist.all_gather_into_tensor(large, sent + 1, async_op=True)
        work.wait()
        small.add_(1)
        large.mul_(2)
    for step in range(4):
        sent.fill_(float(step + rank))
        graph.replay()
        called = torch.ones(3).npu()
        dist.all_reduce(called)
        assert called.tolist() == [world] * 3
        assert small.eq(2.0 * sum(step + r for r in range(world)) + 1).all(), (step, small[0])
        want = torch.tensor([2.0 * (step + r + 1) for r in range(world)]).repeat_interleave(1000)
        assert torch.equal(large.cpu(), want), step
    dist.barrier()


def test_collectives_in_a_graph(two):
    two.run(in_graph)

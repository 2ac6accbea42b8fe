# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch builds on collectives: DDP, FSDP, tensor parallel, pipelines, checkpoints, SyncBatchNorm, ZeRO. Each is compared
with one process that has the whole model and the whole batch."""

import contextlib
import copy

import pytest
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def make_net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 4))


def batch(world, each=6, seed=1):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(world * each, 8, generator=g), torch.randn(world * each, 4, generator=g)


def part(t, rank, world):
    return t.chunk(world)[rank]


def reference(world, steps=3, lr=0.1, net=None):
    """The weights after some steps of SGD with the whole batch, on the CPU."""
    net = net or make_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for step in range(steps):
        x, y = batch(world, seed=step)
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
    return net


def steps_of(net, rank, world, steps=3, lr=0.1):
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for step in range(steps):
        x, y = batch(world, seed=step)
        optimizer.zero_grad()
        F.mse_loss(net(part(x, rank, world).npu()), part(y, rank, world).npu()).backward()
        optimizer.step()
    return net


def close(got, want):
    want = dict(want)
    for name, value in got:
        torch.testing.assert_close(
            value.detach().cpu(), want[name].detach(), rtol=1e-4, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}"
        )


# ---- DDP ----
@pytest.mark.parametrize("options", [{}, {"bucket_cap_mb": 0.001}, {"static_graph": True}, {"gradient_as_bucket_view": True},
                                     {"find_unused_parameters": True}], ids=str)  # fmt: skip
def test_ddp(three, options):
    three.run(ddp, options)


def sharded_scaler(rank, world):
    """A gradient that overflows on one rank makes all ranks skip the step and halve the scale."""
    from torch_npu.npu.amp.sharded_grad_scaler import _ShardedGradScaler

    parameter = torch.nn.Parameter(torch.ones(3).npu())
    optimizer = torch.optim.SGD([parameter], 1.0)
    scaler = _ShardedGradScaler(init_scale=4.0, growth_interval=1)
    for overflows, scale in ((True, 2.0), (False, 4.0)):
        optimizer.zero_grad()
        factor = float("inf") if overflows and rank == 1 else 1.0
        scaler.scale((parameter * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == scale
        assert parameter.eq(1.0 if overflows else 0.0).all(), (overflows, parameter)


def test_sharded_grad_scaler(two):
    two.run(sharded_scaler)


def ddp_times(rank, world):
    """What DDP logs of its steps (it samples them) comes from events of the device."""
    model = DDP(torch.nn.Linear(300, 300).npu(), device_ids=[rank])
    x = torch.ones(500, 300).npu()
    for _ in range(15):
        model(x).sum().backward()
    times = model._get_ddp_logging_data()
    for name in ("forward_compute", "backward_compute", "backward_comm"):
        assert 0 < times[f"avg_{name}_time"] < 5e9, (name, times)
    assert times["avg_backward_compute_time"] >= times["backward_compute_comm_overlap_time"] >= 0


def test_ddp_times(two):
    two.run(ddp_times)


def ddp(rank, world, options):
    net = DDP(make_net(seed=rank).npu(), device_ids=[rank], **options)  # rank 0's weights are everybody's
    steps_of(net, rank, world)
    close(net.module.named_parameters(), reference(world).named_parameters())
    flat = torch.cat([p.grad.flatten() for p in net.parameters()])
    every = [torch.empty_like(flat) for _ in range(world)]
    dist.all_gather(every, flat)
    assert all(torch.equal(e, flat) for e in every), "gradients differ between ranks"


def hooks(rank, world):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    # PyTorch keeps bf16_compress_hook for NCCL and XCCL.
    for hook, rtol in ((default_hooks.allreduce_hook, 1e-4), (default_hooks.fp16_compress_hook, 2e-2)):
        net = DDP(make_net().npu())
        net.register_comm_hook(None, hook)
        steps_of(net, rank, world)
        for name, p in net.module.named_parameters():
            want = dict(reference(world).named_parameters())[name].detach()
            torch.testing.assert_close(p.detach().cpu(), want, rtol=rtol, atol=rtol / 10)
    net = DDP(make_net().npu())
    net.register_comm_hook(
        powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook
    )
    steps_of(net, rank, world, steps=4)
    net = DDP(make_net().npu())
    net._register_builtin_comm_hook(dist.BuiltinCommHookType.ALLREDUCE)
    steps_of(net, rank, world)
    close(net.module.named_parameters(), reference(world).named_parameters())


def unused(rank, world):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x, second):
            return self.b(self.a(x)) if second else self.a(x)

    torch.manual_seed(0)
    net = DDP(Two().npu(), find_unused_parameters=True)
    for second in (True, False, rank == 0):
        net.zero_grad()
        net(torch.ones(2, 4).npu(), second).sum().backward()
    assert net.module.b.weight.grad is not None


def accumulate(rank, world):
    net = DDP(make_net().npu())
    x, y = (part(t, rank, world).npu() for t in batch(world))
    with net.no_sync():
        F.mse_loss(net(x[:3]), y[:3]).backward()
    F.mse_loss(net(x[3:]), y[3:]).backward()
    alone = make_net()
    bx, by = batch(world)
    for half in (slice(0, 3), slice(3, 6)):
        rows = torch.cat([t[half] for t in bx.chunk(world)]), torch.cat([t[half] for t in by.chunk(world)])
        F.mse_loss(alone(rows[0]), rows[1]).backward()
    close([(n, p.grad) for n, p in net.module.named_parameters()], [(n, p.grad) for n, p in alone.named_parameters()])


def join(rank, world):
    from torch.distributed.algorithms.join import Join

    net = DDP(make_net().npu())
    with Join([net]):
        for _ in range(2 + rank):  # uneven inputs
            net(torch.ones(2, 8).npu()).sum().backward()


def amp(rank, world):
    net = DDP(make_net().npu())
    scaler = torch.amp.GradScaler("npu")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = (part(t, rank, world).npu() for t in batch(world))
    with torch.autocast("npu", dtype=torch.bfloat16):
        loss = F.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.isfinite(next(net.parameters())).all()


@pytest.mark.parametrize("case", [hooks, unused, accumulate, join, amp], ids=lambda f: f.__name__)
def test_ddp_more(two, case):
    two.run(case)


# ---- SyncBatchNorm ----
def sync_batch_norm(rank, world):
    for shape in ((6, 5, 4, 3), (7, 3)):
        g = torch.Generator().manual_seed(3)
        x = torch.randn(world * shape[0], *shape[1:], generator=g, requires_grad=True)
        scale = torch.randn(x.shape, generator=g)
        plain = (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(shape[1])
        with torch.no_grad():
            plain.weight.uniform_(0.5, 1.5), plain.bias.uniform_(-1, 1)
        dist_weight = [plain.weight.detach().npu(), plain.bias.detach().npu()]
        for t in dist_weight:
            dist.broadcast(t, 0)
        with torch.no_grad():
            plain.weight.copy_(dist_weight[0].cpu()), plain.bias.copy_(dist_weight[1].cpu())
        sync = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain)).npu()
        mine = x.detach().chunk(world)[rank].npu().requires_grad_()
        out = sync(mine)
        (out * scale.chunk(world)[rank].npu()).sum().backward()
        want = plain(x)
        (want * scale).sum().backward()
        near = lambda a, b: torch.testing.assert_close(a.detach().cpu(), b.detach(), rtol=1e-4, atol=1e-5)
        near(out, want.chunk(world)[rank])
        near(mine.grad, x.grad.chunk(world)[rank])
        near(sync.running_mean, plain.running_mean)
        near(sync.running_var, plain.running_var)
        dist.all_reduce(sync.weight.grad), dist.all_reduce(sync.bias.grad)
        near(sync.weight.grad, plain.weight.grad)
        near(sync.bias.grad, plain.bias.grad)
    half = nn.SyncBatchNorm(3).npu()(torch.randn(4, 3, 2).half().npu())
    assert half.dtype == torch.float16


def test_sync_batch_norm(ranks):
    ranks.run(sync_batch_norm)


# ---- FSDP ----
def fsdp2(rank, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("npu", (world,))
    net = make_net().npu()
    for layer in (net[0], net[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    steps_of(net, rank, world)
    full = [(n, p.full_tensor()) for n, p in net.named_parameters()]
    close(full, reference(world).named_parameters())


def fsdp1(rank, world):
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    from torch.distributed.fsdp import ShardingStrategy

    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
        net = FSDP(make_net().npu(), device_id=rank, sharding_strategy=strategy, use_orig_params=True)
        steps_of(net, rank, world)
        with FSDP.summon_full_params(net):
            close(
                ((n.replace("_fsdp_wrapped_module.", ""), p.clone()) for n, p in net.named_parameters()),
                reference(world).named_parameters(),
            )


def tensor_parallel(rank, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("npu", (world,))
    whole = torch.arange(24.0).view(6, 4)
    sharded = distribute_tensor(whole.npu(), mesh, [Shard(0)])
    assert isinstance(sharded, DTensor) and torch.equal(sharded.full_tensor().cpu(), whole)
    assert torch.equal(sharded.redistribute(mesh, [Shard(1)]).full_tensor().cpu(), whole)
    assert torch.equal((sharded @ sharded.redistribute(mesh, [Replicate()]).t()).full_tensor().cpu(), whole @ whole.t())
    net = nn.Sequential(nn.Linear(8, 12), nn.SiLU(), nn.Linear(12, 4))
    for p in net.parameters():
        nn.init.constant_(p, 0.1)
    alone = copy.deepcopy(net)
    net = parallelize_module(net.npu(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    x = torch.ones(3, 8)
    out = net(x.npu())
    torch.testing.assert_close(out.cpu(), alone(x))
    out.sum().backward()
    alone(x).sum().backward()
    torch.testing.assert_close(net[0].weight.grad.full_tensor().cpu(), alone[0].weight.grad)


def checkpoint(rank, world, folder):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("npu", (world,))
    net = fully_shard(make_net().npu(), mesh=mesh) or None
    optimizer = torch.optim.AdamW(net.parameters())
    F.mse_loss(net(torch.ones(2, 8).npu()), torch.ones(2, 4).npu()).backward()
    optimizer.step()
    model, optim = get_state_dict(net, optimizer)
    dcp.save({"model": model, "optim": optim}, checkpoint_id=folder)
    other = fully_shard(make_net(seed=5).npu(), mesh=mesh)
    other_optimizer = torch.optim.AdamW(other.parameters())
    model, optim = get_state_dict(other, other_optimizer)
    dcp.load({"model": model, "optim": optim}, checkpoint_id=folder)
    set_state_dict(other, other_optimizer, model_state_dict=model, optim_state_dict=optim)
    for a, b in zip(net.parameters(), other.parameters()):
        assert torch.equal(a.full_tensor(), b.full_tensor())


def zero(rank, world):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    net = DDP(make_net().npu())
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.01)
    alone = make_net()
    plain = torch.optim.Adam(alone.parameters(), lr=0.01)
    for step in range(3):
        x, y = batch(world, seed=step)
        for model, opt, a, b in ((net, optimizer, part(x, rank, world).npu(), part(y, rank, world).npu()), (alone, plain, x, y)):
            opt.zero_grad()
            F.mse_loss(model(a), b).backward()
            opt.step()
    close(net.module.named_parameters(), alone.named_parameters())


def pipeline(rank, world):
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    if world != 2:
        return
    net = make_net()
    stage = PipelineStage(nn.Sequential(*(net[:2] if rank == 0 else net[2:])).npu(), rank, world, torch.device("npu", rank))
    schedule = ScheduleGPipe(stage, n_microbatches=3, loss_fn=F.mse_loss)
    x, y = batch(1, each=6)
    losses = []
    if rank == 0:
        schedule.step(x.npu())
    else:
        schedule.step(target=y.npu(), losses=losses)
    alone = make_net()
    F.mse_loss(alone(x), y).backward()
    mine = alone[:2] if rank == 0 else alone[2:]
    for p, q in zip(stage.submod.parameters(), mine.parameters()):
        torch.testing.assert_close(p.grad.cpu(), q.grad, rtol=1e-4, atol=1e-5)


def differentiable(rank, world):
    """torch.distributed.nn and the functional collectives."""
    import torch.distributed._functional_collectives as functional
    import torch.distributed.nn.functional as with_grad

    x = torch.full((3,), float(rank + 1)).npu().requires_grad_()
    with_grad.all_reduce(x * x).sum().backward()
    assert torch.allclose(x.grad, 2 * x * world)
    gathered = functional.all_gather_tensor(torch.full((2,), float(rank)).npu(), 0, dist.group.WORLD)
    assert torch.equal(gathered.cpu(), torch.arange(world).repeat_interleave(2).float())
    total = functional.all_reduce(torch.ones(2).npu(), "sum", dist.group.WORLD)
    assert total.tolist() == [world] * 2


@pytest.mark.parametrize("case", [fsdp2, fsdp1, tensor_parallel, zero, pipeline, differentiable], ids=lambda f: f.__name__)
def test_parallel(two, case):
    two.run(case)


def test_checkpoint(two, tmp_path):
    two.run(checkpoint, str(tmp_path / "saved"))


def samplers(rank, world):
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    data = TensorDataset(torch.arange(10.0))
    seen = torch.cat([x for (x,) in DataLoader(data, 2, sampler=DistributedSampler(data, shuffle=False))]).npu()
    every = torch.zeros(world * len(seen)).npu()
    dist.all_gather_into_tensor(every, seen)
    assert set(every.tolist()) == set(range(10))
    with contextlib.suppress(ImportError):
        dist.barrier()


def test_sampler(two):
    two.run(samplers)

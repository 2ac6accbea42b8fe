# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's machinery: checkpointing, transforms, compile, saving, loaders, random state, process groups."""

import copy
import importlib
import io
import tempfile
import time
import traceback
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from models_common import CNN, GPT, OPTIONS, SB, STEPS, build, case, ce, dt, g, img, lm, ri, rn, small, to, train, weights
from torch.utils.data import DataLoader, TensorDataset


@case()
def checkpointing(dev):
    from torch.utils.checkpoint import checkpoint

    out = {}
    for reentrant in (True, False):
        m = build(lambda: nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(3)]), dev)

        def lf(m, x, y, reentrant=reentrant):
            h = x.clone().requires_grad_()
            for b in m:
                h = checkpoint(b, h, use_reentrant=reentrant)
            return F.mse_loss(h, y)

        out.update({f"{reentrant}.{k}": v for k, v in train(m, [(rn(4, 8), rn(4, 8, seed=2))], lf, dev).items()})
        # dropout must be replayed: gradient of sum(drop(x)) equals the mask seen going forward
        x = torch.ones(64, device=dev, requires_grad=True)
        y = checkpoint(lambda v: F.dropout(v, 0.5), x, use_reentrant=reentrant)
        y.sum().backward()
        assert torch.equal(x.grad.cpu(), y.detach().cpu()), "checkpoint does not replay the device RNG"
    return out


@case()
def func_transforms(dev):
    from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

    m = small(dev)
    p = {k: v.detach() for k, v in m.named_parameters()}
    x, y = to(SB[0], dev)

    def loss(p, a, b):
        return F.cross_entropy(functional_call(m, p, (a[None],)), b[None])

    out = {"psg." + k: v for k, v in vmap(grad(loss), (None, 0, 0))(p, x, y).items()}
    f = lambda v: (v.sin() * v.roll(1)).sum()
    out["hess"] = hessian(f)(x[0])
    out["jr"] = jacrev(torch.sin)(x[0])
    out["jf"] = jacfwd(lambda v: v.exp() * v)(x[0])
    out["jvp"] = jvp(torch.tanh, (x,), (x,))[1]
    out["vjp"] = vjp(torch.tanh, x)[1](x)[0]
    out["vmap"] = vmap(torch.dot)(x, x)
    return out


def compiled(backend):
    def f(dev):
        torch._dynamo.reset()
        m = build(GPT, dev)
        c = torch.compile(m, backend=backend)
        return train(c, [(ri(40, 4, 9),)], lm, dev)

    return f


case("compile_eager")(compiled("eager"))
case("compile_aot_eager")(compiled("aot_eager"))
case("compile_inductor")(compiled("inductor"))


@case()
def export_and_jit(dev):
    m = build(lambda: CNN(), dev).eval()
    x = img()[0][0].to(dev)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        a = torch.jit.trace(m, x)(x)
        e = torch.export.export(m, (x,)).module()(x)
        f = torch.fx.symbolic_trace(m)(x)
    return {"trace": a, "export": e, "fx": f}


@case()
def custom_autograd_function(dev):
    class Sq(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            ctx.mark_non_differentiable()
            return x * x * w

        @staticmethod
        def backward(ctx, gr):
            x, w = ctx.saved_tensors
            return gr * 2 * x * w, (gr * x * x).sum(0)

    w = nn.Parameter(rn(6).to(dev))
    x = rn(4, 6).to(dev).requires_grad_()
    with torch.autograd.graph.save_on_cpu():
        Sq.apply(x, w).sin().sum().backward()
    return {"x": x.grad, "w": w.grad}


@case()
def save_load_map_location(dev):
    m = build(CNN, dev)
    o = torch.optim.Adam(m.parameters(), lr=0.01)
    ce(m, *to(img()[0], dev)).backward()
    o.step()
    f = io.BytesIO()
    torch.save({"m": m.state_dict(), "o": o.state_dict(), "t": m.h[2].weight[:, :4]}, f)
    out = {}
    for loc in ("cpu", dev, torch.device(dev), None, {dev: "cpu"}, lambda storage, location: storage):
        f.seek(0)
        if callable(loc):
            d = torch.load(f, map_location=loc, weights_only=False)
            continue
        d = torch.load(f, map_location=loc, weights_only=True)
        want = "cpu" if loc == "cpu" or isinstance(loc, dict) else dt(dev)
        got = d["m"]["h.2.weight"].device.type
        assert got == want, f"map_location={loc}: tensor on {got}"
        m2 = CNN().to(dev)
        m2.load_state_dict(d["m"])
        o2 = torch.optim.Adam(m2.parameters(), lr=0.01)
        o2.load_state_dict(d["o"])
        assert all(v.device.type == dt(dev) for s in o2.state.values() for k, v in s.items() if k != "step"), (
            "optimizer state not moved to its parameter's device"
        )
        ce(m2, *to(img()[1], dev)).backward()
        o2.step()
        out[f"{len(out)}"] = m2.h[2].weight
    with tempfile.TemporaryDirectory() as t:
        torch.save(m, t + "/m.pt")
        m3 = torch.load(t + "/m.pt", weights_only=False)
        assert next(m3.parameters()).device.type == dt(dev)
    return out


@case()
def deepcopy_resume(dev):
    m = build(CNN, dev)
    # A bias before a batch norm has no gradient; the rounding left of it, Adam makes a step of full length.
    m.f[0].bias.requires_grad_(False)
    o = torch.optim.Adam(m.parameters(), lr=0.01)

    def step(m, o, b):
        o.zero_grad()
        loss = ce(m, *to(b, dev))
        loss.backward()
        o.step()
        return loss.item()

    step(m, o, img()[0])
    m2 = copy.deepcopy(m)
    o2 = torch.optim.Adam(m2.parameters(), lr=0.01)
    o2.load_state_dict(copy.deepcopy(o.state_dict()))
    a, b = [step(m, o, x) for x in img()], [step(m2, o2, x) for x in img()]
    assert max(abs(x - y) for x, y in zip(a, b)) < 1e-5, (a, b)
    import pickle

    t = pickle.loads(pickle.dumps(m.h[2].weight))
    assert t.device.type == dt(dev) and isinstance(t, nn.Parameter)
    return weights(m2, {"a": a})


@case()
def dataloader_pin_workers(dev):
    ds = TensorDataset(rn(24, 6), ri(3, 24))
    m = small(dev)
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    ls = []
    acc = dt(dev) != "cpu"
    for w in (0, 2):
        for x, y in DataLoader(
            ds, batch_size=8, shuffle=True, num_workers=w, pin_memory=acc, generator=g(3), persistent_workers=False
        ):
            if acc:
                assert x.is_pinned(), "pin_memory gave an unpinned batch"
            o.zero_grad()
            loss = ce(m, x.to(dev, non_blocking=True), y.to(dev, non_blocking=True))
            loss.backward()
            o.step()
            ls.append(loss.item())
    return weights(m, {"losses": ls})


@case()
def rng_state_and_distributions(dev):
    torch.manual_seed(1)
    x = torch.randn(100000, device=dev)
    u = torch.rand(100000, device=dev)
    b = torch.bernoulli(torch.full((100000,), 0.2, device=dev))
    i = torch.randint(0, 10, (100000,), device=dev)
    e = torch.empty(100000, device=dev).exponential_(2.0)
    pm = torch.randperm(1000, device=dev)
    mn = torch.multinomial(torch.tensor([0.1, 0.2, 0.7], device=dev), 50000, replacement=True)
    st = dict(
        n=(x.mean().item(), 0, 0.02),
        nv=(x.std().item(), 1, 0.02),
        u=(u.mean().item(), 0.5, 0.01),
        b=(b.mean().item(), 0.2, 0.01),
        i=(i.float().mean().item(), 4.5, 0.06),
        e=(e.mean().item(), 0.5, 0.02),
        m=((mn == 2).float().mean().item(), 0.7, 0.02),
    )
    for k, (v, w, t) in st.items():
        assert abs(v - w) < t, f"{k}: mean {v}, {w} expected"
    assert 0 <= u.min().item() and u.max().item() < 1 and i.max().item() == 9
    assert torch.equal(pm.sort()[0].cpu(), torch.arange(1000)), "randperm is no permutation"
    torch.manual_seed(1)
    assert torch.equal(torch.randn(100000, device=dev).cpu(), x.cpu()), "manual_seed does not repeat"
    gg = torch.Generator(device=dev).manual_seed(3)
    a = torch.randn(8, device=dev, generator=gg)
    gg.manual_seed(3)
    assert torch.equal(a.cpu(), torch.randn(8, device=dev, generator=gg).cpu())
    s = gg.get_state()
    a = torch.rand(8, device=dev, generator=gg)
    gg.set_state(s)
    assert torch.equal(a.cpu(), torch.rand(8, device=dev, generator=gg).cpu())
    nn.init.trunc_normal_(torch.empty(50, 50, device=dev))
    nn.init.orthogonal_(torch.empty(6, 6, device=dev))
    nn.init.kaiming_normal_(torch.empty(6, 6, device=dev))
    return {"ok": 1}


@case()
def indexing_masks(dev):
    x = rn(6, 5, 4).to(dev)
    m = x > 0
    y = x.clone()
    y[m] = 0
    y[1:3, ::2] += 1
    y[[0, 2], [1, 3]] = 7
    y[..., None, 0] *= 2
    z = x.clone()
    z.masked_scatter_(m, torch.arange(200.0, device=dev))
    z.masked_fill_(~m, -1)
    return {
        "y": y,
        "z": z,
        "sel": x[m],
        "nz": m.nonzero(),
        "tk": x.topk(2, 0)[0],
        "srt": x.sort(1)[0],
        "where": torch.where(m, x, -x),
        "gather": x.gather(1, ri(5, 6, 2, 4).to(dev)),
        "cs": x.cumsum(1),
        "uniq": torch.unique((x * 2).int()),
        "bucket": torch.bucketize(x, torch.tensor([-1.0, 0, 1], device=dev)),
        "es": torch.einsum("abc,dbc->ad", x, x),
        "perm": x.permute(2, 0, 1).contiguous().view(4, -1),
        "t": torch.tril(x[:, :, 0]),
        "list": x[0, 0].tolist(),
        "np": float(x.cpu().numpy().sum()),
    }


def _ddp_rank(rank, world, dev, file, q, imports, back):
    try:
        for i in imports:
            importlib.import_module(i)
        import torch.distributed as dist

        d = torch.device(dev)
        if d.type != "cpu":
            mod = getattr(torch, d.type)
            n = mod.device_count()
            d = torch.device(d.type, rank % n)
            mod.set_device(d)
        dist.init_process_group(back, init_method="file://" + file, rank=rank, world_size=world)
        torch.manual_seed(0)
        m = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 3)).to(d)
        ddp = nn.parallel.DistributedDataParallel(m, device_ids=None if d.type == "cpu" else [d.index])
        o = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
        ls = []
        for k in range(STEPS):
            x, y = rn(4, 6, seed=10 * k + rank).to(d), ri(3, 4, seed=10 * k + rank).to(d)
            o.zero_grad()
            loss = ce(ddp, x, y)
            loss.backward()
            o.step()
            ls.append(loss.item())
        t = torch.full((3,), float(rank + 1), device=d)
        dist.all_reduce(t)
        ga = [torch.empty(2, device=d) for _ in range(world)]
        dist.all_gather(ga, torch.full((2,), float(rank), device=d))
        b = torch.arange(4.0, device=d) * (rank + 1)
        dist.broadcast(b, 1)
        r = {
            "losses": ls,
            "ar": t.cpu().tolist(),
            "ag": torch.stack(ga).cpu().tolist(),
            "bc": b.cpu().tolist(),
            "w": m[0].weight.detach().cpu().tolist(),
        }
        dist.barrier()
        q.put((rank, r, None))
        dist.destroy_process_group()
    except Exception:
        q.put((rank, None, traceback.format_exc()[-500:]))


@case()
def ddp_2_ranks(dev):
    import torch.multiprocessing as mp

    ctx = mp.get_context("spawn")
    back = OPTIONS.ddp_backend or ("gloo" if dt(dev) == "cpu" else "hccl" if dt(dev) == "npu" else "gloo")
    if dt(dev) == "cpu":
        back = "gloo"
    q = ctx.SimpleQueue()
    with tempfile.TemporaryDirectory() as t:
        ps = [
            ctx.Process(
                target=_ddp_rank,
                args=(r, 2, str(dev), t + "/i", q, OPTIONS.imports if dt(dev) != "cpu" else [], back),
                daemon=True,
            )
            for r in range(2)
        ]
        [p.start() for p in ps]
        end = time.time() + 90
        res = {}
        while len(res) < 2 and time.time() < end:
            if not q.empty():
                r, o, e = q.get()
                if e:
                    [p.terminate() for p in ps]
                    raise RuntimeError(f"rank {r}: {e}")
                res[r] = o
            elif all(p.exitcode not in (None, 0) for p in ps):
                raise RuntimeError(f"ranks died: {[p.exitcode for p in ps]}")
            else:
                time.sleep(0.05)
        [p.join(5) for p in ps]
        [p.kill() for p in ps if p.is_alive()]
        if len(res) < 2:
            raise RuntimeError("ranks hang")
    assert res[0]["w"] == res[1]["w"], "ranks ended with different weights"
    return {f"r{r}.{k}": torch.tensor(v) for r, o in res.items() for k, v in o.items()}

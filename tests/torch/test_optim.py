# SPDX-License-Identifier: BSD-3-Clause
"""Fused optimizers: the same parameters as torch.optim on the CPU, or as the algorithm written out for one parameter."""

import copy
import math

import pytest
import torch
from torch_npu import optim, utils

STEPS = 6


def network(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(7, 11), torch.nn.Tanh(), torch.nn.Linear(11, 3))


def train(net, optimizer, steps=STEPS, seed=1, zero=True):
    generator = torch.Generator().manual_seed(seed)
    device = next(net.parameters()).device
    for _ in range(steps):
        x = torch.randn(5, 7, generator=generator).to(device)
        optimizer.zero_grad(**({"set_to_none": False} if zero else {}))
        net(x).square().sum().backward()
        optimizer.step()
    return torch.cat([p.detach().cpu().reshape(-1) for p in net.parameters()])


def two_groups(net, **options):
    first, second = net[0].parameters(), net[2].parameters()
    return [{"params": list(first)}, {"params": list(second), **options}]


@pytest.mark.parametrize(
    "fused, reference, options",
    [
        (optim.NpuFusedSGD, torch.optim.SGD, {"lr": 0.02}),
        (optim.NpuFusedSGD, torch.optim.SGD, {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.1}),
        (optim.NpuFusedSGD, torch.optim.SGD, {"lr": 0.02, "momentum": 0.9, "dampening": 0.3}),
        (optim.NpuFusedSGD, torch.optim.SGD, {"lr": 0.02, "momentum": 0.9, "nesterov": True}),
        (optim.NpuFusedAdam, torch.optim.Adam, {"lr": 0.05}),
        (optim.NpuFusedAdam, torch.optim.Adam, {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.1, "amsgrad": True}),
        (optim.NpuFusedAdamW, torch.optim.AdamW, {"lr": 0.05}),
        (optim.NpuFusedAdamW, torch.optim.AdamW, {"lr": 0.05, "weight_decay": 0.3, "amsgrad": True}),
        (optim.NpuFusedAdadelta, torch.optim.Adadelta, {"lr": 0.9, "weight_decay": 0.1}),
        (optim.NpuFusedRMSprop, torch.optim.RMSprop, {"lr": 0.01}),
        (optim.NpuFusedRMSprop, torch.optim.RMSprop, {"lr": 0.01, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ],
)
def test_as_torch_optim(fused, reference, options):
    torch.npu.utils.reset_cpu_fallback_count()
    expected, net = network(), network().npu()
    wanted = train(expected, reference(two_groups(expected, lr=0.004), **options))
    got = train(net, fused(two_groups(net, lr=0.004), **options))
    torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-6)
    assert torch.npu.utils.cpu_fallback_count() == {}


# ---- algorithms that PyTorch does not have, written out for one parameter ----
def rmsprop_tf(p, g, s, o):
    if o.get("decoupled_decay"):
        p.mul_(1 - o["weight_decay"])
    elif o.get("weight_decay"):
        g = g + o["weight_decay"] * p
    square, buffer, mean = s.setdefault("square", torch.ones_like(p)), s.setdefault("b", 0 * p), s.setdefault("m", 0 * p)
    square += 0.1 * (g * g - square)
    mean += 0.1 * (g - mean)
    scale = ((square - mean * mean if o.get("centered") else square) + 1e-10).sqrt()
    if not o.get("momentum"):
        p -= o["lr"] * g / scale
    elif o.get("lr_in_momentum", True):
        buffer.copy_(o["momentum"] * buffer + o["lr"] * g / scale)
        p -= buffer
    else:
        buffer.copy_(o["momentum"] * buffer + g / scale)
        p -= o["lr"] * buffer


def averages(s, p, g, b1, b2):
    mean, square = s.setdefault("mean", 0 * p), s.setdefault("square", 0 * p)
    mean.copy_(b1 * mean + (1 - b1) * g)
    square.copy_(b2 * square + (1 - b2) * g * g)
    return mean, square


def lamb(p, g, s, o):
    mean, square = averages(s, p, g, 0.9, 0.999)
    move = mean / (square.sqrt() + 1e-6) + o.get("weight_decay", 0) * p
    ratio = 1.0
    if not o.get("adam"):
        size, length = min(p.norm().item(), 10.0), move.norm().item()
        ratio = size / length if size and length else 1.0
    p -= o["lr"] * ratio * move


def adamp(p, g, s, o):
    s["t"] = t = s.get("t", 0) + 1
    mean, square = averages(s, p, g, 0.9, 0.999)
    scale = square.sqrt() / math.sqrt(1 - 0.999**t) + 1e-8
    move = (0.9 * mean + 0.1 * g if o.get("nesterov") else mean) / scale
    ratio = 1.0
    if p.dim() > 1:
        for rows in (p.size(0), 1):
            w, d, m = p.reshape(rows, -1), g.reshape(rows, -1), move.reshape(rows, -1)
            cosine = (w * d).sum(1).abs() / (w.norm(dim=1) + 1e-8) / (d.norm(dim=1) + 1e-8)
            if cosine.max() < o.get("delta", 0.1) / math.sqrt(w.size(1)):
                unit = w / (w.norm(dim=1, keepdim=True) + 1e-8)
                move, ratio = (m - unit * (unit * m).sum(1, keepdim=True)).reshape(p.shape), 0.1
                break
    p *= 1 - o["lr"] * o.get("weight_decay", 0) * ratio
    p -= o["lr"] / (1 - 0.9**t) * move


def bert_adam(p, g, s, o):
    t = s["t"] = s.get("t", -1) + 1
    mean, square = averages(s, p, g, 0.9, 0.999)
    move = mean / (square.sqrt() + 1e-6) + 0.01 * p
    x, factor = t / o.get("t_total", 1), 1.0
    if o.get("t_total"):
        factor = x / o["warmup"] if x < o["warmup"] else max((x - 1) / (o["warmup"] - 1), 0)
    p -= o["lr"] * factor * move


@pytest.mark.parametrize(
    "fused, rule, options",
    [
        (optim.NpuFusedRMSpropTF, rmsprop_tf, {"lr": 0.01}),
        (optim.NpuFusedRMSpropTF, rmsprop_tf, {"lr": 0.01, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
        (optim.NpuFusedRMSpropTF, rmsprop_tf,
         {"lr": 0.01, "momentum": 0.9, "lr_in_momentum": False, "decoupled_decay": True, "weight_decay": 0.01}),
        (optim.NpuFusedLamb, lamb, {"lr": 0.02, "weight_decay": 0.1}),
        (optim.NpuFusedLamb, lamb, {"lr": 0.02, "adam": True}),
        (optim.NpuFusedAdamP, adamp, {"lr": 0.02, "weight_decay": 0.1}),
        (optim.NpuFusedAdamP, adamp, {"lr": 0.02, "weight_decay": 0.1, "nesterov": True, "delta": 10.0}),
        (optim.NpuFusedBertAdam, bert_adam, {"lr": 0.02, "max_grad_norm": -1}),
        (optim.NpuFusedBertAdam, bert_adam, {"lr": 0.02, "warmup": 0.4, "t_total": 5, "max_grad_norm": -1}),
    ],
)  # fmt: skip
def test_as_written_out(fused, rule, options):
    net, expected = network().npu(), network().double()
    state = {}

    class Reference:
        def zero_grad(self, set_to_none=False):
            for p in expected.parameters():
                p.grad = None

        @torch.no_grad()
        def step(self):
            for p in expected.parameters():
                rule(p, p.grad, state.setdefault(p, {}), options)

    class Doubled(torch.nn.Module):
        def forward(self, x):
            return expected(x.double())

        parameters = staticmethod(expected.parameters)

    wanted = train(Doubled(), Reference())
    got = train(net, fused(net.parameters(), **options))
    torch.testing.assert_close(got, wanted.float(), rtol=1e-4, atol=1e-5)


def test_lamb_with_a_global_norm_and_bert_adam_with_clipping():
    net = network().npu()
    optimizer = optim.NpuFusedLamb(net.parameters(), use_global_grad_norm=True)
    train(net, optimizer, steps=1)
    grads = torch.cat([p.grad.reshape(-1) for p in net.parameters()])
    assert optimizer.global_grad_norm.item() == pytest.approx(grads.norm().item(), rel=1e-5)
    net = network().npu()
    optimizer = optim.NpuFusedBertAdam(net.parameters(), lr=0.01, max_grad_norm=0.5)
    train(net, optimizer, steps=1)
    assert torch.cat([p.grad.reshape(-1) for p in net.parameters()]).norm().item() == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("schedule", ["warmup_cosine", "warmup_constant", "warmup_linear", "warmup_poly"])
def test_schedules(schedule):
    net = network().npu()
    optimizer = optim.NpuFusedBertAdam(net.parameters(), lr=0.01, schedule=schedule, warmup=0.5, t_total=6)
    assert torch.isfinite(train(net, optimizer)).all()


# ---- how they are combined ----
def test_one_tensor_holds_all():
    net = network().npu()
    optimizer = optim.NpuFusedAdam(net.parameters())
    before = list(net.parameters())
    assert optimizer.get_combined_params() == [None] * 3
    train(net, optimizer, steps=2)
    assert all(p is old for p, old in zip(net.parameters(), before))
    params, grads = optimizer.get_combined_params()[0], optimizer.get_combined_grads()[0]
    assert params.numel() == grads.numel() == sum(p.numel() for p in net.parameters())
    assert utils.is_combined_tensor_valid(params, before) and utils.is_combined_tensor_valid(grads, [p.grad for p in before])
    optimizer.zero_grad()
    assert all(p.grad.abs().sum().item() == 0 for p in before)
    with pytest.raises(ValueError, match="set_to_none is not supported in fused optimizers"):
        optimizer.zero_grad(set_to_none=True)


def test_gradients_that_were_none_and_layers_that_join():
    def run(net, optimizer):
        device = next(net.parameters()).device
        net[2].requires_grad_(False)
        for step in range(6):
            if step == 3:
                net[2].requires_grad_(True)
            for p in net.parameters():
                p.grad = None
            x = torch.randn(5, 7, generator=torch.Generator().manual_seed(step)).to(device)
            net(x).square().sum().backward()
            optimizer.step()
        return torch.cat([p.detach().cpu().reshape(-1) for p in net.parameters()])

    expected, net = network(), network().npu()
    wanted = run(expected, torch.optim.Adam(expected.parameters(), lr=0.05))
    got = run(net, optim.NpuFusedAdam(net.parameters(), lr=0.05))
    torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-6)


def test_state_goes_to_disk_and_to_torch_optim(tmp_path):
    net = network().npu()
    optimizer = optim.NpuFusedAdam(net.parameters(), lr=0.05)
    train(net, optimizer, steps=3)
    torch.save(optimizer.state_dict(), tmp_path / "state.pt")
    copy_of_net = copy.deepcopy(net)
    again = optim.NpuFusedAdam(copy_of_net.parameters(), lr=0.7)
    again.load_state_dict(torch.load(tmp_path / "state.pt"))
    torch.testing.assert_close(train(copy_of_net, again, steps=3), train(net, optimizer, steps=3))
    state = optimizer.state_dict()["state"]
    assert state[0]["step"] == 6 and state[0]["exp_avg"].shape == net[0].weight.shape


def test_half_types_and_a_scaler():
    for dtype in (torch.float16, torch.bfloat16):
        net = network().npu().to(dtype)
        optimizer = optim.NpuFusedAdamW(net.parameters(), lr=0.01)
        x = torch.ones(5, 7, device="npu", dtype=dtype)
        first = net(x).float().square().sum().item()
        for _ in range(5):
            optimizer.zero_grad()
            net(x).float().square().sum().backward()
            optimizer.step()
        assert net(x).float().square().sum().item() < first
    net = network().npu()
    optimizer, scaler = optim.NpuFusedSGD(net.parameters(), lr=0.01), torch.amp.GradScaler("npu", init_scale=1024.0)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            loss = net(torch.ones(5, 7, device="npu")).float().square().sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        optimizer.clip_grad_norm_fused_(1.0)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 1024.0


@pytest.mark.parametrize("norm_type", [2, 1, math.inf])
def test_clip(norm_type):
    expected, net = network(), network().npu()
    optimizer = optim.NpuFusedSGD(net.parameters(), lr=0.01)
    for module in (expected, net):
        module(torch.ones(5, 7, device=next(module.parameters()).device)).square().sum().backward()
    wanted = torch.nn.utils.clip_grad_norm_(expected.parameters(), 0.1, norm_type)
    assert optimizer.clip_grad_norm_fused_(0.1, norm_type).item() == pytest.approx(wanted.item(), rel=1e-4)
    for p, q in zip(net.parameters(), expected.parameters()):
        torch.testing.assert_close(p.grad.cpu(), q.grad, rtol=1e-4, atol=1e-6)
    assert optim.NpuFusedSGD(network().npu().parameters(), lr=1).clip_grad_norm_fused_(1.0).item() == 0


def test_a_closure_and_a_scheduler():
    net = network().npu()
    optimizer = optim.NpuFusedSGD(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    def closure():
        optimizer.zero_grad()
        loss = net(torch.ones(5, 7, device="npu")).square().sum()
        loss.backward()
        return loss

    first = optimizer.step(closure).item()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.005 and optimizer.step(closure).item() < first


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda p: optim.NpuFusedSGD(p, lr=-1), "Invalid learning rate: -1"),
        (lambda p: optim.NpuFusedSGD(p), "didn't specify a value of required optimization parameter lr"),
        (lambda p: optim.NpuFusedSGD(p, lr=1, nesterov=True), "Nesterov momentum requires"),
        (lambda p: optim.NpuFusedAdam(p, betas=(1.0, 0.9)), "Invalid beta parameter at index 0: 1.0"),
        (lambda p: optim.NpuFusedAdamW(p, eps=-1), "Invalid epsilon value"),
        (lambda p: optim.NpuFusedAdadelta(p, rho=2), "Invalid rho value: 2"),
        (lambda p: optim.NpuFusedRMSprop(p, alpha=-1), "Invalid alpha value"),
        (lambda p: optim.NpuFusedRMSpropTF(p, momentum=-1), "Invalid momentum value"),
        (lambda p: optim.NpuFusedBertAdam(p, lr=1, schedule="none"), "Invalid schedule parameter: none"),
        (lambda p: optim.NpuFusedBertAdam(p, lr=1, warmup=1.5), "Invalid warmup: 1.5"),
        (lambda p: optim.NpuFusedLamb(p, betas=(0.9, 1.0)), "Invalid beta parameter at index 1"),
        (lambda p: optim.NpuFusedAdamP(p, weight_decay=-1), "Invalid weight_decay value"),
    ],
)
def test_bad_options(make, text):
    with pytest.raises(ValueError, match=text):
        make([torch.nn.Parameter(torch.ones(2, device="npu"))])


def test_bad_parameters():
    p = torch.nn.Parameter(torch.ones(2, device="npu", dtype=torch.float64))
    p.grad = torch.ones_like(p)
    with pytest.raises(TypeError, match="must be either float32, float16 or bfloat16, but received torch.float64"):
        optim.NpuFusedAdam([p]).step()
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones_like(p)
    with pytest.raises(ValueError, match="must be on an NPU, but one is on cpu"):
        optim.NpuFusedAdam([p]).step()
    base = optim.NpuFusedOptimizerBase([torch.nn.Parameter(torch.ones(2, device="npu"))], {})
    base.param_groups[0]["params"][0].grad = torch.ones(2, device="npu")
    with pytest.raises(NotImplementedError, match="must have _states"):
        base.step()


def test_combining_tensors():
    a, b = torch.arange(6.0, device="npu").view(2, 3), torch.ones(4, device="npu")
    whole = utils.npu_combine_tensors([a, b])
    assert whole.tolist() == [0, 1, 2, 3, 4, 5, 1, 1, 1, 1] and a.shape == (2, 3)
    a.zero_()
    assert whole[:6].abs().sum().item() == 0
    part = utils.get_part_combined_tensor(whole, 4, 4)
    part.fill_(7)
    assert a[1].tolist() == [0, 7, 7] and b.tolist() == [7, 7, 1, 1]
    assert utils.is_combined_tensor_valid(whole, [a, b]) and utils.is_combined_tensor_valid(None, [])
    assert not utils.is_combined_tensor_valid(whole, [a, None]) and not utils.is_combined_tensor_valid(None, [a])
    assert not utils.is_combined_tensor_valid(whole, [torch.ones(1, device="npu")])
    assert utils.npu_combine_tensors([]) is None and utils.get_part_combined_tensor(whole, 0, 0) is None
    assert utils.npu_combine_tensors([torch.ones(3, device="npu")], require_copy_value=False).numel() == 3
    for bad, text in (
        ([a, None], "must not have `None`"),
        ([a, b.half()], "must have the same dtype"),
        ([torch.ones(2)], "must be on NPU, got cpu"),
        ([torch.ones(2, 2, device="npu").t()], "must be contiguous"),
    ):
        with pytest.raises(RuntimeError, match=text):
            utils.npu_combine_tensors(bad)
    with pytest.raises(RuntimeError, match="index \\+ size"):
        utils.get_part_combined_tensor(whole, 8, 3)

# SPDX-License-Identifier: BSD-3-Clause
"""Optimisers, schedules, clipping, mixed precision."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from models_common import CASES, CNN, GPT, SB, STEPS, Skip, build, case, ce, dt, img, lm, ri, small, to, train, weights


def optim_case(mk):
    def f(dev):
        m = small(dev)
        box = {}

        def o(p):
            box["o"] = mk(p)
            return box["o"]

        out = train(m, SB, ce, dev, opt=o)
        for k, st in enumerate(box["o"].state.values()):
            for n, v in st.items():
                if isinstance(v, torch.Tensor):
                    out[f"s{k}.{n}"] = v
        return out

    return f


for nm, cls, kw in [
    ("SGD", torch.optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)),
    ("Adam", torch.optim.Adam, dict(lr=0.01, amsgrad=True)),
    ("AdamW", torch.optim.AdamW, dict(lr=0.01)),
    ("Adagrad", torch.optim.Adagrad, dict(lr=0.05)),
    ("Adadelta", torch.optim.Adadelta, dict(lr=1.0)),
    ("Adamax", torch.optim.Adamax, dict(lr=0.01)),
    ("NAdam", torch.optim.NAdam, dict(lr=0.01)),
    ("RAdam", torch.optim.RAdam, dict(lr=0.01)),
    ("RMSprop", torch.optim.RMSprop, dict(lr=0.01, momentum=0.5, centered=True)),
    ("ASGD", torch.optim.ASGD, dict(lr=0.05)),
    ("Rprop", torch.optim.Rprop, dict(lr=0.01)),
    ("Adafactor", torch.optim.Adafactor, dict(lr=0.05)),
]:
    case(f"optim_{nm}")(optim_case(lambda p, cls=cls, kw=kw: cls(p, foreach=False, **kw)))
    case(f"optim_{nm}_foreach")(optim_case(lambda p, cls=cls, kw=kw: cls(p, foreach=True, **kw)))
    if nm in ("SGD", "Adam", "AdamW", "Adagrad"):
        case(f"optim_{nm}_fused")(optim_case(lambda p, cls=cls, kw=kw: cls(p, fused=True, **kw)))
case("optim_Adam_capturable_off_differentiable")(optim_case(lambda p: torch.optim.Adam(p, lr=0.01, maximize=True, foreach=False)))


@case()
def optim_Muon(dev):
    if not hasattr(torch.optim, "Muon"):
        raise Skip("no Muon in this torch")
    m = build(lambda: nn.Sequential(nn.Linear(6, 16, bias=False), nn.Tanh(), nn.Linear(16, 3, bias=False)), dev)
    return train(m, SB, ce, dev, opt=lambda p: torch.optim.Muon(p, lr=0.02))


CASES["optim_Muon"] = (CASES["optim_Muon"][0], 5e-2, 5e-3)  # its Newton-Schulz iteration is bf16


@case()
def optim_LBFGS(dev):
    m = small(dev)
    o = torch.optim.LBFGS(m.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")
    x, y = to(SB[0], dev)
    ls = []
    for _ in range(STEPS):

        def cl():
            o.zero_grad()
            loss = ce(m, x, y)
            loss.backward()
            return loss

        ls.append(o.step(cl).item())
    return weights(m, {"losses": ls})


CASES["optim_LBFGS"] = (CASES["optim_LBFGS"][0], 2e-2, 5e-3)


@case()
def lr_schedulers(dev):
    S = torch.optim.lr_scheduler
    out = {}
    mk = dict(
        step=lambda o: S.StepLR(o, 2, 0.5),
        multi=lambda o: S.MultiStepLR(o, [1, 3]),
        exp=lambda o: S.ExponentialLR(o, 0.8),
        cos=lambda o: S.CosineAnnealingLR(o, 5),
        warm=lambda o: S.CosineAnnealingWarmRestarts(o, 2),
        one=lambda o: S.OneCycleLR(o, 0.2, total_steps=8),
        cyc=lambda o: S.CyclicLR(o, 0.01, 0.1, 2),
        lin=lambda o: S.LinearLR(o, 0.3, 1.0, 4),
        const=lambda o: S.ConstantLR(o),
        poly=lambda o: S.PolynomialLR(o, 6),
        lam=lambda o: S.LambdaLR(o, lambda e: 0.9**e),
        mul=lambda o: S.MultiplicativeLR(o, lambda e: 0.9),
        seq=lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 2), S.ExponentialLR(o, 0.9)], [2]),
        plateau=lambda o: S.ReduceLROnPlateau(o, patience=0),
    )
    for k, f in mk.items():
        m = small(dev)
        o = torch.optim.SGD(m.parameters(), lr=torch.tensor(0.1) if k == "exp" else 0.1, momentum=0.9)
        s = f(o)
        x, y = to(SB[0], dev)
        lr = []
        for _ in range(STEPS):
            o.zero_grad()
            loss = ce(m, x, y)
            loss.backward()
            o.step()
            s.step(loss.item() + 9) if k == "plateau" else s.step()
            lr.append(float(o.param_groups[0]["lr"]))
        out[k] = lr
        out[k + ".w"] = m[0].weight
    return out


@case()
def grad_clipping(dev):
    out = {}
    for k, c in dict(
        norm=lambda m: nn.utils.clip_grad_norm_(m.parameters(), 0.1),
        inf=lambda m: nn.utils.clip_grad_norm_(m.parameters(), 0.01, float("inf"), foreach=False),
        val=lambda m: nn.utils.clip_grad_value_(m.parameters(), 0.01),
        fe=lambda m: nn.utils.clip_grad_norm_(m.parameters(), 0.1, foreach=True, error_if_nonfinite=True),
    ).items():
        out.update({f"{k}.{n}": v for n, v in train(small(dev), SB, ce, dev, clip=c).items()})
    m = small(dev)
    ce(m, *to(SB[0], dev)).backward()
    out["vec"] = nn.utils.parameters_to_vector(m.parameters())
    out["total"] = nn.utils.get_total_norm([p.grad for p in m.parameters()])
    return out


@case()
def grad_accumulation_hooks(dev):
    m = small(dev)
    seen = []
    m[0].register_forward_hook(lambda *a: seen.append("f"))
    m[0].register_full_backward_hook(lambda *a: seen.append("b"))
    m[0].weight.register_hook(lambda gr: gr * 2)
    m[4].weight.register_post_accumulate_grad_hook(lambda p: seen.append("p"))
    for b in SB:
        (ce(m, *to(b, dev)) / 2).backward()
    assert seen == ["f", "p", "b"] * 2, seen
    return {n: p.grad for n, p in m.named_parameters()}


@case()
def ema_swa(dev):
    U = torch.optim.swa_utils
    m = build(lambda: CNN(), dev)
    e = U.AveragedModel(m, multi_avg_fn=U.get_ema_multi_avg_fn(0.9))
    o = torch.optim.SGD(m.parameters(), lr=0.05)
    for b in img() * 2:
        o.zero_grad()
        ce(m, *to(b, dev)).backward()
        o.step()
        e.update_parameters(m)
    U.update_bn([to(b, dev) for b in img()], e, device=torch.device(dev))
    return weights(e, {})


def amp(dev, dtype, scaler):
    m = build(
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(8 * 64, 32),
            nn.LayerNorm(32),
            nn.Softmax(-1),
            nn.Linear(32, 10),
        ),
        dev,
    )
    o = torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9)
    s = torch.amp.GradScaler(dt(dev), init_scale=1024.0, enabled=scaler)
    ls, dts = [], []
    for k in range(STEPS):
        x, y = to(img(4, 3, 8)[k % 2], dev)
        o.zero_grad()
        with torch.amp.autocast(dt(dev), dtype=dtype):
            z = m(x)
            dts.append(str(z.dtype))
            loss = F.cross_entropy(z.float(), y)
            a = x.flatten(1)
            dts.append(str((a @ a.T).dtype))
            dts.append(str(m[0](x).dtype))
        s.scale(loss).backward()
        s.unscale_(o)
        nn.utils.clip_grad_norm_(m.parameters(), 5.0)
        s.step(o)
        s.update()
        ls.append(loss.item())
    assert all(d == str(dtype) for d in dts), f"autocast gave {dts}"
    out = weights(m, {"losses": ls})
    if scaler:
        before = m[0].weight.detach().cpu().clone()
        o.zero_grad()
        s.scale(m(x).sum()).backward()
        m[0].weight.grad[0, 0, 0, 0] = float("inf")
        s.step(o)
        s.update()
        assert torch.equal(before, m[0].weight.detach().cpu()), "GradScaler stepped on an inf gradient"
        out["scale"] = s.get_scale()
    return out


case("amp_fp16_gradscaler", 3e-2, 1e-2)(lambda dev: amp(dev, torch.float16, True))
case("autocast_bf16", 6e-2, 3e-2)(lambda dev: amp(dev, torch.bfloat16, False))


@case("bf16_weights", 6e-2, 3e-2)
def bf16_weights(dev):
    m = build(lambda: GPT().to(torch.bfloat16), dev)
    return train(m, [(ri(40, 4, 13),)], lm, dev, opt=lambda p: torch.optim.AdamW(p, lr=1e-3))


@case("fp16_inference", 2e-2, 1e-2)
def fp16_inference(dev):
    m = (
        build(
            lambda: nn.Sequential(
                nn.Conv2d(3, 8, 3),
                nn.BatchNorm2d(8),
                nn.ReLU(),
                nn.AdaptiveAvgPool2d(4),
                nn.Flatten(),
                nn.Linear(128, 10),
                nn.LogSoftmax(-1),
            ),
            dev,
        )
        .half()
        .eval()
    )
    with torch.inference_mode():
        return {"y": m(img()[0][0].half().to(dev))}


@case()
def fp64_training(dev):
    m = build(lambda: nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)).double(), dev)
    return train(m, [(a.double(), b) for a, b in SB], ce, dev)

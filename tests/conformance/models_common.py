# SPDX-License-Identifier: BSD-3-Clause
"""What the model cases share: the list of cases, seeded inputs, the training loop, some networks.

A case is a function of a device that returns named tensors and numbers; it runs on the CPU and on the device under test.
"""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

CASES = {}  # name -> (function, rtol, atol)
STEPS = 5
OPTIONS = argparse.Namespace(imports=[], ddp_backend="")  # the runner's command line


def case(name=None, rtol=2e-3, atol=2e-4, **kw):
    def deco(f):
        CASES[name or f.__name__] = (f, rtol, atol)
        return f

    return deco


class Skip(Exception):
    pass


def dt(dev):
    return torch.device(dev).type


def to(o, dev):
    return torch.utils._pytree.tree_map(lambda x: x.to(dev) if isinstance(x, torch.Tensor) else x, o)


def g(seed=7):
    return torch.Generator().manual_seed(seed)


def rn(*s, seed=7):
    return torch.randn(*s, generator=g(seed))


def ri(hi, *s, seed=7):
    return torch.randint(0, hi, s, generator=g(seed))


def build(make, dev):
    torch.manual_seed(0)
    return make().to(dev)


def weights(m, out):
    for k, v in m.state_dict().items():
        if isinstance(v, torch.Tensor):
            out["w." + k] = v
    return out


def train(m, batches, lossf, dev, opt=None, clip=None, out=None):
    o = (opt or (lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)))(m.parameters())
    losses = []
    m.train()
    for k in range(STEPS):
        b = to(batches[k % len(batches)], dev)
        o.zero_grad()
        loss = lossf(m, *b)
        loss.backward()
        if clip:
            clip(m)
        o.step()
        losses.append(loss.item())
    out = {} if out is None else out
    out["losses"] = losses
    assert all(math.isfinite(x) for x in losses), f"loss not finite: {losses}"
    return weights(m, out)


def ce(m, x, y):
    return F.cross_entropy(m(x), y)


def img(n=4, c=3, s=16, k=10):
    return [(rn(n, c, s, s, seed=i), ri(k, n, seed=i)) for i in range(2)]


class CNN(nn.Module):
    def __init__(s, p=0.0):
        super().__init__()
        s.f = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Dropout2d(p),
        )
        s.h = nn.Sequential(nn.Flatten(), nn.Dropout(p), nn.Linear(16 * 16, 10))

    def forward(s, x):
        return s.h(s.f(x))


class Block(nn.Module):
    def __init__(s, i, o, st=1):
        super().__init__()
        s.c1, s.b1 = nn.Conv2d(i, o, 3, st, 1, bias=False), nn.BatchNorm2d(o)
        s.c2, s.b2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        s.d = nn.Sequential(nn.Conv2d(i, o, 1, st, bias=False), nn.BatchNorm2d(o)) if st != 1 or i != o else nn.Identity()

    def forward(s, x):
        y = F.relu(s.b1(s.c1(x)), inplace=True)
        return F.relu(s.b2(s.c2(y)) + s.d(x))


class GPT(nn.Module):
    def __init__(s, V=40, D=32, H=4, L=2, T=16):
        super().__init__()
        s.te, s.pe, s.H = nn.Embedding(V, D), nn.Embedding(T, D), H
        s.bl = nn.ModuleList(
            nn.ModuleDict(
                dict(
                    n1=nn.LayerNorm(D),
                    qkv=nn.Linear(D, 3 * D, bias=False),
                    o=nn.Linear(D, D),
                    n2=nn.LayerNorm(D),
                    up=nn.Linear(D, 4 * D),
                    dn=nn.Linear(4 * D, D),
                )
            )
            for _ in range(L)
        )
        s.nf, s.head = nn.LayerNorm(D), nn.Linear(D, V, bias=False)

    def forward(s, x):
        B, T = x.shape
        h = s.te(x) + s.pe(torch.arange(T, device=x.device))
        for b in s.bl:
            q, k, v = (z.view(B, T, s.H, -1).transpose(1, 2) for z in b["qkv"](b["n1"](h)).chunk(3, -1))
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + b["o"](a.transpose(1, 2).reshape(B, T, -1))
            h = h + b["dn"](F.gelu(b["up"](b["n2"](h)), approximate="tanh"))
        return s.head(s.nf(h))


def lm(m, x):
    return F.cross_entropy(m(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())


def small(dev):
    return build(
        lambda: nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16, bias=False), nn.Tanh(), nn.Linear(16, 3)), dev
    )


SB = [(rn(8, 6, seed=i), ri(3, 8, seed=i)) for i in range(2)]

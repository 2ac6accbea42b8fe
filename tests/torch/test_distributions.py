# SPDX-License-Identifier: BSD-3-Clause
"""What random operators draw: moments with loose bounds, ranges, errors, independence of calls."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu

N = 40000
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
RANDOM = ("normal", "uniform", "random", "bernoulli", "exponential", "geometric", "cauchy", "randperm", "multinomial", "dropout")


@pytest.fixture(autouse=True)
def seeded_without_fallback():
    def count():
        return {k: v for k, v in torch_npu.npu.utils.cpu_fallback_count().items() if any(r in k for r in RANDOM)}

    torch.manual_seed(1234)
    before = count()
    yield
    assert count() == before


def empty(dtype, *shape):
    return torch.empty(*(shape or (N,)), dtype=dtype, device="npu")


def moments(t):
    t = t.cpu().double()
    return t.mean().item(), t.std().item()


def near(t, mean, std, slack=0.05):
    got = moments(t)
    assert abs(got[0] - mean) < slack * max(std, 0.1) and abs(got[1] - std) < slack * max(std, 0.1), got


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_continuous(dtype):
    near(empty(dtype).normal_(1.5, 2.0), 1.5, 2.0)
    u = empty(dtype).uniform_(2, 5)
    near(u, 3.5, 3 / math.sqrt(12))
    assert u.cpu().min() >= 2 and u.cpu().max() < 5
    e = empty(dtype).exponential_(2.0)
    near(e, 0.5, 0.5)
    assert e.cpu().min() > 0
    near(empty(dtype).log_normal_(0, 0.25), math.exp(1 / 32), math.exp(1 / 32) * math.sqrt(math.exp(1 / 16) - 1))
    c = empty(dtype).cauchy_(3, 2).cpu().double()
    assert abs(c.median() - 3) < 0.15 and 0.45 < ((c - 3).abs() < 2).double().mean() < 0.55


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
def test_discrete(dtype):
    near(empty(dtype).bernoulli_(0.3), 0.3, math.sqrt(0.21))
    r = empty(dtype).random_(3, 17).cpu()
    assert sorted(set(r.tolist())) == list(range(3, 17))
    near(r, 9.5, math.sqrt((14**2 - 1) / 12))
    g = empty(dtype).geometric_(0.25)
    near(g, 4, math.sqrt(12))
    assert g.cpu().min() == 1


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_whole_range(dtype):
    info = torch.iinfo(dtype)
    r = empty(dtype).random_().cpu().double()
    assert r.min() >= 0 and r.max() > 0.99 * info.max and abs(r.mean() / info.max - 0.5) < 0.02
    r = empty(dtype).random_(info.min, None).cpu().double()
    assert r.min() < info.min + 0.02 * (info.max - info.min) and r.max() > 0.98 * info.max


def test_normal_tail_and_shape():
    x = empty(torch.float32, 400000).normal_().cpu().double()
    assert abs((x**3).mean()) < 0.05 and abs((x**4).mean() - 3) < 0.1
    assert 4 < x.abs().max() < 6.5
    assert abs((x[1:] * x[:-1]).mean()) < 0.01


def test_views_and_empty():
    x = torch.zeros(50, 60, device="npu")
    x.t()[3:40:2].uniform_(1, 2)
    filled = x.cpu().t()[3:40:2]
    assert filled.min() >= 1 and (x.cpu() != 0).sum() == filled.numel()
    assert empty(torch.float32, 0).normal_().numel() == 0
    assert torch.rand((), device="npu").shape == ()


def test_parameters_in_tensors():
    mean, std = torch.full((200, 100), 3.0, device="npu"), torch.full((100,), 0.5, device="npu")
    near(torch.normal(mean, std), 3, 0.5)
    near(torch.normal(mean, 2.0), 3, 2)
    near(torch.normal(1.0, std.expand(300, 100)), 1, 0.5)
    p = torch.tensor([0.0, 0.25, 1.0], device="npu").expand(5000, 3)
    b = torch.bernoulli(p).cpu().mean(0)
    assert b[0] == 0 and b[2] == 1 and abs(b[1] - 0.25) < 0.03


def test_multinomial():
    w = torch.tensor([[0.0, 1, 2, 0, 7], [1, 1, 1, 1, 1]], device="npu")
    counts = torch.bincount(w.multinomial(20000, True)[0].cpu(), minlength=5) / 20000
    assert counts[0] == counts[3] == 0 and abs(counts[4] - 0.7) < 0.02
    assert sorted(w[0].multinomial(3).tolist()) == [1, 2, 4]
    first = torch.stack([w[0].multinomial(3) for _ in range(600)])[:, 0].cpu()
    assert abs((first == 4).double().mean() - 0.7) < 0.08


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.float32, torch.float64], ids=str)
def test_randperm(dtype):
    p = torch.randperm(1000, dtype=dtype, device="npu").cpu()
    assert p.dtype == dtype and p.sort()[0].tolist() == list(range(1000)) and p.tolist() != list(range(1000))


def test_dropout():
    x = torch.full((200, 200), 2.0, device="npu", requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    values = set(y.detach().cpu().unique().tolist())
    assert values == {0.0, 2 / 0.75} or max(abs(v - 2 / 0.75) for v in values - {0.0}) < 1e-6
    assert abs((y == 0).cpu().double().mean() - 0.25) < 0.02
    assert torch.equal(x.grad.cpu() * 2, y.detach().cpu())
    out, mask = torch.native_dropout(x, 0.5, True)
    assert mask.dtype == torch.bool and mask.shape == x.shape
    assert torch.nn.functional.dropout(x, 1.0).abs().sum().item() == 0
    assert torch.equal(torch.native_dropout(x, 0.5, False)[0], x)


def test_calls_differ_and_seeds_repeat():
    a, b = torch.rand(1000, device="npu"), torch.rand(1000, device="npu")
    assert (a != b).cpu().double().mean() > 0.99 and (a[1:] != b[:-1]).cpu().double().mean() > 0.99
    torch.manual_seed(99)
    first = torch.randn(10001, device="npu")
    torch.manual_seed(99)
    assert torch.equal(first, torch.randn(10001, device="npu"))
    g = torch.Generator("npu").manual_seed(5)
    h = torch.Generator("npu").manual_seed(5)
    assert torch.equal(torch.rand(9, generator=g, device="npu"), torch.rand(9, generator=h, device="npu"))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda d: torch.empty(2, device=d).normal_(0, -1), "std >= 0.0"),
        (lambda d: torch.empty(2, device=d).uniform_(2, 1), r"\[from, to\) range"),
        (lambda d: torch.empty(2, device=d).exponential_(0), "lambda > 0.0"),
        (lambda d: torch.empty(2, device=d).geometric_(1), r"in \(0, 1\)"),
        (lambda d: torch.empty(2, device=d).random_(5, 5), "'from' to be less than 'to'"),
        (lambda d: torch.empty(2, device=d).bernoulli_(1.5), r"in \[0, 1\]"),
        (lambda d: torch.zeros(2, device=d).multinomial(1), "sum of probabilities <= 0"),
        (lambda d: torch.tensor([1.0, -1], device=d).multinomial(1), "element < 0"),
        (lambda d: torch.ones(2, device=d).multinomial(3), "without replacement"),
        (lambda d: torch.bernoulli(torch.tensor([2.0], device=d)), "p_in"),
        (lambda d: torch.normal(torch.zeros(2, device=d), torch.tensor([1.0, -1], device=d)), "std >= 0.0"),
        (lambda d: torch.native_dropout(torch.ones(2, device=d), 2, True), "between 0 and 1"),
    ],
    ids=range(12),
)
def test_errors(call, text):
    for device in ("cpu", "npu"):
        if device == "cpu" and "between" in text:
            continue
        with pytest.raises(RuntimeError, match=text):
            call(device)
    assert (torch.ones(2, device="npu") + 1).tolist() == [2, 2]

# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: B023 -- functions made in loops are called at once
"""Operators that move whole tensors about, pad them or make them from numbers, on the NPU against the CPU."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
import torch_npu

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
]
REALS = [d for d in DTYPES if not d.is_complex and d != torch.bool]


def mine(op):
    return any(
        own in op for own in ("cat", "stack", "repeat", "roll", "flip", "tri", "pad", "im2", "2im", "range", "space", "eye")
    )


@pytest.fixture(autouse=True)
def no_fallback():
    def count():
        return {k: v for k, v in torch_npu.npu.utils.cpu_fallback_count().items() if mine(k)}

    before = count()
    yield
    assert count() == before


def make(dtype, *shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    if dtype.is_complex or dtype.is_floating_point:
        return torch.randn(shape, generator=g).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 9, shape, generator=g).to(dtype)


def strided(t):
    order = list(range(t.dim()))[::-1]
    return t.permute(order).contiguous().permute(order)


def same(f, *tensors, exact=True):
    for layout in (lambda t: t, strided):
        given = [layout(t) for t in tensors]
        expected, actual = f(*given), f(*[layout(t.npu()) if layout is strided else t.npu() for t in given])
        assert actual.dtype == expected.dtype and actual.shape == expected.shape
        if exact:
            assert torch.equal(actual.cpu(), expected), (actual, expected)
        else:  # the order of additions shows in 16-bit floats
            half = expected.dtype in (torch.float16, torch.bfloat16)
            torch.testing.assert_close(actual.cpu(), expected, **({"rtol": 3e-2, "atol": 1e-2} if half else {}))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type(dtype):
    x, y, v = make(dtype, 3, 4, 5), make(dtype, 3, 2, 5, seed=1), make(dtype, 4, seed=2)
    same(lambda a, b: torch.cat([a, b, a[:, :0], b], 1), x, y)
    same(lambda a: torch.cat([torch.empty(0, dtype=a.dtype, device=a.device), a, a], -1), x)
    for dim in (0, 1, -1):
        same(lambda a: torch.stack([a, a.flip(0)], dim), x)
    same(lambda a: a.repeat(2, 1, 3, 2), x)
    same(lambda a: a.repeat(2, 0, 1), x)
    for shifts, dims in ((2, None), (-7, None), (1, 0), ((1, -2), (0, 2)), ((4, 4), (1, 1)), ((1, 2, 3), (2, 1, 0))):
        same(lambda a: a.roll(shifts, dims), x)
    for dims in ((0,), (2,), (0, 1, 2), ()):
        same(lambda a: a.flip(dims), x)
    for k in (-9, -2, -1, 0, 1, 3, 9):
        same(lambda a: a.tril(k), x)
        same(lambda a: a.clone().triu_(k), x)
    for pad in ((1, 2), (1, 2, 0, 3), (0, 1, 2, 2, 1, 1), (-1, 2), (-1, -1, 3, -2), (0, 0)):
        same(lambda a: F.pad(a, pad, value=1), x)
    same(lambda a: a.repeat_interleave(3, 1), x)
    same(lambda a: a.repeat_interleave(torch.tensor([1, 0, 4, 2], device=a.device), 1), x)
    same(lambda a: a.repeat_interleave(2), x)
    for k in (-1, 0, 2):
        same(lambda a: torch.diag(a, k), v)
        same(lambda a: torch.diag(a[0], k), x)
    same(lambda a: torch.rot90(a), x)
    same(lambda a: a.unfold(1, 2, 2), x)
    same(lambda a: torch.diag_embed(a, 1), v)


def test_mixed_types_and_layouts():
    a, b = torch.arange(3), torch.tensor([0.5])
    assert torch.equal(torch.cat([a.npu(), b.npu()]).cpu(), torch.cat([a, b]))
    out = torch.empty(4, dtype=torch.float64, device="npu")
    torch.cat([a.npu(), b.npu()], out=out)
    assert out.tolist() == [0, 1, 2, 0.5]
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for f in (
        lambda t: torch.cat([t, t], 1),
        lambda t: t.flip(1),
        lambda t: F.pad(t, (1, 1)),
        lambda t: t[:, [0, 2]],
        lambda t: F.pad(t, (1, 1, 1, 1), mode="reflect"),
        lambda t: t.roll(1, 0),
        lambda t: t.tril(),
    ):
        expected, actual = f(x), f(x.npu())
        assert actual.stride() == expected.stride() and torch.equal(actual.cpu(), expected)
    many = [torch.full((k % 3, 2), float(k)) for k in range(300)]
    assert torch.equal(torch.cat([t.npu() for t in many]).cpu(), torch.cat(many))
    big = torch.randn(700, 999)
    assert torch.equal(torch.cat([big.npu(), big.npu()[:, :333]], 1).cpu(), torch.cat([big, big[:, :333]], 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_padding_modes(mode, dims, dtype):
    pad = (1, 2, 2, 1, 0, 2)[: 2 * dims]
    for lead in ((2, 3), (3,)):
        if mode == "circular" and lead == (3,):
            continue
        x = make(dtype, *lead, *(4, 5, 6)[:dims])
        same(lambda a: F.pad(a, pad, mode=mode), x)
        grads = []
        for device in ("cpu", "npu"):
            a = x.detach().clone().to(device).requires_grad_()
            y = F.pad(a, pad, mode=mode)
            y.backward(make(dtype, *y.shape, seed=3).to(device))
            grads.append(a.grad.cpu())
        torch.testing.assert_close(grads[0], grads[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_sliding_windows(dtype):
    options = {"kernel_size": (3, 2), "dilation": 2, "padding": 1, "stride": 2}
    x = make(dtype, 2, 3, 7, 8)
    same(lambda a: F.unfold(a, **options), x)
    same(lambda a: F.unfold(a[0], **options), x)
    columns = make(dtype, *F.unfold(x, **options).shape)
    same(lambda a: F.fold(a, (7, 8), **options), columns, exact=False)
    a = x.detach().clone().npu().requires_grad_()
    b = x.detach().clone().requires_grad_()
    for t in (a, b):
        t.unfold(2, 3, 2).sum(-1).pow(2).sum().backward()
    torch.testing.assert_close(a.grad.cpu(), b.grad)


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_ranges(dtype):
    for make_range in (
        lambda d: torch.arange(7, dtype=dtype, device=d),
        lambda d: torch.arange(1, 20, 3, dtype=dtype, device=d),
        lambda d: torch.arange(0, dtype=dtype, device=d),
        lambda d: torch.arange(20, 1, -4, dtype=dtype, device=d),
        lambda d: torch.eye(3, 5, dtype=dtype, device=d),
        lambda d: torch.eye(4, dtype=dtype, device=d),
    ):
        assert torch.equal(make_range("npu").cpu(), make_range("cpu"))
    for n in (0, 1, 2, 7, 50):
        torch.testing.assert_close(
            torch.linspace(1, 11, n, dtype=dtype, device="npu").cpu(), torch.linspace(1, 11, n, dtype=dtype)
        )
    if dtype.is_floating_point:
        half = dtype in (torch.float16, torch.bfloat16)
        for f in (
            lambda d: torch.arange(0.1, 1.05, 0.1, dtype=dtype, device=d),
            lambda d: torch.logspace(-2, 1, 9, dtype=dtype, device=d),
            lambda d: torch.range(0, 2, 0.25, dtype=dtype, device=d),
        ):
            tolerance = {"rtol": 2e-2, "atol": 2e-2} if half else {}
            torch.testing.assert_close(f("npu").cpu(), f("cpu"), **tolerance)


def test_composites():
    i = torch.tensor([[2, 0], [1, 1]])
    assert torch.equal(F.one_hot(i.npu(), 4).cpu(), F.one_hot(i, 4))
    with pytest.raises(RuntimeError):
        F.one_hot(torch.tensor([5], device="npu"), 3)
    same(lambda a: F.pixel_shuffle(a, 2), make(torch.float32, 1, 8, 3, 3))
    same(lambda a: F.pixel_unshuffle(a, 2), make(torch.float32, 1, 2, 4, 4))
    same(lambda a: torch.cartesian_prod(a, a), make(torch.int64, 3))
    same(lambda a: torch.block_diag(a, a), make(torch.float32, 2, 3))
    same(lambda a: torch.kron(a, a), make(torch.float32, 2, 3))
    for f in (
        lambda t: t.diagonal().sum(),
        lambda t: t.select(0, 1).sum(),
        lambda t: t[1:3].sum(),
        lambda t: t.expand(2, 4, 4).sum(),
    ):
        x = torch.randn(4, 4)
        grads = []
        for device in ("cpu", "npu"):
            t = x.detach().clone().to(device).requires_grad_()
            f(t).backward()
            grads.append(t.grad.cpu())
        assert torch.equal(*grads)


BAD = {
    "cat sizes": (
        lambda d: torch.cat([torch.ones(2, 3, device=d), torch.ones(3, 3, device=d)], 1),
        RuntimeError,
        "Sizes of tensors must match except in dimension 1. Expected size 2 but got size 3 for tensor number 1 in the list",
    ),
    "cat nothing": (lambda d: torch.cat([]), (ValueError, RuntimeError), "non-empty list"),
    "cat 0-dim": (lambda d: torch.cat([torch.ones((), device=d)]), RuntimeError, "zero-dimensional tensor"),
    "stack": (
        lambda d: torch.stack([torch.ones(2, device=d), torch.ones(3, device=d)]),
        RuntimeError,
        r"equal size, but got \[2\] at entry 0 and \[3\] at entry 1",
    ),
    "repeat": (lambda d: torch.ones(2, 2, device=d).repeat(2), RuntimeError, "can not be smaller"),
    "flip": (lambda d: torch.ones(2, 2, device=d).flip(0, 0), RuntimeError, "multiple times"),
    "flip dim": (lambda d: torch.ones(2, device=d).flip(3), IndexError, "Dimension out of range"),
    "roll": (lambda d: torch.ones(2, device=d).roll((1, 2), (0,)), RuntimeError, "must align"),
    "tril": (lambda d: torch.ones(2, device=d).tril(), RuntimeError, "at least 2 dimensions"),
    "pad": (lambda d: F.pad(torch.ones(2, device=d), (1, 1, 1)), RuntimeError, "divisible by 2"),
    "pad away": (lambda d: F.pad(torch.ones(2, device=d), (-2, -1)), RuntimeError, "negative"),
    "arange": (lambda d: torch.arange(0, 5, -1, device=d), RuntimeError, "inconsistent with step sign"),
    "arange step": (lambda d: torch.arange(0, 5, 0, device=d), RuntimeError, "step must be nonzero"),
    "linspace": (lambda d: torch.linspace(0, 1, -1, device=d), RuntimeError, "number of steps must be non-negative"),
    "eye": (lambda d: torch.eye(-1, device=d), RuntimeError, "n must be greater or equal to 0"),
    "repeats": (lambda d: torch.repeat_interleave(torch.tensor([1, -1], device=d)), RuntimeError, "can not be negative"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors(name):
    call, kind, text = BAD[name]
    for device in ("cpu", "npu"):
        with pytest.raises(kind, match=text):
            call(device)
    assert (torch.ones(2, device="npu") + 1).tolist() == [2, 2]

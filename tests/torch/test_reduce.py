# SPDX-License-Identifier: BSD-3-Clause
"""Reductions, softmax and scans on the NPU against the CPU: types, layouts, empty and 0-dim tensors, out=, errors, NaN.
Nothing falls back."""

import itertools
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor
from torch_npu.npu.utils import cpu_fallback_count

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
SHAPES = [(), (1,), (7,), (300,), (3, 4), (5, 1, 6), (2, 3, 4, 5), (40, 17), (3, 700)]


@pytest.fixture(autouse=True)
def native(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test in which an operator ran on the CPU, unless it is about errors."""
    before = dict(cpu_fallback_count())
    yield
    if "error" not in request.node.name:
        assert {k: n for k, n in cpu_fallback_count().items() if n != before.get(k, 0)} == {}


def make(shape: tuple[int, ...], dtype: torch.dtype, nan: bool = False) -> Tensor:
    """Small numbers, every second time as a transposed or strided view."""
    wide = (*shape[:-1], shape[-1] * 2) if shape else shape
    if dtype.is_floating_point:
        t = torch.randn(wide, dtype=torch.float64).to(dtype)
        if nan and t.numel() > 3:
            t.view(-1)[:: max(2, t.numel() // 3)] = torch.nan
    elif dtype == torch.bool:
        t = torch.rand(wide) > 0.3
    else:
        t = torch.randint(0 if dtype == torch.uint8 else -5, 6, wide).to(dtype)
    if not shape:
        return t
    if sum(shape) % 2:
        return t[..., ::2]
    return t[..., : shape[-1]].transpose(0, -1).contiguous().transpose(0, -1)


def same(npu: object, cpu: object, rtol: float = 0.0) -> None:
    if isinstance(cpu, tuple):
        for a, b in zip(npu, cpu, strict=True):
            same(a, b, rtol)
        return
    assert npu.dtype == cpu.dtype and npu.shape == cpu.shape and npu.device.type == "npu"
    torch.testing.assert_close(npu.cpu(), cpu, rtol=rtol, atol=rtol, equal_nan=True, check_stride=False)


def against_double(function: Callable[[Tensor], object], t: Tensor) -> None:
    """A float result against the same in double, rounded."""
    want = function(t.double())
    want = tuple(w.to(t.dtype) for w in want) if isinstance(want, tuple) else want.to(t.dtype)
    count = max(1, t.numel())
    same(function(t.npu()), want, TOLERANCE[t.dtype] * (1 + count**0.5 / 8))


def dims_of(t: Tensor) -> list[object]:
    if not t.dim():
        return [None, 0, -1]
    pairs = [list(p) for p in itertools.combinations(range(t.dim()), 2)]
    return [None, 0, -1, *pairs[:3], list(range(t.dim()))]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_of_floats(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    t = make(shape, dtype)
    for dim, keep in itertools.product(dims_of(t), (False, True)):
        against_double(lambda x, d=dim, k=keep: x.sum(d, k), t)
        against_double(lambda x, d=dim, k=keep: x.mean(d, k), t)
        for p in (0, 1, 2, 3, 0.5, torch.inf, -torch.inf):
            against_double(lambda x, d=dim, k=keep, p=p: torch.linalg.vector_norm(x, p, d, k), t)
        if t.numel() > 1 and (dim is None or isinstance(dim, list) or t.shape[dim] > 1):
            against_double(lambda x, d=dim, k=keep: torch.var_mean(x, d, correction=1, keepdim=k), t)
            against_double(lambda x, d=dim, k=keep: torch.std_mean(x, d, correction=0.5, keepdim=k), t)
            against_double(lambda x, d=dim, k=keep: x.std(d, correction=0, keepdim=k), t)
    holes = make(shape, dtype, nan=True)
    against_double(lambda x: x.nansum(), holes)
    against_double(lambda x: x.nansum(-1), holes)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", WHOLE)
def test_sums_of_integers(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    t = make(shape, dtype)
    for dim, keep in itertools.product(dims_of(t), (False, True)):
        same(t.npu().sum(dim, keep), t.sum(dim, keep))
        same(t.npu().sum(dim, keep, dtype=torch.float32), t.sum(dim, keep, dtype=torch.float32))
        same(t.npu().mean(dim, keep, dtype=torch.float64), t.mean(dim, keep, dtype=torch.float64), 1e-15)
    same(t.npu().prod(), t.prod())
    same(t.npu().prod(-1, dtype=torch.int32), t.prod(-1, dtype=torch.int32))
    same(t.npu().count_nonzero(), t.count_nonzero())
    same(t.npu().count_nonzero(0), t.count_nonzero(0))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FLOATS + WHOLE)
def test_extremes(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    for t in (make(shape, dtype), make(shape, dtype, nan=True)):
        n = t.npu()
        for dim, keep in itertools.product(dims_of(t), (False, True)):
            same(n.amax(dim or (), keep), t.amax(dim or (), keep))
            same(n.amin(dim or (), keep), t.amin(dim or (), keep))
            same((n != 0).any(dim, keep), (t != 0).any(dim, keep))
            same(n.all(dim, keep), t.all(dim, keep))
            if isinstance(dim, int):
                same(tuple(n.max(dim, keep)), tuple(t.max(dim, keep)))
                same(tuple(n.min(dim, keep)), tuple(t.min(dim, keep)))
                same(tuple(n.aminmax(dim=dim, keepdim=keep)), tuple(t.aminmax(dim=dim, keepdim=keep)))
            if not isinstance(dim, list) and dtype != torch.bool:
                same(n.argmax(dim, keep), t.argmax(dim, keep))
                same(n.argmin(dim, keep), t.argmin(dim, keep))
        same(n.max(), t.max())
        same(n.min(), t.min())
        same(tuple(n.aminmax()), tuple(t.aminmax()))


def test_first_of_equals() -> None:
    t = torch.tensor([[1.0, 3.0, 3.0, -0.0], [torch.nan, 2.0, torch.nan, 0.0], [-0.0, 0.0, -1.0, -1.0]])
    for dim in (0, 1):
        same(tuple(t.npu().max(dim)), tuple(t.max(dim)))
        same(tuple(t.npu().min(dim)), tuple(t.min(dim)))
    big = torch.zeros(100_000)
    big[70_000] = big[90_000] = 1
    assert big.npu().argmax() == 70_000
    same(tuple(big.reshape(1000, 100).npu().max(0)), tuple(big.reshape(1000, 100).max(0)))


@pytest.mark.parametrize("shape", [(3_000_000,), (1500, 2100), (4, 300_000), (300_000, 4), (64, 3, 90, 90)], ids=str)
def test_large(shape: tuple[int, ...]) -> None:
    """Work in pieces: as exact as double, and the same again."""
    t = torch.rand(shape)
    n = t.npu()
    for dim in (None, 0, -1):
        torch.testing.assert_close(n.sum(dim).cpu().double(), t.double().sum(dim), rtol=5e-7, atol=1e-6)
        torch.testing.assert_close(n.var(dim).cpu().double(), t.double().var(dim), rtol=1e-6, atol=1e-9)
        assert torch.equal(n.sum(dim), n.sum(dim))
        same(n.argmax(dim), t.argmax(dim))
    torch.testing.assert_close(n.cumsum(-1).cpu(), t.cumsum(-1), rtol=1e-6, atol=0)


def test_expanded_and_wide_types() -> None:
    t = torch.randn(5, 1).expand(5, 400)
    same(t.npu().sum(1), t.double().sum(1).float(), 1e-5)
    same(t.npu().sum(0), t.double().sum(0).float(), 1e-5)
    z = torch.randn(6, 7, dtype=torch.complex64)
    same(z.npu().sum(0), z.sum(0), 1e-6)
    same(z.npu().mean(), z.mean(), 1e-6)
    same(z.npu().norm(), z.norm(), 1e-6)
    x = torch.randn(50).half() * 300
    same(x.npu().sum(dtype=torch.float32), x.sum(dtype=torch.float32), 1e-5)
    assert x.npu().mul(100).abs().sum().isinf()
    d = torch.randn(9, 9)
    same(d.npu().trace(), d.trace(), 1e-6)
    same(d.npu().sum(dtype=torch.int64), d.sum(dtype=torch.int64))


def test_empty() -> None:
    e = torch.empty(0, 3)
    n = e.npu()
    for function in (
        lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.sum(1), lambda x: x.prod(), lambda x: x.prod(0), lambda x: x.mean(),
        lambda x: x.mean(0), lambda x: x.var(0), lambda x: x.any(), lambda x: x.all(), lambda x: x.all(0), lambda x: x.norm(),
        lambda x: x.logsumexp(0), lambda x: x.softmax(0), lambda x: x.cumsum(0), lambda x: x.count_nonzero(),
    ):  # fmt: skip
        same(function(n), function(e))
    assert n.sum(1).shape == (0,) and torch.equal(n, n)


def test_out() -> None:
    t = torch.randn(6, 8)
    n = t.npu()
    for name, args in (("sum", (1,)), ("mean", (0,)), ("amax", (1,)), ("prod", (1,)), ("std", (1,)), ("logsumexp", (0,)),
                       ("argmax", (1,)), ("all", (0,)), ("nansum", (0,)), ("cumsum", (1,))):  # fmt: skip
        function = getattr(torch, name)
        want = function(t, *args)
        out = torch.empty(want.shape, dtype=want.dtype, device="npu")
        assert function(n, *args, out=out) is out
        same(out, want, 1e-6)
        strided = torch.empty((*want.shape, 2), dtype=want.dtype, device="npu")[..., 0]
        function(n, *args, out=strided)
        same(strided, want, 1e-6)
    values, indices = torch.empty(8, device="npu"), torch.empty(8, dtype=torch.int64, device="npu")
    torch.max(n, 0, out=(values, indices))
    same((values, indices), tuple(t.max(0)))
    double = torch.empty(6, dtype=torch.float64, device="npu")
    same(torch.sum(n, 1, out=double), t.double().sum(1), 1e-12)


def test_equal() -> None:
    t = torch.randn(50, 30)
    n = t.npu()
    assert torch.equal(n, t.npu()) and not torch.equal(n, n + 1) and not torch.equal(n, n[:-1])
    other = t.npu()
    other[49, 29] += 1
    assert not torch.equal(n, other) and torch.equal(n.t(), t.t().npu())
    n[3, 3] = torch.nan
    assert not torch.equal(n, n.clone())
    assert torch.equal(torch.tensor([0.0]).npu(), torch.tensor([-0.0]).npu())


def test_errors() -> None:
    n = torch.ones(2, 3, device="npu")
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"):
        n.sum(2)
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times in the list of dims"):
        n.sum((1, -1))
    with pytest.raises(RuntimeError, match="non-zero size|reduction dim"):
        n[:0].max()
    with pytest.raises(IndexError, match="non-zero size"):
        n[:0].argmax(0)
    with pytest.raises(RuntimeError, match="floating point or complex"):
        n.long().mean()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (5,), (3, 10), (2, 64), (4, 513), (3, 5000), (2, 5, 7), (2, 40, 33)], ids=str)
def test_softmax(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    t = make(shape, dtype) * 3
    for dim in {0, -1, len(shape) // 2}:
        for name in ("softmax", "log_softmax"):
            results = []
            for device, compute in (("cpu", torch.float64), ("npu", dtype)):
                x = t.detach().to(device, compute).requires_grad_()
                y = getattr(torch, name)(x, dim)
                y.backward(torch.linspace(-1, 1, y.numel(), dtype=torch.float64).reshape(y.shape).to(dtype).to(device, compute))
                results.append((y.detach(), x.grad))
            for want, have in zip(*results, strict=True):
                assert have.dtype == dtype
                rtol = TOLERANCE[dtype] * 2
                torch.testing.assert_close(have.cpu().double(), want, rtol=rtol, atol=rtol * max(1, want.abs().max().item()))
        against_double(lambda x, d=dim: x.logsumexp(d), t)
    if len(shape) == 3:
        against_double(lambda x: x.logsumexp((0, 2), keepdim=True), t)
    if dtype in (torch.float16, torch.bfloat16):
        wide = t.npu().softmax(-1, dtype=torch.float32)
        torch.testing.assert_close(wide.cpu(), t.float().softmax(-1))


def test_softmax_extremes() -> None:
    t = torch.tensor([[0.0, -torch.inf, -90.0, -103.0], [-torch.inf] * 4, [1e38, -1e38, 1e38, 0.0], [1.0, torch.inf, 0.0, 2.0]])
    same(t.npu().softmax(-1), t.softmax(-1), 1e-6)
    same(t.npu().log_softmax(-1), t.log_softmax(-1), 1e-6)
    same(t.npu().log_softmax(0), t.log_softmax(0), 1e-6)
    same(t.npu().logsumexp(-1), t.logsumexp(-1), 1e-6)


@pytest.mark.parametrize("dtype", FLOATS + WHOLE)
@pytest.mark.parametrize("shape", [(), (7,), (3, 600), (5, 6, 7), (70, 3)], ids=str)
def test_scans(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    t = make(shape, dtype)
    n = t.npu()
    for dim in {0, -1, len(shape) // 2 if len(shape) > 2 else 0}:
        if dtype.is_floating_point:
            against_double(lambda x, d=dim: x.cumsum(d), t)
            against_double(lambda x, d=dim: x.cumprod(d), t)
        else:
            same(n.cumsum(dim), t.cumsum(dim))
            same(n.cumprod(dim), t.cumprod(dim))
            same(n.cumsum(dim, dtype=torch.float32), t.cumsum(dim, dtype=torch.float32))
        for holes in (t, make(shape, dtype, nan=True)):
            same(tuple(holes.npu().cummax(dim)), tuple(holes.cummax(dim)))
            same(tuple(holes.npu().cummin(dim)), tuple(holes.cummin(dim)))
    if dtype != torch.bool:
        a, b = t.clone(), t.clone().npu()
        same(b.cumsum_(0), a.cumsum_(0), 1e-2 if dtype.is_floating_point else 0)


def test_gradients() -> None:
    """Backward of what reduces: extremes share or pick, products and scans know zeros."""
    t = torch.tensor([[1.0, 3.0, 3.0], [0.0, -2.0, 0.5], [2.0, 2.0, -1.0]])
    functions = (
        lambda x: x.amax(1), lambda x: x.max(1).values, lambda x: x.min(), lambda x: x.prod(1), lambda x: x.cumsum(0),
        lambda x: x.cumprod(1), lambda x: x.std(0), lambda x: x.var(), lambda x: x.norm(dim=1), lambda x: x.logsumexp(0),
        lambda x: x.cummax(1).values, lambda x: x.mean(0), lambda x: torch.linalg.vector_norm(x, 3),
    )  # fmt: skip
    for function in functions:
        grads = []
        for device in ("cpu", "npu"):
            x = t.detach().to(device).requires_grad_()
            function(x).square().sum().backward()
            grads.append(x.grad.cpu())
        torch.testing.assert_close(grads[1], grads[0], rtol=1e-5, atol=1e-6)

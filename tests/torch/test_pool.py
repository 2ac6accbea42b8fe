# SPDX-License-Identifier: BSD-3-Clause
"""Pooling on the NPU against PyTorch's CPU results: maxima with positions, averages, adaptive windows, the inverse of
maxima, one to three dimensions, all types, ragged windows, channels last, NaN, gradients; nothing falls back."""

import itertools
from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
# The CPU adds 16-bit gradients of overlapping windows in 16 bits, the NPU in 32.
TOLERANCE = {
    torch.float32: (1e-5, 1e-6),
    torch.float64: (1e-10, 1e-12),
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (3e-2, 3e-2),
}

pytestmark = pytest.mark.usefixtures("no_fallback")


def same(got: torch.Tensor, want: torch.Tensor, what: object) -> None:
    assert got.shape == want.shape and got.dtype == want.dtype, what
    assert got.stride() == want.stride(), what
    rtol, atol = TOLERANCE.get(want.dtype, (0, 0))
    got, want = got.detach().cpu(), want.detach()
    torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True, msg=lambda m: f"{m} {what}")


def check(f: Callable, x: torch.Tensor, *numbers: object, gradient: bool = True) -> None:
    """f(x, *numbers) on both, every output, and the gradient of the first one."""
    what = (f, x.dtype, tuple(x.shape), numbers)
    gradient = gradient and x.dtype.is_floating_point
    cpu, npu = x.clone().requires_grad_(gradient), x.npu().requires_grad_(gradient)
    want, got = f(cpu, *numbers), f(npu, *numbers)
    if not isinstance(want, tuple):
        want, got = (want,), (got,)
    for g, w in zip(got, want):
        same(g, w, what)
    if gradient:
        grad = torch.randn_like(want[0])
        want[0].backward(grad)
        got[0].backward(grad.npu())
        same(npu.grad, cpu.grad, what)


def image(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(0, 100, shape, generator=generator).to(dtype)


MAX = [  # kernel, stride, padding, dilation, ceil
    (2, None, 0, 1, False),
    (3, 2, 1, 1, False),
    (3, 1, 1, 2, False),
    (3, 2, 0, 1, True),
    (5, 3, 2, 1, True),
]
AVG = [  # kernel, stride, padding, ceil, count_include_pad
    (2, 2, 0, False, True),
    (3, 2, 1, False, True),
    (3, 2, 1, False, False),
    (3, 2, 1, True, True),
]
SHAPES = {1: [(2, 3, 13)], 2: [(2, 3, 13, 12), (3, 9, 33), (1, 2, 7, 600)], 3: [(2, 2, 7, 9, 8), (2, 8, 7, 13)]}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_max(n: int, dtype: torch.dtype) -> None:
    pool = [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1]
    for shape, numbers in itertools.product(SHAPES[n], MAX):
        x = image(dtype, *shape)
        check(partial(pool, return_indices=True), x, *numbers, gradient=n > 1)
        if n > 1:
            check(pool, x, *numbers)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_average(n: int, dtype: torch.dtype) -> None:
    if n == 3 and dtype in (torch.float16, torch.bfloat16):
        pytest.skip("PyTorch's CPU has no such average")
    pool = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1]
    for shape, numbers in itertools.product(SHAPES[n], AVG):
        check(pool, image(dtype, *shape), *numbers)
        if n > 1:
            check(partial(pool, divisor_override=3), image(dtype, *shape), *numbers)


@pytest.mark.parametrize("dtype", FLOATS)
def test_adaptive(dtype: torch.dtype) -> None:
    for size in [(3, 5), (13, 12), (20, 7), (4, 6)]:
        check(F.adaptive_avg_pool2d, image(dtype, 2, 3, 13, 12), size)
        check(partial(F.adaptive_max_pool2d, return_indices=True), image(dtype, 2, 3, 13, 12), size)
        check(F.adaptive_avg_pool3d, image(dtype, 3, 5, 13, 12), (2, *size))
        check(partial(F.adaptive_max_pool3d, return_indices=True), image(dtype, 3, 5, 13, 12), (2, *size))
    check(F.adaptive_avg_pool1d, image(dtype, 2, 3, 13), 5)
    check(partial(F.adaptive_max_pool1d, return_indices=True), image(dtype, 2, 3, 13), 5)


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_layouts(pool: Callable) -> None:
    x = image(torch.float32, 2, 6, 10, 9)
    check(pool, x.contiguous(memory_format=torch.channels_last), 3, 2, 1)
    same(pool(x.npu()[:, ::2, 1:, ::2], 2), pool(x[:, ::2, 1:, ::2], 2), "strided")


def test_nan_and_infinity() -> None:
    x = image(torch.float32, 1, 2, 12, 40)
    x[0, 0, 3, 5], x[0, 0, 3, 6], x[0, 1] = float("nan"), float("nan"), float("-inf")
    check(partial(F.max_pool2d, return_indices=True), x, 3, 2, gradient=False)
    check(F.avg_pool2d, x, 3, 2, gradient=False)


def test_empty_batch() -> None:
    for pool in (F.max_pool2d, F.avg_pool2d, F.adaptive_avg_pool2d):
        check(pool, torch.randn(0, 3, 8, 8), 2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_unpool(dtype: torch.dtype) -> None:
    values, at = F.max_pool2d(image(dtype, 2, 3, 12, 10), 2, return_indices=True)
    same(F.max_unpool2d(values.npu(), at.npu(), 2), F.max_unpool2d(values, at, 2), "2d")
    values, at = F.max_pool3d(image(dtype, 2, 4, 6, 8), 2, return_indices=True)
    same(F.max_unpool3d(values.npu(), at.npu(), 2), F.max_unpool3d(values, at, 2), "3d")
    with pytest.raises(RuntimeError, match="Found an invalid max index"):
        F.max_unpool3d(values.npu(), (at + 100000).npu(), 2)

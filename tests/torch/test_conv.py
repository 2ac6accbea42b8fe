# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions on the NPU against float64 on the CPU: one to three dimensions, groups, strides, dilations, paddings,
transposed, all floating types, channels last, gradients with respect to everything; nothing falls back."""

import random

import pytest
import torch
import torch.nn.functional as F

TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12, torch.float16: 4e-3, torch.bfloat16: 3e-2}

pytestmark = pytest.mark.usefixtures("no_fallback")


def agrees(got: torch.Tensor, want: torch.Tensor, what: object) -> None:
    assert got.shape == want.shape, what
    if not want.numel():
        return
    bound = TOLERANCE[got.dtype] * max(1.0, want.abs().max().item())
    worst = (got.detach().cpu().double() - want.double()).abs().max().item()
    assert worst <= bound, f"{worst} > {bound}: {what}"


def check(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, *numbers: object) -> torch.Tensor:
    """Result and gradients of torch.convolution(x, w, b, *numbers); returns the NPU's result."""
    cpu = [None if t is None else t.double().clone().requires_grad_() for t in (x, w, b)]
    npu = [None if t is None else t.npu().requires_grad_() for t in (x, w, b)]
    want, got = torch.convolution(*cpu, *numbers), torch.convolution(*npu, *numbers)
    what = (x.dtype, tuple(x.shape), tuple(w.shape), numbers)
    agrees(got, want.detach(), what)
    if want.numel() and x.numel():
        grad = torch.randn(want.shape, dtype=torch.float64).to(x.dtype)
        want.backward(grad.double())
        got.backward(grad.npu())
        for g, c in zip(npu, cpu):
            if c is not None:
                agrees(g.grad, c.grad, what)
    return got


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("transposed", [False, True])
def test_many(dtype: torch.dtype, transposed: bool) -> None:
    choose = random.Random(repr((dtype, transposed)))
    torch.manual_seed(0)
    for _ in range(40):
        n = choose.choice([1, 2, 2, 3])
        groups = choose.choice([1, 1, 2, 3, 8])
        channels, filters = groups * choose.choice([1, 2, 3, 8]), groups * choose.choice([1, 2, 4, 9])
        kernel, dilation = [choose.choice([1, 2, 3, 4]) for _ in range(n)], [choose.choice([1, 1, 2, 3]) for _ in range(n)]
        stride, padding = [choose.choice([1, 1, 2, 3]) for _ in range(n)], [choose.choice([0, 1, 2]) for _ in range(n)]
        more = [choose.randrange(max(s, d)) if transposed else 0 for s, d in zip(stride, dilation)]
        size = [choose.choice([1, 4, 7, 12, 20]) for _ in range(n)]
        for i in range(n):
            reach = dilation[i] * (kernel[i] - 1) + 1
            while (
                (size[i] - 1) * stride[i] - 2 * padding[i] + reach + more[i] < 1
                if transposed
                else size[i] + 2 * padding[i] < reach
            ):
                size[i] += 2
        x = torch.randn(choose.choice([1, 2, 5]), channels, *size).to(dtype)
        w = torch.randn(*((channels, filters // groups) if transposed else (filters, channels // groups)), *kernel).to(dtype)
        b = torch.randn(filters).to(dtype) if choose.random() < 0.6 else None
        check(x, w, b, stride, padding, dilation, transposed, more, groups)


@pytest.mark.parametrize(
    "shape",
    [
        (4, 3, 64, 64, 64, 7, 2, 3),
        (3, 64, 16, 16, 128, 3, 1, 1),
        (2, 256, 4, 4, 300, 3, 2, 1),
        (2, 64, 16, 16, 128, 1, 2, 0),
        (2, 64, 28, 28, 70, 1, 1, 0),
    ],
)
def test_network_shapes(shape: tuple[int, ...]) -> None:
    n, c, h, w, o, k, s, p = shape
    check(torch.randn(n, c, h, w), torch.randn(o, c, k, k), torch.randn(o), [s, s], [p, p], [1, 1], False, [0, 0], 1)


def test_depthwise() -> None:
    for s in (1, 2):
        check(torch.randn(3, 32, 15, 17), torch.randn(64, 1, 3, 3), torch.randn(64), [s, s], [1, 1], [1, 1], False, [0, 0], 32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_channels_last(dtype: torch.dtype) -> None:
    x, w = torch.randn(2, 5, 9, 11).to(dtype), torch.randn(6, 5, 3, 3).to(dtype)
    got = check(x.contiguous(memory_format=torch.channels_last), w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    assert got.is_contiguous(memory_format=torch.channels_last)
    check(x[:, :, ::2, 1:], w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)


def test_some_gradients_only() -> None:
    x, w, b = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(4)
    for wanted in range(1, 8):
        cpu, npu = [t.clone() for t in (x, w, b)], [t.npu() for t in (x, w, b)]
        for i in range(3):
            cpu[i].requires_grad_(bool(wanted >> i & 1))
            npu[i].requires_grad_(bool(wanted >> i & 1))
        F.conv2d(*cpu).sum().backward()
        F.conv2d(*npu).sum().backward()
        for g, c in zip(npu, cpu):
            assert (g.grad is None) == (c.grad is None)
            if c.grad is not None:
                agrees(g.grad, c.grad, wanted)


def test_empty_batch_and_unbatched() -> None:
    w = torch.randn(4, 3, 3, 3)
    assert F.conv2d(torch.randn(0, 3, 8, 8).npu(), w.npu()).shape == (0, 4, 6, 6)
    x = torch.randn(3, 8, 8)
    agrees(F.conv2d(x.npu(), w.npu()), F.conv2d(x, w), "unbatched")


def test_modules() -> None:
    torch.manual_seed(0)
    for module, shape in [
        (torch.nn.Conv1d(4, 8, 3, padding="same"), (2, 4, 20)),
        (torch.nn.Conv3d(2, 4, 3, padding=1), (2, 2, 5, 6, 7)),
        (torch.nn.ConvTranspose2d(4, 6, 4, stride=2, padding=1), (2, 4, 7, 7)),
    ]:
        x = torch.randn(shape)
        with torch.no_grad():
            want = module(x)
            agrees(module.npu()(x.npu()), want, module)


def test_an_image_does_not_depend_on_its_batch() -> None:
    x, w = torch.randn(9, 16, 20, 20).npu(), torch.randn(32, 16, 3, 3).npu()
    assert torch.equal(F.conv2d(x, w, padding=1)[4:5], F.conv2d(x[4:5], w, padding=1))


def test_double_backward() -> None:
    x, w = torch.randn(2, 3, 6, 6, dtype=torch.float64), torch.randn(4, 3, 3, 3, dtype=torch.float64)

    def second(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        (g,) = torch.autograd.grad(F.conv2d(x, w).pow(2).sum(), x, create_graph=True)
        g.pow(2).sum().backward()
        return w.grad

    agrees(second(x.npu().requires_grad_(), w.npu().requires_grad_()), second(x.requires_grad_(), w.requires_grad_()), "second")


def test_errors() -> None:
    x = torch.randn(1, 3, 4, 4).npu()
    with pytest.raises(RuntimeError, match="expected input.* to have 2 channels, but got 3 channels instead"):
        F.conv2d(x, torch.randn(4, 2, 3, 3).npu())
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        F.conv2d(x, torch.randn(4, 3, 5, 5).npu())


@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_three_by_three(dtype: torch.dtype) -> None:
    """Kernels of 3×3 and many channels go another way: even and odd sizes, all paddings, images longer than a chunk."""
    torch.manual_seed(0)
    for n, channels, filters, height, width, padding in (
        (2, 64, 72, 14, 14, (1, 1)),
        (3, 65, 67, 13, 12, (2, 0)),
        (40, 80, 64, 5, 3, (1, 2)),
        (1, 330, 70, 16, 11, (1, 1)),
        (3, 64, 64, 70, 65, (0, 1)),
    ):
        x, w = torch.randn(n, channels, height, width).to(dtype), torch.randn(filters, channels, 3, 3).to(dtype)
        for b in (torch.randn(filters).to(dtype), None):
            check(x, w, b, (1, 1), padding, (1, 1), False, (0, 0), 1)
        other = w.transpose(0, 1).contiguous().transpose(0, 1)
        check(x.to(memory_format=torch.channels_last), other, None, (1, 1), padding, (1, 1), False, (0, 0), 1)


def test_three_by_three_not_finite() -> None:
    """Infinities and NaN stay where the plain sum has them, and other images keep their bits."""
    torch.manual_seed(0)
    x, w = torch.randn(3, 64, 20, 20), torch.randn(72, 64, 3, 3)
    clean = F.conv2d(x.npu(), w.npu(), padding=1).cpu()
    x[1, 3, 5, 6], x[1, 4, 9, 9] = float("inf"), float("nan")
    for transposed in (False, True):
        run, weight = (F.conv_transpose2d, w.transpose(0, 1)) if transposed else (F.conv2d, w)
        want, got = (run(x.to(d), weight.to(d), padding=1).cpu() for d in ("cpu", "npu"))
        assert torch.equal(want.isnan(), got.isnan())
        assert torch.equal(want.isinf(), got.isinf())
        if not transposed:
            assert torch.equal(got[::2], clean[::2])

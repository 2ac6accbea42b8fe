# SPDX-License-Identifier: BSD-3-Clause
"""Interpolation on the NPU against PyTorch's CPU results: every mode, one to three dimensions, sizes and scales,
corners, all types, channels last, strides, gradients; nothing falls back."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch_npu.npu.utils import reset_cpu_fallback_count

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10, torch.float16: 5e-3, torch.bfloat16: 4e-2, torch.uint8: 0}
MODES = [
    ("nearest", (1, 2, 3), False),
    ("nearest-exact", (1, 2, 3), False),
    ("linear", (1,), True),
    ("bilinear", (2,), True),
    ("bicubic", (2,), True),
    ("trilinear", (3,), True),
]
SIZES = [{"size": 9}, {"size": 3}, {"size": 6}, {"scale_factor": 1.7}, {"scale_factor": 0.6}, {"scale_factor": 2.0}]


pytestmark = pytest.mark.usefixtures("no_fallback")


def same(got: torch.Tensor, want: torch.Tensor, what: object) -> None:
    assert got.shape == want.shape and got.dtype == want.dtype and got.stride() == want.stride(), what
    tolerance = TOLERANCE[want.dtype]
    torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=tolerance, atol=tolerance, msg=lambda m: f"{m} {what}")


def both(x: torch.Tensor, **options: object) -> None:
    """Values and, for floats, gradients."""
    mine, theirs = x.npu(), x.clone(memory_format=torch.preserve_format)
    floating = x.is_floating_point()
    mine.requires_grad_(floating)
    theirs.requires_grad_(floating)
    got, want = F.interpolate(mine, **options), F.interpolate(theirs, **options)
    what = (x.dtype, tuple(x.shape), options)
    same(got, want, what)
    if floating:
        g = torch.randn(want.shape).to(want.dtype)
        same(torch.autograd.grad(got, mine, g.npu())[0], torch.autograd.grad(want, theirs, g)[0], what)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("mode", "dims", "corners"), MODES)
def test_modes(mode: str, dims: tuple[int, ...], corners: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    for n, size, align in itertools.product(dims, SIZES, (False, True) if corners else (None,)):
        x = torch.randn((2, 3, 6, 5, 4)[: n + 2]).to(dtype)
        both(x, mode=mode, align_corners=align, **size)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiasing(mode: str) -> None:
    torch.manual_seed(2)
    for size, align in itertools.product([(3, 4), (20, 2), (7, 30)], (False, True)):
        for dtype in (torch.float32, torch.float64):
            both(torch.randn(2, 3, 11, 13).to(dtype), size=size, mode=mode, align_corners=align, antialias=True)
        both(torch.randint(0, 256, (2, 3, 11, 13), dtype=torch.uint8), size=size, mode=mode, antialias=True)
    both(torch.randn(2, 3, 11, 13), scale_factor=(0.4, 1.6), mode=mode, antialias=True)
    x = torch.randn(
        2, 3, 11, 13
    )  # 1.05 keeps 11 rows: nothing is filtered there, backward neither (PyTorch's CPU does, backward)
    options = {"scale_factor": (1.05, 0.77), "mode": mode, "antialias": True}
    mine = x.npu().requires_grad_()
    same(F.interpolate(mine, **options), F.interpolate(x, **options), (options,))
    F.interpolate(mine, **options).sum().backward()
    same(mine.grad.sum(), torch.tensor(2.0 * 3 * 11 * 10), ("every output's taps add up to 1",))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_bytes(mode: str) -> None:
    torch.manual_seed(3)
    for size in ((5, 31), (40, 9)):
        both(torch.randint(0, 256, (2, 3, 17, 19), dtype=torch.uint8), size=size, mode=mode)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_layouts(mode: str) -> None:
    torch.manual_seed(4)
    both(torch.randn(2, 5, 6, 7).contiguous(memory_format=torch.channels_last), size=(9, 4), mode=mode)
    x = torch.randn(2, 3, 12, 20)[:, :, ::2, 1::3]
    same(F.interpolate(x.npu(), size=(9, 4), mode=mode), F.interpolate(x, size=(9, 4), mode=mode), mode)
    strided = torch.randn(2, 3, 12, 20).npu()
    got = F.interpolate(strided[:, :, ::2, 1::3], size=(9, 4), mode=mode)
    same(got, F.interpolate(strided.cpu()[:, :, ::2, 1::3], size=(9, 4), mode=mode), mode)


def test_scale_that_no_float_holds() -> None:
    """Positions fall on borders between pixels when the scale is rounded to a float."""
    x = torch.arange(40.0).reshape(1, 1, 40)
    for scale in (1.7, 1.1, 2.3, 0.7):
        both(x, scale_factor=scale, mode="nearest")
        both(x[..., None].expand(1, 1, 40, 40).contiguous(), scale_factor=scale, mode="nearest")


def test_out_and_empty() -> None:
    x = torch.randn(2, 3, 4, 5)
    out = torch.empty(0).npu()
    got = torch.ops.aten.upsample_bilinear2d.out(x.npu(), [8, 3], False, out=out)
    same(got, torch.ops.aten.upsample_bilinear2d(x, [8, 3], False), "out")
    assert F.interpolate(torch.empty(0, 3, 4, 5).npu(), size=(8, 3)).shape == (0, 3, 8, 3)


def test_refused() -> None:
    with pytest.raises(RuntimeError, match="should be greater than 0"):
        F.interpolate(torch.randn(1, 1, 4).npu(), size=0)
    reset_cpu_fallback_count()

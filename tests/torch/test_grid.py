# SPDX-License-Identifier: BSD-3-Clause
"""Sampling images at grids on the NPU against PyTorch's CPU results, with gradients; nothing falls back."""

import itertools

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.usefixtures("no_fallback")


def both(x: torch.Tensor, grid: torch.Tensor, tolerance: float, **how: object) -> None:
    mine, theirs = [t.npu().requires_grad_() for t in (x, grid)], [t.clone().requires_grad_() for t in (x, grid)]
    got, want = F.grid_sample(*mine, **how), F.grid_sample(*theirs, **how)
    torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance)
    weight = torch.randn_like(want)
    for a, b in zip(torch.autograd.grad(got, mine, weight.npu()), torch.autograd.grad(want, theirs, weight), strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_images(mode: str, padding: str) -> None:
    torch.manual_seed(1)
    for align, dtype in itertools.product((False, True), (torch.float32, torch.float64)):
        x, grid = torch.randn(2, 9, 6, 5).to(dtype), torch.randn(2, 7, 8, 2).to(dtype)
        both(x, grid, 2e-4 if dtype == torch.float32 else 1e-9, mode=mode, padding_mode=padding, align_corners=align)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_volumes(mode: str, padding: str) -> None:
    torch.manual_seed(2)
    for align in (False, True):
        both(torch.randn(2, 3, 4, 6, 5), torch.randn(2, 3, 7, 2, 3), 2e-4, mode=mode, padding_mode=padding, align_corners=align)


def test_strides_halves_and_affine_maps() -> None:
    x, theta = torch.randn(2, 6, 8, 3), torch.randn(2, 2, 3)
    grid = F.affine_grid(theta, (2, 3, 5, 4), align_corners=False)
    mine = F.affine_grid(theta.npu(), (2, 3, 5, 4), align_corners=False)
    torch.testing.assert_close(mine.cpu(), grid)
    got = F.grid_sample(x.npu().permute(0, 3, 1, 2), mine, align_corners=False)
    torch.testing.assert_close(got.cpu(), F.grid_sample(x.permute(0, 3, 1, 2), grid, align_corners=False), rtol=1e-4, atol=1e-4)
    half = F.grid_sample(x.half().npu().permute(0, 3, 1, 2), mine.half(), align_corners=False)
    want = F.grid_sample(x.half().permute(0, 3, 1, 2).float(), grid.half().float(), align_corners=False)
    torch.testing.assert_close(half.float().cpu(), want, rtol=1e-2, atol=1e-2)
    assert F.grid_sample(torch.empty(0, 3, 4, 4).npu(), torch.empty(0, 2, 2, 2).npu(), align_corners=False).shape == (0, 3, 2, 2)

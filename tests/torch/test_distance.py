# SPDX-License-Identifier: BSD-3-Clause
"""Distances between rows, bags of embeddings and their gradients on the NPU against PyTorch's CPU; nothing falls back."""

import functools
import itertools

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.usefixtures("no_fallback")


def both(f: object, *tensors: torch.Tensor, tolerance: float = 2e-5) -> None:
    """Values and gradients of a function of tensors."""
    mine, theirs = [t.npu().requires_grad_() for t in tensors], [t.clone().requires_grad_() for t in tensors]
    got, want = f(*mine), f(*theirs)
    torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance)
    weight = torch.randn_like(want)
    for a, b in zip(torch.autograd.grad(got, mine, weight.npu()), torch.autograd.grad(want, theirs, weight), strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances(p: float) -> None:
    torch.manual_seed(1)
    for dtype in (torch.float32, torch.float64):
        both(lambda a, b: torch.cdist(a, b, p), torch.randn(2, 5, 3).to(dtype), torch.randn(2, 4, 3).to(dtype))
        both(lambda a, b: torch.cdist(a, b, p), torch.randn(3, 5, 6).mT.to(dtype), torch.randn(4, 5).to(dtype))
        both(lambda a: F.pdist(a, p), torch.randn(6, 4).to(dtype))
    assert torch.cdist(torch.empty(0, 3).npu(), torch.randn(4, 3).npu()).shape == (0, 4)
    assert torch.cdist(torch.empty(2, 0).npu(), torch.empty(4, 0).npu(), p).cpu().eq(0).all()


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str) -> None:
    torch.manual_seed(2)
    index, offsets = torch.randint(0, 10, (14,)), torch.tensor([0, 3, 3, 8])
    for last, padding, kind in itertools.product((False, True), (None, 4), (torch.int64, torch.int32)):
        ends = torch.cat([offsets, torch.tensor([14])]) if last else offsets

        def bags(w: torch.Tensor, ends: torch.Tensor = ends, kind: torch.dtype = kind, **how: object) -> torch.Tensor:
            return F.embedding_bag(index.to(w.device, kind), w, ends.to(w.device, kind), mode=mode, **how)

        both(functools.partial(bags, padding_idx=padding, include_last_offset=last), torch.randn(10, 5))
    both(lambda w: F.embedding_bag(index.view(2, 7).to(w.device), w, mode=mode), torch.randn(10, 5).double())
    if mode == "sum":
        both(
            lambda w, f: F.embedding_bag(index.to(w.device), w, offsets.to(w.device), mode=mode, per_sample_weights=f),
            torch.randn(10, 5),
            torch.randn(14),
        )
    with pytest.raises(RuntimeError, match="out of range"):
        F.embedding_bag(torch.tensor([[10]]).npu(), torch.randn(10, 5).npu())

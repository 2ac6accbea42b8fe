# SPDX-License-Identifier: BSD-3-Clause
"""Losses and their gradients against the CPU: reductions, types, strides, weights, wrong targets; nothing falls back."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def compare(f, x, *rest):
    """f(x, …) and the gradient of x on both devices."""
    on_cpu, on_npu = x.clone().requires_grad_(), x.npu().requires_grad_()
    torch_npu.npu.utils.reset_cpu_fallback_count()
    narrow = x.dtype in (torch.float16, torch.bfloat16)  # there the CPU's own sums are coarse: compare with float32
    widen = [r.float() if narrow and isinstance(r, torch.Tensor) and r.is_floating_point() else r for r in rest]
    want = f(on_cpu.float() if narrow else on_cpu, *widen).to(x.dtype)
    got = f(on_npu, *[r.npu() if isinstance(r, torch.Tensor) else r for r in rest])
    grad = torch.rand_like(want)
    want.backward(grad)
    got.backward(grad.npu())
    assert torch_npu.npu.utils.cpu_fallback_count() == {}
    tolerance = TOLERANCE[x.dtype]
    torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance, equal_nan=True)
    torch.testing.assert_close(on_npu.grad.cpu(), on_cpu.grad, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_pointwise(dtype, reduction):
    x, y = torch.randn(6, 700).to(dtype), torch.randn(700, 6).to(dtype).t()
    options = {"reduction": reduction}
    compare(lambda a, b: F.mse_loss(a, b, **options), x, y)
    compare(lambda a, b: F.smooth_l1_loss(a, b, beta=0.5, **options), x, y)
    compare(lambda a, b: F.huber_loss(a, b, delta=0.75, **options), x, y)
    compare(lambda a, b: F.soft_margin_loss(a, b, **options), x, y.sign())
    compare(lambda a, b: F.l1_loss(a, b, **options), x, y)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_binary_cross_entropy(reduction):
    x, y, w = torch.rand(5, 40), torch.rand(5, 40), torch.rand(40)
    compare(lambda a, b: F.binary_cross_entropy(a, b, reduction=reduction), x, y)
    compare(lambda a, b, c: F.binary_cross_entropy(a, b, c, reduction=reduction), x, y, w.expand(5, 40))
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        F.binary_cross_entropy(x.npu() + 1, y.npu())
    compare(lambda a, b: F.binary_cross_entropy_with_logits(a, b, reduction=reduction), x, y)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_likelihood(dtype, reduction):
    x, target, weight = torch.randn(5000, 7).to(dtype), torch.randint(7, (5000,)), torch.rand(7).to(dtype)
    target[::5] = 3
    options = {"ignore_index": 3, "reduction": reduction}
    for w in (None, weight):
        compare(lambda a, t, w=w: F.nll_loss(a, t, w if w is None else w.to(a), **options), x, target)
    image, labels = torch.randn(3, 7, 5, 4).to(dtype), torch.randint(7, (3, 5, 4))
    compare(lambda a, t: F.nll_loss(a, t, reduction=reduction), image, labels)
    compare(lambda a, t: F.cross_entropy(a, t, reduction=reduction), x[0], torch.tensor(2))
    compare(lambda a, t: F.cross_entropy(a, t, label_smoothing=0.1, reduction=reduction), x[:9], target[:9])


def test_likelihood_of_nothing_and_of_no_class():
    assert F.nll_loss(torch.randn(0, 3).npu(), torch.zeros(0, dtype=torch.int64).npu()).isnan()
    x = torch.randn(4, 3).npu()
    for wrong in (3, -1):
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            F.nll_loss(x, torch.tensor([0, 1, wrong, 2]).npu())
    assert F.nll_loss(x, torch.tensor([0, 1, 2, 2]).npu()).isfinite()

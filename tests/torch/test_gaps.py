# SPDX-License-Identifier: BSD-3-Clause
"""Types and forms that a family once lacked, on the NPU against PyTorch's CPU: complex reductions and scans, whole numbers in
convolutions and averages, CTC, negative pads; nothing falls back."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.usefixtures("no_fallback")


def same(f: Callable[..., object], *tensors: torch.Tensor, tolerance: float = 1e-5) -> None:
    got, want = f(*(t.npu() for t in tensors)), f(*tensors)
    for a, b in zip((got,) if torch.is_tensor(got) else got, (want,) if torch.is_tensor(want) else want, strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a.cpu(), b, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_reductions(dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    x = torch.randn(4, 5, 6, dtype=dtype)
    x[1, 2] = 0
    for t in (x, x.mT, x[::2, 1:]):
        same(lambda x: x.any(1), t)
        same(lambda x: x.all(), t)
        same(lambda x: torch.count_nonzero(x, dim=(0, 2)), t)
        same(lambda x: x.prod(1, keepdim=True), t, tolerance=1e-4)
        same(lambda x: x[0].prod(), t, tolerance=1e-3)
        same(lambda x: x.cumsum(1), t)
        same(lambda x: x.cumprod(2), t, tolerance=1e-4)
        same(lambda x: torch.logcumsumexp(x, 0), t, tolerance=1e-4)
        same(lambda x: torch.logsumexp(x, (0, 1)), t, tolerance=1e-4)
        same(lambda x: torch.var_mean(x, 1), t)
        same(lambda x: x.std((0, 2), correction=0, keepdim=True), t)
        same(lambda x: torch.trace(x[0]), t)
        for order in (1, 2, 3, float("inf"), 0):
            same(lambda x: torch.linalg.vector_norm(x, order, 1), t)  # noqa: B023
    same(lambda x: x.prod(), torch.empty(0, dtype=dtype))


def test_running_logarithms() -> None:
    x = torch.randn(5, 33) * 30
    x[0, 3], x[1, 5] = float("inf"), float("-inf")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        tolerance = 3e-2 if dtype == torch.bfloat16 else 4e-3 if dtype == torch.float16 else 1e-5
        same(lambda x: torch.logcumsumexp(x, 1), x.to(dtype), tolerance=tolerance)
        same(lambda x: torch.logcumsumexp(x, 0), x.to(dtype), tolerance=tolerance)


def test_complex_random_numbers() -> None:
    x = torch.randn(200000, dtype=torch.complex64, device="npu")
    assert abs(x.real.std() - 0.5**0.5) < 0.01 and abs(x.imag.std() - 0.5**0.5) < 0.01 and abs(x.mean()) < 0.01


def test_whole_numbers() -> None:
    x, w = torch.randint(-9, 9, (2, 4, 7, 8)), torch.randint(-9, 9, (6, 2, 3, 2))
    same(lambda x, w: F.conv2d(x, w, torch.arange(6, device=x.device), 2, 1, groups=2), x, w)
    same(lambda x, w: F.conv_transpose2d(x, w.view(4, 3, 3, 2), stride=2, padding=1, output_padding=1), x, w)
    same(lambda x, w: F.conv1d(x[0], w[:, 0, :2]), x.view(2, 2, 112), w)
    same(lambda x: F.avg_pool2d(x, 3, 2, 1), x)
    same(lambda x: F.avg_pool2d(x, (2, 3), divisor_override=-2), x)
    same(lambda x: F.avg_pool3d(x, 2), x)


def test_ctc() -> None:
    torch.manual_seed(4)
    logits, targets = torch.randn(12, 3, 5), torch.randint(1, 5, (3, 4))
    for dtype in (torch.float32, torch.float64):
        for lengths in ((4, 2, 0), (1, 4, 3)):
            for together in (False, True):
                line = torch.cat([t[:n] for t, n in zip(targets, lengths, strict=True)]) if together else targets
                grads = []
                for device in ("npu", "cpu"):
                    x = logits.to(device, dtype, copy=True).requires_grad_()
                    loss = F.ctc_loss(
                        x.log_softmax(2), line.to(device), (12, 9, 3), lengths, zero_infinity=True, reduction="none"
                    )
                    loss.sum().backward()
                    grads.append((loss.detach().cpu(), x.grad.cpu()))
                for a, b in zip(*grads, strict=True):
                    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_shapes() -> None:
    x = torch.randn(2, 6, 5, 4)
    for mode in ("reflect", "replicate"):
        same(lambda x: F.pad(x, (-1, 2, 3, -2), mode=mode), x)  # noqa: B023
    same(lambda x: F.channel_shuffle(x, 3), x)
    same(lambda x: F.channel_shuffle(x, 2), x.contiguous(memory_format=torch.channels_last))
    index = torch.tensor([1, 0, 1, 4])
    for reduce in ("prod", "mean", "amax", "amin"):
        for include in (False, True):
            same(
                lambda x, s, i: x.index_reduce(2, i, s, reduce, include_self=include),  # noqa: B023
                x, torch.randn(2, 6, 4, 4), index,
            )  # fmt: skip
    same(lambda x: torch.isin(x, x[:2]), torch.arange(9).half())

# SPDX-License-Identifier: BSD-3-Clause
"""Normalisation on the NPU against the CPU: values, gradients, running statistics, layouts, types; nothing falls back."""

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_npu.npu.utils import cpu_fallback_count

TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-10, torch.float16: 4e-3, torch.bfloat16: 4e-2}
FLOATS = list(TOLERANCE)


@pytest.fixture(autouse=True)
def native() -> Iterator[None]:
    """Fails a test in which an operator ran on the CPU."""
    before = dict(cpu_fallback_count())
    yield
    after = cpu_fallback_count()
    assert {k: v for k, v in after.items() if v != before.get(k, 0) and "masked_select" not in k} == {}


def random(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, dtype=torch.float64).mul_(2).add_(0.5).to(dtype)


def leaf(t: Tensor | None, device: str, dtype: torch.dtype) -> Tensor | None:
    return None if t is None else t.detach().to(device, dtype).requires_grad_()


def compare(function: Callable[..., Tensor], *tensors: Tensor | None, dtype: torch.dtype) -> None:
    """The function's value and all gradients, against double on the CPU; types and layouts as on the CPU."""
    out = []
    for device, compute in (("cpu", dtype), ("cpu", torch.float64), ("npu", dtype)):
        inputs = [leaf(t, device, compute) for t in tensors]
        y = function(*inputs)
        weight = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).reshape(y.shape).to(dtype).to(device, compute)
        y.backward(weight)
        out.append([y.detach(), *[t.grad for t in inputs if t is not None]])
    for cpu, want, npu in zip(*out, strict=True):
        assert npu.dtype == cpu.dtype and npu.stride() == cpu.stride()
        scale = max(1.0, want.abs().max().item())
        torch.testing.assert_close(
            npu.cpu().double(), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale, check_stride=False
        )


SHAPES = [(4, 3), (6, 5, 7), (3, 16, 5, 6), (2, 3, 9, 9), (2, 8, 3, 4, 5), (5, 700), (40, 9, 3, 3)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape: tuple[int, ...], dtype: torch.dtype, training: bool) -> None:
    c = shape[1]
    mean, var = random(c), random(c).abs() + 0.5

    def run(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.batch_norm(x, mean.to(x), var.to(x), w, b, training, 0.1, 1e-3)

    compare(run, random(*shape, dtype=dtype), random(c, dtype=dtype), random(c, dtype=dtype), dtype=dtype)


@pytest.mark.parametrize("shape", [(4, 16, 5, 6), (3, 20, 2, 3, 4), (2, 3, 50, 40)], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_channels_last(shape: tuple[int, ...], training: bool) -> None:
    c, form = shape[1], torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    mean, var = random(c), random(c).abs() + 0.5

    def run(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        x = x.contiguous(memory_format=form)
        return F.batch_norm(x, mean.to(x), var.to(x), w, b, training, 0.1, 1e-5)

    compare(run, random(*shape), random(c), random(c), dtype=torch.float32)


@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last])
def test_running_statistics(form: torch.memory_format) -> None:
    """Three steps of training, then evaluation, with mixed types as under autocast."""
    results = []
    for device in ("cpu", "npu"):
        torch.manual_seed(1)
        bn = torch.nn.BatchNorm2d(12).to(device)
        for _ in range(3):
            bn(torch.randn(5, 12, 4, 4).mul(3).to(device).contiguous(memory_format=form))
        bn(torch.randn(5, 12, 4, 4).bfloat16().to(device))
        bn.eval()
        results.append((bn.running_mean, bn.running_var, bn.num_batches_tracked, bn(torch.ones(2, 12, 3, 3, device=device))))
    for cpu, npu in zip(*results, strict=True):
        torch.testing.assert_close(npu.cpu(), cpu, rtol=1e-5, atol=1e-5)


def test_batch_norm_results() -> None:
    """Saved statistics: of the batch in training, none in evaluation; statistics of no kind at all."""
    x = random(6, 10, 3, 3)
    for training in (True, False):
        mean, var = torch.zeros(10), torch.ones(10)
        cpu = torch.native_batch_norm(x, None, None, mean.clone(), var.clone(), training, 0.5, 1e-5)
        npu = torch.native_batch_norm(x.npu(), None, None, mean.npu(), var.npu(), training, 0.5, 1e-5)
        for a, b in zip(cpu, npu, strict=True):
            torch.testing.assert_close(b.cpu(), a, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(F.batch_norm(x.npu(), None, None, training=True).cpu(), F.batch_norm(x, None, None, training=True))
    instance = torch.nn.InstanceNorm2d(10, affine=True, track_running_stats=True)
    torch.testing.assert_close(instance.npu()(x.npu()).cpu(), instance.cpu()(x), rtol=1e-5, atol=1e-5)


def test_large_mean() -> None:
    """A mean far from 0 does not cost the variance its digits."""
    x = random(8, 16, 32, 32) + 1e4
    mean, var = torch.zeros(16), torch.ones(16)
    _, _, rstd = torch.native_batch_norm(x.npu(), None, None, mean.npu(), var.npu(), True, 0.1, 1e-5)
    want = (x.double().var((0, 2, 3), correction=0) + 1e-5).rsqrt().float()
    torch.testing.assert_close(rstd.cpu(), want, rtol=1e-5, atol=0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [(5,), (64,), (513,), (2, 300), (2100,)], ids=str)
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm(n: tuple[int, ...], dtype: torch.dtype, affine: bool) -> None:
    w, b = (random(*n, dtype=dtype), random(*n, dtype=dtype)) if affine else (None, None)
    compare(lambda x, w, b: F.layer_norm(x, n, w, b, 1e-5), random(3, 7, *n, dtype=dtype), w, b, dtype=dtype)


def test_layer_norm_layouts() -> None:
    x = random(4, 6, 8).transpose(0, 2)
    compare(lambda x: F.layer_norm(x, (6, 4)), x, dtype=torch.float32)
    many = random(500, 24)
    w, b = random(24), random(24)
    compare(lambda x, w, b: F.layer_norm(x, (24,), w, b), many, w, b, dtype=torch.float32)
    half = random(9, 32).half()
    a = torch.native_layer_norm(half, (32,), w[:1].expand(32), None, 1e-5)
    n = torch.native_layer_norm(half.npu(), (32,), w[:1].expand(32).npu(), None, 1e-5)
    for cpu, npu in zip(a, n, strict=True):
        assert cpu.dtype == npu.dtype and cpu.shape == npu.shape
        torch.testing.assert_close(npu.cpu(), cpu, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("affine", [True, False])
def test_rms_norm(dtype: torch.dtype, affine: bool) -> None:
    w = random(40, dtype=dtype) if affine else None
    compare(lambda x, w: F.rms_norm(x, (40,), w, 1e-3), random(6, 3, 40, dtype=dtype), w, dtype=dtype)
    tiny = random(5, 40, dtype=dtype) * 1e-3  # where the default epsilon shows
    torch.testing.assert_close(F.rms_norm(tiny.npu(), (40,)).cpu(), F.rms_norm(tiny, (40,)), rtol=TOLERANCE[dtype], atol=0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 5, 5), 3), ((3, 8, 40), 2), ((2, 4), 4), ((2, 32, 16, 16), 8)], ids=str)
def test_group_norm(shape: tuple[int, ...], groups: int, dtype: torch.dtype) -> None:
    c = shape[1]
    compare(
        lambda x, w, b: F.group_norm(x, groups, w, b, 1e-4),
        random(*shape, dtype=dtype), random(c, dtype=dtype), random(c, dtype=dtype), dtype=dtype,
    )  # fmt: skip


def test_errors() -> None:
    x = torch.ones(2, 4, device="npu")
    wanted = r"normalized_shape=\[3\], expected input with shape \[\*, 3\], but got input of size\[2, 4\]"
    with pytest.raises(RuntimeError, match=wanted):
        F.layer_norm(x, (3,))
    with pytest.raises(RuntimeError, match=r"weight of shape \[2\] and normalized_shape = \[4\]"):
        F.layer_norm(x, (4,), x[:, 0])
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        F.batch_norm(torch.ones(1, 4, device="npu"), None, None, training=True)

# SPDX-License-Identifier: BSD-3-Clause
"""Order and selection on npu give what they give on the CPU, without falling back."""

import pytest
import torch
import torch_npu

NAN, INF = float("nan"), float("inf")
FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
DTYPES = [*FLOATS, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@pytest.fixture(autouse=True)
def no_fallback(request):
    before = dict(torch_npu.npu.utils.cpu_fallback_count())
    yield
    assert "errors" in request.node.name or dict(torch_npu.npu.utils.cpu_fallback_count()) == before


def sample(shape, dtype, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(-20, 20, shape, generator=g)
    if dtype == torch.uint8:
        return x.abs().to(dtype)
    if not dtype.is_floating_point:
        return x.to(dtype)
    x = x.to(dtype) / 4
    x[x == 1] = NAN
    x[x == 2] = INF
    x[x == -2] = -INF
    x[x == 0.5] = -0.0
    return x


def same(got, want):
    assert got.device.type == "npu" and got.dtype == want.dtype and got.shape == want.shape
    torch.testing.assert_close(got.cpu(), want, rtol=0, atol=0, equal_nan=True)


def both(function, *tensors, check=(0, 1)):
    want, got = function(*tensors), function(*(t.npu() for t in tensors))
    want, got = (r if isinstance(r, tuple) else (r,) for r in (want, got))
    for i in check:
        if i < len(want):
            same(got[i], want[i])
    return got


@pytest.mark.parametrize("dtype", [*DTYPES, torch.bool])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(dtype, descending):
    for shape, dim in (((7,), 0), ((3, 40), 1), ((40, 3), 0), ((2, 300, 3), 1), ((), -1), ((0, 3), 0), ((3000,), 0)):
        x = sample(shape, torch.int64).bool() if dtype == torch.bool else sample(shape, dtype)
        both(lambda t, d=dim: torch.sort(t, dim=d, descending=descending, stable=True), x)
        both(lambda t, d=dim: torch.argsort(t, dim=d, descending=descending, stable=True), x)


def test_sort_of_strided_and_out():
    x = sample((20, 30), torch.float32)
    both(lambda t: torch.sort(t.t()[::2], dim=0, stable=True), x)
    values, indices = torch.empty(0, device="npu"), torch.empty(0, dtype=torch.int64, device="npu")
    torch.sort(x.npu(), stable=True, dim=1, descending=False, out=(values, indices))
    same(values, torch.sort(x, dim=1)[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [False, True])
def test_topk(dtype, largest):
    cases = ((7,), 3, 0), ((3, 400), 5, 1), ((400, 3), 400, 0), ((5,), 0, 0), ((), 1, -1), ((), 0, 0), ((2, 9000), 50, 1)
    for shape, k, dim in cases:
        x = sample(shape, dtype)
        got = both(lambda t, k=k, d=dim: torch.topk(t, k, dim=d, largest=largest), x, check=(0,))
        if x.dim():
            same(got[0], torch.gather(x, dim, got[1].cpu()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_kthvalue_and_medians(dtype):
    x = sample((6, 51), dtype)
    for k in (1, 20, 51):
        got = both(lambda t, k=k: torch.kthvalue(t, k, dim=1), x, check=(0,))
        same(got[0], torch.gather(x, 1, got[1].cpu()[:, None])[:, 0])
    both(torch.median, x)
    both(torch.nanmedian, x)
    both(lambda t: torch.median(t, dim=0, keepdim=True), x, check=(0,))
    both(lambda t: torch.nanmedian(t, dim=1), x, check=(0,))


def test_medians_with_nan():
    x = torch.tensor([[1.0, NAN, 3.0, NAN], [4.0, 5.0, 6.0, 7.0], [NAN, NAN, NAN, NAN]])
    both(lambda t: torch.median(t, dim=1), x)
    both(lambda t: torch.nanmedian(t, dim=1), x, check=(0,))
    assert torch.median(torch.empty(0).npu()).isnan().item()


@pytest.mark.parametrize("dtype", [*DTYPES, torch.bool])
def test_unique(dtype):
    x = sample((8, 50), torch.int64).bool() if dtype == torch.bool else sample((8, 50), dtype)
    if dtype.is_floating_point:
        x = torch.nan_to_num(x, nan=3.25) + 0.0
    both(torch.unique, x)
    both(lambda t: torch.unique(t, return_inverse=True, return_counts=True), x, check=(0, 1, 2))
    both(lambda t: torch.unique(t, return_counts=True), x[:0])


def test_nonzero_and_masks():
    some = sample((5, 6, 7), torch.float32), sample((100000,), torch.int8)
    for x in (*some, torch.tensor(3), torch.tensor(0.0), torch.zeros(0, 4)):
        both(torch.nonzero, x)
        both(lambda t: t[t > 0], x)
        both(lambda t: torch.masked_select(t, t > 2), x)
    x, mask = sample((4, 1), torch.float64), torch.tensor([True, False, True])
    both(torch.masked_select, x, mask)
    both(lambda t: torch.nonzero(t.t()), sample((9, 8), torch.int32) % 2)
    both(lambda t: torch.stack(torch.nonzero(t, as_tuple=True)), sample((9, 8), torch.int32) % 3)


def test_gradients():
    x = torch.randn(5, 30)
    functions = (
        lambda t: torch.sort(t, dim=1)[0][:, :7],
        lambda t: torch.topk(t, 4, dim=1)[0],
        lambda t: torch.median(t, dim=1)[0],
        lambda t: torch.masked_select(t, t > 0),
        lambda t: torch.kthvalue(t, 3, dim=0)[0],
    )
    for function in functions:
        grads = []
        for device in ("cpu", "npu"):
            t = x.detach().clone().to(device).requires_grad_()
            function(t).square().sum().backward()
            grads.append(t.grad.cpu())
        torch.testing.assert_close(grads[1], grads[0])


@pytest.mark.parametrize("call", [lambda x: torch.topk(x, 9), lambda x: torch.sort(x, dim=3), lambda x: torch.kthvalue(x, 0)])
def test_errors_are_pytorchs(call):
    x = torch.randn(3, 4)
    with pytest.raises((RuntimeError, IndexError)) as want:
        call(x)
    with pytest.raises(type(want.value)) as got:
        call(x.npu())
    assert str(want.value).splitlines()[0] in str(got.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8])
def test_searchsorted(dtype):
    sequence = sample((50,), dtype).sort()[0]
    values = sample((4, 30), dtype, seed=1)
    for right in (False, True):
        both(lambda s, v, r=right: torch.searchsorted(s, v, right=r), sequence, values)
        both(lambda s, v, r=right: torch.bucketize(v, s, right=r, out_int32=True), sequence, values)
    rows = sample((4, 20), dtype, seed=2)
    both(torch.searchsorted, rows.sort(dim=1)[0], values)
    both(lambda s, v: torch.searchsorted(s, v, sorter=torch.argsort(s, dim=1, stable=True)), rows, values)
    both(lambda s: torch.searchsorted(s, 3), sequence)
    both(lambda s: torch.bucketize(torch.tensor(3, device=s.device), s), sequence)
    both(torch.searchsorted, sequence.double().float(), torch.arange(6))


def test_searchsorted_of_large():
    both(torch.searchsorted, torch.rand(1000, generator=torch.Generator().manual_seed(0)).sort()[0], torch.rand(100000))

# SPDX-License-Identifier: BSD-3-Clause
"""Histograms, counts, membership and renorm on the NPU against the CPU; nothing falls back."""

from collections.abc import Iterator

import pytest
import torch
from torch_npu.npu.utils import cpu_fallback_count


@pytest.fixture(autouse=True)
def native() -> Iterator[None]:
    before = dict(cpu_fallback_count())
    yield
    assert {k: n for k, n in cpu_fallback_count().items() if n != before.get(k, 0)} == {}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_histc(dtype: torch.dtype) -> None:
    t = torch.randn(3, 70_000 if dtype.itemsize > 2 else 90).to(dtype)
    for args in ((100,), (7, -1, 2), (600, 0, 0), (3, 5, 6), (10, -3, -3)):
        if args[0] > 256 and dtype.itemsize == 2:
            continue  # the CPU's kernel rounds past its last bin
        assert torch.equal(t.npu().histc(*args).cpu(), t.histc(*args))
    ends = torch.tensor([0.0, 1.0, 1.0, 0.5, torch.nan, 2.0, -1.0], dtype=dtype)
    assert torch.equal(ends.npu().histc(4, 0, 1).cpu(), ends.histc(4, 0, 1))
    same = torch.full((5,), 3.0, dtype=dtype)
    assert torch.equal(same.npu().histc(5).cpu(), same.histc(5))
    assert torch.equal(same[:0].npu().histc(5).cpu(), same[:0].histc(5))
    with pytest.raises(RuntimeError, match=r"range of \[.*\] is not finite"):
        torch.tensor([1.0, torch.inf], dtype=dtype).npu().histc(4)


def test_bincount() -> None:
    t = torch.randint(0, 50, (100_000,))
    w = torch.rand(100_000)
    assert torch.equal(t.npu().bincount().cpu(), t.bincount())
    assert torch.equal(t.byte().npu().bincount(minlength=90).cpu(), t.byte().bincount(minlength=90))
    assert torch.equal(t[:0].npu().bincount(minlength=4).cpu(), t[:0].bincount(minlength=4))
    for weights in (w, w.double(), (w * 9).int(), w.half()):
        cpu, npu = t.bincount(weights), t.npu().bincount(weights.npu())
        assert npu.dtype == cpu.dtype
        torch.testing.assert_close(npu.cpu(), cpu, rtol=1e-5, atol=0)
    with pytest.raises(RuntimeError, match="1-d non-negative integral"):
        torch.tensor([1, -1]).npu().bincount()


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.float32, torch.float64])
def test_isin(dtype: torch.dtype) -> None:
    x, tests = torch.randint(0, 90, (7, 300)).to(dtype), torch.randint(0, 90, (5, 6)).to(dtype)
    for invert in (False, True):
        for t in (tests, tests[:, 0], tests[:0], tests[0, 0]):
            assert torch.equal(torch.isin(x.npu(), t.npu(), invert=invert).cpu(), torch.isin(x, t, invert=invert))
    assert torch.equal(torch.isin(x.t().npu(), tests.npu()).cpu(), torch.isin(x.t(), tests))
    if dtype.is_floating_point:
        holes = torch.tensor([1.0, torch.nan, -0.0], dtype=dtype)
        assert torch.isin(holes.npu(), torch.tensor([torch.nan, 0.0, 1.0], dtype=dtype).npu()).tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_renorm(dtype: torch.dtype) -> None:
    t = torch.randn(5, 6, 7).to(dtype)
    for p, dim, most in ((2, 0, 1.0), (1, -1, 3), (torch.inf, 1, 0.5), (2.5, 0, 100.0)):
        near = 1e-2 if dtype.itemsize == 2 else 1e-6
        torch.testing.assert_close(t.npu().renorm(p, dim, most).cpu(), t.renorm(p, dim, most), rtol=near, atol=near)
    a, b = t.clone(), t.npu()
    torch.testing.assert_close(b.renorm_(2, 0, 1.5).cpu(), a.renorm_(2, 0, 1.5), rtol=1e-2, atol=1e-2)

# SPDX-License-Identifier: BSD-3-Clause
"""Special functions on the NPU against PyTorch's CPU results: values, integers as floats, 16-bit floats, out=, edges;
nothing falls back."""


import pytest
import torch

s = torch.special
ONE = [
    s.i0, s.i0e, s.i1, s.i1e, s.bessel_j0, s.bessel_j1, s.bessel_y0, s.bessel_y1, s.modified_bessel_i0, s.modified_bessel_i1,
    s.modified_bessel_k0, s.modified_bessel_k1, s.scaled_modified_bessel_k0, s.scaled_modified_bessel_k1,
    s.spherical_bessel_j0, s.airy_ai, s.entr, s.erfcx, s.log_ndtr,
]  # fmt: skip
TWO = [
    s.zeta, s.chebyshev_polynomial_t, s.chebyshev_polynomial_u, s.chebyshev_polynomial_v, s.chebyshev_polynomial_w,
    s.shifted_chebyshev_polynomial_t, s.shifted_chebyshev_polynomial_u, s.shifted_chebyshev_polynomial_v,
    s.shifted_chebyshev_polynomial_w, s.hermite_polynomial_h, s.hermite_polynomial_he, s.laguerre_polynomial_l,
    s.legendre_polynomial_p,
]  # fmt: skip
# PyTorch's own Bessel functions are good to seven digits right above 5.
TOLERANCE = {torch.float32: 3e-5, torch.float64: 2e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}

pytestmark = pytest.mark.usefixtures("no_fallback")


def same(got: torch.Tensor, want: torch.Tensor, what: object) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape, what
    tolerance = TOLERANCE[want.dtype]
    torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda m: f"{m} {what}")


@pytest.mark.parametrize("f", ONE, ids=lambda f: f.__name__)
def test_one_operand(f: object) -> None:
    x = torch.cat([torch.linspace(-12, 12, 97), torch.tensor([0.0, 1e-3, 30.0, float("nan")])])
    for dtype in (torch.float32, torch.float64):
        same(f(x.to(dtype).npu()), f(x.to(dtype)), (f, dtype))
    whole = torch.arange(1, 9)
    same(f(whole.npu()), f(whole), f)
    out = torch.empty(0).npu()
    f(x[::3].npu(), out=out)
    same(out, f(x[::3]), f)


@pytest.mark.parametrize("f", TWO, ids=lambda f: f.__name__)
def test_two_operands(f: object) -> None:
    x, n = torch.linspace(-1.4, 1.4, 29)[:, None], torch.arange(-1.0, 7.0)
    if f is s.zeta:
        x, n = torch.linspace(1.1, 9, 29)[:, None], torch.linspace(0.2, 8, 9)
    same(f(x.npu(), n.npu()), f(x, n), f)
    same(f(x.double().npu(), n.double().npu()), f(x.double(), n.double()), f)
    same(f(x.npu(), 3), f(x, 3), f)


def test_gamma() -> None:
    a, x = torch.linspace(0, 30, 31)[:, None], torch.linspace(0, 40, 27)
    for f in (s.gammainc, s.gammaincc):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            same(f(a.to(dtype).npu(), x.to(dtype).npu()), f(a.to(dtype), x.to(dtype)), (f, dtype))
    x = torch.linspace(0.3, 9, 40)
    for n in range(5):
        same(torch.polygamma(n, x.npu()), torch.polygamma(n, x), n)
    same(torch.nextafter(x.npu(), -x.npu()), torch.nextafter(x, -x), "nextafter")


def test_complex() -> None:
    z = torch.randn(50, dtype=torch.complex128)
    for f in (torch.exp2, torch.expm1, torch.log1p, torch.sinc):
        for dtype in (torch.complex64, torch.complex128):
            torch.testing.assert_close(f(z.to(dtype).npu()).cpu(), f(z.to(dtype)))
    torch.testing.assert_close(torch.logaddexp(z.npu(), z.flip(0).npu()).cpu(), torch.logaddexp(z, z.flip(0)))
    torch.testing.assert_close(torch.lerp(z.npu(), z.flip(0).npu(), 0.3).cpu(), torch.lerp(z, z.flip(0), 0.3))

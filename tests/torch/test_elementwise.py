# SPDX-License-Identifier: BSD-3-Clause
"""Elementwise operators and activations on the NPU against PyTorch's CPU results: types, strides, broadcasting, empty and
0-dim tensors, in-place and out= forms, gradients, errors; nothing may fall back to the CPU unless that is the expectation."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch_npu.npu.utils import cpu_fallback_count, reset_cpu_fallback_count

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
REAL = FLOATS + INTS
ALL = REAL + [torch.bool]
TOLERANCE = {
    torch.float32: (1e-5, 1e-6),
    torch.float64: (1e-7, 1e-9),
    torch.float16: (2e-3, 1e-3),
    torch.bfloat16: (2e-2, 1e-2),
    torch.complex64: (1e-5, 1e-5),
    torch.complex128: (1e-7, 1e-9),
}

pytestmark = pytest.mark.usefixtures("no_fallback")


def same(got: object, want: object) -> None:
    """Structures of tensors agree in type, shape and value."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
        return
    assert got.dtype == want.dtype and got.shape == want.shape
    rtol, atol = TOLERANCE.get(want.dtype, (0, 0))
    torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=rtol, atol=atol, equal_nan=True)


def sample(dtype: torch.dtype, *shape: int, low: float = -3.0, high: float = 3.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    x = torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low
    if dtype == torch.bool:
        return x > 0
    if dtype == torch.uint8:
        return x.abs().to(dtype)
    return x.to(dtype)


def both(f, *args, **kwargs):
    """f of the CPU tensors and f of their copies on the NPU."""
    move = lambda a: a.npu() if isinstance(a, torch.Tensor) else a
    want = f(*args, **kwargs)
    got = f(*map(move, args), **{k: move(v) for k, v in kwargs.items()})
    return got, want


UNARY_ANY = ["sign", "sgn", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "logical_not", "nan_to_num"]
UNARY_REAL = ["abs", "neg", "square", "ceil", "floor", "round", "trunc", "relu"]
UNARY_MATH = (
    "reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "sigmoid erf erfc erfinv lgamma digamma sinc logit"
).split()


@pytest.mark.parametrize("name", UNARY_ANY + UNARY_REAL + UNARY_MATH + ["frac", "bitwise_not"])
def test_unary(name):
    f = getattr(torch, name)
    types = ALL if name in UNARY_ANY + UNARY_MATH else REAL
    types = FLOATS if name == "frac" else INTS + [torch.bool] if name == "bitwise_not" else types
    for dtype in types:
        if name == "nan_to_num" and dtype == torch.float64:
            continue  # the operator takes float bounds
        x = sample(dtype, 4, 33)
        same(*both(f, x))
        same(*both(f, x.t()))
        same(*both(f, x[:, ::2]))
        same(*both(f, x[:0]))
        same(*both(f, x[0, 0]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_unary_special_values(dtype):
    x = torch.tensor(
        [0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan"), 1e-40, -1e-40, 3e38, -3e38, 89, -104], dtype=dtype
    )
    for name in UNARY_MATH + UNARY_REAL:
        if name in ("erfinv", "logit", "lgamma", "digamma", "sinc"):
            continue
        got, want = both(getattr(torch, name), x)
        same(got, want)
        assert torch.equal(torch.signbit(got).cpu()[want == 0], torch.signbit(want)[want == 0]), name


BINARY_REAL = ["add", "sub", "mul", "maximum", "minimum", "fmax", "fmin"]
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"]


@pytest.mark.parametrize("name", BINARY_REAL + COMPARE + ["true_divide", "atan2", "xlogy", "copysign"])
def test_binary_types_promote(name):
    f = getattr(torch, name)
    for a, b in itertools.product(ALL, ALL):
        if name == "sub" and torch.bool in (a, b):
            continue
        x, y = sample(a, 3, 5), sample(b, 5, low=1.0)
        same(*both(f, x, y))
        same(*both(f, x, y[0]))


@pytest.mark.parametrize("dtype", ALL)
def test_binary_with_numbers(dtype):
    x = sample(dtype, 3, 5)
    for number in (2, 2.5, True, -1, 0):
        for f in (
            lambda t, n: t + n,
            lambda t, n: n + t,
            lambda t, n: t * n,
            lambda t, n: t == n,
            lambda t, n: n <= t,
            lambda t, n: t > n,
            lambda t, n: t / (n or 3),
            lambda t, n: torch.where(t > n, t, n),
        ):
            same(*both(f, x, number))
        if dtype != torch.bool and number is not True:
            same(*both(lambda t, n: t - n, x, number))
            same(*both(lambda t, n: n - t, x, number))
            same(*both(lambda t, n: torch.add(t, n, alpha=2), x, number))
            same(*both(lambda t, n: torch.sub(n if isinstance(n, torch.Tensor) else torch.tensor(n), t, alpha=2), x, number))


def test_broadcasting_and_strides():
    a, b = sample(torch.float32, 4, 1, 6), sample(torch.float32, 5, 1)
    same(*both(torch.add, a, b))
    same(*both(torch.mul, a.expand(4, 5, 6).transpose(1, 2), b[:, 0]))
    c = sample(torch.float32, 2, 3, 4, 5).to(memory_format=torch.channels_last)
    got, want = both(lambda t: t * 2 + t, c)
    same(got, want)
    assert got.stride() == want.stride()
    same(*both(torch.add, sample(torch.float32, 0, 3), sample(torch.float32, 3)))
    same(*both(torch.add, a[0, 0, 0], b[0, 0]))
    same(*both(lambda t: t[1:, 1:, ::2] - t[:-1, 1:, ::2], sample(torch.float64, 7, 5, 9)))


def test_large_tensors_use_all_threads():
    x, y = sample(torch.float32, 300_001), sample(torch.float32, 300_001, low=0.5)
    for f in (torch.add, torch.mul, torch.div, torch.pow, torch.atan2, lambda a, b: F.gelu(a) * b.tanh()):
        same(*both(f, x.abs(), y))


@pytest.mark.parametrize("dtype", REAL)
def test_division(dtype):
    x = torch.arange(-20, 20).to(dtype)
    for d in (3, -3, 7, -1):
        if dtype == torch.uint8 and d < 0:
            continue
        y = torch.full_like(x, d)
        for other in (y, d, y[:1]):
            for mode in (None, "trunc", "floor"):
                same(*both(torch.div, x, other, rounding_mode=mode))
            same(*both(torch.remainder, x, other))
            same(*both(torch.fmod, x, other))
            same(*both(torch.floor_divide, x, other))
    if dtype.is_floating_point:
        z = torch.tensor([0.0, -0.0, 1.0, -5.5, float("inf"), -float("inf"), float("nan")], dtype=dtype)
        for f in (torch.remainder, torch.fmod, torch.floor_divide):
            same(*both(f, z[:, None], z))


def test_integer_division_by_zero_raises():
    x, zero = torch.tensor([1, 2]).npu(), torch.tensor([1, 0]).npu()
    for f in (torch.remainder, torch.fmod, torch.floor_divide, lambda a, b: torch.div(a, b, rounding_mode="trunc")):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            f(x, zero)
        assert (x + 1).tolist() == [2, 3]  # the device works on
    assert cpu_fallback_count() == {}
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x % 0
    reset_cpu_fallback_count()  # PyTorch's own kernel said it


@pytest.mark.parametrize("dtype", REAL)
def test_pow(dtype):
    x = sample(dtype, 30, low=0.0 if dtype.is_floating_point else -3.0)
    for e in (0, 1, 2, 3, 4, 0.5, -0.5, -1, -2, 2.7):
        if e < 0 and e == int(e) and not dtype.is_floating_point:
            continue
        same(*both(torch.pow, x, e))
    same(*both(torch.pow, x, sample(dtype, 30).abs()))
    same(*both(torch.pow, 2, x.abs()))
    if not dtype.is_floating_point:
        with pytest.raises(RuntimeError, match="negative integer powers"):
            x.npu() ** -1
        reset_cpu_fallback_count()


@pytest.mark.parametrize("dtype", INTS)
def test_bits(dtype):
    x, y = sample(dtype, 3, 40, low=-100, high=100), sample(dtype, 40, low=-100, high=100)
    for f in (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor, torch.gcd):
        same(*both(f, x, y))
    for f in (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor):
        same(*both(f, x, 5))
    shift = torch.tensor([0, 1, 3, 7, 8, 31, 40, 64, 100]).to(dtype)
    for f in (torch.bitwise_left_shift, torch.bitwise_right_shift, lambda a, b: a << b, lambda a, b: a >> b):
        same(*both(f, x[0, :9], shift))
    same(*both(lambda a: a << 2, x))
    same(*both(lambda a: a >> 1, x))


def test_bool_logic():
    x, y = sample(torch.bool, 3, 7), sample(torch.bool, 7)
    for f in (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor, torch.add, torch.mul, torch.logical_or, torch.eq, torch.lt):
        same(*both(f, x, y))
    same(*both(lambda a: ~a & True, x))


def test_wrapping_and_extremes():
    for dtype in INTS:
        info = torch.iinfo(dtype)
        x = torch.tensor([info.min, info.max, 1, 0], dtype=dtype)
        for f in (torch.add, torch.sub, torch.mul, torch.maximum):
            same(*both(f, x, x.flip(0).contiguous()))
        if info.min:
            same(*both(torch.abs, x))
            same(*both(torch.neg, x))


@pytest.mark.parametrize("dtype", ALL)
def test_clamp_and_where(dtype):
    x = sample(dtype, 3, 20)
    low, high = torch.full_like(x, 0), torch.full_like(x[0], 1)
    if dtype != torch.bool:
        for bounds in ((0, 1), (None, 1), (-1, None), (0.5, 2)):
            same(*both(torch.clamp, x, *bounds))
        same(*both(torch.clamp, x, low, high))
        same(*both(torch.clamp_min, x, low))
        same(*both(torch.clamp_max, x, 1))
    same(*both(torch.where, x > 0, x, high))
    same(*both(lambda t: t.masked_fill(t > 0, 1), x))
    same(*both(lambda t, m: t.clone().masked_fill_(m, torch.tensor(1)), x, x[0] > 0))


def test_clamp_nan():
    x = torch.tensor([1.0, float("nan"), 3.0])
    nan = float("nan")
    for bounds in ((0.0, 2.0), (nan, 2.0), (0.0, nan), (None, nan)):
        same(*both(torch.clamp, x, *bounds))
    same(*both(torch.clamp, x, torch.tensor(nan), torch.tensor(2.0)))
    for f in (torch.maximum, torch.minimum, torch.fmax, torch.fmin):
        same(*both(f, x[:, None], x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_three_operands(dtype):
    a, b, c = sample(dtype, 4, 9), sample(dtype, 9, low=1.0), sample(dtype, 4, 1, low=0.5)
    same(*both(torch.addcmul, a, b, c, value=0.5))
    same(*both(torch.addcdiv, a, b, c, value=2))
    same(*both(torch.lerp, a, b.expand(4, 9), 0.3))
    same(*both(torch.lerp, a, b.expand(4, 9), c))
    same(*both(torch.isclose, a, a + 1e-9))
    same(*both(torch.round, a, decimals=2))
    same(*both(torch.heaviside, a, b))
    same(*both(torch.logaddexp, a, b))
    same(*both(torch.logaddexp2, a, b))


def test_in_place_and_out():
    x, y = sample(torch.float32, 3, 5), sample(torch.float32, 5)
    for f in (
        lambda t, u: t.clone().add_(u, alpha=2),
        lambda t, u: t.clone().mul_(u).sub_(1).div_(3),
        lambda t, u: t.clone().t().add_(1).t(),
        lambda t, u: t.clone().relu_().clamp_(max=1).pow_(2),
        lambda t, u: t.clone().eq_(u),
        lambda t, u: t.clone().add_(u.double()),
        lambda t, u: torch.add(t, u, out=torch.empty(0, device=t.device)),
        lambda t, u: torch.add(t, u, out=torch.empty(3, 5, device=t.device, dtype=torch.float64)),
        lambda t, u: torch.mul(t, u, out=torch.empty(5, 3, device=t.device).t()),
        lambda t, u: torch.gt(t, u, out=torch.empty(3, 5, device=t.device, dtype=torch.int32)),
        lambda t, u: torch.exp(t, out=torch.empty(3, 5, device=t.device)),
    ):
        same(*both(f, x, y))
    z = x.clone().npu()
    z += z
    same(z, x + x)
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.ones(3, dtype=torch.int32).npu().mul_(2.5)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.ones(3).npu().add_(torch.ones(2, 3).npu())
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        torch.ones(3).npu() + torch.ones(2).npu()


ACTIVATIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 1.5),
    "threshold": lambda x: F.threshold(x, 0.5, -2.0),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "elu": lambda x: F.elu(x, 1.5),
    "celu": lambda x: F.celu(x, 0.7),
    "selu": F.selu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "softplus": lambda x: F.softplus(x, 1.3, 2.0),
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "logsigmoid": F.logsigmoid,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "glu": lambda x: F.glu(x, 1),
    "glu_first_dim": lambda x: F.glu(x, 0),
    "logit": lambda x: torch.logit(x / 7 + 0.5, eps=0.1),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_activation(name, dtype):
    f = ACTIVATIONS[name]
    for x in (sample(dtype, 4, 34), sample(dtype, 34, 4).t(), sample(dtype, 0, 4), sample(dtype, 2, 2, low=30, high=50)):
        on_cpu, on_npu = x.clone().requires_grad_(), x.npu().requires_grad_()
        want, got = f(on_cpu), f(on_npu)
        same(got, want)
        weight = sample(dtype, *want.shape)
        want.backward(weight)
        got.backward(weight.npu())
        same(on_npu.grad, on_cpu.grad)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weights", [1, 6])
def test_prelu(dtype, weights):
    x, w = sample(dtype, 3, 6, 5), sample(dtype, weights)
    leaves = [[t.clone().requires_grad_() for t in (x, w)], [t.npu().requires_grad_() for t in (x, w)]]
    results = [F.prelu(*pair) for pair in leaves]
    same(results[1], results[0])
    for r in results:
        r.backward(sample(dtype, 3, 6, 5).to(r.device))
    same(leaves[1][0].grad, leaves[0][0].grad)
    same(leaves[1][1].grad, leaves[0][1].grad)


def test_gradients_of_arithmetic():
    def f(x, y):
        return (
            (x * y + x / y - y) ** 3 * torch.where(x > y, x, y).exp() + torch.maximum(x, y).clamp(-1, 1).tanh() + x.abs().sqrt()
        ).log1p()

    x, y = sample(torch.float64, 5, 6, low=0.5), sample(torch.float64, 6, low=1.0)
    leaves = [[t.clone().requires_grad_() for t in (x, y)], [t.npu().requires_grad_() for t in (x, y)]]
    results = [f(*pair) for pair in leaves]
    same(results[1], results[0])
    for r in results:
        r.backward(torch.ones_like(r))
    reset_cpu_fallback_count()  # sums belong to another family
    same(leaves[1][0].grad, leaves[0][0].grad)
    same(leaves[1][1].grad, leaves[0][1].grad)


def test_refusals_are_those_of_pytorch():
    b = torch.tensor([True, False]).npu()
    i = torch.tensor([1, 2]).npu()
    for f, words in (
        (lambda: b - b, "not supported"),
        (lambda: torch.add(i, i, alpha=1.5), "must not be a floating point number"),
        (lambda: i.float() & i, "not implemented"),
        (lambda: -b, "not supported"),
        (lambda: torch.lerp(i.float(), i.double(), 0.5), "dtype"),
        (lambda: F.gelu(i), "not implemented"),
    ):
        with pytest.raises((RuntimeError, NotImplementedError), match=words):
            f()
    reset_cpu_fallback_count()  # PyTorch's own kernels said it


def test_native_dropout_backward():
    g, mask = sample(torch.float32, 4, 5), sample(torch.bool, 4, 5)
    same(*both(torch.ops.aten.native_dropout_backward, g, mask, 2.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ndtri_is_exact_in_the_tails(dtype):
    p = torch.tensor([0.0, 1.0, 0.5, 1e-30, 1e-10, 0.02, 0.3, 0.99, 1 - 1e-6, -0.1, float("nan")], dtype=dtype)
    got, want = both(torch.special.ndtri, p)
    torch.testing.assert_close(got.cpu(), want, rtol=1e-6 if dtype == torch.float32 else 1e-12, atol=0, equal_nan=True)


def test_hypot_lcm_and_complex_parts():
    inf, nan = float("inf"), float("nan")
    special = torch.tensor([0.0, -0.0, 3.0, -4.0, inf, -inf, nan, 1e30])
    same(*both(torch.hypot, special[:, None], special))
    for dtype in FLOATS:
        same(*both(torch.hypot, sample(dtype, 5, 4), sample(dtype, 4)))
        same(*both(torch.angle, sample(dtype, 9)))
    for dtype in INTS:
        same(*both(torch.lcm, sample(dtype, 40, low=-9, high=9), sample(dtype, 40, low=-5, high=9).flip(0)))
    for dtype in (torch.float32, torch.float64):
        a, b = sample(dtype, 4, 3), sample(dtype, 3)
        same(*both(torch.complex, a, b))
        same(*both(torch.polar, a.abs(), b))
        same(*both(torch.polar, a[:0].abs(), b))
        same(*both(torch.angle, torch.complex(a, a.flip(0))))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex(dtype):
    part = torch.float32 if dtype == torch.complex64 else torch.float64
    a = torch.complex(sample(part, 4, 5), sample(part, 4, 5).flip(0))
    b = torch.complex(sample(part, 5, low=1.0), sample(part, 5))
    for f in (torch.add, torch.sub, torch.mul, torch.div, torch.pow, torch.eq, torch.ne):
        same(*both(f, a, b))
        same(*both(f, a, b.real.contiguous()))
        same(*both(f, a, 2.5))
        same(*both(f, a, 1 + 2j))
    for f in (torch.abs, torch.sgn, torch.exp, torch.log, torch.sqrt, torch.tanh, torch.sigmoid, torch.isnan, torch.reciprocal):
        same(*both(f, a))
        same(*both(f, a.t()))
    same(*both(torch.logical_and, a, b * 0))
    same(*both(lambda t: t.conj() * t, a))
    same(*both(lambda t: t.real + t.imag, a))
    same(*both(torch.where, a.real > 0, a, b))
    leaves = [a.clone().requires_grad_(), a.npu().requires_grad_()]
    grads = [
        torch.autograd.grad(((x * x + x).sigmoid() / x).abs().square(), x, torch.ones(4, 5, device=x.device))[0] for x in leaves
    ]
    same(grads[1], grads[0])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,), (33,), (3, 1, 5), (64, 7)])
def test_small_floats_with_scalars(dtype, shape):
    """The roundings of PyTorch's CPU, whatever the size and order: some scalars are first rounded to the tensor's type."""
    x = torch.randn(shape).to(dtype)
    on_npu = x.npu()
    for see in (lambda a: a, lambda a: a.expand(3, *a.shape), lambda a: a[..., ::2] if a.dim() else a,
                lambda a: a.mT if a.dim() == 2 else a):  # fmt: skip
        for f in (lambda a: a * 0.3, lambda a: 1.7 - a, lambda a: a / 3.1, lambda a: a.add(0.1, alpha=2), lambda a: 2.5 / a,
                  lambda a: a * a.flatten()[0], lambda a: torch.maximum(a, a.flatten()[:1])):  # fmt: skip
            torch.testing.assert_close(f(see(on_npu)).cpu(), f(see(x)), rtol=0, atol=0)

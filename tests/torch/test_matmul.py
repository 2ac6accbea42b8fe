# SPDX-License-Identifier: BSD-3-Clause
"""Matrix products on the NPU against PyTorch's CPU results: every type, transposed and strided operands, empty and long
inner dimensions, in-place and out= forms, gradients, errors; nothing falls back."""

import functools

import pytest
import torch
import torch.nn.functional as F

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12, torch.float16: 4e-3, torch.bfloat16: 3e-2}

pytestmark = pytest.mark.usefixtures("no_fallback")


def sample(dtype: torch.dtype, *shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -9, 10, shape, generator=generator).to(dtype)


def agrees(got: torch.Tensor, want: torch.Tensor) -> None:
    """Against a reference computed in float64 (or exactly): within the type's rounding of the largest element."""
    assert got.shape == want.shape
    if not got.dtype.is_floating_point:
        assert torch.equal(got.cpu(), want.to(got.dtype))
        return
    scale = want.abs().max().item() if want.numel() else 1
    torch.testing.assert_close(got.detach().cpu().double(), want.double(), rtol=0, atol=TOLERANCE[got.dtype] * max(1, scale))


def wide(t: torch.Tensor) -> torch.Tensor:
    return t.double() if t.dtype.is_floating_point else t.long()


SIZES = [
    (1, 1, 1),
    (3, 5, 7),
    (33, 31, 64),
    (1, 70, 300),
    (70, 1, 300),
    (64, 10, 128),
    (130, 70, 513),
    (4, 6, 0),
    (0, 5, 3),
    (2, 300, 400),
]


@pytest.mark.parametrize("dtype", FLOATS + INTS)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_mm(dtype: torch.dtype, turned: tuple[bool, bool]) -> None:
    for m, n, k in SIZES:
        a = sample(dtype, k, m).t() if turned[0] else sample(dtype, m, k)
        b = sample(dtype, n, k, seed=1).t() if turned[1] else sample(dtype, k, n, seed=1)
        agrees(torch.mm(a.npu(), b.npu()), wide(a) @ wide(b))
        x = sample(dtype, n, seed=2)
        agrees(torch.addmm(x.npu(), a.npu(), b.npu(), beta=2, alpha=3), 2 * wide(x) + 3 * (wide(a) @ wide(b)))


@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_strides(dtype: torch.dtype) -> None:
    a, b = sample(dtype, 40, 60), sample(dtype, 90, 50)
    want = wide(a)[::2, 1::3] @ wide(b)[:20, ::2]
    agrees(a.npu()[::2, 1::3] @ b.npu()[:20, ::2], want)
    agrees(sample(dtype, 1, 20).npu().expand(7, 20) @ b.npu()[:20], wide(sample(dtype, 1, 20)).expand(7, 20) @ wide(b)[:20])
    out = sample(dtype, 30, 50).npu().t()[:20, :25]
    torch.mm(a.npu()[::2, 1::3], b.npu()[:20, ::2][:, :25], out=out[:20, :25])
    agrees(out, want[:, :25])


@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_batches(dtype: torch.dtype) -> None:
    a, b, c = sample(dtype, 5, 9, 40), sample(dtype, 5, 40, 33), sample(dtype, 5, 1, 33)
    product = wide(a) @ wide(b)
    agrees(torch.bmm(a.npu(), b.npu()), product)
    agrees(torch.baddbmm(c.npu(), a.npu(), b.npu(), beta=3, alpha=2), 3 * wide(c) + 2 * product)
    agrees(torch.addbmm(c[0].npu(), a.npu(), b.npu(), beta=3, alpha=2), 3 * wide(c[0]) + 2 * product.sum(0))
    agrees(torch.bmm(a.npu().transpose(1, 2), a.npu()), wide(a).transpose(1, 2) @ wide(a))
    for left, right in [
        ((3,), (3,)),
        ((4, 3), (3,)),
        ((3,), (3, 5)),
        ((2, 1, 4, 3), (6, 3, 5)),
        ((6, 4, 3), (3, 5)),
        ((2, 0, 3), (3, 5)),
    ]:
        x, y = sample(dtype, *left), sample(dtype, *right)
        agrees(torch.matmul(x.npu(), y.npu()), torch.matmul(wide(x), wide(y)))


@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_vectors(dtype: torch.dtype) -> None:
    a, x, y = sample(dtype, 50, 300), sample(dtype, 300), sample(dtype, 50)
    for m in (a, sample(dtype, 300, 50).t(), a[:, ::2].repeat(1, 2)):
        agrees(torch.mv(m.npu(), x.npu()), wide(m) @ wide(x))
        agrees(torch.addmv(y.npu(), m.npu(), x.npu(), beta=2, alpha=3), 2 * wide(y) + 3 * (wide(m) @ wide(x)))
    agrees(torch.dot(x.npu(), x.npu()), wide(x) @ wide(x))
    agrees(torch.vdot(x.npu()[::2], x.npu()[1::2]), wide(x)[::2] @ wide(x)[1::2])
    agrees(
        torch.addr(y.npu()[:, None], y.npu(), x.npu(), beta=2, alpha=3), 2 * wide(y)[:, None] + 3 * torch.outer(wide(y), wide(x))
    )


def test_long_dot() -> None:
    x, y = sample(torch.float32, 300001), sample(torch.float32, 300001, seed=1)
    agrees(torch.dot(x.npu(), y.npu()), x.double() @ y.double())


@pytest.mark.parametrize("dtype", FLOATS)
def test_in_place(dtype: torch.dtype) -> None:
    a, b, c = sample(dtype, 20, 30), sample(dtype, 30, 25), sample(dtype, 20, 25)
    got = c.npu()
    assert got.addmm_(a.npu(), b.npu(), beta=0.5).data_ptr() == got.data_ptr()
    agrees(got, 0.5 * wide(c) + wide(a) @ wide(b))
    square = sample(dtype, 16, 16)
    got = square.npu()
    got.addmm_(got, got)
    agrees(got, wide(square) + wide(square) @ wide(square))
    got = square.npu()
    torch.mm(got, got, out=got)
    agrees(got, wide(square) @ wide(square))
    vector = sample(dtype, 20)
    agrees(vector.npu().addmv_(a.npu(), a.npu()[0]), wide(vector) + wide(a) @ wide(a)[0])


def test_beta_zero_ignores_self() -> None:
    nan = torch.full((4, 5), float("nan"))
    a, b = sample(torch.float32, 4, 6), sample(torch.float32, 6, 5)
    agrees(torch.addmm(nan.npu(), a.npu(), b.npu(), beta=0), wide(a) @ wide(b))
    agrees(torch.baddbmm(nan.npu()[None], a.npu()[None], b.npu()[None], beta=0), (wide(a) @ wide(b))[None])
    agrees(torch.addmv(nan.npu()[0, :4], a.npu(), b.npu()[:, 0], beta=0), wide(a) @ wide(b)[:, 0])
    empty = torch.empty(4, 0)
    assert torch.addmm(nan.npu(), empty.npu(), empty.npu().t()[:, :1].expand(0, 5), beta=0).cpu().eq(0).all()


def test_special_values() -> None:
    a, b = torch.eye(40), sample(torch.float32, 40, 40)
    b[3, 5], b[7, 1], b[9, 9] = float("nan"), float("inf"), float("-inf")
    assert torch.equal(torch.mm(a.npu(), b.npu()).cpu().isnan(), torch.mm(a, b).isnan())


def test_rows_do_not_depend_on_the_batch() -> None:
    """A row's bits are the same whether it is computed alone among few or among many rows."""
    a, b = sample(torch.float32, 700, 900).npu(), sample(torch.float32, 900, 500).npu()
    assert torch.equal(torch.mm(a, b)[123:150], torch.mm(a[123:150], b))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_linear_and_gradients(dtype: torch.dtype) -> None:
    for shape in [(20,), (6, 20), (3, 5, 20)]:
        for with_bias in (True, False):
            x, w, b = sample(dtype, *shape), sample(dtype, 11, 20), sample(dtype, 11)
            cpu = [t.double().clone().requires_grad_() for t in (x, w, b)]
            npu = [t.npu().requires_grad_() for t in (x, w, b)]
            want = F.linear(cpu[0], cpu[1], cpu[2] if with_bias else None)
            got = F.linear(npu[0], npu[1], npu[2] if with_bias else None)
            grad = sample(dtype, *want.shape)
            want.backward(grad.double())
            got.backward(grad.npu())
            agrees(got, want)
            for g, w_ in list(zip(npu, cpu))[: 2 + with_bias]:
                agrees(g.grad, w_.grad)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda f: torch.mm(f(2, 3), f(4, 5)), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
        (lambda f: torch.mm(f(2), f(2, 2)), "self must be a matrix"),
        (lambda f: torch.mm(f(2, 2), f(2)), "mat2 must be a matrix"),
        (
            lambda f: torch.bmm(f(2, 3, 4), f(3, 4, 5)),
            "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [3, 4].",
        ),
        (lambda f: torch.bmm(f(3, 4), f(3, 4, 5)), "batch1 must be a 3D tensor"),
        (lambda f: torch.mv(f(2, 3), f(4)), "size mismatch, got input (2), mat (2x3), vec (4)"),
        (lambda f: torch.dot(f(2, 2), f(2)), "1D tensors expected, but got 2D and 1D tensors"),
        (
            lambda f: torch.dot(f(3), f(4)),
            "expected tensor [3] and src [4] to have the same number of elements, but got 3 and 4 elements",
        ),
    ],
)
def test_errors(call: object, text: str) -> None:
    with pytest.raises(RuntimeError) as cpu:
        call(torch.ones)
    assert text in str(cpu.value)
    with pytest.raises(RuntimeError) as npu:
        call(lambda *shape: torch.ones(shape, device="npu"))
    assert text in str(npu.value)


def test_complex_products() -> None:
    """Complex numbers, conjugated views and scales among them."""
    for dtype in (torch.complex64, torch.complex128):
        a, b, c = (torch.randn(2, n, m, dtype=dtype) for n, m in ((3, 4), (4, 5), (3, 5)))
        x, y, z = a.npu(), b.npu(), c.npu()
        near = functools.partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)
        near((x @ y).cpu(), a @ b)
        near((x[0] @ y[0]).cpu(), a[0] @ b[0])
        near((x.mT.conj() @ z).cpu(), a.mT.conj() @ c)
        near(torch.baddbmm(z, x, y, alpha=2 + 1j, beta=0.5).cpu(), torch.baddbmm(c, a, b, alpha=2 + 1j, beta=0.5))
        near(torch.addmm(z[0, 0], x[0], y[0], beta=1j).cpu(), torch.addmm(c[0, 0], a[0], b[0], beta=1j))
        near(torch.vdot(x[0, 0], x[1, 0]).cpu(), torch.vdot(a[0, 0], a[1, 0]))
        near(torch.dot(x[0, 0].conj(), x[1, 0]).cpu(), torch.dot(a[0, 0].conj(), a[1, 0]))
        near(torch.mv(x[0], y[0, :, 0]).cpu(), torch.mv(a[0], b[0, :, 0]))

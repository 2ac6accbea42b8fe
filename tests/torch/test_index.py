# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: B023 -- functions made in loops are called at once
"""Reading and writing at indices on the NPU against the CPU, and what bad indices do."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
import torch_npu

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
]
WIDE = [torch.uint16, torch.uint32, torch.uint64]
SUMS = [d for d in DTYPES if d != torch.bool]
OPS = ("index", "gather", "scatter", "take", "put", "embedding", "select")


@pytest.fixture(autouse=True)
def no_fallback(request):
    def count():
        return {k: v for k, v in torch_npu.npu.utils.cpu_fallback_count().items() if any(o in k for o in OPS)}

    before = count()
    yield
    if "falls_back" not in request.keywords:
        assert count() == before


def make(dtype, *shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    if dtype.is_complex or dtype.is_floating_point:
        return torch.randn(shape, generator=g).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 9, shape, generator=g).to(dtype)


def strided(t):
    """The same values, laid out the other way round."""
    order = list(range(t.dim()))[::-1]
    return t.permute(order).contiguous().permute(order)


def same(f, *tensors, exact=True):
    """f on both devices, for contiguous and strided tensors."""
    for layout in (lambda t: t, strided):
        given = [layout(t) for t in tensors]
        expected = f(*[t.clone() for t in given])
        actual = f(*[layout(t.to("npu")) if layout is strided else t.to("npu") for t in given])
        if exact:
            assert torch.equal(actual.cpu(), expected), (actual, expected)
        else:
            half = expected.dtype in (torch.float16, torch.bfloat16)  # the order of the operations shows
            torch.testing.assert_close(actual.cpu(), expected, **({"rtol": 2e-2, "atol": 2e-2} if half else {}))
        assert actual.dtype == expected.dtype


def place(*indices):
    return lambda t: tuple(i.to(t.device) if isinstance(i, torch.Tensor) else i for i in indices)


A, B, C = torch.tensor([0, 2, -1, 0]), torch.tensor([[1], [3]]), torch.tensor([4, -5, 0, 2])
M = torch.tensor([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 0]]).bool()
ALL = slice(None)
INDICES = [
    (A,),
    (ALL, A),
    (ALL, B),
    (A, B),
    (A, ALL, C),
    (ALL, A, C),
    (A, B, C),
    (M,),
    (ALL, M[0]),
    (M, torch.tensor(2)),
    (torch.tensor(1),),
    (A, ALL, A),
    (None, A),
    (..., C),
    (A.int(),),
    (M[:, 0],),
    (torch.empty(0, dtype=torch.long),),
    (torch.zeros(3, 4, 5).bool(),),
    (torch.tensor(True),),
    (torch.zeros(3).bool(), ALL, C[:0]),
]


@pytest.mark.parametrize("i", range(len(INDICES)))
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.complex128, torch.bfloat16], ids=str)
def test_get(i, dtype):
    same(lambda t: t[place(*INDICES[i])(t)], make(dtype, 3, 4, 5))


@pytest.mark.parametrize("i", [k for k in range(len(INDICES)) if k != 18])  # a single True: the CPU asserts
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.complex64], ids=str)
@pytest.mark.parametrize("one", [False, True])
def test_put(i, dtype, one):
    x = make(dtype, 3, 4, 5)
    index = place(*INDICES[i])
    values = make(dtype, *(() if one else x[INDICES[i]].shape), seed=1)

    def accumulate(t, v):
        t = t.clone()
        spread = [k for k in INDICES[i] if k is not None]
        if any(k is Ellipsis or k is None for k in INDICES[i]):
            t[index(t)] += v
            return t
        given = [None if isinstance(k, slice) else k.to(t.device) for k in spread]
        return torch.ops.aten.index_put(t, given, v, True)

    same(accumulate, x, values, exact=False)

    def assign(t, v):
        t = t.clone()
        t[index(t)] = v
        return t

    if one or INDICES[i][0] is not A:  # repeated indices: which value stays is not defined on the CPU
        same(assign, x, values[..., :1, :1, :1] if values.dim() > 2 and i in (1, 3) else values)


@pytest.mark.parametrize("dtype", DTYPES + WIDE, ids=str)
def test_moves_of_every_type(dtype):
    x = make(torch.int64, 3, 4, 5).to(dtype) if dtype in WIDE else make(dtype, 3, 4, 5)
    for dim in range(3):
        index = torch.tensor([2, 0, 2])
        same(lambda t: t.index_select(dim, index.to(t.device)), x)
        if dtype in WIDE:
            continue
        whole = torch.randint(0, 3, (3, 3, 4), generator=torch.Generator().manual_seed(dim))
        same(lambda t: t.gather(dim, whole.to(t.device)), x)
        once = torch.stack([torch.randperm(3) for _ in range(9)]).reshape(3, 3, 3).movedim(-1, dim)
        same(lambda t, s: t.scatter(dim, once.to(t.device), s), x, x.flip(0))
        same(lambda t: t.scatter(dim, once.to(t.device), 1), x)
        same(lambda t: t.index_fill(dim, torch.tensor([-1, 0], device=t.device), 3), x)
        same(lambda t, s: t.index_copy(dim, torch.tensor([2, 0], device=t.device), s), x, x.narrow(dim, 0, 2).flip(dim))
    if dtype not in WIDE:
        same(lambda t: t.take(torch.tensor([[0, 59], [-1, -60]], device=t.device)), x)
        same(lambda t: t.masked_scatter(torch.tensor([True, False, True, False, True], device=t.device), t.flip(0)), x)


@pytest.mark.parametrize("dtype", SUMS, ids=str)
def test_sums(dtype):
    x, s = make(dtype, 3, 4, 5), make(dtype, 3, 4, 5, seed=1)
    whole = torch.randint(0, 3, (3, 4, 3), generator=torch.Generator().manual_seed(3))
    for dim in range(3):
        same(lambda t, v: t.scatter_add(dim, whole.to(t.device), v), x, s, exact=False)
        shape = list(x.shape)
        shape[dim] = 4
        same(
            lambda t, v: t.index_add(dim, torch.tensor([1, 0, 1, 2], device=t.device), v, alpha=2),
            x,
            make(dtype, *shape, seed=2),
            exact=False,
        )
        for mode in ("sum", "prod", "amax", "amin", "mean") if not dtype.is_complex else ():
            for include in (True, False):
                same(lambda t, v: t.scatter_reduce(dim, whole.to(t.device), v, mode, include_self=include), x, s, exact=False)
    same(
        lambda t, v: t.clone().put_(torch.tensor([3, -1, 3, 0], device=t.device), v, accumulate=True), x, s[0, 0, :4], exact=False
    )


def test_repeated_indices_are_added_in_order():
    g = torch.Generator().manual_seed(0)
    index, values = torch.randint(0, 50, (20000,), generator=g).npu(), torch.randn(20000, 7, generator=g).npu()
    runs = [torch.zeros(50, 7, device="npu").index_put_((index,), values, accumulate=True) for _ in range(3)]
    assert all(torch.equal(runs[0], r) for r in runs)
    torch.testing.assert_close(
        runs[0].cpu(), torch.zeros(50, 7).index_put_((index.cpu(),), values.cpu(), accumulate=True), rtol=1e-4, atol=1e-4
    )
    last = torch.zeros(50, device="npu").scatter(0, index, torch.arange(20000.0, device="npu")).cpu()
    expected = torch.zeros(50)
    for i, k in enumerate(index.tolist()):
        expected[k] = i
    assert torch.equal(last, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_embedding(dtype):
    w, i = make(dtype, 7, 6), torch.tensor([[1, 0, 3], [6, 1, 1]])
    for options in ({}, {"padding_idx": 1}, {"scale_grad_by_freq": True}):
        grads = []
        for device in ("cpu", "npu"):
            weight = w.detach().clone().to(device).requires_grad_()
            out = torch.nn.functional.embedding(i.to(device), weight, **options)
            out.backward(make(dtype, 2, 3, 6, seed=4).to(device))
            grads.append((out.detach().cpu(), weight.grad.cpu()))
        assert torch.equal(grads[0][0], grads[1][0])
        torch.testing.assert_close(grads[0][1], grads[1][1])


def test_gradients():
    for f in (
        lambda t, i: t[i],
        lambda t, i: t.index_select(0, i),
        lambda t, i: t.gather(0, i[:, None].expand(-1, 5)),
        lambda t, i: t.scatter_add(0, i[:, None].expand(-1, 5), t[: len(i)]),
        lambda t, i: t.index_copy(0, i[:2], t[:2] * 2),
        lambda t, i: t[t > 0],
    ):
        grads = []
        for device in ("cpu", "npu"):
            t = make(torch.float32, 4, 5).to(device).requires_grad_()
            (f(t, torch.tensor([1, 3, 1], device=device)) ** 2).sum().backward()
            grads.append(t.grad.cpu())
        torch.testing.assert_close(grads[0], grads[1])


def test_overlap_and_shared_memory():
    x = torch.arange(6.0, device="npu")
    x.scatter_(0, torch.tensor([1, 0], device="npu"), x[2:4])
    assert x.tolist() == [3, 2, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.zeros(1, device="npu").expand(4).index_copy_(0, torch.tensor([1, 2], device="npu"), torch.ones(2, device="npu"))
    out = torch.empty(0, device="npu")
    torch.gather(x, 0, torch.tensor([5, 0], device="npu"), out=out)
    assert out.tolist() == [5, 3]


X = torch.arange(4.0)
BAD = {
    "index": (lambda t, i: t[i([9])], IndexError, "index 9 is out of bounds for dimension 0 with size 4"),
    "negative": (lambda t, i: t[i([-5])], IndexError, "index -5 is out of bounds for dimension 0 with size 4"),
    "index_put": (lambda t, i: t.index_put_((i([4]),), t[:1].clone()), IndexError, "index 4 is out of bounds"),
    "accumulate": (
        lambda t, i: t.index_put_((i([4]),), t[:1].clone(), accumulate=True),
        IndexError,
        "out of bounds|out of range",
    ),
    "select": (lambda t, i: t.index_select(0, i([4])), IndexError, "index out of range in self"),
    "gather": (lambda t, i: t.gather(0, i([-1])), RuntimeError, "index -1 is out of bounds for dimension 0 with size 4"),
    "scatter": (lambda t, i: t.scatter(0, i([7]), t[:1]), RuntimeError, "index 7 is out of bounds for dimension 0 with size 4"),
    "scatter_add": (lambda t, i: t.scatter_add(0, i([7]), t[:1]), RuntimeError, "index 7 is out of bounds for dimension 0"),
    "index_add": (lambda t, i: t.index_add(0, i([4]), t[:1]), IndexError, "index out of range in self"),
    "index_copy": (
        lambda t, i: t.index_copy(0, i([4]), t[:1]),
        IndexError,
        "index 4 is out of bounds for dimension 0 with size 4",
    ),
    "index_fill": (lambda t, i: t.index_fill(0, i([4]), 1), IndexError, "out of bounds for dimension 0 with size 4"),
    "take": (lambda t, i: t.take(i([4])), IndexError, "tried to access index 4 on a tensor of 4 elements"),
    "put": (lambda t, i: t.clone().put_(i([4]), t[:1]), IndexError, "tried to access index 4 on a tensor of 4 elements"),
    "embedding": (lambda t, i: torch.nn.functional.embedding(i([4]), t[:, None]), IndexError, "index out of range in self"),
    "too many": (lambda t, i: t[i([0]), i([0])], IndexError, "too many indices for tensor of dimension 1"),
    "float": (lambda t, i: t[t], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    "mask": (lambda t, i: t[i([1, 0]).bool()], IndexError, "The shape of the mask \\[2\\] at index 0 does not match"),
    "broadcast": (lambda t, i: t[None].expand(2, 4)[i([0, 1]), i([0, 1, 2])], IndexError, "could not be broadcast together"),
    "values": (
        lambda t, i: t.index_put_((i([0, 1]),), t[:3].clone()),
        RuntimeError,
        "cannot be broadcast to indexing result of shape \\[2\\]",
    ),
    "dims": (lambda t, i: t.gather(0, i([[0]])), RuntimeError, "same number of dimensions"),
    "dim": (lambda t, i: t.index_select(1, i([0])), IndexError, "Dimension out of range"),
    "masked_scatter": (lambda t, i: t.masked_scatter(t >= 0, t[:2]), RuntimeError, "number of ones in mask"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("size", [1, 5000])
def test_bad_indices(name, size):
    call, kind, text = BAD[name]
    for device in ("cpu", "npu"):

        def index(values, device=device):
            t = torch.tensor(values, device=device)
            return t.repeat(size) if size > 1 and name in ("index", "select", "gather", "take") else t

        with pytest.raises(kind, match=text):
            call(X.to(device).clone(), index)
    assert (X.npu() + 1).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1, 1, 1), (2, 1), (1, 2, 3)])
def test_scatter_of_one_value_for_any_rank_of_index(shape):
    index = torch.zeros(shape, dtype=torch.int64)
    x = torch.zeros(shape)
    dim = -1
    assert x.npu().scatter(dim, index.npu(), 5.0).cpu().equal(x.scatter(dim, index, 5.0))
    assert x.npu().scatter_(dim, index.npu(), 2.0).cpu().equal(x.clone().scatter_(dim, index, 2.0))


def test_one_hot():
    for labels in (torch.tensor([[1]]), torch.tensor([2, 0]), torch.tensor(1), torch.zeros(0, dtype=torch.int64)):
        assert F.one_hot(labels.npu(), 3).cpu().equal(F.one_hot(labels, 3))
    for bad in (5, -1):
        with pytest.raises(RuntimeError):
            F.one_hot(torch.tensor([bad]).npu(), 3).cpu()

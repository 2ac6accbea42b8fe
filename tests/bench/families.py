# SPDX-License-Identifier: BSD-3-Clause
"""Operators by family: each over float32, bfloat16 and float16, small to large.

A case's name is operator, type and size: "exp bf16 1e5". Sizes are elements, in rows of 1,000 (1e3: of 100) where an
operator works on rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from timing import Call, Case
from torch import Tensor

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
SHAPES = {"1e3": (10, 100), "1e5": (100, 1000), "1e7": (10000, 1000)}
aten = torch.ops.aten

Inputs = Callable[[str, torch.dtype, tuple[int, ...]], Callable[..., Tensor]]


class Maker:
    """Inputs of one case on one device; the same numbers on both."""

    def __init__(self, device: str, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
        self.device, self.dtype, self.shape = device, dtype, shape
        self.random = torch.Generator().manual_seed(1)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape or self.shape, generator=self.random).to(self.dtype).to(self.device)

    def uniform(self, *shape: int) -> Tensor:
        return (torch.rand(shape or self.shape, generator=self.random) * 0.9 + 0.05).to(self.dtype).to(self.device)

    def index(self, high: int, *shape: int) -> Tensor:
        return torch.randint(high, shape, generator=self.random).to(self.device)


def pointwise() -> dict[str, Callable[[Maker], Call]]:
    def binary(op: Callable) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a, b = m.normal(), m.normal()
            return lambda: op(a, b)

        return make

    def unary(op: Callable) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a = m.normal()
            return lambda: op(a)

        return make

    def row(m: Maker) -> Call:
        a, b = m.normal(), m.normal(m.shape[-1])
        return lambda: a + b

    def column(m: Maker) -> Call:
        a, b = m.normal(), m.normal(m.shape[0], 1)
        return lambda: a * b

    def where(m: Maker) -> Call:
        a, b = m.normal(), m.normal()
        c = a > 0
        return lambda: torch.where(c, a, b)

    def addcmul(m: Maker) -> Call:
        a, b, c = m.normal(), m.normal(), m.normal()
        return lambda: torch.addcmul(a, b, c, value=0.5)

    def strided(m: Maker) -> Call:
        a, b = m.normal(m.shape[1], m.shape[0]).t(), m.normal()
        return lambda: a + b

    def in_place(m: Maker) -> Call:
        a, b = m.normal(), m.normal()
        return lambda: a.add_(b, alpha=1e-9)

    return {
        "add": binary(torch.add), "mul": binary(torch.mul), "div": binary(torch.div), "maximum": binary(torch.maximum),
        "lt": binary(torch.lt), "add scalar": unary(lambda a: a + 1.5), "relu": unary(torch.relu), "neg": unary(torch.neg),
        "abs": unary(torch.abs), "clamp": unary(lambda a: a.clamp(-1, 1)), "round": unary(torch.round), "add_": in_place,
        "add row": row, "mul column": column, "add transposed": strided, "where": where, "addcmul": addcmul,
        "relu backward": binary(lambda a, b: aten.threshold_backward(a, b, 0)),
    }  # fmt: skip


def transcendental() -> dict[str, Callable[[Maker], Call]]:
    def of(op: Callable, positive: bool = False) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a = m.uniform() if positive else m.normal()
            return lambda: op(a)

        return make

    def power(m: Maker) -> Call:
        a, b = m.uniform(), m.uniform()
        return lambda: torch.pow(a, b)

    def gelu_backward(m: Maker) -> Call:
        a, b = m.normal(), m.normal()
        return lambda: aten.gelu_backward(a, b)

    return {
        "exp": of(torch.exp), "log": of(torch.log, True), "sqrt": of(torch.sqrt, True), "rsqrt": of(torch.rsqrt, True),
        "sin": of(torch.sin), "tanh": of(torch.tanh), "sigmoid": of(torch.sigmoid), "erf": of(torch.erf), "gelu": of(F.gelu),
        "gelu tanh": of(partial(F.gelu, approximate="tanh")), "gelu backward": gelu_backward, "silu": of(F.silu),
        "mish": of(F.mish), "softplus": of(F.softplus), "elu": of(F.elu),
        "log1p": of(torch.log1p, True), "atan": of(torch.atan), "pow": power,
    }  # fmt: skip


def reductions() -> dict[str, Callable[[Maker], Call]]:
    def of(op: Callable) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a = m.normal()
            return lambda: op(a)

        return make

    def channels(m: Maker) -> Call:
        a = m.normal(10, m.shape[0] * m.shape[1] // 100, 10)
        return lambda: a.sum((0, 2))

    return {
        "sum": of(torch.sum), "sum rows": of(lambda a: a.sum(-1)), "sum columns": of(lambda a: a.sum(0)), "sum (0,2)": channels,
        "mean rows": of(lambda a: a.mean(-1)), "max": of(torch.max), "max rows": of(lambda a: a.max(-1)),
        "amax rows": of(lambda a: a.amax(-1)), "amax columns": of(lambda a: a.amax(0)), "argmax rows": of(lambda a: a.argmax(-1)),
        "prod rows": of(lambda a: a.prod(-1)), "var rows": of(lambda a: a.var(-1)), "std": of(torch.std),
        "norm rows": of(lambda a: torch.linalg.vector_norm(a, dim=-1)), "logsumexp rows": of(lambda a: a.logsumexp(-1)),
        "cumsum rows": of(lambda a: a.cumsum(-1)), "count_nonzero": of(torch.count_nonzero), "aminmax": of(torch.aminmax),
    }  # fmt: skip


def softmaxes() -> dict[str, Callable[[Maker], Call]]:
    def of(op: Callable, width: int = 0) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a = m.normal(m.shape[0] * m.shape[1] // width, width) if width else m.normal()
            return lambda: op(a)

        return make

    def backward(op: Callable) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            gradient, out = m.normal(), m.uniform()
            return lambda: op(gradient, out, -1, m.dtype)

        return make

    def cross_entropy(m: Maker) -> Call:
        a, y = m.normal().requires_grad_(), m.index(m.shape[1], m.shape[0])
        return lambda: torch.autograd.grad(F.cross_entropy(a, y), a)

    return {
        "softmax": of(lambda a: a.softmax(-1)), "softmax of 10": of(lambda a: a.softmax(-1), 10),
        "softmax of 250": of(lambda a: a.softmax(-1), 250), "softmax columns": of(lambda a: a.softmax(0)),
        "log_softmax": of(lambda a: a.log_softmax(-1)), "softmax backward": backward(aten._softmax_backward_data),
        "log_softmax backward": backward(aten._log_softmax_backward_data), "cross_entropy fwd+bwd": cross_entropy,
    }  # fmt: skip


def norms() -> dict[str, Callable[[Maker], Call]]:
    def trained(net: Callable[[], nn.Module], shape: Callable[[int], tuple[int, ...]], backward: bool) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            module = net().to(m.device, m.dtype)
            x = m.normal(*shape(m.shape[0] * m.shape[1])).requires_grad_(backward)
            if not backward:
                with torch.no_grad():
                    return torch.no_grad()(lambda: module(x))
            leaves = [x, *module.parameters()]
            y = module(x)
            gradient = torch.ones_like(y)
            return lambda: torch.autograd.grad(module(x), leaves, gradient)

        return make

    def rows(n: int) -> tuple[int, ...]:
        return n // 100, 100

    def images(n: int) -> tuple[int, ...]:
        side = {1000: 5, 100000: 10, 10000000: 50}[n]
        return n // (10 * side * side), 10, side, side

    kinds = {
        "layer_norm": (lambda: nn.LayerNorm(100), rows), "rms_norm": (lambda: nn.RMSNorm(100), rows),
        "batch_norm": (lambda: nn.BatchNorm2d(10), images), "group_norm": (lambda: nn.GroupNorm(5, 10), images),
        "instance_norm": (lambda: nn.InstanceNorm2d(10), images), "batch_norm 1d": (lambda: nn.BatchNorm1d(100), rows),
    }  # fmt: skip
    return {name + (" fwd+bwd" if backward else ""): trained(*kind, backward)
            for name, kind in kinds.items() for backward in (False, True)}  # fmt: skip


def copies() -> dict[str, Callable[[Maker], Call]]:
    def of(op: Callable) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a = m.normal()
            return lambda: op(a)

        return make

    def image(op: Callable) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a = m.normal(10, 10, 10, m.shape[0] * m.shape[1] // 1000)
            return lambda: op(a)

        return make

    def cat(dim: int) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            rows, columns = m.shape
            parts = [m.normal(rows // 5, columns) if dim == 0 else m.normal(rows, columns // 5) for _ in range(5)]
            return lambda: torch.cat(parts, dim)

        return make

    def convert(m: Maker) -> Call:
        a, to = m.normal(), torch.float32 if m.dtype != torch.float32 else torch.bfloat16
        return lambda: a.to(to)

    def fill(m: Maker) -> Call:
        a = m.normal()
        return lambda: a.fill_(0.5)

    return {
        "clone": of(torch.clone), "transpose": of(lambda a: a.t().contiguous()),
        "heads (0,2,1,3)": image(lambda a: a.permute(0, 2, 1, 3).contiguous()),
        "channels last": image(lambda a: a.permute(0, 2, 3, 1).contiguous()),
        "channels first": image(lambda a: a.permute(0, 3, 1, 2).contiguous()),
        "every second column": of(lambda a: a[:, ::2].contiguous()),
        "half of rows": of(lambda a: a[:, : a.shape[1] // 2].contiguous()),
        "expand": of(lambda a: a[:1].expand_as(a).contiguous()), "convert": convert, "fill_": fill,
        "flip": of(lambda a: a.flip(-1)), "roll": of(lambda a: a.roll(3, -1)),
        "cat rows": cat(0), "cat columns": cat(1), "tril": of(torch.tril),
        "pad": of(lambda a: F.pad(a, (1, 1))), "repeat": of(lambda a: a[: a.shape[0] // 5].repeat(5, 1)),
    }  # fmt: skip


def indexing() -> dict[str, Callable[[Maker], Call]]:
    def gather(dim: int) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a, i = m.normal(), m.index(m.shape[dim], *m.shape)
            return lambda: a.gather(dim, i)

        return make

    def select(dim: int) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a, i = m.normal(), m.index(m.shape[dim], m.shape[dim])
            return lambda: a.index_select(dim, i)

        return make

    def write(op: Callable, whole: bool) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a, source = m.normal(), m.normal()
            i = m.index(m.shape[0], *(m.shape if whole else (m.shape[0],)))
            return lambda: op(a, i, source)

        return make

    def embedding(backward: bool) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            rows = m.shape[0] * m.shape[1] // 100
            weight, i = m.normal(1000, 100).requires_grad_(), m.index(1000, rows)
            if not backward:
                return torch.no_grad()(lambda: F.embedding(i, weight))
            gradient = m.normal(rows, 100)
            return lambda: aten.embedding_dense_backward(gradient, i, 1000, -1, False)

        return make

    def masked(op: Callable) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a = m.normal()
            mask = a > 0.5
            return lambda: op(a, mask)

        return make

    def take(m: Maker) -> Call:
        a, i = m.normal(), m.index(m.shape[0] * m.shape[1], *m.shape)
        return lambda: a.take(i)

    def put(m: Maker) -> Call:
        a, i, source = m.normal(), m.index(m.shape[0], m.shape[0]), m.normal()
        return lambda: a.index_put_((i,), source, accumulate=True)

    return {
        "gather rows": gather(-1), "gather columns": gather(0), "index_select 0": select(0), "index_select 1": select(1),
        "a[i]": write(lambda a, i, _: a[i], False), "scatter_": write(lambda a, i, s: a.scatter_(0, i, s), True),
        "scatter_add_": write(lambda a, i, s: a.scatter_add_(0, i, s), True),
        "index_add_": write(lambda a, i, s: a.index_add_(0, i, s), False),
        "index_copy_": write(lambda a, i, s: a.index_copy_(0, i, s), False), "index_put_ accumulate": put,
        "embedding": embedding(False), "embedding backward": embedding(True), "take": take,
        "masked_fill": masked(lambda a, mask: a.masked_fill(mask, 0.0)), "masked_select": masked(torch.masked_select),
        "nonzero": masked(lambda _, mask: mask.nonzero()),
    }  # fmt: skip


def sorting() -> dict[str, Callable[[Maker], Call]]:
    def of(op: Callable) -> Callable[[Maker], Call]:
        def make(m: Maker) -> Call:
            a = m.normal()
            return lambda: op(a)

        return make

    return {
        "sort rows": of(lambda a: a.sort(-1)), "sort columns": of(lambda a: a.sort(0)),
        "sort stable": of(lambda a: a.sort(stable=True)),
        "argsort rows": of(lambda a: a.argsort(-1, True)), "topk 1": of(lambda a: a.topk(1)), "topk 10": of(lambda a: a.topk(10)),
        "topk half": of(lambda a: a.topk(a.shape[1] // 2)), "kthvalue": of(lambda a: a.kthvalue(a.shape[1] // 2)),
        "median rows": of(lambda a: a.median(-1)),
    }  # fmt: skip


FAMILIES = {
    "pointwise": (pointwise, 1.0), "transcendental": (transcendental, 1.5), "reductions": (reductions, 1.0),
    "softmax": (softmaxes, 1.0), "norms": (norms, 1.0),
    "copies": (copies, 1.0), "indexing": (indexing, 1.0), "sorting": (sorting, 1.0),
}  # fmt: skip
"""Family → its operators, and the geometric mean of the ratios that it should reach."""


def cases() -> dict[str, Case]:
    """All of them, by name."""

    def build(make: Callable[[Maker], Call], dtype: torch.dtype, shape: tuple[int, ...], device: str) -> Call:
        return make(Maker(device, dtype, shape))

    return {f"{operator} {dtype} {size}": Case(family, partial(build, make, DTYPES[dtype], shape))
            for family, (operators, _) in FAMILIES.items() for operator, make in operators().items()
            for size, shape in SHAPES.items() for dtype in DTYPES}  # fmt: skip

# SPDX-License-Identifier: BSD-3-Clause
"""Lists of tensors on the NPU against the CPU: foreach operators, optimizers, gradient scaling."""

from __future__ import annotations

import pytest
import torch
import torch_npu

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
DTYPES = [*FLOATS, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]


def make(dtype: torch.dtype, seed: int = 0, positive: bool = False) -> list[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    tensors = []
    for shape in [(7, 5), (3, 4, 2), (), (0, 3), (20000,)]:
        t = torch.randn(shape, generator=g) * 2 if dtype.is_floating_point else torch.randint(0, 7, shape, generator=g)
        tensors.append((t.abs() + 0.5 if positive else t).to(dtype))
    tensors[1] = tensors[1].transpose(0, 2)
    return tensors


def move(value):
    if isinstance(value, torch.Tensor):
        return value.to("npu")
    return [move(v) for v in value] if isinstance(value, list) else value


def check(actual, expected, dtype=None):
    torch.testing.assert_close([t.cpu() for t in actual], list(expected), equal_nan=True)


def fallbacks() -> dict[str, int]:
    counts = torch_npu.npu.utils.cpu_fallback_count()
    return {op: n for op, n in counts.items() if op.startswith(("aten::_foreach", "aten::_fused", "aten::_amp"))}


@pytest.fixture(autouse=True)
def no_fallback():
    before = fallbacks()
    yield
    assert fallbacks() == before


def run(op: str, *args, **kwargs):
    """Functional and in-place forms of torch._foreach_<op> on both devices."""
    f = getattr(torch, f"_foreach_{op}")
    expected = f(*args, **kwargs)
    check(f(*move(list(args)), **kwargs), expected)
    in_place = getattr(torch, f"_foreach_{op}_", None)
    if in_place and all(e.dtype == a.dtype for e, a in zip(expected, args[0])):
        here, there = [t.clone() for t in args[0]], move([t.clone() for t in args[0]])
        in_place(here, *args[1:], **kwargs)
        in_place(there, *move(list(args[1:])), **kwargs)
        check(there, here)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "maximum", "clamp_min", "clamp_max"])
def test_arithmetic(op, dtype):
    a, b = make(dtype), make(dtype, 1, positive=True)
    scalar = 1.5 if dtype.is_floating_point else 3
    run(op, a, scalar)
    run(op, a, b)
    run(op, a, [scalar, 1, 2, 3, 4])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scaled(dtype):
    a, b, c = make(dtype), make(dtype, 1), make(dtype, 2, positive=True)
    run("add", a, b, alpha=2)
    run("sub", a, b, alpha=3)
    run("addcmul", a, b, c, 2)
    run("addcmul", a, b, c, [1, 2, 2, 1, 3])
    if dtype.is_floating_point:
        run("addcdiv", a, b, c, 0.5)
        run("addcdiv", a, b, c, [1.0, 2, 2, 1, 3])
        run("addcdiv", a, b, c, [0.25] * 5)
        run("lerp", a, b, 0.3)
        run("lerp", a, b, 0.8)
        run("lerp", a, b, c)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_by_tensor(dtype):
    a = make(dtype)
    for op in ("add", "mul", "div"):
        run(op, a, torch.tensor(1.5, dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "op",
    [
        "abs",
        "neg",
        "sign",
        "sqrt",
        "reciprocal",
        "exp",
        "expm1",
        "log",
        "log10",
        "log1p",
        "log2",
        "sin",
        "cos",
        "tan",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "erf",
        "erfc",
        "sigmoid",
        "round",
        "floor",
        "ceil",
        "trunc",
        "frac",
        "rsqrt",
    ],
)
def test_unary(op, dtype):
    run(op, make(dtype, positive=op in ("sqrt", "reciprocal", "log", "log10", "log1p", "log2", "rsqrt")))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_power(dtype):
    a = make(dtype, positive=True)
    for exponent in (2, 0.5, -1, 1.7, [2, 3, 0.5, 1, -2]):
        run("pow", a, exponent)
    run("pow", a, make(dtype, 3))
    check(torch._foreach_pow(1.5, move(a)), torch._foreach_pow(1.5, a))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("order", [1, 2, 3, float("inf")])
def test_norm(dtype, order):
    a = [t for t in make(dtype) if t.numel()]
    check(torch._foreach_norm(move(a), order), torch._foreach_norm(a, order))
    check(torch._foreach_norm(move(a), order, dtype=torch.float64), torch._foreach_norm(a, order, dtype=torch.float64))


def test_mixed_lists_take_the_slow_route():
    a = [torch.ones(2, 3), torch.ones(3, dtype=torch.float64), torch.arange(3)]
    b = [torch.ones(3), torch.ones(1, 3), torch.full((3,), 0.5)]
    check(torch._foreach_add(move(a), move(b)), torch._foreach_add(a, b))
    here, there = [torch.arange(3)], [torch.arange(3).to("npu")]
    for x in (here, there):
        with pytest.raises(RuntimeError, match="can't be cast"):
            torch._foreach_mul_(x, 0.5)
    cpu = [torch.zeros(2)]
    torch._foreach_copy_(cpu, [torch.ones(2, device="npu")])
    assert cpu[0].tolist() == [1.0, 1.0]


def test_copy_and_zero():
    a = make(torch.float32)
    there = move([torch.zeros_like(t) for t in a])
    torch._foreach_copy_(there, move(a))
    check(there, a)
    torch._foreach_zero_(there)
    check(there, [torch.zeros_like(t) for t in a])


def test_list_errors():
    x = [torch.ones(2, device="npu")]
    with pytest.raises(RuntimeError, match="must have at least one tensor"):
        torch._foreach_add([], 1)
    with pytest.raises(RuntimeError, match="must have the same number of tensors, got 1 and 2"):
        torch._foreach_add(x, x * 2)
    with pytest.raises(RuntimeError, match="same number of elements as scalar list, got 1 and 2"):
        torch._foreach_add(x, [1.0, 2.0])


def train(device: str, make_optimizer, dtype: torch.dtype, steps: int = 4) -> list[torch.Tensor]:
    torch.manual_seed(0)
    params = [torch.randn(s).to(dtype).to(device).requires_grad_() for s in [(5, 3), (3,), (), (2, 2, 2)]]
    optimizer = make_optimizer(params)
    for step in range(steps):
        for i, p in enumerate(params):
            p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(10 * step + i)).to(dtype).to(device)
        optimizer.step()
    return [p.detach().cpu() for p in params]


OPTIMIZERS = {
    "sgd": lambda p, **k: torch.optim.SGD(p, lr=0.1, **k),
    "momentum": lambda p, **k: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01, **k),
    "nesterov": lambda p, **k: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, maximize=True, **k),
    "adam": lambda p, **k: torch.optim.Adam(p, lr=0.01, weight_decay=0.01, **k),
    "amsgrad": lambda p, **k: torch.optim.Adam(p, lr=0.01, amsgrad=True, maximize=True, **k),
    "adamw": lambda p, **k: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1, **k),
    "adamw_tensor_lr": lambda p, **k: torch.optim.AdamW(p, lr=torch.tensor(0.01), weight_decay=0.1, amsgrad=True, **k),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("kind", [{}, {"foreach": True}, {"foreach": False}, {"fused": True}], ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer(name, kind, dtype):
    if name == "adamw_tensor_lr" and kind == {"foreach": True}:
        pytest.skip("PyTorch has no such optimizer")
    if name in ("sgd", "momentum", "nesterov") and kind == {"fused": True} and dtype == torch.float64:
        pytest.skip("aclnnFusedSgd takes its numbers as float: the CPU computes")
    expected = train("cpu", lambda p: OPTIMIZERS[name](p, foreach=False), dtype)
    actual = train("npu", lambda p: OPTIMIZERS[name](p, **kind), dtype)
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize(
    "cls",
    [
        torch.optim.RMSprop,
        torch.optim.Adagrad,
        torch.optim.NAdam,
        torch.optim.RAdam,
        torch.optim.Adamax,
        torch.optim.Adadelta,
        torch.optim.ASGD,
        torch.optim.Rprop,
    ],
)
def test_other_optimizers(cls):
    expected = train("cpu", lambda p: cls(p, foreach=False), torch.float32)
    torch.testing.assert_close(train("npu", lambda p: cls(p), torch.float32), expected)


def test_fused_adam_with_grad_scaler():
    p = torch.nn.Parameter(torch.ones(3, device="npu"))
    optimizer = torch.optim.AdamW([p], lr=0.1, fused=True)
    scaler = torch.amp.GradScaler("npu", init_scale=4.0)
    scaler.scale((p * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [1.0] * 3 and scaler.get_scale() == 2.0
    optimizer.zero_grad()
    scaler.scale((p * 3).sum()).backward()
    scaler.step(optimizer)
    assert p.grad.tolist() == [3.0] * 3 and abs(p[0].item() - 0.899) < 1e-3


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_unscale(dtype):
    grads = make(dtype)
    there = move([g.clone() for g in grads])
    found, scale = torch.zeros(1, device="npu"), torch.full((1,), 0.25, device="npu")
    torch._amp_foreach_non_finite_check_and_unscale_(there, found, scale)
    check(there, [g * 0.25 for g in grads])
    assert found.item() == 0
    there[4][-1] = float("nan")
    torch._amp_foreach_non_finite_check_and_unscale_(there, found, scale)
    assert found.item() == 1


def test_clip_grad_norm():
    grads = [g for g in make(torch.float32) if g.numel()]
    norms = []
    for device in ("cpu", "npu"):
        params = [torch.nn.Parameter(torch.zeros_like(g, device=device)) for g in grads]
        for p, g in zip(params, grads):
            p.grad = g.clone().to(device)
        norms.append(torch.nn.utils.clip_grad_norm_(params, 1.0).cpu())
        clipped = [p.grad.cpu() for p in params]
        if device == "cpu":
            expected = clipped
    torch.testing.assert_close(norms[1], norms[0])
    torch.testing.assert_close(clipped, expected)

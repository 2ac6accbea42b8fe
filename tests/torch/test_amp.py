# SPDX-License-Identifier: BSD-3-Clause
"""Mixed precision: autocast, custom functions, loss scaling."""

import pytest
import torch


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype):
    net, x = torch.nn.Linear(8, 8).npu(), torch.randn(2, 8, device="npu")
    with torch.autocast("npu", dtype=dtype):
        y = net(x)
        assert torch.is_autocast_enabled("npu") and torch.npu.is_autocast_enabled() and torch.npu.get_autocast_dtype() == dtype
        assert y.dtype == dtype and torch.softmax(y, 1).dtype == torch.float32 and (y + x).dtype == torch.float32
        with torch.autocast("npu", enabled=False):
            assert net(x).dtype == torch.float32
    assert net(x).dtype == torch.float32 and not torch.npu.is_autocast_enabled()
    y.float().sum().backward()
    assert net.weight.grad.dtype == torch.float32
    with torch.no_grad():
        assert torch.allclose(y.float(), net(x), rtol=0.05, atol=0.05)


def test_default_dtype_and_names():
    from torch.npu.amp import GradScaler, autocast
    from torch_npu.npu import amp

    assert amp.autocast is autocast and torch.npu.amp.GradScaler is GradScaler
    assert torch.get_autocast_dtype("npu") == torch.float16
    with autocast():
        assert torch.mm(torch.ones(2, 2).npu(), torch.ones(2, 2).npu()).dtype == torch.float16

    @autocast(dtype=torch.bfloat16)
    def product(a):
        return a @ a

    assert product(torch.ones(2, 2).npu()).dtype == torch.bfloat16
    assert torch.npu.get_amp_supported_dtype() == [torch.float16, torch.bfloat16, torch.float32] and torch.npu.is_bf16_supported()


def test_a_wrong_dtype_warns_and_turns_it_off():
    with pytest.warns(UserWarning, match="npu Autocast only supports dtypes of"), torch.autocast("npu", dtype=torch.float64):
        assert not torch.npu.is_autocast_enabled()


def test_custom_function():
    from torch.npu.amp import custom_bwd, custom_fwd

    class Product(torch.autograd.Function):
        @staticmethod
        @custom_fwd(cast_inputs=torch.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            assert not torch.npu.is_autocast_enabled()
            return a @ b

        @staticmethod
        @custom_bwd
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g @ b.t(), a.t() @ g

    a = torch.randn(3, 3, device="npu", dtype=torch.float16, requires_grad=True)
    with torch.autocast("npu"):
        y = Product.apply(a, a)
    assert y.dtype == torch.float32
    y.sum().backward()
    assert a.grad.dtype == torch.float16


def _one(make, inf=False):
    p = torch.nn.Parameter(torch.ones(2, device="npu"))
    o, s = torch.optim.SGD([p], lr=0.5), make(init_scale=8.0)
    s.scale((p * (float("inf") if inf else 2)).sum()).backward()
    s.step(o)
    s.update()
    return p.tolist(), s.get_scale()


@pytest.mark.parametrize("make", [torch.npu.amp.GradScaler, lambda **k: torch.amp.GradScaler("npu", **k)])
def test_grad_scaler(make):
    assert _one(make) == ([0, 0], 8.0)
    assert _one(make, inf=True) == ([1, 1], 4.0)


def test_grad_scaler_details():
    scaler = torch.npu.amp.GradScaler(init_scale=4.0, growth_interval=1)
    p = torch.nn.Parameter(torch.ones(2, device="npu"))
    o = torch.optim.SGD([p], lr=0.1)
    scaler.scale((p * 30).sum()).backward()
    scaler.unscale_(o)
    assert p.grad.tolist() == [30, 30]
    torch.nn.utils.clip_grad_norm_([p], 1.0)
    scaler.step(o)
    scaler.update()
    assert scaler.get_scale() == 8.0 and p.grad.norm().item() == pytest.approx(1, rel=1e-5)
    with pytest.raises(RuntimeError, match="unscale_"):
        scaler.unscale_(o)
        scaler.unscale_(o)
    fixed = torch.npu.amp.GradScaler(init_scale=4.0, growth_interval=1, dynamic=False)
    fixed.scale(p.sum()).backward()
    fixed.step(o)
    fixed.update()
    assert fixed.get_scale() == 4.0
    state = scaler.state_dict()
    other = torch.npu.amp.GradScaler()
    other.load_state_dict(state)
    assert other.get_scale() == 8.0
    assert torch.npu.amp.GradScaler(enabled=False).scale(p.sum()).item() == p.sum().item()


def test_state_can_be_set():
    try:
        torch.npu.set_autocast_dtype(torch.bfloat16)
        torch.npu.set_autocast_enabled(True)
        a = torch.ones(2, 2, device="npu")
        assert torch.npu.is_autocast_enabled() and (a @ a).dtype == torch.bfloat16
    finally:
        torch.npu.set_autocast_enabled(False)
        torch.npu.set_autocast_dtype(torch.float16)
    assert not torch.npu.is_autocast_enabled() and torch.npu.get_autocast_dtype() == torch.float16


def test_the_overflow_flag_of_a_scaler_is_refused():
    with pytest.raises(RuntimeError, match="please use npu_check_overflow"):
        torch.npu.amp.GradScaler().get_npu_overflow_flag()


def test_all_optimizers_skip_after_one_found_inf(capsys):
    first, second = (torch.nn.Parameter(torch.ones(2, device="npu")) for _ in range(2))
    optimizers = [torch.optim.SGD([p], lr=0.1) for p in (first, second)]
    scaler = torch.npu.amp.GradScaler(init_scale=4.0)
    for broken in (True, False):
        scaler.scale(first.sum() + second.sum()).backward()
        if broken:
            first.grad.fill_(float("inf"))
        scaler.unscale_(optimizers[0])
        scaler.step(optimizers[1])
        scaler.step(optimizers[0])
        scaler.update()
        assert second.tolist() == first.tolist() == pytest.approx([1, 1] if broken else [0.9, 0.9])
        assert scaler.get_scale() == 2.0
        assert capsys.readouterr().out == "Gradient overflow. Skipping step\n" * 2 * broken
        for optimizer in optimizers:
            optimizer.zero_grad()

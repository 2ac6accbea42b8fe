# SPDX-License-Identifier: BSD-3-Clause
"""LSTM and GRU over whole sequences against the CPU, forward and backward: layers, directions, biases, orders of the
dimensions, packed sequences, states, types; what goes another way; and what bad input is told."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch
import torch.nn as nn
import torch_npu
from torch.nn.utils.rnn import pack_padded_sequence

FLAGS = list(itertools.product((False, True), repeat=4))
TOLERANCE = {
    torch.float32: (1e-3, 1e-4), torch.float64: (1e-9, 1e-10), torch.float16: (2e-2, 2e-2), torch.bfloat16: (5e-2, 8e-2),
}  # fmt: skip


def outcome(net: nn.RNNBase, x: torch.Tensor, states: tuple[torch.Tensor, ...], lengths: list[int] | None) -> list[torch.Tensor]:
    """The results, and the gradients of input, states and parameters for a loss in which every element counts differently."""
    x, *states = (t.detach().to(next(net.parameters()).device).requires_grad_() for t in (x, *states))
    given = pack_padded_sequence(x, lengths, batch_first=net.batch_first) if lengths else x
    y, last = net(given, None if not states else tuple(states) if len(states) == 2 else states[0])
    results = [y.data if lengths else y, *(last if isinstance(last, tuple) else (last,))]
    weights = (torch.linspace(-1, 1, t.numel(), device=t.device).view(t.shape).to(t.dtype) for t in results)
    loss = sum((t * w).sum() for t, w in zip(results, weights, strict=True))
    return [*results, *torch.autograd.grad(loss, [x, *states, *net.parameters()])]


def compare(kind: type[nn.RNNBase], sizes: tuple[int, int, int, int], dtype: torch.dtype = torch.float32, packed: bool = False,
            with_states: bool = True, **options: object) -> None:  # fmt: skip
    steps, batch, width, hidden = sizes
    torch.manual_seed(0)
    net = kind(width, hidden, **options).to(dtype)
    x = torch.randn(*((batch, steps) if net.batch_first else (steps, batch)), width).to(dtype)
    directions = net.num_layers * (2 if net.bidirectional else 1)
    states = tuple(torch.randn(directions, batch, hidden).to(dtype) for _ in range(2 if kind is nn.LSTM else 1))
    lengths = [max(1, steps - i) for i in range(batch)] if packed else None
    want = outcome(net, x, states if with_states else (), lengths)
    got = outcome(copy.deepcopy(net).npu(), x, states if with_states else (), lengths)
    rtol, atol = TOLERANCE[dtype]
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=rtol, atol=atol)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("sizes", [(4, 3, 5, 7), (5, 33, 6, 40), (1, 1, 1, 1)])
@pytest.mark.parametrize("both,bias,batch_first,packed", FLAGS)
def test_networks(no_fallback, kind, sizes, both, bias, batch_first, packed):
    for layers in (1, 2):
        compare(kind, sizes, packed=packed, with_states=bias, num_layers=layers, bidirectional=both, bias=bias,
                batch_first=batch_first)  # fmt: skip


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_types(no_fallback, kind, dtype):
    compare(kind, (3, 2, 5, 7), dtype, num_layers=2, bidirectional=True)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_a_wide_state_and_a_single_row(no_fallback, kind):
    compare(kind, (3, 1, 5, 400))
    compare(kind, (2, 210, 9, 33))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_one_operator_runs_all_steps(kind):
    net, x = kind(3, 4, 2, bidirectional=True).npu(), torch.randn(9, 2, 3).npu()
    with torch.profiler.profile() as recorded:
        net(x)
    names = [event.name for event in recorded.events()]
    assert names.count("aten::_cudnn_rnn") == 1 and "aten::mm" not in names and "aten::addmm" not in names


def test_without_gradient_nothing_is_kept(no_fallback):
    net, x = nn.LSTM(64, 64).npu(), torch.randn(200, 8, 64).npu()
    with torch.no_grad():
        want = net(x)[0]
    torch.npu.synchronize()
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_allocated()
    with torch.no_grad():
        got = net(x)[0]
    torch.npu.synchronize()
    assert torch.equal(got, want)
    # the result, what the steps' inputs give (four gates) and little more; not seven times the states besides
    assert torch.npu.max_memory_allocated() - before < 8 * want.numel() * 4


def test_dropout_lies_between_layers(no_fallback):
    torch.manual_seed(0)
    net, x = nn.LSTM(5, 50, 2, dropout=0.5).npu(), torch.randn(4, 3, 5).npu()
    first, second = net(x)[0], net(x)[0]
    assert not torch.equal(first, second)
    net.eval()
    assert torch.equal(net(x)[0], net(x)[0])
    net.train()
    net.dropout = 1.0
    assert torch.isfinite(net(x)[0]).all()
    net(x)[0].sum().backward()
    assert net.weight_ih_l0.grad.abs().sum() == 0 and net.weight_hh_l1.grad.abs().sum() > 0


def test_only_what_is_asked_for_has_a_gradient(no_fallback):
    net, x = nn.GRU(5, 6).npu(), torch.randn(4, 3, 5).npu()
    net.weight_hh_l0.requires_grad_(False)
    net(x)[1].sum().backward()
    assert net.weight_hh_l0.grad is None and net.weight_ih_l0.grad is not None


def test_gradients_of_gradients_step_by_step(no_fallback):
    net, x = nn.LSTM(3, 4).npu(), torch.randn(3, 2, 3).npu().requires_grad_()
    with pytest.raises(RuntimeError, match="enabled=False"):
        torch.autograd.grad(net(x)[0].sum(), x, create_graph=True)[0].sum().backward()
    twin = copy.deepcopy(net).cpu()
    y = x.detach().cpu().requires_grad_()
    with torch.backends.cudnn.flags(enabled=False), torch.backends.mkldnn.flags(enabled=False):
        for n, leaf in ((net, x), (twin, y)):
            torch.autograd.grad((n(leaf)[0] ** 2).sum(), leaf, create_graph=True)[0].sum().backward()
    torch.testing.assert_close(net.weight_hh_l0.grad.cpu(), twin.weight_hh_l0.grad, rtol=1e-3, atol=1e-4)


def test_projections_go_step_by_step(no_fallback):
    net, x = nn.LSTM(5, 7, proj_size=3), torch.randn(4, 2, 5)
    torch.testing.assert_close(copy.deepcopy(net).npu()(x.npu())[0].cpu(), net(x)[0], rtol=1e-4, atol=1e-5)


def test_the_batch_does_not_change_a_row():
    """Rows are spread over threads, and a wide state's product is: the same bits however a row is computed."""
    net, x = nn.LSTM(20, 96).npu(), torch.randn(6, 40, 20).npu()
    with torch.no_grad():
        whole, alone = net(x)[0], net(x[:, 3:4])[0]
    assert torch.equal(whole[:, 3:4], alone)


def test_autocast(no_fallback):
    net, x = nn.LSTM(5, 6).npu(), torch.randn(4, 3, 5).npu()
    with torch.autocast("npu", dtype=torch.bfloat16):
        low = net(x)[0]
    torch.testing.assert_close(low.float(), net(x)[0], rtol=5e-2, atol=5e-2)


def test_bad_input():
    net = nn.LSTM(5, 6).npu()
    with pytest.raises(RuntimeError, match="input.size"):
        net(torch.randn(4, 3, 7).npu())
    flat = [p.detach() for p in net.parameters()]
    states = [torch.zeros(1, 3, 6).npu()] * 2
    flat[1] = torch.zeros(24, 5).npu()
    with pytest.raises(RuntimeError, match=r"tensor 1 of params to have size \[24,6\], but got \[24,5\]"):
        torch.lstm(torch.randn(4, 3, 5).npu(), states, flat, True, 1, 0.0, False, False, False)
    assert torch.isfinite(net(torch.randn(4, 3, 5).npu())[0]).all()
    assert torch_npu.npu.is_available()

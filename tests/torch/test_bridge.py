# SPDX-License-Identifier: BSD-3-Clause
"""The bridge (csrc/bridge): making tensors, views, copies, results, overlaps, errors, special operators."""

import copy
import gc
import itertools
import re

import numpy as np
import pytest
import torch
import torch_npu

DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.complex128,
]  # fmt: skip


def sample(dtype: torch.dtype, *size: int) -> torch.Tensor:
    return (torch.arange(1, 1 + int(np.prod(size))) % 97).reshape(size).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES + [torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn], ids=str)
def test_round_trip(dtype):
    x = sample(dtype, 3, 5)
    assert torch.equal(x.npu().cpu().view(torch.uint8), x.view(torch.uint8))
    for i in (0, 7):
        assert x.npu().flatten()[i].item() == x.flatten()[i].item()


PAIRS = [(a, b) for a, b in itertools.product(DTYPES, DTYPES) if b.is_complex or not a.is_complex]


@pytest.mark.parametrize("source, target", PAIRS)
def test_conversion_in_every_direction(source, target):
    x = sample(source, 4, 6)
    want = x.to(target)
    assert torch.equal(x.npu().to(target).cpu(), want)  # on the device
    on, off = torch.empty(4, 6, dtype=target, device="npu"), torch.empty(4, 6, dtype=target)
    assert torch.equal(on.copy_(x).cpu(), want) and torch.equal(off.copy_(x.npu()), want)


LAYOUTS = {
    "plain": lambda t: t,
    "transposed": lambda t: t.t(),
    "slice": lambda t: t[1:, ::2],
    "column": lambda t: t[:, 1],
    "expanded": lambda t: t[:1].expand(4, 6),
    "empty": lambda t: t[:0],
    "scalar": lambda t: t[2, 3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64])
def test_copies_of_any_layout(layout, dtype):
    x = sample(dtype, 4, 6)
    view, npu_view = LAYOUTS[layout](x), LAYOUTS[layout](x.npu())
    assert torch.equal(npu_view.cpu(), view) and npu_view.clone().stride() == view.clone().stride()
    out = torch.zeros(view.shape, dtype=dtype)
    assert torch.equal(out.copy_(npu_view), view)
    if layout != "expanded":
        target, base = x.npu(), x.clone()
        LAYOUTS[layout](target).copy_(view * 2)
        LAYOUTS[layout](base).copy_(view * 2)
        assert torch.equal(target.cpu(), base)


def test_copy_broadcasts_and_refuses_what_does_not_fit():
    x = torch.zeros(3, 4, device="npu")
    assert torch.equal(x.copy_(torch.arange(4.0)).cpu(), torch.arange(4.0).expand(3, 4))
    with pytest.raises(RuntimeError, match="must match"):
        x.copy_(torch.arange(5.0))
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1, device="npu").expand(3).copy_(torch.ones(3))


def test_between_devices():
    if torch.npu.device_count() < 2:
        pytest.skip("one device")
    x = torch.arange(12.0).view(3, 4)
    y = x.to("npu:0").t().to("npu:1")
    assert y.device == torch.device("npu:1") and torch.equal(y.cpu(), x.t())
    assert torch.equal(y.half().to("npu:0", torch.float64).cpu(), x.t().double())
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        y + x.to("npu:0")


def test_pinned_and_non_blocking():
    x = torch.randn(1 << 16).pin_memory()
    assert x.is_pinned() and not torch.randn(4).is_pinned() and x[10:].is_pinned()
    y = x.to("npu", non_blocking=True) * 2
    back = torch.empty(1 << 16, pin_memory=True)
    back.copy_(y, non_blocking=True)
    torch.npu.synchronize()
    assert torch.equal(back, x * 2)


def test_lazy_bits_in_copies():
    z = torch.tensor([1 + 2j, 3 - 4j])
    n = z.npu()
    assert torch.equal(n.conj().cpu(), z.conj().resolve_conj()) and torch.equal(n.conj().imag.cpu(), z.conj().imag.resolve_neg())
    for source, target in itertools.product((z, z.conj(), n, n.conj()), (False, True)):
        out = torch.zeros(2, dtype=torch.complex64, device="npu")
        (out.conj() if target else out).copy_(source)
        want = z.conj() if source.is_conj() != target else z
        assert torch.equal(out.cpu(), want.resolve_conj())


def test_metadata_operators():
    x = torch.arange(24.0).npu()
    a, b = x.view(4, 6), x.cpu().view(4, 6)
    for f in (
        lambda t: t.as_strided((2, 2), (6, 1), 3),
        lambda t: t.unfold(1, 2, 2),
        lambda t: t.view(torch.int32),
        lambda t: t.reshape(3, 8),
        lambda t: t.unsqueeze(0).transpose(1, 2).squeeze(),
    ):
        got, want = f(a), f(b)
        assert torch.equal(got.cpu(), want) and got.stride() == want.stride() and got.data_ptr() != 0
    assert a.is_set_to(x.view(4, 6)) and not a.is_set_to(x)
    y = torch.empty(0, device="npu").set_(x.untyped_storage(), 2, (3, 2), (1, 4))
    assert torch.equal(y.cpu(), torch.arange(24.0).as_strided((3, 2), (1, 4), 2))
    y.set_()
    assert y.shape == (0,)


def test_resize_keeps_what_was_there():
    x = torch.arange(6.0).npu()
    x.resize_(3, 4)
    assert x.shape == (3, 4) and torch.equal(x.flatten()[:6].cpu(), torch.arange(6.0))
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().nbytes() == 0
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(-1, device="npu")
    with pytest.raises(RuntimeError):
        torch.empty(1 << 62, 1 << 62, device="npu")


def test_memory_formats_and_deterministic_fill():
    x = torch.empty(2, 3, 4, 5, device="npu", memory_format=torch.channels_last)
    assert x.is_contiguous(memory_format=torch.channels_last) and (x + 1).is_contiguous(memory_format=torch.channels_last)
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(5, device="npu").isnan().all() and torch.empty_strided((2,), (3,), device="npu").isnan().all()
    finally:
        torch.use_deterministic_algorithms(False)


def test_out_and_in_place_rules():
    a, b = torch.ones(3, 4, device="npu"), torch.full((3, 4), 2.0, device="npu")
    out = torch.empty(0, device="npu")
    assert torch.add(a, b, out=out) is out and out.shape == (3, 4) and out.sum().item() == 36
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(a, b, out=torch.empty(5, device="npu"))
    wide = torch.empty(3, 4, dtype=torch.float64, device="npu")
    assert torch.add(a, b, out=wide).dtype == torch.float64 and wide.sum().item() == 36
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.add(a, b, out=torch.empty(3, 4, dtype=torch.int64, device="npu"))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.ones(4, device="npu").add_(a)
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        a + torch.ones(5, device="npu")


def test_overlaps():
    x = torch.arange(8.0).npu()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.ones(1, device="npu").expand(4).add_(1)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        torch.add(x[:6], 1, out=x[2:])
    assert torch.equal(x.add_(x).cpu(), torch.arange(8.0) * 2)
    m = torch.randn(4, 4)
    n = m.npu()
    torch.mm(n, n, out=n)
    torch.testing.assert_close(n.cpu(), m @ m)


def test_numbers_and_cpu_scalars_mix():
    x = torch.arange(3).npu()
    assert (x + 1.5).dtype == torch.float32 and (x.float() * torch.tensor(2.0, dtype=torch.float64)).dtype == torch.float32
    assert torch.equal((torch.tensor(10) - x).cpu(), torch.tensor([10, 9, 8]))
    with pytest.raises(RuntimeError, match="check whether the input tensor device is correct"):
        x + torch.arange(3)
    with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64"):
        torch.ones(2, dtype=torch.uint32, device="npu") + torch.ones(2, dtype=torch.int64, device="npu")


def test_index_tensors_may_be_on_the_cpu():
    x = torch.arange(10.0).npu()
    i = torch.tensor([7, 1])
    assert x[i].tolist() == [7, 1]
    assert x.view(2, 5)[:, torch.tensor([0]).npu()].tolist() == [[0], [5]]  # the first index is None
    x[i] = torch.tensor([70.0, 10.0]).npu()
    assert x.tolist()[7] == 70


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("bias", [True, False])
def test_recurrent_cells(kind, bias):
    cell = getattr(torch.nn, kind)(5, 7, num_layers=2, bias=bias)
    twin = getattr(torch.nn, kind)(5, 7, num_layers=2, bias=bias)
    twin.load_state_dict(cell.state_dict())
    twin.npu()
    x = torch.randn(4, 3, 5)
    y, _ = cell(x)
    z, _ = twin(x.npu())
    torch.testing.assert_close(z.cpu(), y, rtol=1e-4, atol=1e-5)
    y.pow(2).sum().backward()
    z.pow(2).sum().backward()
    for p, q in zip(cell.parameters(), twin.parameters()):
        torch.testing.assert_close(q.grad.cpu(), p.grad, rtol=1e-3, atol=1e-4)


def test_convolution_and_running_statistics():
    torch.manual_seed(1)
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.ConvTranspose2d(4, 2, 2))
    twin = copy.deepcopy(net).npu()
    x = torch.randn(2, 3, 8, 8)
    net(x).square().sum().backward()
    twin(x.npu()).square().sum().backward()
    for p, q in zip(net.parameters(), twin.parameters()):
        torch.testing.assert_close(q.grad.cpu(), p.grad, rtol=1e-3, atol=1e-3)
    for p, q in zip(net.buffers(), twin.buffers()):
        torch.testing.assert_close(q.cpu(), p, rtol=1e-4, atol=1e-5)


def test_fallback_views_resizes_and_lists():
    x = torch.randn(6, 6)
    n = x.npu()
    values, indices = torch.linalg.eigh(n + n.t())
    torch.testing.assert_close(values.cpu(), torch.linalg.eigh(x + x.t())[0], rtol=1e-4, atol=1e-4)
    assert values.device.type == indices.device.type == "npu"
    out = torch.empty(0, device="npu")
    torch.linalg.inv(n, out=out)  # resized by the CPU kernel
    torch.testing.assert_close(out.cpu(), torch.linalg.inv(x), rtol=1e-3, atol=1e-3)
    parts = torch.linalg.svd(n)
    torch.testing.assert_close((parts[0] @ torch.diag(parts[1]) @ parts[2]).cpu(), x, rtol=1e-3, atol=1e-3)
    with pytest.raises(RuntimeError, match="same device"):
        torch.cholesky_solve(n, x)
    with pytest.raises(torch.linalg.LinAlgError):
        torch.linalg.inv(torch.zeros(2, 2, device="npu"))


def test_random_fallbacks_follow_the_device_generator():
    p = torch.full((4, 50), 0.5, device="npu")
    torch.npu.manual_seed(5)
    a, b = torch.poisson(p * 10), torch.poisson(p * 10)
    torch.npu.manual_seed(5)
    assert torch.equal(torch.poisson(p * 10), a) and not torch.equal(a, b)
    state = torch.random.get_rng_state()
    torch.poisson(p)
    assert torch.equal(torch.random.get_rng_state(), state)  # the CPU's own generator is not touched


def test_memory_is_given_back():
    gc.collect()
    torch.npu.synchronize()
    before = torch.npu.memory_allocated()
    x = torch.randn(64, 64, device="npu")
    for _ in range(3):
        y = torch.linalg.inv(x) @ x + x.cos()
        with pytest.raises(RuntimeError):
            x + torch.ones(3, device="npu")
    del x, y
    gc.collect()
    torch.npu.synchronize()
    assert torch.npu.memory_allocated() == before


def test_error_text_has_the_official_suffix():
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, device="npu") + torch.ones(3, device="npu")
    assert re.search(r"\n\[ERROR\] [-\d:]+ \(PID:\d+, Device:0, RankID:-1\) ERR01001 OPS invalid parameter", str(caught.value))


def test_interrupt(run):
    code = (
        "import os, signal, threading, torch, torch_npu\n"
        "x = torch.randn(1500, 1500).npu()\n"
        "threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    while True:\n"
        "        for _ in range(8): y = x @ x\n"
        "        torch.npu.synchronize()\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', torch.ones(2).npu().sum().item())\n"
    )
    assert run(code, timeout=60).stdout.strip() == "interrupted 2.0"


def test_work_left_at_exit(run):
    code = (
        "import torch, torch_npu\nx = torch.randn(500, 500, requires_grad=True, device='npu')\n"
        "(x @ x).sum().backward()\nprint('ok')"
    )
    for _ in range(3):
        done = run(code)
        assert done.returncode == 0 and done.stdout.strip() == "ok", done.stderr


def test_versions_are_the_package_s():
    assert torch_npu.__version__.startswith(torch.__version__.split("+")[0])

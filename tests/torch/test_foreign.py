# SPDX-License-Identifier: BSD-3-Clause
"""On a CANN of another maker the host can't look into device memory: what isn't a task of the device is copied.

`ANYNPU_EXTENSION=0` hides our table beyond the published interface, `ANYNPU_GUARD=1` makes the host fault when it touches device
memory all the same.
"""

import pytest

FOREIGN = {"ANYNPU_EXTENSION": "0", "ANYNPU_GUARD": "1"}

PROGRAM = """
import copy, io, pickle, warnings, torch, torch_npu
warnings.simplefilter("ignore")
a = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
x = a.npu()

def same(got, expected):
    assert got.device.type == "npu" and got.shape == expected.shape and got.dtype == expected.dtype
    assert torch.allclose(got.cpu(), expected, atol=1e-5, equal_nan=True)
"""


def check(output, code: str, **environment: str) -> None:
    assert output(PROGRAM + code + "\nprint('done')", **(FOREIGN | environment)) == "done"


def test_operators_on_the_cpu_copy_there_and_back(output):
    check(output, """
for function in (
    torch.special.bessel_j0, lambda t: torch.special.bessel_j1(t.t()[1:, ::2]), torch.linalg.svdvals, torch.linalg.pinv,
    lambda t: torch.special.bessel_y0(t, out=torch.zeros_like(t)), lambda t: torch.special.bessel_j0(t.float()[:0]),
    lambda t: torch.special.airy_ai(t.double()), lambda t: torch.fft.rfft(t).abs(), lambda t: torch.linalg.qr(t)[1].abs(),
):
    same(function(x), function(a))
y, b = x.clone(), a.clone()  # in place, through a view: the rest stays
y.t()[1:3].lgamma_(), b.t()[1:3].lgamma_()
same(y, b)
z = torch.empty(0, device="npu")  # out= grows
torch.special.bessel_j0(x, out=z)
same(z, torch.special.bessel_j0(a))
assert torch_npu.npu.utils.cpu_fallback_count()
""")


def test_gradients_pass_through_an_operator_on_the_cpu(output):
    check(output, """
grads = []
for t in (a, x):
    t = t.clone().requires_grad_()
    (torch.special.i1e(t).sum() + torch.linalg.svdvals(t).sum()).backward()
    grads.append(t.grad)
same(grads[1], grads[0])
""")


def test_printing_and_single_numbers(output):
    check(output, """
assert str(x).startswith(str(a)[:-1])
assert x[2, 3].item() == a[2, 3].item() and x.tolist() == a.tolist() and bool((x > -100).all())
for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool, torch.complex64):
    t = a.to(dtype)
    assert t.npu()[1, 1].item() == t[1, 1].item() and torch.equal(t.npu().t().cpu(), t.t())
assert str(x.bool()).count("True") == 24 and x.numpy(force=True).shape == (4, 6)
""")


def test_saving_loading_pickling_copying(output):
    check(output, """
file = io.BytesIO()
torch.save({"x": x, "view": x[1:, ::2], "half": x.half()}, file)
for place in (None, "cpu", "npu:0"):
    file.seek(0)
    got = torch.load(file, map_location=place)
    assert all(t.device.type == ("cpu" if place == "cpu" else "npu") for t in got.values())
    assert torch.equal(got["x"].cpu(), a) and torch.equal(got["view"].cpu(), a[1:, ::2])
same(pickle.loads(pickle.dumps(x)), a)
same(copy.deepcopy(x.t()), a.t())
net = torch.nn.Linear(6, 3)
mine = torch.nn.Linear(6, 3).npu()
mine.load_state_dict(net.state_dict())
same(mine(x), net(a))
""")


def test_copies_of_every_kind(output):
    check(output, """
for source in (a, a.t(), a[:, ::2], a[0].expand(3, 6), torch.tensor(3.0), a[:0]):
    same(source.npu(), source)
    same(source.double().npu().float(), source)
    target = torch.zeros(source.shape, device="npu")
    same(target.copy_(source, non_blocking=True), source)
big = torch.arange(3 << 20, dtype=torch.int32)  # more than what passes through pinned memory
same(big.npu(), big)
pinned = a.pin_memory()
same(pinned.npu(non_blocking=True), a)
host = torch.empty(4, 6).pin_memory()
host.copy_(x, non_blocking=True)
torch.npu.synchronize()
assert torch.equal(host, a)
strided = torch.zeros(6, 8, device="npu")
strided.t()[:4, :6].copy_(a.double())
assert torch.equal(strided.cpu().t()[:4, :6], a)
""")


def test_bad_input_is_an_error_and_the_process_goes_on(output):
    check(output, """
for bad in (lambda: x[[0, 99]].cpu(), lambda: torch.empty(1 << 50, device="npu"), lambda: x @ x):
    try:
        bad()
        assert False
    except (IndexError, RuntimeError):
        pass
    same(x + 1, a + 1)
""")


@pytest.mark.parametrize("masked", [False, True])
def test_attention_by_the_published_operator(output, masked):
    check(output, f"""
import torch.nn.functional as F
q, k, v = torch.randn(3, 2, 2, 8, 16, generator=torch.Generator().manual_seed(1)).unbind(0)
for causal in (False, True):
    mask = torch.ones(8, 8, dtype=torch.bool).tril(2) if {masked} and not causal else None
    expected = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
    got = F.scaled_dot_product_attention(q.npu(), k.npu(), v.npu(), None if mask is None else mask.npu(), is_causal=causal)
    same(got, expected)
""")

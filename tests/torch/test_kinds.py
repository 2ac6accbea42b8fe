# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of use that public operator tests have and ours had not: numbers beside 16-bit tensors, integers of 32 bits as
targets and places, an out of another shape, types that PyTorch's CPU lacks, and two devices in one call."""

import pytest
import torch
import torch.nn.functional as F

NUMBERS = [0.37, 2.4, 3.14159]
WITH_NUMBER = {
    "add": lambda x, s: x + s,
    "rsub": lambda x, s: s - x,
    "mul": lambda x, s: x * s,
    "div": lambda x, s: x / s,
    "remainder": lambda x, s: x % s,
    "fmod": torch.fmod,
    "pow": lambda x, s: x.abs() ** s,
    "alpha": lambda x, s: torch.add(x, x.flip(0), alpha=s),
    "foreach": lambda x, s: torch._foreach_sub([x], [x.flip(0)], alpha=s)[0],
    "eq": lambda x, s: x == s,
    "gt": lambda x, s: x > s,
    "ge_out": lambda x, s: torch.ge(x, s, out=torch.empty(0, dtype=torch.bool, device=x.device)),
}


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", WITH_NUMBER)
def test_numbers_beside_16_bit_tensors_are_rounded_where_pytorch_rounds(name, dtype):
    x = torch.randn(2048).mul(3).to(dtype)  # a multiple of the CPU's vectors: its last elements are rounded at each step
    x[: len(NUMBERS)] = torch.tensor(NUMBERS)
    for number in NUMBERS:
        got, want = WITH_NUMBER[name](x.npu(), number).cpu(), WITH_NUMBER[name](x, number)
        if name == "pow":
            torch.testing.assert_close(got, want)
        else:
            torch.testing.assert_close(got, want, rtol=0, atol=0)


@pytest.mark.usefixtures("no_fallback")
def test_targets_and_places_of_32_bits():
    x, target = torch.randn(6, 5), torch.tensor([0, 4, 2, 2, 1, 3])
    own = x.npu().requires_grad_()
    leaf = x.clone().requires_grad_()
    for reduction in ("none", "mean"):
        got = F.nll_loss(own.log_softmax(-1), target.int().npu(), reduction=reduction)
        want = F.nll_loss(leaf.log_softmax(-1), target, reduction=reduction)
        torch.testing.assert_close(got.cpu(), want)
    got.backward()
    want.backward()
    torch.testing.assert_close(own.grad.cpu(), leaf.grad)
    image, labels = torch.randn(2, 3, 4, 5), torch.randint(0, 3, (2, 4, 5))
    torch.testing.assert_close(F.nll_loss(image.npu(), labels.int().npu()).cpu(), F.nll_loss(image, labels))
    place, values = torch.tensor([1, 7, 29]), torch.randn(3)
    torch.testing.assert_close(x.npu().put_(place.int().npu(), values.npu()).cpu(), x.clone().put_(place, values))


@pytest.mark.parametrize("make", ["linspace", "logspace", "arange"])
def test_an_out_of_as_many_numbers_keeps_its_shape_and_strides(make):
    call = {
        "linspace": lambda out: torch.linspace(0, 3, 4, out=out),
        "logspace": lambda out: torch.logspace(0, 3, 4, base=2, out=out),
        "arange": lambda out: torch.arange(4, out=out),
    }[make]
    here, there = torch.zeros(2, 3), torch.zeros(2, 3, device="npu")
    call(here.narrow(1, 1, 2))
    call(there.narrow(1, 1, 2))
    torch.testing.assert_close(there.cpu(), here)


@pytest.mark.usefixtures("no_fallback")
def test_half_where_the_cpu_has_none():
    a, b = torch.randn(4, 6).half(), torch.randn(5, 6).half()
    for p in (0.0, 1.0, 2.0, 3.0):
        torch.testing.assert_close(torch.cdist(a.npu(), b.npu(), p).cpu(), torch.cdist(a.float(), b.float(), p).half())
        torch.testing.assert_close(F.pdist(a.npu(), p).cpu(), F.pdist(a.float(), p).half())
    for dtype in (torch.float16, torch.float32):
        x, y = a[:, :5].to(dtype), a[:, 1:].to(dtype)
        own = x.npu()
        want = (x.float() + 3 * y.float()).relu().to(dtype)
        torch.testing.assert_close(torch._VF._add_relu(own, y.npu(), alpha=3).cpu(), want)
        torch.testing.assert_close(torch._VF._add_relu_(own, y.npu(), alpha=3).cpu(), want)


def test_two_devices_are_named():
    if torch.npu.device_count() < 2:
        pytest.skip("needs two devices")
    x, y = torch.randn(2, 2, device="npu:0"), torch.randn(2, 2, device="npu:1")
    for f in (torch.add, torch.mm, torch.bincount):
        with pytest.raises(RuntimeError, match="found at least two devices, npu:0 and npu:1!"):
            f(x, y) if f is not torch.bincount else f(torch.ones(4).long().to("npu:0"), weights=y.flatten())


@pytest.mark.parametrize("shape", [(1, 1, 0, 1, 1), (1, 1, 1, 1, 0)])
def test_a_kernel_without_elements_is_refused(shape):
    x, weight = torch.ones(1, 1, 1, 1, 1).npu(), torch.ones(shape).npu()
    for f in (F.conv3d, F.conv_transpose3d):
        with pytest.raises(RuntimeError, match="kernel size should be greater than zero"):
            f(x, weight)
    with pytest.raises(RuntimeError):
        torch.ops.aten.convolution_backward(
            torch.ones(1, 1, *shape[2:]).npu(), x, weight, [1], [1] * 3, [0] * 3, [1] * 3, True, [0] * 3, 1, [True] * 3
        )


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
@pytest.mark.filterwarnings("ignore")
def test_gradients_of_a_reduced_sparse_product(reduce):
    sparse, dense = torch.randn(4, 4).relu().to_sparse_csr(), torch.randn(4, 3)
    grads = []
    for device in ("cpu", "npu"):
        a, b = (t.clone().to(device).detach().requires_grad_() for t in (sparse, dense))
        torch.sparse.mm(a, b, reduce).sum().backward()
        grads.append((a.grad.values().cpu(), b.grad.cpu()))
    for mine, theirs in zip(*grads):
        torch.testing.assert_close(mine, theirs)

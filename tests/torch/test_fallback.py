# SPDX-License-Identifier: BSD-3-Clause
"""Operators that run on the CPU instead: the same results, whatever the tensors look like."""

import warnings

import pytest
import torch


def on_both(function, *tensors):
    """The results on the CPU and on the NPU, both on the CPU, and how many calls ran on the CPU instead."""
    expected = function(*tensors)
    torch.npu.utils.reset_cpu_fallback_count()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = function(*(t.npu() for t in tensors))
    return expected, got.cpu(), sum(torch.npu.utils.cpu_fallback_count().values())


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a.mH @ b,
        lambda a, b: a.conj() @ b.conj(),
        lambda a, b: torch.linalg.solve(a.mH, b),
        lambda a, b: torch.addmm(b, a.conj(), b.mH, alpha=2),
        lambda a, b: torch.linalg.inv(a.conj()),
        lambda a, b: torch.bmm(a[None].mH, b[None]),
        lambda a, b: torch.vdot(a[0], b[0]),
        lambda a, b: (a.conj().imag @ b.real),
        lambda a, b: torch._neg_view(a) @ b,
    ],
)
def test_lazily_conjugated_and_negated_arguments(function):
    g = torch.Generator().manual_seed(1)
    a, b = (torch.randn(4, 4, dtype=torch.complex64, generator=g) for _ in range(2))
    expected, got, _ = on_both(function, a, b)
    assert torch.allclose(got.resolve_conj().resolve_neg(), expected.resolve_conj().resolve_neg(), atol=1e-5)


def test_eigenvectors_have_gradients():
    x = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))

    def gradient(x):
        x = x.detach().requires_grad_()
        values, vectors = torch.linalg.eig(x)
        (vectors.abs().sum() + values.abs().sum()).backward()
        return x.grad

    expected, got, fallbacks = on_both(gradient, x)
    assert torch.allclose(got, expected, atol=1e-4) and fallbacks


def well_conditioned(rows, columns):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(2)) + 5 * torch.eye(rows, columns)


def test_views_and_in_place():
    x = well_conditioned(4, 6)
    for view in (lambda t: t[:, :4].t(), lambda t: t[1:, ::2], lambda t: t.unfold(1, 4, 1).transpose(0, 1)):
        expected, got, fallbacks = on_both(lambda t, view=view: torch.linalg.inv(view(t)), x)
        assert torch.allclose(got, expected, rtol=1e-3, atol=1e-3) and fallbacks
    y = x.npu()
    z = y[:, :4]
    torch.linalg.inv(z, out=z)
    assert torch.allclose(y[:, :4].cpu(), torch.linalg.inv(x[:, :4]), atol=1e-4) and y[:, 4:].cpu().equal(x[:, 4:])


def test_out_is_resized():
    x = well_conditioned(3, 3)
    out = torch.empty(0, device="npu")
    torch.linalg.inv(x.npu(), out=out)
    assert torch.allclose(out.cpu(), torch.linalg.inv(x), atol=1e-4)


def test_without_a_view_of_device_memory_everything_is_copied(output):
    """Guard mode, or a CANN that offers no host view: the fallback copies arguments there and what was written back."""
    code = """
import torch, torch_npu, warnings
warnings.simplefilter("ignore")
x = torch.randn(3, 4, generator=torch.Generator().manual_seed(2)) + 5 * torch.eye(3, 4)
y = x.npu()
torch.linalg.inv(y[:, :3], out=y[:, :3])
a, b = torch.view_as_complex(torch.randn(3, 3, 2)), torch.eye(4).npu()
c = torch.linalg.inv(a.npu().conj()).cpu()
torch.linalg.inv(b, out=(r := torch.empty(0, device="npu")))
expected = x.clone()
expected[:, :3] = torch.linalg.inv(x[:, :3])
print(torch.allclose(y.cpu(), expected, atol=1e-4), torch.allclose(c, torch.linalg.inv(a.conj()), atol=1e-4),
      torch.allclose(r.cpu(), torch.eye(4)), torch_npu.npu.utils.cpu_fallback_count() != {})
"""
    assert output(code, ANYNPU_GUARD="1") == "True True True True"

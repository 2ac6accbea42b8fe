# SPDX-License-Identifier: BSD-3-Clause
"""scaled_dot_product_attention: fused where it can be, composed where not, equal to the CPU's either way."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 4e-2, torch.float64: 1e-9}


def attend(device, tensors, grad, **options):
    q, k, v = (t.detach().clone().to(device).requires_grad_() for t in tensors)
    options = {name: value.to(device) if isinstance(value, torch.Tensor) else value for name, value in options.items()}
    out = F.scaled_dot_product_attention(q, k, v, **options)
    out.backward(grad.to(device))
    return [out, q.grad, k.grad, v.grad], out.grad_fn.name()


def compare(dtype, query, key, value, fused=True, **options):
    torch.manual_seed(0)
    tensors = [torch.randn(*shape).to(dtype) for shape in (query, key, value)]
    grad = torch.randn(*query[:-1], value[-1]).to(dtype)
    wide = {n: o.double() if isinstance(o, torch.Tensor) and o.is_floating_point() else o for n, o in options.items()}
    exact, _ = attend("cpu", [t.double() for t in tensors], grad.double(), **wide)
    got, name = attend("npu", tensors, grad, **options)
    assert ("FusedAttention" in name) == fused, name
    for g, e in zip(got, exact, strict=True):
        assert g.dtype == dtype and g.device.type == "npu"
        torch.testing.assert_close(g.cpu().double(), e, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_shapes(dtype, causal):
    compare(dtype, (2, 4, 65, 32), (2, 4, 65, 32), (2, 4, 65, 32), is_causal=causal)
    compare(dtype, (1, 2, 3, 8), (1, 2, 300, 8), (1, 2, 300, 24), is_causal=causal)
    compare(dtype, (1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1), is_causal=causal)


@pytest.mark.parametrize("shape", [(65, 80), (1, 80), (65, 1), (2, 1, 65, 80), (4, 65, 80), (2, 4, 65, 80)])
def test_masks(shape):
    mask = torch.rand(shape) > 0.3
    mask[..., :1] = True  # a row that sees nothing has no softmax
    sizes = (2, 4, 65, 16), (2, 4, 80, 16), (2, 4, 80, 16)
    compare(torch.float32, *sizes, attn_mask=mask)
    compare(torch.float32, *sizes, attn_mask=torch.randn(shape))


def test_grouped_heads_and_scale():
    compare(torch.float32, (2, 6, 33, 16), (2, 2, 40, 16), (2, 2, 40, 16), enable_gqa=True, scale=0.3)


def test_a_row_that_sees_nothing_gives_zeros():
    q, k, v = (torch.randn(1, 1, 4, 8).npu() for _ in range(3))
    mask = torch.ones(4, 4, dtype=torch.bool).npu()
    mask[2] = False
    assert not F.scaled_dot_product_attention(q, k, v, attn_mask=mask)[0, 0, 2].any()


def test_strided_inputs_keep_the_layout_of_models():
    x = torch.randn(2, 50, 3 * 4 * 16)
    q, k, v = (t.view(2, 50, 4, 16).transpose(1, 2) for t in x.npu().chunk(3, -1))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert out.transpose(1, 2).is_contiguous()
    want = F.scaled_dot_product_attention(*(t.cpu() for t in (q, k, v)), is_causal=True)
    torch.testing.assert_close(out.cpu(), want, rtol=1e-5, atol=1e-5)


def test_composed_where_not_fused():
    compare(torch.float64, (2, 2, 9, 8), (2, 2, 9, 8), (2, 2, 9, 8), fused=False)
    bias = torch.randn(9, 9, device="npu", requires_grad=True)
    q = torch.randn(1, 1, 9, 8, device="npu")
    F.scaled_dot_product_attention(q, q, q, attn_mask=bias).sum().backward()
    assert bias.grad is not None
    with sdpa_kernel(SDPBackend.MATH):
        assert "Fused" not in F.scaled_dot_product_attention(q.requires_grad_(), q, q).grad_fn.name()
    dropped = F.scaled_dot_product_attention(q, q, torch.ones_like(q), dropout_p=0.5)
    assert (dropped.detach() - 1).abs().max() > 0.05  # without dropping, weights add up to 1


def test_multihead_attention_module():
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(32, 4, batch_first=True)
    x = torch.randn(3, 20, 32)
    want = module(x, x, x, need_weights=False)[0]
    module.npu()
    torch.testing.assert_close(module(x.npu(), x.npu(), x.npu(), need_weights=False)[0].cpu(), want, rtol=1e-5, atol=1e-5)

# SPDX-License-Identifier: BSD-3-Clause
"""Operators that inference and training of large models use: attention over caches, rotary positions, products of groups,
fused normalisations and gated units; against plain PyTorch."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu


def npu(*tensors):
    return [t.npu() for t in tensors]


def close(a, b, **how):
    torch.testing.assert_close(a.cpu(), b, **how)


def reference(q, k, v, scale, left_out=None):
    """(N, S, D) in float64."""
    groups = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(groups, 0), v.repeat_interleave(groups, 0)
    score = q.double() @ k.double().transpose(-1, -2) * scale
    score = score if left_out is None else score.masked_fill(left_out, float("-inf"))
    return (score.softmax(-1) @ v.double()).float(), score.logsumexp(-1, keepdim=True).float()


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "BNSD_BSND"])
def test_prompt_attention_in_each_layout(layout):
    q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 6, 8), torch.randn(2, 2, 6, 8)

    def to(x, name):
        return {"BNSD": x, "BSND": x.transpose(1, 2), "BSH": x.transpose(1, 2).flatten(-2)}[name].contiguous()

    taken, _, given = layout.partition("_")
    got = torch_npu.npu_prompt_flash_attention(
        *npu(*(to(x, taken) for x in (q, k, v))), num_heads=4, num_key_value_heads=2, scale_value=0.5, input_layout=layout,
        sparse_mode=3, atten_mask=torch.ones(2048, 2048).bool().triu(1).npu(),
    )  # fmt: skip
    causal = torch.ones(5, 6).bool().triu(2)
    close(got, to(torch.stack([reference(q[b], k[b], v[b], 0.5, causal)[0] for b in range(2)]), given or taken))


def test_lengths_and_masks_of_prompts():
    q, k, v = torch.randn(2, 1, 4, 8), torch.randn(2, 1, 4, 8), torch.randn(2, 1, 4, 8)
    mask = torch.rand(2, 1, 4, 4) < 0.3
    mask[..., 0] = False
    got = torch_npu.npu_fused_infer_attention_score(
        *npu(q, k, v), num_heads=1, input_layout="BNSD", atten_mask=mask.npu(), sparse_mode=1, actual_seq_lengths=[4, 2],
        actual_seq_lengths_kv=[4, 3], softmax_lse_flag=True,
    )  # fmt: skip
    out, lse = reference(q[1][:, :2], k[1][:, :3], v[1][:, :3], 1.0, mask[1][:, :2, :3])
    close(got[0][1][:, :2], out)
    close(got[1][1][:, :2], lse)
    assert not got[0][1][:, 2:].any()


@pytest.mark.parametrize("three", [True, False], ids=["BSH", "BNBD"])
def test_a_step_over_a_cache_of_blocks(three):
    lengths, size, heads = [5, 9], 4, 2
    cache_k, cache_v = torch.randn(6, heads, size, 8), torch.randn(6, heads, size, 8)
    table = torch.tensor([[3, 1, 0], [0, 5, 2]])
    q = torch.randn(2, 4, 1, 8)
    stored = [c.transpose(1, 2).flatten(-2).contiguous() if three else c for c in (cache_k, cache_v)]
    got = torch_npu.npu_incre_flash_attention(
        *npu(q, *stored), num_heads=4, num_key_value_heads=heads, scale_value=0.3, input_layout="BNSD",
        actual_seq_lengths=lengths, block_table=table.int().npu(), block_size=size,
    )  # fmt: skip
    for b, length in enumerate(lengths):
        k, v = (c[table[b]].transpose(0, 1).flatten(1, 2)[:, :length] for c in (cache_k, cache_v))
        close(got[b], reference(q[b], k, v, 0.3)[0])


def test_packed_sequences_with_rope_and_sink():
    q, rope = torch.randn(7, 2, 8), torch.randn(7, 2, 4)
    k, v, key_rope = torch.randn(9, 1, 8), torch.randn(9, 1, 8), torch.randn(9, 1, 4)
    out, lse = torch_npu.npu_fused_infer_attention_score_v2(
        *npu(q, k, v), query_rope=rope.npu(), key_rope=key_rope.npu(), actual_seq_qlen=[3, 7], actual_seq_kvlen=[4, 9],
        num_query_heads=2, num_key_value_heads=1, input_layout="TND", sparse_mode=3, return_softmax_lse=True,
    )  # fmt: skip
    for (a, b), (c, d) in (((0, 3), (0, 4)), ((3, 7), (4, 9))):
        whole = torch.cat((q, rope), -1)[a:b].transpose(0, 1), torch.cat((k, key_rope), -1)[c:d].transpose(0, 1)
        causal = torch.ones(b - a, d - c).bool().triu(d - c - (b - a) + 1)
        wanted, total = reference(*whole, v[c:d].transpose(0, 1), 1.0, causal)
        close(out[a:b], wanted.transpose(0, 1))
        close(lse[a:b], total.transpose(0, 1))
    sunk = torch_npu.npu_fused_infer_attention_score_v2(
        *npu(q[:3], k[:4], v[:4]), num_query_heads=2, num_key_value_heads=1, input_layout="TND",
        learnable_sink=torch.zeros(2).npu(),
    )[0]  # fmt: skip
    plain, total = reference(q[:3].transpose(0, 1), k[:4].transpose(0, 1), v[:4].transpose(0, 1), 1.0)
    close(sunk, (plain * total.exp() / (total.exp() + 1)).transpose(0, 1))


def test_what_attention_refuses():
    q = torch.randn(1, 2, 3, 4).npu()
    with pytest.raises(NotImplementedError, match="quant_scale1 is not implemented for NPU"):
        torch_npu.npu_prompt_flash_attention(q, q, q, num_heads=2, input_layout="BNSD", quant_scale1=q)
    with pytest.raises(RuntimeError, match="input_layout must be of BSH"):
        torch_npu.npu_prompt_flash_attention(q, q, q, num_heads=2, input_layout="SBH")
    with pytest.raises(RuntimeError, match="block_table needs the lengths"):
        torch_npu.npu_incre_flash_attention(q, q, q, num_heads=2, input_layout="BNSD", block_table=torch.zeros(1, 1).npu())


# ---- positions ----
def turned(x, interleaved=False):
    if interleaved:
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def test_rotary_of_query_and_key():
    q, k = torch.randn(2, 5, 4, 8), torch.randn(2, 5, 2, 8)
    cos, sin = torch.randn(2, 5, 1, 6), torch.randn(2, 5, 1, 6)
    for mode in ("half", "interleave"):
        got = torch_npu.npu_apply_rotary_pos_emb(*npu(q, k, cos, sin), "BSND", mode)
        for x, y in zip((q, k), got):
            part = x[..., :6] * cos + turned(x[..., :6], mode == "interleave") * sin
            close(y, torch.cat((part, x[..., 6:]), -1))
    x, cos, sin = torch.randn(2, 3, 4, 8), torch.randn(2, 1, 4, 8), torch.randn(2, 1, 4, 8)
    moved = torch.cat((x[..., ::2], x[..., 1::2]), -1)
    close(torch_npu.npu_interleave_rope(*npu(x, cos, sin)), moved * cos + turned(moved) * sin)


def test_positions_of_three_dimensions():
    positions, cache = torch.randint(0, 10, (3, 4)), torch.randn(10, 8)
    q, k = torch.randn(4, 16), torch.randn(4, 8)
    got, _ = torch_npu.npu_mrope(*npu(positions, q, k, cache), 8, mrope_section=[1, 2, 1])
    which = [0, 1, 1, 2]
    cos, sin = (torch.stack([cache[positions[w], at + i] for i, w in enumerate(which)], 1) for at in (0, 4))
    heads, cos, sin = q.view(4, 2, 8), torch.cat((cos, cos), -1)[:, None], torch.cat((sin, sin), -1)[:, None]
    close(got, (heads * cos + turned(heads) * sin).flatten(1))


def test_latent_cache_is_written_in_place():
    kv, gamma = torch.randn(2, 1, 3, 12), torch.rand(8)
    cos, sin = torch.randn(2, 1, 3, 4), torch.randn(2, 1, 3, 4)
    rope, latent = torch.zeros(2, 1, 6, 4).npu(), torch.zeros(2, 1, 6, 8).npu()
    index = torch.tensor([[1, 2, -1], [0, 5, 3]])
    torch_npu.npu_kv_rmsnorm_rope_cache(*npu(kv, gamma, cos, sin, index), rope, latent, epsilon=1e-6)
    normal = F.rms_norm(kv[..., :8], (8,), gamma, 1e-6)
    x = torch.cat((kv[..., 8::2], kv[..., 9::2]), -1)
    close(latent[1, 0, 5], normal[1, 0, 1])
    close(rope[0, 0, 2], (x * cos + turned(x) * sin)[0, 0, 1])
    assert not latent[0, 0, 3:].any() and not latent[0, 0, 0].any()


# ---- groups of rows ----
def test_grouped_products_and_their_weights_gradient():
    x, w, counts = torch.randn(9, 4), torch.randn(3, 4, 5), [2, 0, 5]
    ends = torch.tensor(counts).cumsum(0)
    for kind, listed in ((0, ends), (1, torch.tensor(counts))):
        (got,) = torch_npu.npu_grouped_matmul(
            [x.npu()], [w.npu()], group_list=listed.npu(), split_item=2, group_type=0, group_list_type=kind, act_type=5
        )
        wanted = torch.cat([F.silu(x[:2] @ w[0]), F.silu(x[2:7] @ w[2]), torch.zeros(2, 5)])
        close(got, wanted)
    parts = torch_npu.npu_grouped_matmul(npu(x[:2], x[2:]), npu(w[0], w[1]), bias=npu(torch.ones(5), torch.zeros(5)))
    close(parts[0], x[:2] @ w[0] + 1)
    close(parts[1], x[2:] @ w[1])
    g, total = torch.randn(9, 5), torch.randn(3, 4, 5)
    got = torch_npu.npu_grouped_matmul_add_(*npu(total, x, g), ends.npu())
    close(got, total + torch.stack([x[:2].t() @ g[:2], torch.zeros(4, 5), x[2:7].t() @ g[2:7]]))
    whole = torch.randint(-9, 9, (9, 4)).to(torch.int8), torch.randint(-9, 9, (3, 4, 5)).to(torch.int8)
    scale, own = torch.rand(3, 5), torch.rand(9)
    (got,) = torch_npu.npu_grouped_matmul(
        [whole[0].npu()], [whole[1].npu()], scale=[scale.npu()], per_token_scale=[own.npu()], group_list=ends.npu(), split_item=3,
        group_type=0, output_dtype=torch.bfloat16,
    )  # fmt: skip
    wanted = (whole[0][2:7].float() @ whole[1][2].float() * scale[2] * own[2:7, None]).bfloat16()
    close(got[2:7], wanted, atol=0.01, rtol=0.01)


def test_feed_forward_with_experts():
    x, w1, w2 = torch.randn(6, 4), torch.randn(2, 4, 6), torch.randn(2, 3, 4)
    got = torch_npu.npu_ffn(*npu(x, w1, w2), "swiglu", expert_tokens=[4, 2])

    def layer(rows, e):
        a, b = (rows @ w1[e]).chunk(2, -1)
        return F.silu(a) * b @ w2[e]

    close(got, torch.cat((layer(x[:4], 0), layer(x[4:], 1))))
    with pytest.raises(RuntimeError, match="activation must be one of"):
        torch_npu.npu_ffn(*npu(x, w1[0], w2[0]), "tanh")


# ---- fused normalisations ----
def test_norms_with_sums_and_rounding():
    a, b, gamma, beta = torch.randn(3, 8), torch.randn(3, 8), torch.rand(8), torch.rand(8)
    normal = F.rms_norm(a + b, (8,), gamma, 1e-6)
    close(torch_npu.npu_gemma_rms_norm(*npu(a, gamma))[0], F.rms_norm(a, (8,), gamma + 1, 1e-6))
    x, y = npu(a, b)
    torch_npu.npu_add_rms_norm_v2(x, y, gamma.npu())
    close(x, normal)
    close(y, a + b)
    scale, zero = torch.full((8,), 0.05), torch.full((8,), 3.0)
    first, _, total = torch_npu.npu_add_rms_norm_quant(*npu(a, b, gamma, scale, zero), beta.npu())
    assert (first.cpu().float() - ((normal + beta) / 0.05 + 3).round().clamp(-128, 127)).abs().max() <= 1
    close(total, a + b)
    quant, _, _, scales, _ = torch_npu.npu_add_rms_norm_dynamic_quant(*npu(a, b, gamma))
    close(quant.cpu() * scales.cpu()[:, None], normal, atol=0.02, rtol=0)
    y, mean, rstd, _ = torch_npu.npu_add_layer_norm(*npu(a, b, gamma, beta), 1e-5)
    close(y, F.layer_norm(a + b, (8,), gamma, beta))
    mean, rstd, y = torch_npu.npu_deep_norm(*npu(a, b, beta, gamma), 0.3, 1e-5)
    close(y, F.layer_norm(0.3 * a + b, (8,), gamma, beta))


def test_backward_passes_of_norms_equal_autograd():
    def leaves(*tensors):
        return [t.clone().requires_grad_() for t in tensors]

    a, b, gamma, beta, g = torch.randn(3, 8), torch.randn(3, 8), torch.rand(8), torch.rand(8), torch.randn(3, 8)
    x, w = leaves(a, gamma)
    F.rms_norm(x, (8,), w, 1e-6).backward(g)
    rstd = torch_npu.npu_rms_norm(*npu(a, gamma))[1]
    for got, wanted in zip(torch_npu.npu_rms_norm_backward(*npu(g, a, gamma), rstd), (x.grad, w.grad)):
        close(got, wanted, atol=1e-5, rtol=1e-4)
    x, y, w, c = leaves(a, b, gamma, beta)
    F.layer_norm(0.3 * x + y, (8,), w, c, 1e-6).backward(g)
    mean, rstd, _ = torch_npu.npu_deep_norm(*npu(a, b, beta, gamma))
    got = torch_npu.npu_deep_norm_backward(*npu(g, a, b, gamma), mean, rstd)
    for mine, wanted in zip(got, (x.grad, y.grad, c.grad, w.grad)):
        close(mine, wanted, atol=1e-5, rtol=1e-4)
    image, grad = torch.randn(2, 4, 3), torch.randn(2, 4, 3)
    x, w, c = leaves(image, torch.rand(4), torch.rand(4))
    n = F.group_norm(x, 2, w, c)
    (n * torch.sigmoid(1.5 * n)).backward(grad)
    y, mean, rstd = torch_npu.npu_group_norm_swish(image.npu(), 2, w.detach().npu(), c.detach().npu(), swish_scale=1.5)
    got = torch_npu.npu_group_norm_swish_grad(
        *npu(grad, image), 2, w.detach().npu(), c.detach().npu(), mean, rstd, [True] * 3, 1.5
    )
    for mine, wanted in zip(got, (x.grad, w.grad, c.grad)):
        close(mine, wanted, atol=1e-5, rtol=1e-4)


# ---- gated units ----
def test_gated_units_with_limits_and_rounding():
    x = torch.randn(5, 8) * 5
    got = torch_npu.npu_clipped_swiglu(x.npu(), group_index=torch.tensor([2, 1]).npu())
    gate, up = x[:, ::2].clamp(max=7), x[:, 1::2].clamp(-7, 7)
    wanted = gate * torch.sigmoid(1.702 * gate) * (up + 1)
    wanted[3:] = 0
    close(got, wanted)
    a, b = x.chunk(2, -1)
    quant, scale = torch_npu.npu_swiglu_quant(x.npu(), quant_mode=1, activate_left=True)
    close(quant.cpu() * scale.cpu()[:, None], F.silu(a) * b, atol=float(scale.max()), rtol=0)
    sums = torch.randint(-99, 99, (5, 8), dtype=torch.int32)
    weight, own = torch.rand(1, 8) * 0.1, torch.rand(5)
    quant, scale = torch_npu.npu_dequant_swiglu_quant(
        sums.npu(), weight_scale=weight.npu(), activation_scale=own.npu(), quant_mode=1, activate_left=True
    )
    a, b = (sums * weight * own[:, None]).chunk(2, -1)
    close(quant.cpu() * scale.cpu()[:, None], F.silu(a) * b, atol=float(scale.max()), rtol=0)


@pytest.mark.parametrize("name", ["npu_swiglu_backward", "npu_fast_gelu_backward", "npu_gelu_backward", "npu_geglu_grad"])
def test_backward_passes_of_activations(name):
    x = torch.randn(3, 8, requires_grad=True)
    a, b = x.chunk(2, -1)
    y = {
        "npu_swiglu_backward": F.silu(a) * b,
        "npu_fast_gelu_backward": x * torch.sigmoid(1.702 * x),
        "npu_gelu_backward": F.gelu(x),
        "npu_geglu_grad": a * F.gelu(b, approximate="tanh"),
    }[name]
    g = torch.randn_like(y)
    y.backward(g)
    more = [y.detach().npu()] if name == "npu_geglu_grad" else []
    close(getattr(torch_npu, name)(*npu(g, x.detach()), *more), x.grad, atol=1e-5, rtol=1e-4)

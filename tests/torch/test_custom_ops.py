# SPDX-License-Identifier: BSD-3-Clause
"""The custom operators against plain PyTorch on the CPU, strided inputs and gradients included."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu


def to_npu(*tensors):
    return [t.npu() for t in tensors]


def test_rms_norm_of_a_transposed_tensor():
    x, gamma = torch.randn(6, 4).t(), torch.rand(6)
    y, rstd = torch_npu.npu_rms_norm(*to_npu(x, gamma))
    torch.testing.assert_close(y.cpu(), F.rms_norm(x, (6,), gamma, 1e-6))
    assert rstd.shape == (4, 1) and rstd.dtype == torch.float32
    with pytest.raises(RuntimeError, match="trailing dimensions"):
        torch_npu.npu_rms_norm(x.npu(), torch.rand(5).npu())


def test_add_rms_norm_gives_the_sum_too():
    a, b, gamma = torch.randn(2, 3, 8), torch.randn(2, 3, 8), torch.rand(8)
    y, _, x = torch_npu.npu_add_rms_norm(*to_npu(a, b, gamma))
    torch.testing.assert_close(x.cpu(), a + b)
    torch.testing.assert_close(y.cpu(), F.rms_norm(a + b, (8,), gamma, 1e-6))


def test_gated_units():
    x = torch.randn(3, 8).t()
    torch.testing.assert_close(torch_npu.npu_swiglu(x.npu(), 0).cpu(), F.silu(x[:4]) * x[4:])
    torch.testing.assert_close(torch_npu.npu_geglu(x.npu(), 0)[0].cpu(), x[:4] * F.gelu(x[4:], approximate="tanh"))
    with pytest.raises(RuntimeError, match="odd size 3"):
        torch_npu.npu_swiglu(x.npu(), 1)


@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotary(mode):
    x, cos, sin = torch.randn(2, 5, 3, 8), torch.randn(1, 5, 1, 8), torch.randn(1, 5, 1, 8)
    got = torch_npu.npu_rotary_mul(*to_npu(x, cos, sin), mode)
    if mode == "half":
        turned = torch.cat((-x[..., 4:], x[..., :4]), -1)
    else:
        turned = torch.empty_like(x)
        turned[..., ::2], turned[..., 1::2] = -x[..., 1::2], x[..., ::2]
    torch.testing.assert_close(got.cpu(), x * cos + turned * sin)


def test_formats_are_tags():
    x = torch.randn(4, 4).npu()
    assert torch_npu.get_npu_format(x) == 2
    y = torch_npu.npu_format_cast(x, 29)
    assert torch_npu.get_npu_format(y) == 29 and torch_npu.get_npu_format(x) == 2 and torch.equal(x, y)
    with pytest.raises(RuntimeError, match="acl_format 77"):
        torch_npu.npu_format_cast(x, 77)


def test_scatter_nd_update():
    x = torch.zeros(4, 3)
    index, values = torch.tensor([[1], [3]]), torch.randn(2, 3)
    want = x.clone()
    want[[1, 3]] = values
    torch.testing.assert_close(torch_npu.npu_scatter_nd_update(*to_npu(x, index, values)).cpu(), want)


@pytest.mark.parametrize("layout", ["BSH", "SBH", "BSND", "BNSD"])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_fusion_attention_layouts_and_gradients(layout, kv_heads):
    torch.manual_seed(0)
    b, n, s, skv, d = 2, 4, 5, 7, 8
    q, k, v = torch.randn(b, n, s, d), torch.randn(b, kv_heads, skv, d), torch.randn(b, kv_heads, skv, d)
    left_out = torch.rand(b, 1, s, skv) < 0.3
    left_out[..., 0] = False
    forms = {
        "BNSD": lambda x: x,
        "BSND": lambda x: x.transpose(1, 2),
        "BSH": lambda x: x.transpose(1, 2).flatten(2),
        "SBH": lambda x: x.permute(2, 0, 1, 3).flatten(2),
    }
    on_cpu = [x.clone().requires_grad_() for x in (q, k, v)]
    want = forms[layout](F.scaled_dot_product_attention(*on_cpu, attn_mask=~left_out, enable_gqa=True))
    on_npu = [x.npu().requires_grad_() for x in (q, k, v)]
    got = torch_npu.npu_fusion_attention(*map(forms[layout], on_npu), n, layout, atten_mask=left_out.npu(), scale=d**-0.5)[0]
    torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-5)
    grad = torch.randn_like(want)
    want.backward(grad)
    got.backward(grad.npu())
    for a, e in zip(on_npu, on_cpu):
        torch.testing.assert_close(a.grad.cpu(), e.grad, rtol=1e-4, atol=1e-5)


def plain(q, k, v, keep):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


@pytest.mark.parametrize("mode", [2, 3, 4])
def test_fusion_attention_sparse_modes(mode):
    q, k, v = torch.randn(1, 2, 4, 8), torch.randn(1, 2, 6, 8), torch.randn(1, 2, 6, 8)
    place = torch.arange(6) - torch.arange(4).unsqueeze(1)
    keep = {2: place <= 0, 3: place <= 2, 4: (place - 2 <= 1) & (place - 2 >= -2)}[mode]
    band = dict(sparse_mode=mode, pre_tockens=2, next_tockens=1)
    got = torch_npu.npu_fusion_attention(*to_npu(q, k, v), 2, "BNSD", scale=8**-0.5, **band)
    torch.testing.assert_close(got[0].cpu(), plain(q, k, v, keep), rtol=1e-5, atol=1e-5)
    assert got[1].shape == (1, 2, 4, 8) and got[1].dtype == torch.float32


def test_fusion_attention_of_packed_sequences():
    q, k, v = (torch.randn(7, 2, 8) for _ in range(3))
    lengths = dict(actual_seq_qlen=[3, 7], actual_seq_kvlen=[3, 7])
    got = torch_npu.npu_fusion_attention(*to_npu(q, k, v), 2, "TND", scale=8**-0.5, **lengths)
    parts = [plain(*(x[a:b].transpose(0, 1) for x in (q, k, v)), None).transpose(0, 1) for a, b in ((0, 3), (3, 7))]
    torch.testing.assert_close(got[0].cpu(), torch.cat(parts), rtol=1e-5, atol=1e-5)


def test_fusion_attention_rows_without_keys_give_zero():
    q = torch.randn(1, 1, 2, 4)
    mask = torch.tensor([[True, True], [False, False]]).npu()
    out = torch_npu.npu_fusion_attention(q.npu(), q.npu(), q.npu(), 1, "BNSD", atten_mask=mask)[0]
    assert out[0, 0, 0].eq(0).all() and out.isfinite().all()


def peak_of(call):
    torch.npu.synchronize()
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_allocated()
    call()
    torch.npu.synchronize()
    return torch.npu.max_memory_allocated() - before


@pytest.mark.parametrize("layout,mode,keep_prob", [("BNSD", 0, 1.0), ("BSND", 2, 1.0), ("TND", 3, 1.0), ("BNSD", 2, 0.9)])
def test_fusion_attention_stores_no_scores(no_fallback, layout, mode, keep_prob):
    length, heads = 1024, 4
    shape = {"BNSD": (1, heads, length, 16), "BSND": (1, length, heads, 16), "TND": (length, heads, 16)}[layout]
    q, k, v = (torch.randn(shape, device="npu", requires_grad=True) for _ in range(3))
    ends = dict(actual_seq_qlen=[length // 2, length], actual_seq_kvlen=[length // 2, length]) if layout == "TND" else {}
    mask = torch.ones(length, length, dtype=torch.bool, device="npu").triu(1) if mode in (0, 2) else None

    def run():
        options = dict(atten_mask=mask, sparse_mode=mode, keep_prob=keep_prob, **ends)
        torch_npu.npu_fusion_attention(q, k, v, heads, layout, scale=0.25, **options)[0].sum().backward()

    scores = 4 * heads * length * length
    assert peak_of(run) < scores / 2  # a bit for each score where there is dropout; workspace and gradients


def test_fusion_attention_of_packed_sequences_has_gradients(no_fallback):
    torch.manual_seed(0)
    q, k, v = (torch.randn(9, 4, 8) for _ in range(3))
    ends, total = [4, 9], []
    for device in ("cpu", "npu"):
        leaves = [x.detach().clone().to(device).requires_grad_() for x in (q, k[:, :2], v[:, :2])]
        out = torch_npu.npu_fusion_attention(
            *leaves, 4, "TND", scale=0.3, sparse_mode=3, actual_seq_qlen=ends, actual_seq_kvlen=ends
        )
        out[0].mul(torch.linspace(-1, 1, 8, device=device)).sum().backward()
        total.append([*out[:3], *(x.grad for x in leaves)])
    for want, got in zip(*total):
        torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5)


def test_fusion_attention_with_a_bias_and_in_halves(no_fallback):
    torch.manual_seed(0)
    q, k, v, pse = torch.randn(2, 3, 6, 8), torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 4), torch.randn(1, 3, 6, 5)
    want = torch_npu.npu_fusion_attention(q, k, v, 3, "BNSD", pse=pse, scale=0.3)
    got = torch_npu.npu_fusion_attention(*to_npu(q, k, v), 3, "BNSD", pse=pse.npu(), scale=0.3)
    for a, b in zip(got[:3], want[:3]):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-4, atol=1e-5)
    halves = [x.npu().bfloat16().requires_grad_() for x in (q, k, v)]
    out = torch_npu.npu_fusion_attention(*halves, 3, "BNSD", pse=pse.npu().bfloat16(), scale=0.3)[0]
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float().cpu(), want[0], rtol=3e-2, atol=3e-2)
    out.sum().backward()
    assert all(x.grad.dtype == torch.bfloat16 and x.grad.isfinite().all() for x in halves)


def test_fusion_attention_drops_the_same_weights_backward(no_fallback):
    torch.manual_seed(0)
    q, k = torch.randn(2, 4, 64, 8, device="npu"), torch.randn(2, 4, 64, 8, device="npu")
    v = torch.ones(2, 4, 64, 8, device="npu", requires_grad=True)
    torch.npu.manual_seed(5)
    out = torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", scale=0.1, keep_prob=0.7)[0]
    assert abs(out.mean().item() - 1) < 0.05 and out.std().item() > 0.01
    weights = torch.randn_like(out)
    (out * weights).sum().backward()
    torch.testing.assert_close((v.grad * v).sum(), (out * weights).sum(), rtol=1e-4, atol=1e-3)
    torch.npu.manual_seed(5)
    again = torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", scale=0.1, keep_prob=0.7)[0]
    assert torch.equal(out, again)


def test_fusion_attention_refuses_what_it_does_not_know():
    q = torch.randn(1, 1, 2, 4).npu()
    with pytest.raises(RuntimeError, match="input_layout must be one of"):
        torch_npu.npu_fusion_attention(q, q, q, 1, "XYZ")
    with pytest.raises(NotImplementedError, match="not implemented for NPU"):
        torch_npu.npu_fusion_attention(q, q, q, 1, "BNSD", sparse_mode=6)


def test_scatter_update():
    cache, new = torch.randn(3, 2, 6, 4).transpose(1, 3), torch.randn(3, 4, 2, 2)
    where = torch.tensor([1, 4, 0])
    want = cache.clone()
    for i, at in enumerate(where.tolist()):
        want[i, :, at : at + 2] = new[i]
    got = torch_npu.scatter_update(*to_npu(cache, where, new), 2)
    torch.testing.assert_close(got.cpu(), want)
    mine = cache.npu()
    rows = torch.tensor([[2, 1], [0, 4], [1, 0]])
    torch_npu.scatter_update_(mine, *to_npu(rows, new), -2)
    want = cache.clone()
    for i, (row, at) in enumerate(rows.tolist()):
        want[row, :, at : at + 2] = new[i]
    torch.testing.assert_close(mine.cpu(), want)
    with pytest.raises(RuntimeError, match="do not fit axis 0"):
        torch_npu.scatter_update(*to_npu(cache, where, new), 0)


def test_one_hot():
    x = torch.tensor([[5, 3, 2], [1, 0, -1]]).t()
    got = torch_npu.npu_one_hot(x.npu(), depth=5, on_value=2, off_value=-1).cpu()
    assert got.dtype == torch.float32 and got.shape == (3, 2, 5)
    for i in range(3):
        for j in range(2):
            assert got[i, j].tolist() == [2.0 if d == x[i, j] else -1.0 for d in range(5)]
    torch.testing.assert_close(
        torch_npu.npu_one_hot(x.npu(), 0, 5).cpu(), torch_npu.npu_one_hot(x.npu(), -1, 5).cpu().movedim(-1, 0)
    )


def test_top_k_top_p():
    torch.manual_seed(3)
    logits, p, k = torch.randn(50, 8).t(), torch.rand(8), torch.randint(1, 51, (8,))
    for use_p, use_k in ((True, True), (True, False), (False, True)):
        got = torch_npu.npu_top_k_top_p(logits.npu(), p.npu() if use_p else None, k.npu() if use_k else None).cpu()
        for row in range(8):
            order = logits[row].argsort(descending=True)
            keep = order[: k[row]] if use_k else order
            if use_p:
                chance = logits[row][keep].softmax(-1)
                before = chance.cumsum(-1) - chance
                keep = keep[before < p[row]]
            want = torch.full((50,), float("-inf"))
            want[keep] = logits[row][keep]
            torch.testing.assert_close(got[row], want)


def test_small_ones():
    x = torch.randn(4, 6).t()
    torch.testing.assert_close(torch_npu.npu_mish(x.npu()).cpu(), F.mish(x))
    turned = torch_npu.npu_transpose(x.npu(), [1, 0])
    assert turned.is_contiguous() and torch.equal(turned.cpu(), x.t())
    assert torch.equal(torch_npu.npu_broadcast(x[:1].npu(), [3, 4]).cpu(), x[:1].expand(3, 4))
    assert torch.equal(torch_npu.npu_sort_v2(x.npu(), 0, True).cpu(), x.sort(0, True).values)

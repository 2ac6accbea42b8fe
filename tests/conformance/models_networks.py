# SPDX-License-Identifier: BSD-3-Clause
"""Plain networks and attention."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from models_common import CNN, GPT, Block, build, case, ce, img, lm, ri, rn, to, train


@case()
def mlp(dev):
    m = build(lambda: nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10)), dev)
    return train(m, [(rn(8, 20), ri(10, 8))], ce, dev)


@case()
def cnn_bn_pool_dropout(dev):
    m = build(CNN, dev)
    out = train(m, img(), ce, dev)
    m.eval()
    with torch.no_grad():
        out["eval"] = m(img()[0][0].to(dev))
    # dropout itself: random, so by its statistics
    x = torch.ones(200, 200, device=dev)
    y = F.dropout(x, 0.3, training=True)
    f = (y == 0).float().mean().item()
    assert abs(f - 0.3) < 0.02, f"dropout zeroes {f:.3f}, 0.3 asked"
    assert torch.allclose(y[y != 0].cpu(), torch.tensor(1 / 0.7)), "dropout does not rescale"
    z = F.dropout(x, 0.3, training=True)
    assert not torch.equal(y.cpu(), z.cpu()), "two dropout masks are the same"
    torch.manual_seed(5)
    a = F.dropout(x, 0.5)
    torch.manual_seed(5)
    b = F.dropout(x, 0.5)
    assert torch.equal(a.cpu(), b.cpu()), "dropout does not follow manual_seed"
    m2 = build(lambda: CNN(0.2), dev)
    ce(m2, *to(img()[0], dev)).backward()
    return out


@case()
def resnet(dev):
    m = build(
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 7, 2, 3, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            Block(8, 8),
            Block(8, 16, 2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, 10),
        ),
        dev,
    )
    return train(m, img(4, 3, 32), ce, dev)


@case()
def resnet_channels_last(dev):
    m = build(
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            Block(8, 16, 2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, 10),
        ),
        dev,
    )
    m = m.to(memory_format=torch.channels_last)
    return train(m, [(a.to(memory_format=torch.channels_last), b) for a, b in img()], ce, dev)


@case()
def depthwise_separable(dev):
    m = build(
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1),
            nn.Hardswish(),
            nn.Conv2d(8, 8, 3, padding=1, groups=8),
            nn.BatchNorm2d(8),
            nn.ReLU6(),
            nn.Conv2d(8, 16, 1),
            nn.Conv2d(16, 16, 3, padding=2, dilation=2, groups=4),
            nn.SiLU(),
            nn.AdaptiveMaxPool2d(2),
            nn.Flatten(),
            nn.Linear(64, 10),
        ),
        dev,
    )
    return train(m, img(), ce, dev)


def rnn_case(cls, **kw):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.e = nn.Embedding(30, 12)
            s.r = cls(12, 16, num_layers=2, batch_first=True, **kw)
            s.h = nn.Linear(16 * (2 if kw.get("bidirectional") else 1), 30)

        def forward(s, x):
            return s.h(s.r(s.e(x))[0])

    def f(dev):
        m = build(M, dev)
        return train(
            m,
            [(ri(30, 4, 9, seed=i), ri(30, 4, 9, seed=i + 5)) for i in range(2)],
            lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1), y.flatten()),
            dev,
        )

    return f


case("lstm")(rnn_case(nn.LSTM))
case("lstm_bidirectional")(rnn_case(nn.LSTM, bidirectional=True))
case("lstm_projected")(lambda dev: proj_lstm(dev))
case("gru")(rnn_case(nn.GRU))
case("rnn_tanh")(rnn_case(nn.RNN))


def proj_lstm(dev):
    m = build(lambda: nn.LSTM(6, 8, proj_size=4), dev)
    return train(m, [(rn(5, 3, 6), rn(5, 3, 4))], lambda m, x, y: F.mse_loss(m(x)[0], y), dev)


@case()
def lstm_packed_sequence(dev):
    m = build(lambda: nn.LSTM(6, 8), dev)
    P = nn.utils.rnn

    def lf(m, x, y):
        p = P.pack_padded_sequence(x, torch.tensor([7, 4, 2]), enforce_sorted=True)
        o, n = P.pad_packed_sequence(m(p)[0])
        return F.mse_loss(o, y)

    return train(m, [(rn(7, 3, 6), rn(7, 3, 8))], lf, dev)


@case()
def rnn_cells(dev):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.a, s.b, s.c = nn.LSTMCell(6, 8), nn.GRUCell(8, 8), nn.RNNCell(8, 8)

        def forward(s, x):
            h = c = u = v = x.new_zeros(x.shape[1], 8)
            for t in x:
                h, c = s.a(t, (h, c))
                u = s.b(h, u)
                v = s.c(u, v)
            return v

    return train(build(M, dev), [(rn(5, 3, 6), rn(3, 8))], lambda m, x, y: F.mse_loss(m(x), y), dev)


@case()
def transformer_encoder(dev):
    m = build(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True), 2), dev)
    out = train(m, [(rn(3, 6, 16), rn(3, 6, 16, seed=9))], lambda m, x, y: F.mse_loss(m(x), y), dev)
    m.eval()
    pad = torch.zeros(3, 6, dtype=torch.bool)
    pad[1, 4:] = True
    with torch.no_grad():  # the fused inference path
        out["eval"] = m(rn(3, 6, 16).to(dev))
        out["eval_pad"] = m(rn(3, 6, 16).to(dev), src_key_padding_mask=pad.to(dev))[:, :4]
    return out


@case()
def transformer_enc_dec(dev):
    m = build(lambda: nn.Transformer(16, 4, 2, 2, 32, dropout=0.0, batch_first=True, norm_first=True), dev)
    mask = nn.Transformer.generate_square_subsequent_mask(5).to(dev)
    return train(
        m,
        [(rn(3, 6, 16), rn(3, 5, 16, seed=9), rn(3, 5, 16, seed=10))],
        lambda m, s, t, y: F.mse_loss(m(s, t, tgt_mask=mask, tgt_is_causal=True), y),
        dev,
    )


@case()
def multihead_attention(dev):
    m = build(lambda: nn.MultiheadAttention(16, 4, batch_first=True, kdim=12, vdim=10, add_bias_kv=True), dev)
    pad = torch.zeros(3, 7, dtype=torch.bool)
    pad[0, 5:] = True
    pad = pad.to(dev)

    def lf(m, q, k, v, y):
        o, w = m(q, k, v, key_padding_mask=pad)
        return F.mse_loss(o, y) + w.pow(2).sum()

    return train(m, [(rn(3, 5, 16), rn(3, 7, 12), rn(3, 7, 10), rn(3, 5, 16, seed=3))], lf, dev)


@case()
def gpt_causal_sdpa(dev):
    m = build(GPT, dev)
    out = train(
        m,
        [(ri(40, 4, 13, seed=i),) for i in range(2)],
        lm,
        dev,
        opt=lambda p: torch.optim.AdamW(p, lr=3e-3),
        clip=lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0),
    )
    x = ri(40, 2, 3).to(dev)
    with torch.no_grad():
        for _ in range(6):
            x = torch.cat([x, m(x)[:, -1].argmax(-1, keepdim=True)], 1)
    out["greedy"] = x
    return out


@case()
def weight_tying_survives_to(dev):
    """Module.to() must keep shared parameters shared (a plain PrivateUse1 tensor breaks it: CPU and PrivateUse1 are
    not 'compatible shallow copy types', so each use gets a new Parameter)"""

    def mk():
        m = GPT()
        m.head.weight = m.te.weight
        return m

    m = build(mk, dev)
    assert m.head.weight is m.te.weight, "tied weights came apart in .to(device)"
    return train(m, [(ri(40, 4, 13),)], lm, dev)


@case()
def llama_block_rope_gqa(dev):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.n1, s.n2 = nn.RMSNorm(32), nn.RMSNorm(32)
            s.q, s.k, s.v, s.o = (
                nn.Linear(32, 32, False),
                nn.Linear(32, 16, False),
                nn.Linear(32, 16, False),
                nn.Linear(32, 32, False),
            )
            s.g, s.u, s.d = nn.Linear(32, 64, False), nn.Linear(32, 64, False), nn.Linear(64, 32, False)

        def rope(s, x):
            T, D = x.shape[-2], x.shape[-1]
            f = 1.0 / 10000 ** (torch.arange(0, D, 2, device=x.device).float() / D)
            a = torch.outer(torch.arange(T, device=x.device).float(), f)
            c, n = torch.cat([a, a], -1).cos(), torch.cat([a, a], -1).sin()
            x1, x2 = x.chunk(2, -1)
            return x * c + torch.cat([-x2, x1], -1) * n

        def forward(s, x):
            B, T, _ = x.shape
            y = s.n1(x)
            q = s.rope(s.q(y).view(B, T, 4, 8).transpose(1, 2))
            k = s.rope(s.k(y).view(B, T, 2, 8).transpose(1, 2))
            v = s.v(y).view(B, T, 2, 8).transpose(1, 2)
            x = x + s.o(
                F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2).reshape(B, T, 32)
            )
            y = s.n2(x)
            return x + s.d(F.silu(s.g(y)) * s.u(y))

    return train(build(M, dev), [(rn(2, 7, 32), rn(2, 7, 32, seed=8))], lambda m, x, y: F.mse_loss(m(x), y), dev)


@case()
def kv_cache_decode(dev):
    torch.manual_seed(0)
    wq, wk, wv = (rn(16, 16, seed=i).to(dev) / 4 for i in range(3))
    x = rn(1, 6, 16).to(dev)
    K = torch.zeros(1, 8, 16, device=dev)
    V = torch.zeros(1, 8, 16, device=dev)
    outs = []
    for t in range(6):
        K.index_copy_(1, torch.tensor([t], device=dev), x[:, t : t + 1] @ wk)
        V[:, t] = x[:, t] @ wv
        outs.append(F.scaled_dot_product_attention(x[:, t : t + 1] @ wq, K[:, : t + 1], V[:, : t + 1]))
    full = F.scaled_dot_product_attention(x @ wq, x @ wk, x @ wv, is_causal=True)
    o = torch.cat(outs, 1)
    assert torch.allclose(o.cpu(), full.cpu(), atol=1e-4), "cached and full attention differ"
    return {"o": o, "K": K}


@case()
def moe_topk_routing(dev):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.r = nn.Linear(8, 4)
            s.e = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

        def forward(s, x):
            w, i = s.r(x).softmax(-1).topk(2, -1)
            y = torch.zeros_like(x)
            for k, e in enumerate(s.e):
                t, j = (i == k).nonzero(as_tuple=True)
                y = y.index_add(0, t, e(x[t]) * w[t, j, None])
            return y

    return train(build(M, dev), [(rn(12, 8), rn(12, 8, seed=4))], lambda m, x, y: F.mse_loss(m(x), y), dev)

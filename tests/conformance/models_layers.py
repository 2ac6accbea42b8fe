# SPDX-License-Identifier: BSD-3-Clause
"""Layers of every kind, losses, and networks built around them."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from models_common import build, case, ce, ri, rn, train


@case()
def embedding_bag(dev):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.a, s.b, s.c = (
                nn.EmbeddingBag(30, 8, mode="mean"),
                nn.EmbeddingBag(30, 8, mode="sum", padding_idx=2),
                nn.EmbeddingBag(30, 8, mode="max"),
            )
            s.e, s.h = nn.Embedding(30, 8, padding_idx=0, max_norm=2.0), nn.Linear(32, 5)

        def forward(s, x, o):
            return s.h(torch.cat([s.a(x, o), s.b(x, o), s.c(x, o), s.e(x[: len(o)])], 1))

    return train(
        build(M, dev),
        [(ri(30, 11), torch.tensor([0, 3, 4, 8]), ri(5, 4))],
        lambda m, x, o, y: F.cross_entropy(m(x, o), y),
        dev,
    )


@case()
def embedding_sparse_grad(dev):
    m = build(lambda: nn.Embedding(20, 6, sparse=True), dev)
    return train(
        m,
        [(ri(20, 8), rn(8, 6))],
        lambda m, x, y: F.mse_loss(m(x), y),
        dev,
        opt=lambda p: torch.optim.SparseAdam(list(p), lr=0.05),
    )


@case()
def conv1d_wave(dev):
    m = build(
        lambda: nn.Sequential(
            nn.Conv1d(2, 8, 5, 2, 2),
            nn.BatchNorm1d(8),
            nn.LeakyReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(8, 8, 3, dilation=2, groups=2),
            nn.GLU(1),
            nn.AdaptiveAvgPool1d(3),
            nn.Flatten(),
            nn.Linear(12, 4),
        ),
        dev,
    )
    return train(m, [(rn(4, 2, 40), ri(4, 4))], ce, dev)


@case()
def conv3d_video(dev):
    m = build(
        lambda: nn.Sequential(
            nn.Conv3d(2, 4, 3, padding=1),
            nn.BatchNorm3d(4),
            nn.ReLU(),
            nn.MaxPool3d(2),
            nn.Conv3d(4, 6, 2),
            nn.AvgPool3d(2),
            nn.Flatten(),
            nn.LazyLinear(3),
        ),
        dev,
    )
    m.to(dev)
    m(rn(2, 2, 8, 8, 8).to(dev))
    torch.manual_seed(1)
    with torch.no_grad():
        m[-1].weight.copy_(rn(*m[-1].weight.shape) / 8)
        m[-1].bias.zero_()
    for b in m.modules():
        if isinstance(b, nn.BatchNorm3d):
            b.reset_running_stats()
    return train(m, [(rn(2, 2, 8, 8, 8), ri(3, 2))], ce, dev)


@case()
def conv_transposed_autoencoder(dev):
    m = build(
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 4, 2, 1),
            nn.ELU(),
            nn.ConvTranspose2d(8, 8, 4, 2, 1),
            nn.PReLU(8),
            nn.ConvTranspose2d(8, 3, 3, 1, 1, groups=1),
            nn.Sigmoid(),
        ),
        dev,
    )
    return train(m, [(rn(2, 3, 12, 12).sigmoid(),)], lambda m, x: F.binary_cross_entropy(m(x), x), dev)


@case()
def conv_transposed_1d_3d(dev):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.a, s.b = nn.ConvTranspose1d(3, 4, 3, 2, 1, 1), nn.ConvTranspose3d(2, 3, 2, 2)

        def forward(s, x, y):
            return s.a(x).pow(2).mean() + s.b(y).abs().mean()

    return train(build(M, dev), [(rn(2, 3, 9), rn(2, 2, 4, 4, 4))], lambda m, x, y: m(x, y), dev)


@case()
def norms(dev):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.n = nn.ModuleList(
                [
                    nn.GroupNorm(4, 8),
                    nn.InstanceNorm2d(8, affine=True),
                    nn.InstanceNorm2d(8, track_running_stats=True),
                    nn.LayerNorm([8, 6, 6]),
                    nn.RMSNorm([6, 6]),
                    nn.BatchNorm2d(8),
                    nn.BatchNorm2d(8, momentum=None),
                    nn.LocalResponseNorm(3),
                    nn.BatchNorm2d(8, affine=False),
                ]
            )

        def forward(s, x):
            return (
                sum((n(x) * (k + 1)).tanh().pow(2).mean((0, 2, 3)).sum() for k, n in enumerate(s.n)) + F.normalize(x, dim=1).sum()
            )

    return train(build(M, dev), [(rn(3, 8, 6, 6),), (rn(3, 8, 6, 6, seed=2) * 2,)], lambda m, x: m(x), dev)


@case()
def activations(dev):
    out = {}
    for k, mod in enumerate(
        [
            nn.ELU(),
            nn.Hardshrink(),
            nn.Hardsigmoid(),
            nn.Hardtanh(),
            nn.Hardswish(),
            nn.LeakyReLU(),
            nn.LogSigmoid(),
            nn.PReLU(),
            nn.ReLU(),
            nn.ReLU6(),
            nn.SELU(),
            nn.CELU(),
            nn.GELU(),
            nn.GELU("tanh"),
            nn.Sigmoid(),
            nn.SiLU(),
            nn.Mish(),
            nn.Softplus(),
            nn.Softshrink(),
            nn.Softsign(),
            nn.Tanh(),
            nn.Tanhshrink(),
            nn.Threshold(0.1, -1),
            nn.GLU(),
            nn.Softmin(-1),
            nn.Softmax(-1),
            nn.LogSoftmax(-1),
            nn.Softmax2d(),
        ]
    ):
        x = rn(2, 3, 4, 6).to(dev).requires_grad_()
        mod = mod.to(dev)
        y = mod(x)
        (y * y.detach().cos()).sum().backward()
        n = f"{k}{type(mod).__name__}"
        out[n], out[n + ".grad"] = y, x.grad
    return out


@case()
def losses(dev):
    out = {}
    x, y, c, p = rn(6, 5), rn(6, 5, seed=2), ri(5, 6), rn(6, 5, seed=3).sigmoid()
    s = torch.where(rn(6, seed=4) > 0, 1.0, -1.0)
    L = dict(
        l1=(nn.L1Loss(), x, y),
        mse=(nn.MSELoss(), x, y),
        smooth=(nn.SmoothL1Loss(beta=0.5), x, y),
        huber=(nn.HuberLoss(delta=0.7), x, y),
        ce=(nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2, 0.5, 1, 3]), label_smoothing=0.1, ignore_index=3), x, c),
        ce_soft=(nn.CrossEntropyLoss(), x, p.softmax(1)),
        nll=(nn.NLLLoss(), x.log_softmax(1), c),
        bce=(nn.BCELoss(), x.sigmoid(), p),
        bcel=(nn.BCEWithLogitsLoss(pos_weight=torch.full((5,), 2.0)), x, p),
        kl=(nn.KLDivLoss(reduction="batchmean"), x.log_softmax(1), p.softmax(1)),
        kll=(nn.KLDivLoss(reduction="sum", log_target=True), x.log_softmax(1), p.log_softmax(1)),
        poisson=(nn.PoissonNLLLoss(full=True), x, p),
        softm=(nn.SoftMarginLoss(), x, torch.where(y > 0, 1.0, -1.0)),
        mlm=(nn.MultiLabelMarginLoss(), x, torch.tensor([[1, 3, -1, 0, 2]] * 6)),
        mlsm=(nn.MultiLabelSoftMarginLoss(), x, (p > 0.5).float()),
        mm=(nn.MultiMarginLoss(), x, c),
        hinge=(nn.HingeEmbeddingLoss(), x, torch.where(y > 0, 1.0, -1.0)),
        gauss=(nn.GaussianNLLLoss(), x, y, p + 0.1),
        cos=(nn.CosineEmbeddingLoss(margin=0.2), x, y, s),
        rank=(nn.MarginRankingLoss(0.3), x[:, 0], y[:, 0], s),
        trip=(nn.TripletMarginLoss(), x, y, p),
        tripd=(nn.TripletMarginWithDistanceLoss(), x, y, p),
    )
    for k, (m, a, *r) in L.items():
        a = a.to(dev).detach().requires_grad_()
        loss = m.to(dev)(a, *[q.to(dev) for q in r])
        loss.backward()
        out[k], out[k + ".grad"] = loss, a.grad
    a = rn(12, 3, 6).to(dev).requires_grad_()
    loss = nn.CTCLoss()(a.log_softmax(2), ri(5, 3, 4).to(dev) + 1, torch.tensor([12, 10, 9]), torch.tensor([4, 3, 2]))
    loss.backward()
    out["ctc"], out["ctc.grad"] = loss, a.grad
    m = build(lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 12]), dev)
    out["adaptive"] = m(rn(6, 8).to(dev), ri(20, 6).to(dev)).loss
    return out


@case()
def unet_resampling(dev):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.a, s.b, s.c = (
                nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect"),
                nn.Conv2d(8, 16, 3, 2, 1),
                nn.Conv2d(24, 12, 3, padding=1, padding_mode="circular"),
            )

        def forward(s, x):
            u = F.relu(s.a(x))
            v = F.relu(s.b(u))
            y = s.c(torch.cat([u, F.interpolate(v, scale_factor=2, mode="bilinear", align_corners=False)], 1))
            z = F.pixel_shuffle(y, 2)
            th = torch.tensor([[[1.0, 0.1, 0], [0, 0.9, 0.1]]], device=x.device).expand(len(x), 2, 3)
            z = F.grid_sample(z, F.affine_grid(th, list(z.shape), align_corners=False), align_corners=False)
            w = F.interpolate(z, size=(10, 10), mode="bicubic") + F.interpolate(z, size=(10, 10), mode="nearest")
            return F.pad(w, (1, 1, 1, 1), mode="replicate").pow(2).mean() + F.unfold(u, 3).abs().mean()

    return train(build(M, dev), [(rn(2, 3, 8, 8),)], lambda m, x: m(x), dev)


@case()
def fft_complex_layer(dev):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.w = nn.Parameter(torch.randn(4, 9, dtype=torch.cfloat) * 0.3)
            s.h = nn.Linear(16, 4)

        def forward(s, x):
            return s.h(torch.fft.irfft(torch.fft.rfft(x) * s.w, n=16)).mean(1)

    return train(build(M, dev), [(rn(3, 4, 16), ri(4, 3))], ce, dev)


@case()
def vae(dev):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.e, s.d = nn.Linear(12, 8), nn.Linear(4, 12)

        def forward(s, x, eps):
            mu, lv = s.e(x).chunk(2, 1)
            y = s.d(mu + eps * (lv / 2).exp())
            return F.mse_loss(y, x) - 0.5 * (1 + lv - mu**2 - lv.exp()).mean()

    return train(build(M, dev), [(rn(5, 12), rn(5, 4))], lambda m, x, e: m(x, e), dev)


@case()
def gan_penalty_double_backward(dev):
    m = build(lambda: nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Softplus(), nn.Linear(16, 1)), dev)

    def lf(m, x):
        x = x.clone().requires_grad_()
        (gr,) = torch.autograd.grad(m(x).sum(), x, create_graph=True)
        return m(x).mean() + 10 * (gr.norm(dim=1) - 1).pow(2).mean()

    return train(m, [(rn(8, 6),)], lf, dev)


@case()
def graph_net_scatter(dev):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.a, s.b = nn.Linear(6, 8), nn.Linear(8, 3)

        def forward(s, x, e):
            deg = torch.zeros(len(x), device=x.device).scatter_add_(0, e[1], torch.ones(e.shape[1], device=x.device)).clamp(min=1)
            h = torch.zeros(len(x), 8, device=x.device).index_add(0, e[1], s.a(x)[e[0]]) / deg[:, None]
            h = h.scatter_reduce(0, e[1][:, None].expand(-1, 8), h[e[0]], "amax", include_self=True)
            return s.b(F.relu(h))

    return train(build(M, dev), [(rn(10, 6), ri(10, 2, 25), ri(3, 10))], lambda m, x, e, y: F.cross_entropy(m(x, e), y), dev)


@case()
def parametrizations(dev):
    P = nn.utils.parametrizations
    m = build(
        lambda: nn.Sequential(
            P.weight_norm(nn.Linear(6, 8)),
            nn.Tanh(),
            P.spectral_norm(nn.Linear(8, 8)),
            nn.Tanh(),
            P.orthogonal(nn.Linear(8, 8)),
        ),
        dev,
    )
    return train(m, [(rn(5, 6), rn(5, 8))], lambda m, x, y: F.mse_loss(m(x), y), dev)


@case()
def linalg_training(dev):
    m = build(lambda: nn.Linear(6, 6), dev)

    def lf(m, x):
        a = m(x)
        s = a.T @ a + torch.eye(6, device=a.device)
        return (
            torch.linalg.slogdet(s)[1]
            + torch.linalg.solve(s, x.T).pow(2).mean()
            + torch.linalg.cholesky(s).diagonal().sum()
            + torch.linalg.inv(s).trace()
            + torch.linalg.eigvalsh(s).sum() * 0.1
        )

    return train(m, [(rn(9, 6),)], lf, dev, opt=lambda p: torch.optim.SGD(p, lr=0.01))

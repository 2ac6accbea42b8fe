# SPDX-License-Identifier: BSD-3-Clause
"""torch_npu.contrib: functions and modules against PyTorch's own or their formulas."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch_npu.contrib import function, module
from torch_npu.contrib.module.multihead_attention import Matmul_transpose


def boxes(count, seed=0, size=100.0):
    generator = torch.Generator().manual_seed(seed)
    low = torch.rand(count, 2, generator=generator) * size
    return torch.cat((low, low + 5 + torch.rand(count, 2, generator=generator) * size / 3), 1)


@pytest.fixture(autouse=True)
def nothing_falls_back():
    torch.npu.utils.reset_cpu_fallback_count()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
    assert torch.npu.utils.cpu_fallback_count() == {}


# ---- boxes ----
def test_coder_values_of_the_official_page():
    anchors = torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]], device="npu")
    truth = torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]], device="npu")
    deltas = function.npu_bbox_coder_encode_xyxy2xywh(anchors, truth, stds=[0.1, 0.1, 0.2, 0.2])
    wanted = torch.tensor([[13.3281, 13.3281, 0, 0], [13.3281, 6.6641, 0, -5.4922]])
    torch.testing.assert_close(deltas.cpu(), wanted, rtol=1e-3, atol=1e-3)
    decoded = function.npu_bbox_coder_decode_xywh2xyxy(anchors, truth, max_shape=(10, 10), wh_ratio_clip=0.1)
    assert decoded.tolist() == [[2.5, 6.5, 9, 9], [9, 9, 9, 9]]


def test_coders_undo_each_other():
    anchors, truth = boxes(20).npu(), boxes(20, 1).npu()
    options = {"means": [0.1, 0.2, 0.0, -0.1], "stds": [0.1, 0.1, 0.2, 0.2]}
    deltas = function.npu_bbox_coder_encode_xyxy2xywh(anchors, truth, **options)
    torch.testing.assert_close(function.npu_bbox_coder_decode_xywh2xyxy(anchors, deltas, **options), truth, rtol=1e-4, atol=1e-3)
    scaled = function.npu_bbox_coder_encode_xyxy2xywh(anchors / 1e4, truth / 1e4, is_normalized=True, **options)
    torch.testing.assert_close(scaled, deltas, rtol=1e-3, atol=1e-3)


def test_yolo_coder():
    anchors, truth = boxes(9).npu(), boxes(9, 1).npu()
    deltas = function.npu_bbox_coder_encode_yolo(anchors, truth, torch.full((9,), 8, dtype=torch.int32).npu())
    a, t = anchors.cpu(), truth.cpu()
    shift = ((t[:, 0] + t[:, 2]) / 2 - (a[:, 0] + a[:, 2]) / 2) / 8 + 0.5
    torch.testing.assert_close(deltas[:, 0].cpu(), shift.clamp(1e-6, 1 - 1e-6))
    torch.testing.assert_close(deltas[:, 2].cpu(), ((t[:, 2] - t[:, 0]) / (a[:, 2] - a[:, 0])).log())


@pytest.mark.parametrize("name", ["encode_yolo", "encode_xyxy2xywh", "decode_xywh2xyxy"])
def test_bad_boxes(name):
    coder = getattr(function, f"npu_bbox_coder_{name}")
    rest = (torch.ones(3, device="npu"),) if name == "encode_yolo" else ()
    with pytest.raises(ValueError, match="Expected bboxes.size\\(0\\) =="):
        coder(boxes(3).npu(), boxes(4).npu(), *rest)
    with pytest.raises(ValueError, match="== 4"):
        coder(boxes(3).npu()[:, :3], boxes(3).npu(), *rest)


def area(b):
    return (b[2] - b[0]) * (b[3] - b[1])


def iou(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(w, 0) * max(h, 0)
    return common, area(a) + area(b) - common


def test_iou():
    first, second = boxes(6), boxes(4, 1)
    pairs = [[iou(a, b) for b in second.tolist()] for a in first.tolist()]
    got = function.npu_iou(first.npu(), second.npu(), mode="iou").cpu()
    torch.testing.assert_close(got, torch.tensor([[(c + 0.001) / (u + 0.001) for c, u in row] for row in pairs]))
    got = function.npu_ptiou(first.npu() / 100, second.npu() / 100, is_normalized=True).cpu()
    torch.testing.assert_close(got, torch.tensor([[c / (u + 0.001) for c, u in row] for row in pairs]), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="Expected mode in"):
        function.npu_iou(first.npu(), second.npu(), mode="giou")
    with pytest.warns(FutureWarning, match="npu_iou is deprecated"):
        function.npu_iou(first.npu(), second.npu())


def centred(b):
    return torch.cat(((b[:, :2] + b[:, 2:]) / 2, b[:, 2:] - b[:, :2]), 1)


def test_generalised_ious():
    first, second = boxes(7), boxes(7, 1)
    rows = []
    for a, b in zip(first.tolist(), second.tolist()):
        common, union = iou(a, b)
        hull = [min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])]
        giou = common / union - (area(hull) - union) / area(hull)
        far = (a[0] + a[2] - b[0] - b[2]) ** 2 / 4 + (a[1] + a[3] - b[1] - b[3]) ** 2 / 4
        diou = common / union - far / ((hull[2] - hull[0]) ** 2 + (hull[3] - hull[1]) ** 2)
        v = 4 / math.pi**2 * (math.atan((b[2] - b[0]) / (b[3] - b[1])) - math.atan((a[2] - a[0]) / (a[3] - a[1]))) ** 2
        rows.append((giou, diou, diou - v * v / (1 - common / union + v + 1e-7)))
    giou, diou, ciou = torch.tensor(rows).unbind(1)
    a, b = centred(first).npu().requires_grad_(), centred(second).npu()
    torch.testing.assert_close(function.npu_giou(a, b)[:, 0].cpu(), giou, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(function.npu_diou(a.t(), b.t())[0].cpu(), diou, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(function.npu_ciou(a.t(), b.t())[0].cpu(), ciou, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        function.npu_diou(first.npu().t(), second.npu().t(), trans=False)[0].cpu(), diou, rtol=1e-4, atol=1e-5
    )
    crossed = function.npu_diou(a.t(), b.t()[:, :3], is_cross=True)
    assert crossed.shape == (3, 7) and crossed[2, 2].item() == pytest.approx(diou[2].item(), rel=1e-3, abs=1e-5)
    function.npu_ciou(a.t(), b.t()).sum().backward()
    assert a.grad.isfinite().all() and a.grad.abs().sum() > 0
    with pytest.raises(ValueError, match="boxes1.shape == boxes2.shape"):
        function.npu_giou(a, b[:3])


def greedy(b, s, threshold):
    order, kept = sorted(range(len(s)), key=lambda i: -s[i]), []
    for i in order:
        pairs = [iou(b[i], b[k]) for k in kept]
        if all(c <= threshold * u for c, u in pairs):
            kept.append(i)
    return kept


def test_nms():
    b, scores = boxes(60, size=40.0), torch.rand(60, 4, generator=torch.Generator().manual_seed(3))
    found, labels = function.npu_multiclass_nms(b.npu(), scores.npu(), score_thr=0.3, nms_thr=0.4, max_num=200)
    wanted = []
    for label in range(3):
        over = [i for i in range(60) if scores[i, label] > 0.3]
        kept = greedy(b[over].tolist(), scores[over, label].tolist(), 0.4)
        wanted += [(scores[over[k], label].item(), label, b[over[k]].tolist()) for k in kept]
    wanted.sort(key=lambda row: -row[0])
    got = [(row[4], int(label), row[:4]) for row, label in zip(found.tolist(), labels.tolist()) if row[4] > 0]
    assert got == wanted and found.shape == (200, 5) and labels.shape == (200,)
    few, _ = function.npu_multiclass_nms(b.npu(), scores.npu(), 0.3, 0.4, 7, score_factors=torch.ones(60).npu())
    assert torch.equal(few, found[:7])
    both, both_labels = function.npu_batched_multiclass_nms(
        torch.stack((b, b)).npu(), torch.stack((scores, scores)).npu(), 0.3, 0.4, 7
    )
    assert torch.equal(both[1], few) and both_labels.shape == (2, 7)
    none, _ = function.npu_multiclass_nms(b.npu(), scores.npu(), score_thr=2.0)
    assert none.abs().sum().item() == 0
    with pytest.raises(ValueError, match="max_num must be 1 or more"):
        function.npu_multiclass_nms(b.npu(), scores.npu(), max_num=-1)
    with pytest.raises(ValueError, match="do not fit"):
        function.npu_multiclass_nms(b.npu()[:50], scores.npu())


def test_responsible_flags():
    truth = torch.tensor([[0.0, 0, 7, 9], [30, 20, 33, 22], [500, 500, 600, 600]], device="npu")
    flags = function.npu_single_level_responsible_flags((4, 5), truth, (8, 8), 3)
    wanted = torch.zeros(4, 5, 3, dtype=torch.uint8)
    wanted[0, 0] = wanted[2, 3] = 1
    assert flags.cpu().equal(wanted.reshape(-1))


# ---- parts of transformers ----
def test_condition_index_put():
    x = torch.randn(8, 9).npu()
    for value in (0, 1, -2.5):
        wanted = x.clone()
        wanted[x < 0.5] = value
        assert function.npu_fast_condition_index_put(x, x < 0.5, value).equal(wanted)
    with pytest.raises(TypeError, match="Expected condition.dtype in"):
        function.npu_fast_condition_index_put(x, x, 0)


def test_add_softmax_dropout():
    scores, mask = torch.randn(2, 3, 8, 8).npu(), torch.randn(2, 1, 1, 8).npu()
    wanted = (scores / 8 + mask).softmax(-1)
    got = function.fuse_add_softmax_dropout(False, torch.nn.Dropout(0.5), mask, scores, 64)
    torch.testing.assert_close(got, wanted)
    dropped = function.fuse_add_softmax_dropout(True, torch.nn.Dropout(0.5), mask, scores, 64)
    torch.testing.assert_close(dropped[dropped != 0], (2 * wanted)[dropped != 0])
    assert 0 < (function.fuse_add_softmax_dropout(True, None, mask, scores, 64, p=0.9) == 0).float().mean().item() < 1


def test_roll():
    x = torch.randn(2, 6, 5, 3).npu().requires_grad_()
    y = function.roll(x, shifts=(-2, 1), dims=(1, 2))
    assert y.equal(torch.roll(x, (-2, 1), (1, 2)))
    y.sum().backward()
    assert x.grad.equal(torch.ones_like(x))
    for bad in ((x[0], (1, 1), (1, 2)), (x, (1,), (1, 2)), (x, (1, 1), (1,))):
        with pytest.raises(ValueError, match="Expected"):
            function.roll(*bad)


def test_matmul_transpose():
    a, b = torch.randn(2, 3, 4).npu(), torch.randn(2, 5, 4).npu()
    assert function.matmul_transpose(a, b).equal(a @ b.mT) and Matmul_transpose(a, b).equal(a @ b.mT)


def test_fused_attention():
    torch.manual_seed(0)
    x, mask = torch.randn(2 * 5, 128), torch.randn(2, 1, 5, 5)
    kernels, biases = [torch.randn(128, 128) / 11 for _ in range(3)], [torch.randn(128) for _ in range(3)]
    q, k, v = ((x @ w + b).view(2, 5, 2, 64).transpose(1, 2) for w, b in zip(kernels, biases))
    wanted = ((q @ k.mT / 8 + mask).softmax(-1) @ v).transpose(1, 2).reshape(10, 128)
    on = [t.npu() for t in (x, mask, *kernels, *biases)]
    torch.testing.assert_close(function.npu_fused_attention(*on, scale=1 / 8).cpu(), wanted, rtol=1e-4, atol=1e-4)
    gamma, beta = torch.rand(128).npu(), torch.rand(128).npu()
    out, norm = function.npu_fused_attention_with_layernorm(*on, gamma, beta, scale=1 / 8)
    torch.testing.assert_close(norm, F.layer_norm(on[0], (128,), gamma, beta))
    torch.testing.assert_close(out, function.npu_fused_attention(norm, *on[1:], scale=1 / 8))
    for at, bad in ((0, torch.randn(10, 100)), (1, torch.randn(2, 5, 5)), (2, torch.randn(64, 64))):
        with pytest.raises(RuntimeError, match="compatibility failed"):
            function.npu_fused_attention(*[bad.npu() if k == at else t for k, t in enumerate(on)])


def test_dropout():
    x = torch.ones(1000, device="npu")
    y = function.dropout_with_byte_mask(x, 0.25)
    assert y.unique().tolist() == [0, pytest.approx(4 / 3)] and 150 < (y == 0).sum().item() < 350
    layer = module.DropoutWithByteMask(0.25)
    assert (layer(x) == 0).any() and layer.eval()(x).equal(x)
    for bad in (-0.1, 1.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            function.dropout_with_byte_mask(x, bad)
        with pytest.raises(ValueError, match="between 0 and 1"):
            module.DropoutWithByteMask(bad)
    with pytest.raises(ValueError, match="no in-place"):
        function.dropout_with_byte_mask(x, 0.5, inplace=True)


# ---- modules ----
def test_activations():
    x = torch.randn(50).npu()
    with pytest.warns(FutureWarning, match="use torch.nn.Mish"):
        assert module.Mish()(x).equal(F.mish(x))
    assert module.SiLU()(x).equal(F.silu(x)) and module.Swish is module.SiLU


def test_channel_shuffle():
    x1, x2 = torch.randn(2, 4, 3, 3).npu().requires_grad_(), torch.randn(2, 4, 3, 3).npu()
    wanted = F.channel_shuffle(torch.cat((x1, x2), 1).cpu(), 2)
    layer = module.ChannelShuffle(8, split_shuffle=False)
    assert layer(x1, x2).cpu().equal(wanted)
    first, second = module.ChannelShuffle(8)(x1, x2)
    assert first.cpu().equal(wanted[:, :4]) and second.cpu().equal(wanted[:, 4:])
    layer.check_self(x1)
    layer(x1, x2).sum().backward()
    assert x1.grad.equal(torch.ones_like(x1))
    with pytest.raises(ValueError, match="multiple of groups"):
        module.ChannelShuffle(7)


def test_label_smoothing():
    pred, target = torch.randn(6, 10).npu(), torch.randint(0, 10, (6,)).npu()
    got = module.LabelSmoothingCrossEntropy(10, 0.18)(pred, target)
    torch.testing.assert_close(got, F.cross_entropy(pred, target, label_smoothing=0.2))  # theirs: 0.2 over all ten
    torch.testing.assert_close(module.LabelSmoothingCrossEntropy(10)(pred, target), F.cross_entropy(pred, target))


def test_drop_path():
    x = torch.ones(400, 3, 2, device="npu")
    y = module.NpuDropPath(0.25)(x)
    rows = y.flatten(1).cpu().unique(dim=0).tolist()
    assert rows == [[0.0] * 6, [pytest.approx(4 / 3)] * 6] and 50 < (y[:, 0, 0] == 0).sum().item() < 150
    assert module.NpuDropPath(0.25).eval()(x) is x and module.NpuDropPath()(x) is x
    module.NpuDropPath.enable_droppath_ensemble(torch.nn.Linear(1, 1))
    with pytest.raises(TypeError, match="must be a torch.nn.Module"):
        module.NpuDropPath.enable_droppath_ensemble(3)
    with pytest.raises(RuntimeError, match="input type error"):
        module.NpuDropPath(0.5)([1])
    with pytest.raises(ValueError, match="drop_prob must be in"):
        module.NpuDropPath(1.0)


def test_cached_dropout():
    layer = module.NpuCachedDropout(0.5, module_name="attention")
    assert module.NpuFairseqDropout is module.NpuCachedDropout and layer.module_name == "attention"
    layer.enable_dropout_ensemble(torch.nn.Linear(1, 1))
    x = torch.ones(100, device="npu")
    assert (layer(x) == 0).any() and layer.eval()(x).equal(x)
    with pytest.raises(RuntimeError, match="input type error"):
        layer("x")
    with pytest.raises(TypeError, match="must be a torch.nn.Module"):
        layer.enable_dropout_ensemble(None)


def test_focus():
    torch.manual_seed(0)
    layer = module.Focus(3, 8, k=3)
    x = torch.randn(2, 3, 8, 10)
    quarters = [x[..., a::2, b::2] for b in (0, 1) for a in (0, 1)]
    conv, norm, act = layer.conv
    wanted = act(F.batch_norm(conv(torch.cat(quarters, 1)), None, None, norm.weight, norm.bias, True))
    torch.testing.assert_close(layer.npu()(x.npu()).cpu(), wanted, rtol=1e-3, atol=1e-4)
    assert isinstance(module.Focus(3, 8, act=False).conv[2], torch.nn.Identity)


def test_multihead_attention():
    torch.manual_seed(0)
    layer = module.MultiheadAttention(16, 4, dropout=0.5, self_attention=True).eval()
    reference = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    reference.in_proj_weight.data = torch.cat([p.weight.data for p in (layer.q_proj, layer.k_proj, layer.v_proj)])
    reference.in_proj_bias.data = torch.cat([p.bias.data for p in (layer.q_proj, layer.k_proj, layer.v_proj)])
    reference.out_proj.load_state_dict(layer.out_proj.state_dict())
    x, hidden = torch.randn(2, 5, 16), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    wanted, _ = reference(x, x, x, key_padding_mask=hidden)
    flat, mask = x.reshape(10, 16).npu(), hidden.view(2, 1, 1, 5).npu()
    layer = layer.npu()
    got, weights = layer(flat, flat, flat, 2, 5, 5, key_padding_mask=mask)
    torch.testing.assert_close(got.view(2, 5, 16).cpu(), wanted, rtol=1e-4, atol=1e-5)
    assert weights is None
    added = torch.zeros(2, 1, 1, 5).masked_fill(hidden.view(2, 1, 1, 5), -1e9).npu()
    torch.testing.assert_close(layer.multi_attn(flat, flat, flat, added, 2, 5), got, rtol=1e-4, atol=1e-5)
    assert layer.apply_sparse_mask(got, 5, 5, 2) is got and layer.transpose_for_scores(flat, 2).shape == (2, 4, 5, 4)
    layer.prepare_for_onnx_export_()
    layer.prepare_for_tpu_()
    assert layer.onnx_trace and layer.tpu
    state = {"a.in_proj_weight": torch.randn(48, 16), "a.in_proj_bias": torch.randn(48)}
    layer.upgrade_state_dict_named(state, "a")
    assert sorted(state) == [f"a.{p}_proj.{kind}" for p in "kqv" for kind in ("bias", "weight")]


def test_multihead_attention_options():
    noisy = module.MultiheadAttention(16, 2, q_noise=0.5, qn_block_size=8).npu()
    x = torch.randn(6, 16).npu()
    noisy(x, x, x, 2, 3, 3)
    noisy.reset_parameters()
    assert (noisy.q_proj.weight == 0).sum().item() == 0
    other = module.MultiheadAttention(16, 2, kdim=8, vdim=12, encoder_decoder_attention=True).npu()
    assert other(x, torch.randn(8, 8).npu(), torch.randn(8, 12).npu(), 2, 3, 4)[0].shape == (6, 16)
    for bad, text in (
        ({"num_heads": 3}, "divisible by num_heads"),
        ({"num_heads": 2, "kdim": 8, "self_attention": True}, "of the same size"),
        ({"num_heads": 2, "q_noise": 0.1, "qn_block_size": 7}, "multiple of block sizes"),
    ):
        with pytest.raises(ValueError, match=text):
            module.MultiheadAttention(16, **bad)
    with pytest.raises(NotImplementedError, match="add_bias_kv"):
        module.MultiheadAttention(16, 2, add_bias_kv=True)


def test_prefetcher():
    batches = [(torch.full((4,), float(k)).pin_memory(), torch.tensor([k])) for k in range(5)]
    ahead = module.Prefetcher(batches, stream=torch.npu.Stream())
    seen = []
    x, y = ahead.next()
    while x is not None:
        assert x.device.type == y.device.type == "npu"
        seen.append((x.sum().item(), y.item()))
        x, y = ahead.next()
    assert seen == [(4.0 * k, k) for k in range(5)] and ahead.next() == (None, None)


def test_names_of_the_package():
    import torch_npu.contrib as contrib

    for name in (*function.__all__[:-1], *module.__all__[:-1]):
        assert getattr(contrib, name) is not None


def test_lstm_in_both_directions():
    torch.manual_seed(0)
    layer, reference = module.BiLSTM(3, 4), torch.nn.LSTM(3, 4, bidirectional=True)
    for name, value in layer.fw_rnn.named_parameters():
        getattr(reference, name).data = value.data
        getattr(reference, name + "_reverse").data = dict(layer.bw_rnn.named_parameters())[name].data
    x = torch.randn(6, 2, 3)
    torch.testing.assert_close(layer.npu()(x.npu()).cpu(), reference(x)[0], rtol=1e-4, atol=1e-5)
    torch.npu.utils.reset_cpu_fallback_count()  # LSTM has no kernel of its own yet


# ---- modules beside the public ones ----
def test_batch_norms_that_count_in_int32():
    shapes = {1: (4, 3, 5), 2: (4, 3, 5, 2), 3: (4, 3, 5, 2, 2)}
    for dims, shape in shapes.items():
        ours = getattr(module, f"FastBatchNorm{dims}d")(3).npu()
        theirs = getattr(torch.nn, f"BatchNorm{dims}d")(3)
        x = torch.randn(shape)
        for _ in range(2):
            torch.testing.assert_close(ours(x.npu()).cpu(), theirs(x), rtol=1e-5, atol=1e-5)
        assert ours.num_batches_tracked.dtype == torch.int32 and ours.num_batches_tracked.item() == 2
        torch.testing.assert_close(ours.running_var.cpu(), theirs.running_var)
        with pytest.raises(ValueError, match="expected"):
            ours(torch.ones(1, device="npu"))
    assert module.FastBatchNorm2d(3, track_running_stats=False).num_batches_tracked is None
    assert module.FastSyncBatchNorm(3, dtype=torch.half).weight.dtype == torch.half
    assert module.DCNv2 is module.ModulatedDeformConv


def test_registered_dropout():
    dropout = module.NpuPreGenDropout(0.25)
    x = torch.ones(1000, device="npu")
    dropout.task_dict.clear()
    with pytest.raises(RuntimeError, match=r"0.25 is not registered.*enable_dropout_ensemble"):
        dropout(x)
    module.NpuPreGenDropout.enable_dropout_ensemble(torch.nn.Linear(1, 1))
    out = dropout(x)
    assert set(out.unique().tolist()) == {0.0, out.max().item()} and 600 < out.count_nonzero().item() < 900
    assert module.NpuPreGenDropout(0)(x) is not None and dropout.dropout_stream is not None
    with pytest.raises(RuntimeError, match="input type error"):
        dropout("x")


def test_colour_jitter():
    import numpy as np
    from PIL import Image

    picture = np.random.default_rng(0).integers(0, 256, (5, 4, 3), dtype=np.uint8)
    same = module.FusedColorJitter()
    assert repr(same) == "FusedColorJitter(brightness=None, contrast=None, saturation=None, hue=None)"
    assert (same(picture) == picture).all() and (np.asarray(same(Image.fromarray(picture))) == picture).all()
    half = module.FusedColorJitter(brightness=(0.5, 0.5))
    assert abs(half(picture).astype(int) * 2 - picture).max() <= 1
    grey = module.FusedColorJitter(saturation=(0, 0))(picture)
    luma = picture @ np.array([0.299, 0.587, 0.114])
    assert abs(grey - luma[..., None]).max() <= 1
    around = module.FusedColorJitter(hue=(0.5, 0.5))
    middle = np.full((1, 1, 3), 128, np.uint8) + np.array([20, 0, 0], np.uint8)
    assert abs(around(around(middle)).astype(int) - middle).max() <= 1
    flat = module.FusedColorJitter(contrast=(0, 0))(picture.astype(np.float32))
    assert np.allclose(flat, 127.5)
    for bad, kind in ((-1, ValueError), ((2, 1), ValueError), ("x", TypeError)):
        with pytest.raises(kind, match="brightness"):
            module.FusedColorJitter(brightness=bad)
    with pytest.raises(ValueError, match="a picture is"):
        same(picture[0])

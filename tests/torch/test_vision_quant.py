# SPDX-License-Identifier: BSD-3-Clause
"""Regions, deformable convolution and quantised numbers: the operators against their definitions written as loops, the official
documentation's own numbers, and the modules of torch_npu.contrib."""

import itertools
import math
import warnings

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from torch_npu.contrib import module


@pytest.fixture(autouse=True)
def nothing_falls_back():
    torch.npu.utils.reset_cpu_fallback_count()
    yield
    assert torch.npu.utils.cpu_fallback_count() == {}


# ---- RoI align ----
def roi_align(x, rois, scale, height, width, samples, shift, longer):
    """The definition, sample by sample."""
    channels, rows, columns = x.shape[1:]
    out = torch.zeros(len(rois), channels, height, width)
    for r, (image, x1, y1, x2, y2) in enumerate(rois.tolist()):
        left, top = x1 * scale - shift, y1 * scale - shift
        w, h = (x2 + longer) * scale - shift - left, (y2 + longer) * scale - shift - top
        if not shift:
            w, h = max(w, 1), max(h, 1)
        across, down = samples or max(1, math.ceil(w / width)), samples or max(1, math.ceil(h / height))
        for i, j, a, b in itertools.product(range(height), range(width), range(down), range(across)):
            v = top + (i + (a + 0.5) / down) * h / height
            u = left + (j + (b + 0.5) / across) * w / width
            if not (-1 <= v <= rows and -1 <= u <= columns):
                continue
            v, u = min(max(v, 0), rows - 1), min(max(u, 0), columns - 1)
            v0, u0 = int(v), int(u)
            v1, u1 = min(v0 + 1, rows - 1), min(u0 + 1, columns - 1)
            f, dv, du = x[int(image)], v - v0, u - u0
            value = (f[:, v0, u0] * (1 - dv) * (1 - du) + f[:, v0, u1] * (1 - dv) * du
                     + f[:, v1, u0] * dv * (1 - du) + f[:, v1, u1] * dv * du)  # fmt: skip
            out[r, :, i, j] += value / (across * down)
    return out


def regions(count, images, size):
    a, b = torch.rand(count, 2) * size - 5, torch.rand(count, 2) * size - 5
    return torch.cat((torch.randint(images, (count, 1)).float(), torch.minimum(a, b), torch.maximum(a, b)), 1)


@pytest.mark.parametrize("mode, shift, longer", [(0, 0, 0), (1, 0, 1), (2, 0.5, 0), (3, 0.5, 0)])
@pytest.mark.parametrize("samples", [0, 2, 3])
def test_roi_align(mode, shift, longer, samples):
    torch.manual_seed(mode)
    x, rois = torch.randn(2, 3, 9, 11), regions(7, 2, 60)
    got = torch_npu.npu_roi_align(x.npu(), rois.npu(), 0.25, 4, 3, samples, mode).cpu()
    torch.testing.assert_close(got, roi_align(x, rois, 0.25, 4, 3, samples, shift, longer), rtol=1e-4, atol=1e-5)


def test_roi_align_of_the_official_page():
    x = torch.arange(1.0, 37).view(1, 1, 6, 6).npu()
    rois = torch.tensor([[0, -2.0, -2.0, 22.0, 22.0]]).npu()
    out = torch_npu.npu_roi_align(x, rois, 0.25, 3, 3, 2, 0)
    assert out.flatten().tolist() == [4.5, 6.5, 8.5, 16.5, 18.5, 20.5, 28.5, 30.5, 32.5]
    back = torch_npu.npu_roi_alignbk(out, rois, x.shape, 3, 3, 0.25, 2).cpu()
    torch.testing.assert_close(back[0, 0, 0], torch.tensor([1.0786, 1.0557, 1.4942, 1.5248, 1.9226, 2.4709]), rtol=0, atol=6e-5)
    torch.testing.assert_close(back[0, 0, 5], torch.tensor([8.2847, 8.1084, 8.6403, 8.6774, 9.1598, 11.4575]), rtol=0, atol=6e-5)


def test_roi_align_module_in_steps_and_its_gradient(monkeypatch):
    from torch_npu.ops import vision

    x, rois = torch.randn(2, 3, 9, 11), regions(7, 2, 60)
    layer, mine = module.ROIAlign((4, 3), 0.25, 2), x.npu().requires_grad_()
    whole = layer(mine, rois.npu())
    monkeypatch.setattr(vision, "GATHERED", 1)  # a region at a time
    assert torch.equal(layer(mine, rois.npu()), whole)
    whole.square().sum().backward()
    theirs = x.requires_grad_()
    roi_align(theirs, rois, 0.25, 4, 3, 2, 0.5, 0).square().sum().backward()
    torch.testing.assert_close(mine.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-5)
    assert layer(mine, rois.npu()[:0]).shape == (0, 3, 4, 3)
    with pytest.raises(ValueError, match="rois.size"):
        layer(mine, rois.npu()[:, :4])
    with pytest.raises(RuntimeError, match="roi_end_mode must be 0, 1, 2 or 3, but is 7"):
        torch_npu.npu_roi_align(mine, rois.npu(), 0.25, 4, 3, 2, 7)


# ---- position-sensitive RoI pooling ----
def ps_roi_pool(x, rois, scale, groups, dim):
    rows, columns = x.shape[2:]
    boxes = rois.permute(0, 2, 1).reshape(-1, 5)
    out = torch.zeros(len(boxes), dim, groups, groups)
    for k, (image, x1, y1, x2, y2) in enumerate(boxes.tolist()):
        left, top, right, low = round(x1) * scale, round(y1) * scale, (round(x2) + 1) * scale, (round(y2) + 1) * scale
        w, h = max(right - left, 0.1) / groups, max(low - top, 0.1) / groups
        for d, i, j in itertools.product(range(dim), range(groups), range(groups)):
            a, b = (min(max(f, 0), rows) for f in (math.floor(i * h + top), math.ceil((i + 1) * h + top)))
            c, e = (min(max(f, 0), columns) for f in (math.floor(j * w + left), math.ceil((j + 1) * w + left)))
            if b > a and e > c and image < len(x):
                out[k, d, i, j] = x[int(image), (d * groups + i) * groups + j, a:b, c:e].mean()
    return out


def test_ps_roi_pooling():
    torch.manual_seed(0)
    x, rois = torch.randn(2, 4 * 9, 12, 10), torch.rand(2, 5, 6) * 100
    rois[:, 3:] += rois[:, 1:3].clone()
    rois[:, 0] = torch.tensor([[0.0], [1.0]])
    layer = module.PSROIPool(3, 3, 1 / 8, 3, 4)
    mine, theirs = x.npu().requires_grad_(), x.clone().requires_grad_()
    got, wanted = layer(mine, rois.npu()), ps_roi_pool(theirs, rois, 1 / 8, 3, 4)
    torch.testing.assert_close(got.cpu(), wanted, rtol=1e-4, atol=1e-5)
    got.square().sum().backward()
    wanted.square().sum().backward()
    torch.testing.assert_close(mine.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-5)
    grad = torch_npu.npu_ps_roi_pooling_backward(torch.ones_like(got), rois.npu(), 1 / 8, 3, 4, [12, 10])
    assert grad.shape == x.shape
    with pytest.raises(ValueError, match="only pooled_height == pooled_width == group_size supported"):
        module.PSROIPool(3, 4, 1 / 8, 3, 4)
    with pytest.raises(RuntimeError, match="output_dim"):
        layer(x[:, :8].npu(), rois.npu())


def test_ps_roi_pooling_of_the_official_page():
    rois = torch.arange(1.0, 11).view(2, 5, 1).half().npu()  # images that are not there
    out = torch_npu.npu_ps_roi_pooling(torch.arange(1.0, 17).view(2, 8, 1, 1).half().npu(), rois, 0.5, 2, 2)
    assert out.shape == (2, 2, 2, 2) and out.dtype == torch.float16 and not out.any()


# ---- deformable convolution ----
def moved(x, offset, kernel, stride, padding, dilation, groups):
    images, channels, rows, columns = x.shape
    kh, kw = kernel
    height, width = offset.shape[2:]
    out = torch.zeros(images, channels, height * kh, width * kw)
    parts = offset.view(images, 3, groups, kh, kw, height, width)
    places = itertools.product(range(images), range(channels), range(kh), range(kw), range(height), range(width))
    for n, c, a, b, i, j in places:
        dx, dy, factor = parts[n, :, c // (channels // groups), a, b, i, j].tolist()
        u, v = j * stride[3] - padding[2] + b * dilation[3] + dx, i * stride[2] - padding[0] + a * dilation[2] + dy
        value = 0.0
        for y, z in itertools.product((math.floor(v), math.floor(v) + 1), (math.floor(u), math.floor(u) + 1)):
            if 0 <= y < rows and 0 <= z < columns:
                value += x[n, c, y, z].item() * (1 - abs(v - y)) * (1 - abs(u - z))
        out[n, c, i * kh + a, j * kw + b] = value * factor
    return out


def test_deformable_convolution():
    torch.manual_seed(0)
    x, weight = torch.randn(2, 4, 7, 8), torch.randn(6, 2, 3, 2)
    options = {"kernel_size": [3, 2], "stride": [1, 1, 2, 1], "padding": [1, 1, 1, 0], "dilation": [1, 1, 1, 2], "groups": 2,
               "deformable_groups": 2}  # fmt: skip
    offset, bias = torch.randn(2, 3 * 2 * 6, 4, 7), torch.randn(6)
    out, at = torch_npu.npu_deformable_conv2d(x.npu(), weight.npu(), offset.npu(), bias.npu(), **options)
    wanted = moved(x, offset, [3, 2], [1, 1, 2, 1], [1, 1, 1, 0], [1, 1, 1, 2], 2)
    torch.testing.assert_close(at.cpu(), wanted, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(out.cpu(), F.conv2d(wanted, weight, bias, (3, 2), groups=2), rtol=1e-4, atol=1e-4)
    with pytest.raises(RuntimeError, match=r"offset \(N, 36, out_H, out_W\)"):
        torch_npu.npu_deformable_conv2d(x.npu(), weight.npu(), offset[:, 1:].npu(), None, **options)


def test_without_moves_it_is_a_convolution_and_so_are_its_gradients():
    torch.manual_seed(0)
    layer, plain = module.ModulatedDeformConv(4, 6, 3, 2, 1), torch.nn.Conv2d(4, 6, 3, 2, 1)
    with torch.no_grad():
        plain.weight.copy_(layer.weight)
        plain.bias.copy_(layer.bias)
        layer.conv_offset.bias[18:] = 40.0  # factors of 1
    x = torch.randn(2, 4, 9, 9)
    mine, theirs = x.npu().requires_grad_(), x.clone().requires_grad_()
    layer = layer.npu()
    out = layer(mine)
    assert type(out.grad_fn).__name__ == module.deform_conv.ModulatedDeformConv2dFunction.__name__ + "Backward"
    torch.testing.assert_close(out.cpu(), plain(theirs), rtol=1e-4, atol=1e-5)
    out.square().sum().backward()
    plain(theirs).square().sum().backward()
    torch.testing.assert_close(mine.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(layer.weight.grad.cpu(), plain.weight.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(layer.bias.grad.cpu(), plain.bias.grad, rtol=1e-4, atol=1e-4)
    assert layer.conv_offset.weight.grad.abs().sum() > 0


def test_gradients_of_moves():
    torch.manual_seed(0)
    layer = module.ModulatedDeformConv(2, 3, 3, padding=1, bias=False, pack=False).npu()
    x, offset, mask = torch.randn(1, 2, 5, 5), torch.randn(1, 18, 5, 5) * 0.3, torch.rand(1, 9, 5, 5)
    inputs = [t.npu().requires_grad_() for t in (x, offset, mask)]
    layer(inputs).sum().backward()
    for number, tensor in enumerate((x, offset, mask)):
        step, place = 1e-2, (0, 1, 2, 2)
        sums = []
        for sign in (1, -1):
            changed = [t.clone() for t in (x, offset, mask)]
            changed[number][place] += sign * step
            sums.append(layer([t.npu() for t in changed]).sum().item())
        slope = (sums[0] - sums[1]) / (2 * step)
        assert abs(inputs[number].grad[place].item() - slope) < 2e-3 * max(1, abs(slope)), number
        assert tensor.shape == inputs[number].grad.shape


# ---- quantised numbers ----
def test_scales_are_packed_as_documented():
    scale, offset = torch.randn(16), torch.randn(16) * 200
    packed = torch_npu.npu_trans_quant_param(scale.npu(), offset.npu()).cpu()
    for value, shift, word in zip(scale.tolist(), offset.tolist(), packed.tolist()):
        bits = torch.tensor(value).view(torch.int32).item() & 0xFFFFFFFF
        whole = max(min(round(shift), 255), -256)
        assert word == (bits & 0xFFFFE000) | 1 << 46 | (whole & 0x1FF) << 37
    plain = torch_npu.npu_trans_quant_param(scale.npu()).cpu()
    assert all(word >> 32 == 1 << 14 for word in plain.tolist())
    assert abs(torch_npu.npu_trans_quant_param(scale.npu(), None, 1).cpu() - plain).max() <= 0x2000


def test_quantize():
    x, scale, zero = torch.randn(2, 3, 16), torch.rand(16) + 0.5, torch.randint(-3, 4, (16,)).float()
    got = torch_npu.npu_quantize(x.npu(), scale.npu(), zero.npu(), torch.qint8, -1, False)
    assert got.dtype == torch.int8 and torch.equal(got.cpu(), (x * scale + zero).round().clamp(-128, 127).to(torch.int8))
    got = torch_npu.npu_quantize(x.npu(), torch.tensor([0.01]).npu(), None, torch.qint8, 0)
    assert torch.equal(got.cpu(), (x / 0.01).round().clamp(-128, 127).to(torch.int8))
    assert torch_npu.npu_quantize(x.npu(), scale.npu(), zero.npu(), torch.quint8, 2).dtype == torch.uint8
    packed = torch_npu.npu_quantize(x.npu(), scale.npu(), None, torch.quint4x2, -1, False)
    assert packed.dtype == torch.int32 and packed.shape == (2, 3, 2)
    nibbles = [[(word >> 4 * k & 15) - (word >> 4 * k & 8) * 2 for k in range(8)] for word in packed.flatten().tolist()]
    wanted = (x * scale).round().clamp(-8, 7)
    assert torch.equal(torch.tensor(nibbles).view(2, 3, 16).float(), wanted)
    with pytest.raises(RuntimeError, match="the result's type must be one of int8, uint8, int32, quint4x2"):
        torch_npu.npu_quantize(x.npu(), scale.npu(), None, torch.float16, -1)
    with pytest.raises(RuntimeError, match="multiple of 8"):
        torch_npu.npu_quantize(x[..., :9].npu(), torch.ones(1).npu(), None, torch.quint4x2, -1, False)


def integers(*size, low=-128, high=128):
    return torch.randint(low, high, size, dtype=torch.int8)


def test_quantised_product_is_exact():
    a, b, bias = integers(5, 3000), integers(3000, 16), torch.randint(-9999, 9999, (16,), dtype=torch.int32)
    got = torch_npu.npu_quant_matmul(a.npu(), b.npu(), torch.ones(1).npu(), bias=bias.npu(), output_dtype=torch.int32)
    assert torch.equal(got.cpu().long(), a.long() @ b.long() + bias)
    scale, token = torch.rand(16) / 1e4, torch.rand(5)
    got = torch_npu.npu_quant_matmul(a.npu(), b.npu(), scale.npu(), pertoken_scale=token.npu(), output_dtype=torch.bfloat16)
    wanted = (a.double() @ b.double()) * scale * token[:, None]
    torch.testing.assert_close(got.cpu().double(), wanted, rtol=8e-3, atol=1e-3)
    with pytest.raises(RuntimeError, match="has 3000 columns and x2 .* 5 rows"):
        torch_npu.npu_quant_matmul(a.npu(), a.npu(), scale.npu())
    with pytest.raises(RuntimeError, match="must both be int8, or both int32"):
        torch_npu.npu_quant_matmul(a.npu(), b.npu().float(), scale.npu())


@pytest.mark.parametrize("transposed", [False, True])
def test_int4_product(transposed):
    a, b = integers(6, 64, low=-8, high=8), integers(64, 16, low=-8, high=8)
    pack = torch_npu.npu_convert_weight_to_int4pack
    left = pack(a.int().npu())
    right = pack(b.t().contiguous().int().npu()).t() if transposed else pack(b.int().npu())
    one = torch_npu.npu_trans_quant_param(torch.ones(1).npu())
    got = torch_npu.npu_quant_matmul(left, right, one, output_dtype=torch.float16)
    assert torch.equal(got.cpu().float(), a.float() @ b.float())


def test_scales_by_groups():
    a, b = integers(6, 64, low=-8, high=8), integers(64, 16, low=-8, high=8)
    scale, shift = torch.rand(2, 16), torch.randint(-3, 4, (2, 16)).half()
    wide = ((b.float().view(2, 32, 16) - shift.float()[:, None]) * scale[:, None]).view(64, 16)
    got = torch_npu.npu_quant_matmul(a.npu(), b.npu(), scale.npu(), offset=shift.npu(), pertoken_scale=torch.ones(6, 1).npu(),
                                     output_dtype=torch.float32, group_sizes=[1, 1, 32])  # fmt: skip
    torch.testing.assert_close(got.cpu(), a.float() @ wide, rtol=1e-4, atol=1e-3)


def test_weight_only_product():
    x, weight, scale, shift = torch.randn(5, 64), integers(64, 24), torch.rand(24) / 100, torch.randint(-5, 5, (24,)).float()
    got = torch_npu.npu_weight_quant_batchmatmul(x.half().npu(), weight.npu(), scale.half().npu(), shift.half().npu())
    wanted = x.half().float() @ ((weight.float() + shift) * scale.half().float())
    assert got.dtype == torch.float16
    torch.testing.assert_close(got.cpu().float(), wanted, rtol=2e-3, atol=2e-3)
    by_group = torch.rand(2, 24) / 100
    got = torch_npu.npu_weight_quant_batchmatmul(x.half().npu(), weight.npu(), by_group.half().npu(), antiquant_group_size=32)
    wanted = x.half().float() @ (weight.float() * by_group.half().float().repeat_interleave(32, 0))
    torch.testing.assert_close(got.cpu().float(), wanted, rtol=2e-3, atol=5e-3)
    quant = torch_npu.npu_trans_quant_param(torch.full((1,), 0.5).npu(), torch.tensor([3.0]).npu())
    small = torch_npu.npu_weight_quant_batchmatmul(x.half().npu(), weight.npu(), scale.half().npu(), None, quant)
    assert small.dtype == torch.int8


def test_dynamic_quant_and_back():
    x = torch.randn(4, 32).half()
    rows, scale = torch_npu.npu_dynamic_quant(x.npu())
    assert rows.dtype == torch.int8 and scale.shape == (4,)
    torch.testing.assert_close(scale.cpu(), x.float().abs().amax(-1) / 127)
    torch.testing.assert_close(rows.cpu().float() * scale.cpu()[:, None], x.float(), rtol=0, atol=0.02)
    back = torch_npu.npu_anti_quant(rows, torch.ones(32).npu(), offset=torch.ones(32).npu())
    assert back.dtype == torch.float16 and torch.equal(back.cpu(), rows.cpu().half() + 1)
    packed, _ = torch_npu.npu_dynamic_quant(x.npu(), dst_type=torch.quint4x2)
    assert packed.shape == (4, 4) and torch_npu.npu_anti_quant(packed, torch.ones(1).npu()).abs().max() <= 7
    smooth, ends = torch.rand(2, 32).half(), torch.tensor([1, 4], dtype=torch.int32)
    got, scale = torch_npu.npu_dynamic_quant(x.npu(), smooth_scales=smooth.npu(), group_index=ends.npu())
    torch.testing.assert_close(scale.cpu(), (x.float() * smooth.float()[[0, 1, 1, 1]]).abs().amax(-1) / 127)
    zeros, scale = torch_npu.npu_dynamic_quant(torch.zeros(2, 8).half().npu())
    assert not zeros.any() and not scale.any()


def test_quantised_convolution():
    x, weight, bias = integers(1, 2, 6, 6, low=-4, high=4), integers(3, 2, 3, 3, low=-4, high=4), torch.tensor([5, -6, 7]).int()
    scale = torch.tensor([0.5, 0.25, 2.0])
    layer = module.QuantConv2d(2, 3, 3, torch.float16, padding=1, offset_x=2)
    layer.weight.data, layer.scale.data, layer.bias.data = weight, scale, bias
    got = layer.npu()(x.npu())
    plain = F.conv2d(F.pad(x.float(), [1, 1, 1, 1], value=2), weight.float(), bias.float())
    assert got.dtype == torch.float16 and torch.equal(got.cpu().float(), plain * scale[:, None, None])
    with pytest.raises(ValueError, match="offset must be False"):
        module.QuantConv2d(2, 3, 3, torch.float16, offset=True)


@pytest.mark.parametrize("name", ["LinearQuant", "LinearA8W8Quant"])
def test_quantised_linear_layers(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        layer = getattr(module, name)(64, 16, bias=True, output_dtype=torch.float16)
    x, weight = integers(5, 64, low=-5, high=5), integers(16, 64, low=-5, high=5)
    scale, bias = torch.rand(16), torch.arange(16).int()
    layer.weight.data, layer.scale.data, layer.bias.data = weight, scale, bias
    got = layer.npu()(x.npu()).cpu().float()
    torch.testing.assert_close(got, (x.float() @ weight.float().t() + bias) * scale, rtol=2e-3, atol=1e-2)
    with pytest.raises(ValueError, match="should be both torch.int32 or both torch.int8"):
        layer(x.npu().float())


def test_linear_layer_with_a_quantised_weight():
    layer = module.LinearWeightQuant(64, 16, bias=False)
    x, weight, scale = torch.randn(5, 64).half(), integers(16, 64), (torch.rand(16) / 100).half()
    layer.weight.data, layer.antiquant_scale.data = weight, scale
    got = layer.npu()(x.npu()).cpu().float()
    torch.testing.assert_close(got, x.float() @ (weight.float() * scale.float()[:, None]).t(), rtol=2e-3, atol=2e-3)

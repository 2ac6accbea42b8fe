# SPDX-License-Identifier: BSD-3-Clause
"""Slices, masks, dropout, optimizer steps and convolutions under their NPU names, against plain PyTorch on the CPU."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu


def npu(*tensors):
    return [t.npu() for t in tensors]


def close(a, b, **how):
    torch.testing.assert_close(a.cpu(), b, **how)


def test_slices_pads_and_strides():
    x = torch.arange(24.0).view(2, 3, 4)
    own = x.npu()
    close(torch_npu.npu_slice(own, [0, 1, 2], [2, 2, 1]), x[:, 1:3, 2:3])
    close(torch_npu.npu_pad(own, [0, 1, 2, 0, 1, 1]), F.pad(x, [1, 1, 2, 0, 0, 1]))
    close(torch_npu.npu_stride_copy(own, [2, 2], [1, 3], 4), x.as_strided([2, 2], [1, 3], 4))
    out = torch.empty(2, 2, 1).npu()
    assert torch.ops.npu.npu_slice.out(own, [0, 1, 2], [2, 2, 1], out=out) is out
    close(out, x[:, 1:3, 2:3])
    with pytest.raises(RuntimeError, match="paddings must have 6 numbers"):
        torch_npu.npu_pad(own, [1, 1])


def test_indexing_with_each_mask():
    x = torch.arange(24.0).view(2, 3, 4)
    own = x.npu()
    close(torch_npu.npu_indexing(own, [0, 0, 3], [2, 2, 0], [1, 1, -2]), x[0:2, 0:2].flip(-1)[..., ::2][..., :2])
    close(torch_npu.npu_indexing(own, [1, 1], [9, 9], [1, 1], begin_mask=2), x[1:9, :9])
    close(torch_npu.npu_indexing(own, [0, 1], [0, 2], [1, 1], ellipsis_mask=1), x[..., 1:2])
    close(torch_npu.npu_indexing(own, [0, 1], [0, 2], [1, 1], new_axis_mask=1), x[None, 1:2])
    close(torch_npu.npu_indexing(own, [-1, 0], [0, 2], [1, 1], shrink_axis_mask=1), x[-1, 0:2])


def test_ranges_signs_and_extremes():
    x = torch.randn(2, 3, 4)
    start, end = torch.tensor([[0, 1]]).int(), torch.tensor([[2, 3]]).int()
    wanted = x.clone()
    wanted[0, :, 0:2] = wanted[1, :, 1:3] = 7
    close(torch_npu.npu_masked_fill_range(*npu(x, start, end, torch.tensor([7.0])), 2), wanted)
    flat = torch.randn(19)
    packed = torch_npu.npu_sign_bits_pack(flat.npu(), 1)
    bits = torch_npu.npu_sign_bits_unpack(packed, 1, torch.float32)[0, :19]
    close(bits, (flat >= 0).float() * 2 - 1)
    for name in ("max", "min"):
        values, indices = getattr(torch_npu, f"npu_{name}")(x.npu(), 1)
        wanted = getattr(x, name)(1)
        close(values, wanted.values)
        close(indices, wanted.indices.int())
        grad = getattr(torch_npu, f"npu_{name}_backward")(values, 1, indices, [2, 3, 4], False)
        close(grad, torch.zeros(2, 3, 4).scatter(1, wanted.indices[:, None], wanted.values[:, None]))


def test_dropout_masks_say_what_was_kept():
    x = torch.ones(1000).npu()
    y, mask = torch_npu._npu_dropout(x, 0.25)
    kept = (y != 0).cpu()
    assert 0.6 < kept.float().mean() < 0.9 and mask.numel() == 128
    close(y[kept.npu()], torch.full((int(kept.sum()),), 1 / 0.75))
    close(torch_npu.npu_dropout_backward(x, mask, 0.25), y.cpu())
    same = [torch_npu._npu_dropout_gen_mask(x, [1000], 0.5, 3, 4) for _ in range(2)]
    assert torch.equal(*same)
    logits, bias = torch.randn(2, 5), torch.randn(2, 5)
    mask, soft, out = torch_npu.npu_dropout_with_add_softmax(*npu(bias, logits), 0.5, 0.0, -1)
    close(soft, (logits + bias * 0.5).softmax(-1))
    close(out, soft.cpu())
    a, b = bias.clone().requires_grad_(), logits.clone().requires_grad_()
    (b + a * 0.5).softmax(-1).backward(bias)
    got = torch_npu.npu_dropout_with_add_softmax_backward(bias.npu(), mask, soft, 0.5, 0.0, -1)
    close(got[0], a.grad)
    close(got[1], b.grad)
    with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1"):
        torch_npu._npu_dropout(x, 1.5)


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_optimizer_steps_equal_pytorchs(kind):
    start, grads = torch.randn(6), torch.randn(3, 6)
    parameter = torch.nn.Parameter(start.clone())
    optimizer, decay = (torch.optim.Adam, 0.0) if kind == "adam" else (torch.optim.AdamW, 0.3)
    theirs = optimizer([parameter], lr=0.1, weight_decay=decay)
    var, m, v = npu(start, torch.zeros(6), torch.zeros(6))
    for t, grad in enumerate(grads, 1):
        parameter.grad = grad
        theirs.step()
        if kind == "adam":
            powers = 0.9**t, 0.999**t
            torch_npu.npu_apply_adam(*powers, 0.1, 0.9, 0.999, 1e-10, grad.npu(), False, False, out=(var, m, v))
        else:
            powers = 0.9 ** (t - 1), 0.999 ** (t - 1)
            torch_npu.npu_apply_adam_w(*powers, 0.1, 0.3, 0.9, 0.999, 1e-8, grad.npu(), None, False, False, out=(var, m, v))
    close(var, parameter.detach(), atol=1e-5, rtol=1e-5)
    with pytest.raises(RuntimeError, match=r"give out=\(var, m, v\)"):
        torch_npu.npu_apply_adam(0.9, 0.9, 0.1, 0.9, 0.999, 1e-8, grads[0].npu(), False, False)


def test_convolutions_with_unequal_pads():
    x, w = torch.randn(2, 3, 5, 6), torch.randn(4, 3, 2, 3)
    got = torch_npu.npu_conv2d(*npu(x, w), None, [1, 2], [1, 0, 2, 1], [1, 1], 1)
    leaf, kernel = x.clone().requires_grad_(), w.clone().requires_grad_()
    y = F.conv2d(F.pad(leaf, [2, 1, 1, 0]), kernel, None, [1, 2])
    close(got, y.detach(), atol=1e-4, rtol=1e-4)
    grad = torch.randn_like(y)
    y.backward(grad)
    dx, dw, db = torch_npu.npu_conv2d_backward(
        *npu(x, grad, w), [1, 2], [1, 0, 2, 1], [1, 1], 1, [True, True, True]
    )
    close(dx, leaf.grad, atol=1e-4, rtol=1e-4)
    close(dw, kernel.grad, atol=1e-4, rtol=1e-4)
    close(db, grad.sum((0, 2, 3)), atol=1e-4, rtol=1e-4)
    t = torch_npu.npu_conv_transpose2d(x.npu(), torch.ones(3, 2, 2, 2).npu(), None, [0, 0], [0, 0], [2, 2], [1, 1], 1)
    close(t, F.conv_transpose2d(x, torch.ones(3, 2, 2, 2), stride=2), atol=1e-5, rtol=1e-5)


def test_products_with_an_ending():
    a, b, c = torch.randn(3, 4), torch.randn(4, 5), torch.randn(3, 5)
    close(torch_npu.npu_fused_matmul(*npu(a, b), x3=c.npu(), fused_op_type="mul"), a @ b * c)
    close(torch_npu.npu_fused_matmul(*npu(a, b), fused_op_type="gelu_tanh"), F.gelu(a @ b, approximate="tanh"))
    left, right = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    close(torch_npu.npu_transpose_batchmatmul(*npu(left, right)), (left @ right).transpose(0, 1))
    with pytest.raises(RuntimeError, match="needs x3"):
        torch_npu.npu_fused_matmul(*npu(a, b), fused_op_type="add")


def test_format_of_another_tensor_and_back_to_the_default():
    x, like = torch.randn(2, 2, 4, 4).npu(), torch_npu.npu_format_cast(torch.randn(2, 2, 4, 4).npu(), 3)
    cast = torch_npu.npu_format_cast(x, like)
    assert torch_npu.get_npu_format(cast) == torch_npu.Format.NC1HWC0 == 3
    assert torch_npu.get_npu_format(torch_npu.npu_format_cast(cast, 2)) is torch_npu.Format.NCHW


def test_hooks_of_a_parameter_stay_when_its_module_moves():
    module, seen = torch.nn.Linear(3, 2), []
    module.weight.register_hook(lambda grad: seen.append(grad.device.type))
    module.bias.register_post_accumulate_grad_hook(lambda parameter: seen.append(parameter.grad.device.type))
    module.npu()(torch.ones(1, 3).npu()).sum().backward()
    assert seen == ["npu", "npu"]

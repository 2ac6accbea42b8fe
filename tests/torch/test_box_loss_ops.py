# SPDX-License-Identifier: BSD-3-Clause
"""Operators on boxes and losses under their NPU names, against formulas in plain PyTorch on the CPU."""

import math

import pytest
import torch
import torch.nn.functional as F
import torch_npu


def npu(*tensors):
    return [t.npu() for t in tensors]


def close(a, b, **how):
    torch.testing.assert_close(a.cpu(), b, **how)


def boxes(n):
    start = torch.rand(n, 2) * 10
    return torch.cat((start, start + torch.rand(n, 2) * 8 + 1), 1)


def overlap(a, b):
    """(overlap, union, width and height around both) of two boxes of four numbers."""
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(w, 0) * max(h, 0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
    return common, union, max(a[2], b[2]) - min(a[0], b[0]), max(a[3], b[3]) - min(a[1], b[1])


def test_overlaps_of_pairs_and_of_all():
    a, b = boxes(4), boxes(3)

    def giou(p, q):
        common, union, w, h = overlap(p, q)
        return common / union - (w * h - union) / (w * h)

    def diou(p, q):
        common, union, w, h = overlap(p, q)
        apart = ((q[0] + q[2] - p[0] - p[2]) ** 2 + (q[1] + q[3] - p[1] - p[3]) ** 2) / 4
        return common / union - apart / (w * w + h * h)

    def ciou(p, q):
        common, union, _, _ = overlap(p, q)
        v = 4 / math.pi**2 * (math.atan((q[2] - q[0]) / (q[3] - q[1])) - math.atan((p[2] - p[0]) / (p[3] - p[1]))) ** 2
        return diou(p, q) - v * v / (1 - common / union + v)

    for name, f in (("npu_giou", giou), ("npu_diou", diou), ("npu_ciou", ciou)):
        got = getattr(torch_npu, name)(*npu(a.t().contiguous(), b.t().contiguous()), False, True)
        close(got, torch.tensor([[f(p, q) for q in b.tolist()] for p in a.tolist()]), atol=1e-4, rtol=1e-4)
    centred = torch.cat(((a[:, :2] + a[:, 2:]) / 2, a[:, 2:] - a[:, :2]), 1)
    one = torch_npu.npu_giou(*npu(centred.t().contiguous(), centred.flip(0).t().contiguous()), True)
    close(one[:, 0], torch.tensor([giou(p, q) for p, q in zip(a.tolist(), a.flip(0).tolist())]), atol=1e-4, rtol=1e-4)
    with pytest.raises(RuntimeError, match=r"boxes must be \(4, n\)"):
        torch_npu.npu_diou(*npu(a, b))


def test_gradients_of_overlaps_have_operators_too():
    a, b = (x.t().contiguous().npu().requires_grad_() for x in (boxes(5), boxes(5)))
    y = torch_npu.npu_diou(a, b)
    g = torch.rand_like(y)
    wanted = torch.autograd.grad(y, (a, b), g)
    for mine, theirs in zip(torch_npu.npu_diou_backward(g, a.detach(), b.detach()), wanted):
        torch.testing.assert_close(mine, theirs)


def test_boxes_encoded_and_decoded():
    anchors, truth = boxes(6), boxes(6)
    delta = torch_npu.npu_bounding_box_encode(*npu(anchors, truth), 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2)
    back = torch_npu.npu_bounding_box_decode(anchors.npu(), delta, 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2, (100, 100), 0.01)
    close(back, truth, atol=1e-3, rtol=1e-3)
    flags = torch_npu.npu_anchor_response_flags(truth.npu(), [12, 12], [2, 2], 3).cpu()
    cells = {int((y0 + y1) / 4) * 12 + int((x0 + x1) / 4) for x0, y0, x1, y1 in truth.tolist()}
    assert {i // 3 for i in flags.nonzero().flatten().tolist()} == cells and flags.numel() == 432


def test_suppression_keeps_the_best_of_what_overlaps():
    b, score = boxes(30), torch.rand(30)
    kept = []
    for i in score.argsort(descending=True).tolist():
        alone = all((lambda o: o[0] / o[1] <= 0.3)(overlap(b[i].tolist(), b[j].tolist())) for j in kept)
        if score[i] > 0.2 and alone:
            kept.append(i)
    got, count = torch_npu.npu_nms_v4(*npu(b, score), 30, torch.tensor(0.3).npu(), torch.tensor(0.2).npu())
    assert got.tolist() == kept and count.item() == len(kept)
    order = score.argsort(descending=True)
    rows = torch.cat((b[order], score[order, None]), 1)
    mask = torch_npu.npu_nms_with_mask(rows.npu(), 0.3)[2].cpu()
    assert [order[i].item() for i in mask.nonzero().flatten()][: len(kept)] == kept
    images = torch_npu.npu_batch_nms(b.view(1, 30, 1, 4).npu(), score.view(1, 30, 1).npu(), 0.2, 0.3, 5, 4)
    assert images[3].item() == min(4, len(kept)) and torch.equal(images[0][0, 0].cpu(), b[kept[0]])


def test_a_choice_of_true_places():
    x = torch.tensor([[1, 0, 1], [0, 1, 0]]).bool()
    places, real = torch_npu.npu_random_choice_with_mask(x.npu(), 4)
    assert places[:3].tolist() == [[0, 0], [0, 2], [1, 1]] and real.tolist() == [True, True, True, False]
    few, _ = torch_npu.npu_random_choice_with_mask(x.npu(), 2, 7)
    again, _ = torch_npu.npu_random_choice_with_mask(x.npu(), 2, 7)
    assert torch.equal(few, again) and all(x[tuple(p)] for p in few.tolist())


# ---- losses ----
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_and_its_gradient(reduction):
    x, target, weight = torch.randn(6, 5), torch.randint(0, 5, (6,)), torch.rand(5)
    leaf = x.clone().requires_grad_()
    loss = F.cross_entropy(leaf, target, weight, reduction=reduction, label_smoothing=0.1, ignore_index=2)
    got, log_prob, _, _ = torch_npu.npu_cross_entropy_loss(*npu(x, target, weight), reduction, 2, 0.1)
    close(got, (loss if reduction == "none" else loss.reshape(1)).detach())
    g = torch.rand_like(loss)
    loss.backward(g)
    grad = torch_npu.npu_cross_entropy_loss_backward(
        g.npu(), log_prob, *npu(target, weight), reduction=reduction, ignore_index=2, label_smoothing=0.1
    )
    close(grad, leaf.grad, atol=1e-5, rtol=1e-4)


def test_soft_labels():
    x, labels, g = torch.randn(3, 5), torch.rand(3, 5).softmax(-1), torch.rand(3)
    leaf = x.clone().requires_grad_()
    wanted = -(labels * leaf.log_softmax(-1)).sum(-1)
    wanted.backward(g)
    close(torch_npu.npu_softmax_cross_entropy_with_logits(*npu(x, labels)), wanted.detach())
    close(torch_npu.npu_softmax_cross_entropy_with_logits_backward(*npu(g, x, labels)), leaf.grad, atol=1e-5, rtol=1e-4)


def test_parts_of_a_vocabulary_make_the_whole_loss():
    x, w, target = torch.randn(11, 4), torch.randn(6, 4), torch.randint(0, 6, (11,))
    leaf, kernel = x.clone().requires_grad_(), w.clone().requires_grad_()
    loss = F.cross_entropy(leaf @ kernel.t(), target, reduction="none")
    top, total, predicted, mask, place, logits = torch_npu.npu_fused_linear_online_max_sum(
        *npu(x, w, target), 0, 6, return_logits=True
    )
    got, softmax = torch_npu.npu_fused_cross_entropy_loss_with_max_sum(top, total, predicted, vocab_parallel_logits=logits)
    close(got, loss.detach(), atol=1e-5, rtol=1e-5)
    g = torch.rand(11)
    loss.backward(g)
    for given in ({"softmax": softmax}, {"logits_max": top, "sum_exp_logits": total}):
        dx, dw = torch_npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward(*npu(g, x, w), mask, place, **given)
        close(dx, leaf.grad, atol=1e-5, rtol=1e-4)
        close(dw, kernel.grad, atol=1e-5, rtol=1e-4)
    _, _, lost, bits, _, none = torch_npu.npu_fused_linear_online_max_sum(*npu(x, w[:3], target), 0, 3)
    outside = target >= 3
    assert none is None and not lost.cpu()[outside].any()
    assert [bool(int(bits[i // 8]) >> (7 - i % 8) & 1) for i in range(11)] == outside.tolist()


def test_attention_to_two_parts_is_attention_to_both():
    q, k, v = torch.randn(2, 3, 8), torch.randn(2, 6, 8), torch.randn(2, 6, 8)

    def part(a, b):
        score = q @ k[:, a:b].transpose(-1, -2)
        top = score.amax(-1)
        total = (score - top[..., None]).exp().sum(-1)
        eight = [t[None, :, :, None].expand(1, 2, 3, 8).contiguous().npu() for t in (top, total)]
        return (score.softmax(-1) @ v[:, a:b]).permute(1, 0, 2).reshape(3, 1, 16).npu(), *eight

    got = torch_npu.npu_ring_attention_update(*part(0, 2), *part(2, 6))
    for mine, wanted in zip(got, part(0, 6)):
        torch.testing.assert_close(mine, wanted, atol=1e-5, rtol=1e-5)

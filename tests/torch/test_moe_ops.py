# SPDX-License-Identifier: BSD-3-Clause
"""Mixture-of-experts operators against loops over rows in plain Python."""

import pytest
import torch
import torch_npu

ROWS, EXPERTS, K, H = 7, 5, 2, 4


def experts_of(rows=ROWS):
    return torch.stack([torch.randperm(EXPERTS)[:K] for _ in range(rows)])


def test_gating_softmax_gives_weights_experts_and_rows():
    x, finished = torch.randn(ROWS, EXPERTS), torch.arange(ROWS) % 3 == 0
    weight, chosen, rows = (t.cpu() for t in torch_npu.npu_moe_gating_top_k_softmax(x.npu(), finished.npu(), K))
    best = x.softmax(-1).topk(K)
    torch.testing.assert_close(weight, best.values)
    assert torch.equal(chosen.long(), best.indices.masked_fill(finished[:, None], EXPERTS))
    assert rows.tolist() == [[i + j * ROWS for j in range(K)] for i in range(ROWS)]
    second, _, whole = torch_npu.npu_moe_gating_top_k_softmax_v2(x.npu(), k=K, renorm=0, output_softmax=True)
    torch.testing.assert_close(second.cpu(), best.values)
    torch.testing.assert_close(whole.cpu(), x.softmax(-1))
    again = torch_npu.npu_moe_gating_top_k_softmax_v2(x.npu(), k=K, renorm=1)[0]
    torch.testing.assert_close(again.cpu(), x.topk(K).values.softmax(-1))
    with pytest.raises(RuntimeError, match="k must be between 1 and the number of experts 5"):
        torch_npu.npu_moe_gating_top_k_softmax(x.npu(), None, 6)


def test_gating_in_groups_chooses_within_the_best_groups():
    x, bias = torch.randn(ROWS, 8), torch.randn(8)
    weight, chosen, whole = torch_npu.npu_moe_gating_top_k(
        x.npu(), 3, bias=bias.npu(), k_group=2, group_count=4, group_select_mode=1, norm_type=1, out_flag=True
    )
    score = x.sigmoid()
    torch.testing.assert_close(whole.cpu(), score)
    for i in range(ROWS):
        ranked = score[i] + bias
        groups = ranked.view(4, 2).sum(1).topk(2).indices.tolist()
        allowed = [e for e in range(8) if e // 2 in groups]
        wanted = sorted(allowed, key=lambda e: -ranked[e])[:3]
        assert chosen[i].tolist() == wanted
        torch.testing.assert_close(weight[i].cpu(), score[i, wanted] / score[i, wanted].sum())


def test_init_routing_and_finalize_routing_are_inverse():
    x, experts = torch.randn(ROWS, H), experts_of()
    rows = torch.arange(ROWS * K).view(K, ROWS).t().contiguous()
    moved, place, ordered = torch_npu.npu_moe_init_routing(x.npu(), rows.int().npu(), experts.int().npu(), ROWS)
    assert torch.equal(ordered.cpu().long(), experts.flatten().sort().values)
    scales = torch.rand(ROWS, K)
    total = torch_npu.npu_moe_finalize_routing(moved, None, None, None, scales.npu(), place, experts.int().npu())
    torch.testing.assert_close(total.cpu(), x * scales.sum(1, keepdim=True))
    counts = torch_npu.npu_moe_compute_expert_tokens(ordered, EXPERTS)
    assert counts.tolist() == [(experts <= e).sum().item() for e in range(EXPERTS)]


def test_init_routing_v2_serves_a_range_of_experts():
    x, experts = torch.randn(ROWS, H), experts_of()
    moved, rows, counts, scales = torch_npu.npu_moe_init_routing_v2(
        x.npu(), experts.int().npu(), expert_num=EXPERTS, expert_tokens_num_type=1, active_expert_range=[1, 4], row_idx_type=1,
        quant_mode=1,
    )  # fmt: skip
    flat = experts.flatten().tolist()
    served = sorted((e, at) for at, e in enumerate(flat) if 1 <= e < 4)
    assert rows.tolist() == [at for _, at in served] + [-1] * (len(flat) - len(served))
    assert counts.tolist() == [flat.count(e) for e in (1, 2, 3)]
    wanted = x[[at // K for _, at in served]]
    torch.testing.assert_close(moved.cpu() * scales.cpu()[:, None], wanted, atol=0.02, rtol=0)
    assert moved.dtype == torch.int8
    with pytest.raises(RuntimeError, match="range of experts"):
        torch_npu.npu_moe_init_routing_v2(x.npu(), experts.int().npu())


def test_permute_and_unpermute_with_gradients():
    tokens, experts, probs = torch.randn(ROWS, H), experts_of(), torch.rand(ROWS, K)
    own, weight = tokens.npu().requires_grad_(), probs.npu().requires_grad_()
    moved, place = torch_npu.npu_moe_token_permute(own, experts.npu())
    order = experts.flatten().argsort(stable=True)
    assert torch.equal(moved.detach().cpu(), tokens[order // K])
    back = torch_npu.npu_moe_token_unpermute(moved, place, weight)
    torch.testing.assert_close(back.detach().cpu(), tokens * probs.sum(1, keepdim=True))
    back.sum().backward()
    torch.testing.assert_close(own.grad.cpu(), probs.sum(1, keepdim=True).expand_as(tokens))
    torch.testing.assert_close(weight.grad.cpu(), tokens.sum(1, keepdim=True).expand_as(probs))
    grad = torch.ones(ROWS, H).npu()
    rows, of_probs = torch_npu.npu_moe_token_unpermute_grad(moved.detach(), grad, place, weight.detach())
    torch.testing.assert_close(of_probs.cpu(), weight.grad.cpu())
    again = torch_npu.npu_moe_token_permute_grad(own.detach(), rows, experts.npu(), place)
    torch.testing.assert_close(again.cpu(), own.grad.cpu())
    few, place = torch_npu.npu_moe_token_permute(tokens.npu(), experts.npu(), 5)
    kept = torch_npu.npu_moe_token_unpermute(few, place, probs.npu()).cpu()
    dropped = set(order[5:].tolist())
    wanted = torch.stack([sum(tokens[i] * probs[i, j] * (i * K + j not in dropped) for j in range(K)) for i in range(ROWS)])
    torch.testing.assert_close(kept, wanted)


def test_permute_with_a_routing_map():
    tokens, probs = torch.randn(ROWS, H), torch.rand(ROWS, EXPERTS)
    chosen = torch.rand(ROWS, EXPERTS) < 0.5
    moved, weight, place = torch_npu.npu_moe_token_permute_with_routing_map(tokens.npu(), chosen.npu(), probs=probs.npu())
    pairs = [(e, t) for e in range(EXPERTS) for t in range(ROWS) if chosen[t, e]]
    assert torch.equal(moved.cpu(), tokens[[t for _, t in pairs]])
    assert torch.equal(weight.cpu(), torch.stack([probs[t, e] for e, t in pairs]))
    back = torch_npu.npu_moe_token_unpermute_with_routing_map(
        moved, place, [ROWS, H], probs=probs.npu(), routing_map=chosen.npu()
    )
    torch.testing.assert_close(back.cpu(), tokens * (probs * chosen).sum(1, keepdim=True))


def test_re_routing_sorts_ranks_rows_by_expert():
    counts = torch.tensor([[2, 0, 1], [1, 2, 0]])
    tokens = torch.arange(6.0)[:, None].expand(6, H).contiguous()
    moved, _, source, total = torch_npu.npu_moe_re_routing(tokens.npu(), counts.npu())
    assert moved[:, 0].tolist() == [0, 1, 3, 4, 5, 2] == source.tolist()
    assert total.tolist() == [3, 2, 1]

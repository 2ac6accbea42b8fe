# SPDX-License-Identifier: BSD-3-Clause
"""Sparse and nested tensors: moving them, looking into them, computing with them (on the CPU, counted)."""

import io

import pytest
import torch

INDICES, VALUES = torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0])


def coo(device):
    return torch.sparse_coo_tensor(INDICES.to(device), VALUES.to(device), (2, 3))


def fallbacks():
    return sum(torch.npu.utils.cpu_fallback_count().values())


def test_structure_is_handled_on_the_npu():
    before = fallbacks()
    s = coo("npu")
    assert s.is_npu and s.is_sparse and s.shape == (2, 3) and s._nnz() == 3 and s.dtype == torch.float32
    assert s._indices().is_npu and s._values().tolist() == [3, 4, 5] and s.sparse_dim() == 2 and s.dense_dim() == 0
    assert s.half()._values().dtype == torch.float16 and s.clone().device == s.device
    assert torch.empty(2, 3, layout=torch.sparse_coo, device="npu")._nnz() == 0
    moved = coo("cpu").npu()
    assert moved.is_npu and moved.cpu().is_sparse and not moved.cpu().is_npu
    n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)]).npu()
    assert n.is_npu and n.is_nested and [t.shape[0] for t in n.unbind()] == [2, 4] and n.cpu().device.type == "cpu"
    assert fallbacks() == before
    file = io.BytesIO()
    torch.save(s, file)
    file.seek(0)
    assert torch.load(file).to_dense().cpu().equal(coo("cpu").to_dense())


COMPUTATIONS = {
    "to_dense": lambda s, d: s.to_dense(),
    "coalesce": lambda s, d: (s + s).coalesce().to_dense(),
    "times a number": lambda s, d: (s * 2).to_dense(),
    "added to a dense one": lambda s, d: torch.ones(2, 3, device=d).add_(s),
    "product": lambda s, d: torch.sparse.mm(s, torch.arange(6.0, device=d).view(3, 2)),
    "@": lambda s, d: s @ torch.ones(3, 2, device=d),
    "transposed": lambda s, d: s.t().to_dense(),
    "sum of a dimension": lambda s, d: torch.sparse.sum(s, 0).to_dense(),
    "mask": lambda s, d: torch.arange(6.0, device=d).view(2, 3).sparse_mask(s.coalesce()).to_dense(),
    "in place": lambda s, d: s.add_(s).mul_(3).to_dense(),
    "back to sparse": lambda s, d: s.to_dense().to_sparse().values(),
    "csr product": lambda s, d: s.to_dense().to_sparse_csr() @ torch.ones(3, 2, device=d),
    "csr parts": lambda s, d: torch.cat(
        [s.to_dense().to_sparse_csr().crow_indices(), s.to_dense().to_sparse_csr().col_indices()]
    ),
}


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_sparse_computation(name):
    compute = COMPUTATIONS[name]
    result, expected = compute(coo("npu"), "npu"), compute(coo("cpu"), "cpu")
    assert result.is_npu
    torch.testing.assert_close(result.cpu(), expected)


@pytest.mark.parametrize("optimizer", [torch.optim.SparseAdam, torch.optim.SGD, torch.optim.Adagrad])
def test_embedding_with_sparse_gradient(optimizer):
    def train(device):
        torch.manual_seed(0)
        table = torch.nn.Embedding(20, 6, sparse=True).to(device)
        steps = optimizer(table.parameters(), lr=0.1)
        for k in range(3):
            steps.zero_grad()
            table(torch.tensor([1, 3, 3, k], device=device)).square().sum().backward()
            assert table.weight.grad.is_sparse and table.weight.grad.device.type == device
            steps.step()
        return table.weight.detach().cpu()

    torch.testing.assert_close(train("npu"), train("cpu"))


def test_nested_computation():
    def compute(device):
        torch.manual_seed(0)
        parts = [torch.randn(2, 4).to(device), torch.randn(3, 4).to(device)]
        n, linear = torch.nested.nested_tensor(parts), torch.nn.Linear(4, 4).to(device)
        with torch.no_grad():
            y = torch.nn.functional.gelu(linear(n) + n)
        return torch.nested.to_padded_tensor(y, 0.0).cpu()

    torch.testing.assert_close(compute("npu"), compute("cpu"))


@pytest.mark.parametrize("grad", [False, True])
def test_transformer_encoder_with_padding(grad):
    def compute(device):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        net = torch.nn.TransformerEncoder(layer, 2).to(device).eval()
        x = torch.randn(2, 5, 16).to(device)
        padding = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], dtype=torch.bool).to(device)
        with torch.set_grad_enabled(grad):
            return net(x, src_key_padding_mask=padding).detach().cpu()[~padding.cpu()]

    torch.testing.assert_close(compute("npu"), compute("cpu"), rtol=1e-4, atol=1e-5)


def test_a_sparse_tensor_of_the_cpu_does_not_mix():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.sparse.mm(coo("cpu"), torch.ones(3, 2, device="npu"))

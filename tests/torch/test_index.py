# SPDX-License-Identifier: BSD-3-Clause
"""Indexing operators in shapes that are easy to get wrong."""

import pytest
import torch
import torch.nn.functional as F


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1, 1, 1), (2, 1), (1, 2, 3)])
def test_scatter_of_one_value_for_any_rank_of_index(shape):
    index = torch.zeros(shape, dtype=torch.int64)
    x = torch.zeros(shape)
    dim = -1
    assert x.npu().scatter(dim, index.npu(), 5.0).cpu().equal(x.scatter(dim, index, 5.0))
    assert x.npu().scatter_(dim, index.npu(), 2.0).cpu().equal(x.clone().scatter_(dim, index, 2.0))


def test_one_hot():
    for labels in (torch.tensor([[1]]), torch.tensor([2, 0]), torch.tensor(1), torch.zeros(0, dtype=torch.int64)):
        assert F.one_hot(labels.npu(), 3).cpu().equal(F.one_hot(labels, 3))
    for bad in (5, -1):
        with pytest.raises(RuntimeError):
            F.one_hot(torch.tensor([bad]).npu(), 3).cpu()

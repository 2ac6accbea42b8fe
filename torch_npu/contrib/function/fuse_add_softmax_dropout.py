# SPDX-License-Identifier: BSD-3-Clause
"""The middle of BERT's attention."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

__all__: list[str] = []


def fuse_add_softmax_dropout(
    training: bool,
    dropout: torch.nn.Module,
    attn_mask: Tensor,
    attn_scores: Tensor,
    attn_head_size: float,
    p: float = 0.5,
    dim: int = -1,
) -> Tensor:
    """dropout(softmax(attn_scores / √attn_head_size + attn_mask)) over `dim`.

    Args:
        training: no dropout if False.
        dropout: the layer to use; None: torch.nn.functional.dropout with p.
        attn_mask: added; broadcasts to the scores.
        attn_scores: (batch, heads, queries, keys).
    """
    weights = F.softmax(torch.add(attn_mask, attn_scores, alpha=1 / math.sqrt(attn_head_size)), dim)
    if not training:
        return weights
    return F.dropout(weights, p) if dropout is None else dropout(weights)

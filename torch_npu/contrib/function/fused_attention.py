# SPDX-License-Identifier: BSD-3-Clause
"""BERT's attention with its projections, of heads of 64."""

import warnings

import torch.nn.functional as F
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error

__all__ = ["npu_fused_attention", "npu_fused_attention_with_layernorm"]

HEAD = 64


def _refuse(what: str) -> None:
    raise RuntimeError(f"fused attention check compatibility failed, {what} not matches" + ops_error(ErrCode.VALUE))


def _heads(x: Tensor, kernel: Tensor, bias: Tensor, batch: int) -> Tensor:
    """x @ kernel + bias as (batch, heads, length, HEAD)."""
    y = F.linear(x, kernel.t(), bias)
    return y.view(batch, -1, y.size(1) // HEAD, HEAD).transpose(1, 2)


def npu_fused_attention(
    hidden_states: Tensor,
    attention_mask: Tensor,
    query_kernel: Tensor,
    key_kernel: Tensor,
    value_kernel: Tensor,
    query_bias: Tensor,
    key_bias: Tensor,
    value_bias: Tensor,
    scale: float = 1,
    keep_prob: float = 0,
) -> Tensor:
    """softmax(q kᵀ · scale + attention_mask) v with q, k, v = hidden_states @ kernel + bias: (batch · length, width).

    Args:
        hidden_states: (batch · length, width), width a multiple of 64.
        attention_mask: (batch, 1, length, length), added.
        query_kernel, key_kernel, value_kernel: (width, width).
        query_bias, key_bias, value_bias: (width,).
        keep_prob: dropout keeps a weight with this probability; 0 and 1: all.

    Raises:
        RuntimeError: shapes that do not fit.
    """
    if hidden_states.dim() != 2 or hidden_states.size(1) % HEAD:
        _refuse(f"shape of hidden_states {tuple(hidden_states.shape)}")
    mask = attention_mask
    if mask.dim() != 4 or mask.size(1) != 1 or mask.size(2) != mask.size(3) or hidden_states.size(0) % mask.size(0):
        _refuse(f"shape of attention_mask {tuple(mask.shape)}")
    for kernel in (query_kernel, key_kernel, value_kernel):
        if kernel.dim() != 2 or kernel.size(0) != hidden_states.size(1):
            _refuse(f"shape of kernel {tuple(kernel.shape)}")
    batch = mask.size(0)
    query = _heads(hidden_states, query_kernel, query_bias, batch)
    key = _heads(hidden_states, key_kernel, key_bias, batch)
    value = _heads(hidden_states, value_kernel, value_bias, batch)
    drop = 1 - keep_prob if 0 < keep_prob < 1 else 0.0
    out = F.scaled_dot_product_attention(query, key, value, mask.to(query.dtype), drop, scale=scale)
    return out.transpose(1, 2).reshape(hidden_states.shape)


def npu_fused_attention_with_layernorm(
    hidden_states: Tensor,
    attention_mask: Tensor,
    query_kernel: Tensor,
    key_kernel: Tensor,
    value_kernel: Tensor,
    query_bias: Tensor,
    key_bias: Tensor,
    value_bias: Tensor,
    gamma: Tensor,
    beta: Tensor,
    scale: float = 1,
    keep_prob: float = 0,
) -> tuple[Tensor, Tensor]:
    """(npu_fused_attention of the normed hidden_states, these): the norm over the last dimension, with gamma and beta."""
    warnings.warn(
        "torch_npu.contrib.npu_fused_attention_with_layernorm is deprecated and will be removed in a future version. Use "
        "torch_npu.npu_fusion_attention and torch.nn.LayerNorm instead.",
        FutureWarning,
        stacklevel=2,
    )
    norm = F.layer_norm(hidden_states, hidden_states.shape[-1:], gamma, beta)
    weights = (query_kernel, key_kernel, value_kernel, query_bias, key_bias, value_bias)
    return npu_fused_attention(norm, attention_mask, *weights, scale, keep_prob), norm

# SPDX-License-Identifier: BSD-3-Clause
"""fairseq's multi-head attention (Vaswani et al., 2017) in its NPU form: 2-D inputs of batch · length rows."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...utils._error_code import ErrCode, ops_error
from ..function.matmul_transpose import matmul_transpose
from .ensemble_dropout import NpuCachedDropout

__all__ = ["Matmul_transpose", "MultiheadAttention"]


def Matmul_transpose(tensor1: Tensor, tensor2: Tensor) -> Tensor:  # noqa: N802
    """tensor1 @ tensor2.transpose(-2, -1)."""
    return matmul_transpose(tensor1, tensor2)


def _noisy(module: nn.Linear, p: float, block: int) -> nn.Linear:
    """Quantisation noise (Fan et al., 2021): in training, blocks of the weight are 0 with probability p."""
    if p <= 0:
        return module
    if module.weight.size(1) % block:
        raise ValueError("Input features must be a multiple of block sizes" + ops_error(ErrCode.VALUE))

    def drop(mod: nn.Module, _: Any) -> None:
        if mod.training:
            rows, columns = mod.weight.shape
            keep = torch.rand(rows, columns // block, device=mod.weight.device) >= p
            mod.weight.data *= keep.repeat_interleave(block, 1) / (1 - p)

    module.register_forward_pre_hook(drop)
    return module


class MultiheadAttention(nn.Module):
    """Multi-head attention.

    Args:
        embed_dim, num_heads: width, and heads that share it.
        kdim, vdim: widths of keys and values; embed_dim if None.
        dropout: of the weights.
        bias: projections have one.
        add_bias_kv, add_zero_attn: not supported by the NPU form: an error.
        self_attention, encoder_decoder_attention: where keys and values come from.
        q_noise, qn_block_size: quantisation noise of the projections.

    Raises:
        ValueError: widths that do not fit.
        NotImplementedError: add_bias_kv, add_zero_attn.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        kdim: int | None = None,
        vdim: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        self_attention: bool = False,
        encoder_decoder_attention: bool = False,
        q_noise: float = 0.0,
        qn_block_size: int = 8,
    ) -> None:
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.qkv_same_dim = self.kdim == self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise ValueError("embed_dim must be divisible by num_heads" + ops_error(ErrCode.VALUE))
        if self_attention and not self.qkv_same_dim:
            raise ValueError("Self-attention requires query, key and value to be of the same size" + ops_error(ErrCode.VALUE))
        if add_bias_kv or add_zero_attn:
            raise NotImplementedError("add_bias_kv and add_zero_attn are not supported" + ops_error(ErrCode.NOT_SUPPORT))
        self.scaling = self.head_dim**-0.5
        self.self_attention, self.encoder_decoder_attention = self_attention, encoder_decoder_attention
        self.dropout_prob = dropout
        self.dropout_module = NpuCachedDropout(dropout, module_name=type(self).__name__)

        def project(width: int) -> nn.Linear:
            return _noisy(nn.Linear(width, embed_dim, bias=bias), q_noise, qn_block_size)

        self.k_proj, self.v_proj = project(self.kdim), project(self.vdim)
        self.q_proj, self.out_proj = project(embed_dim), project(embed_dim)
        self.onnx_trace = self.tpu = False
        self.reset_parameters()

    def prepare_for_onnx_export_(self) -> None:
        """Notes that the model is to be exported."""
        self.onnx_trace = True

    def prepare_for_tpu_(self, **kwargs: Any) -> None:
        """Notes that shapes are fixed."""
        self.tpu = True

    def reset_parameters(self) -> None:
        """Xavier's first values, smaller by √2 for projections of one width."""
        gain = 1 / math.sqrt(2) if self.qkv_same_dim else 1.0
        for projection in (self.k_proj, self.v_proj, self.q_proj):
            nn.init.xavier_uniform_(projection.weight, gain=gain)
        nn.init.xavier_uniform_(self.out_proj.weight)
        if self.out_proj.bias is not None:
            nn.init.zeros_(self.out_proj.bias)

    def transpose_for_scores(self, x: Tensor, batch: int) -> Tensor:
        """(batch · length, embed_dim) → (batch, heads, length, head_dim)."""
        return x.view(batch, -1, self.num_heads, self.head_dim).transpose(1, 2)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bsz: int,
        tgt_len: int,
        s_len: int,
        key_padding_mask: Tensor | None = None,
        incremental_state: dict | None = None,
        need_weights: bool = True,
        static_kv: bool = False,
        attn_mask: Tensor | None = None,
        before_softmax: bool = False,
        need_head_weights: bool = False,
    ) -> tuple[Tensor, None]:
        """(attention, None).

        Args:
            query, key, value: (bsz · length, width).
            bsz, tgt_len, s_len: batch, queries and keys of a sample.
            key_padding_mask: broadcasts to (bsz, heads, tgt_len, s_len); bool: True is left out, else added.
            the rest: as in fairseq; not used, weights are not returned.
        """
        return self.multi_attn(query, key, value, key_padding_mask, bsz, tgt_len), None

    def multi_attn(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, bsz: int, tgt_len: int
    ) -> Tensor:
        """The attention itself: (bsz · tgt_len, embed_dim)."""
        q, k, v = (
            self.transpose_for_scores(project(x), bsz)
            for project, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        if key_padding_mask is not None:
            mask = key_padding_mask
            key_padding_mask = ~mask if mask.dtype == torch.bool else mask.to(q.dtype)
        dropout = self.dropout_prob if self.training else 0.0
        out = F.scaled_dot_product_attention(q, k, v, key_padding_mask, dropout, scale=self.scaling)
        return self.out_proj(out.transpose(1, 2).reshape(bsz * tgt_len, self.embed_dim))

    def apply_sparse_mask(self, attn_weights: Tensor, tgt_len: int, src_len: int, bsz: int) -> Tensor:
        """A place for subclasses: the weights as they are."""
        return attn_weights

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """Splits the joint in_proj_weight and in_proj_bias of old checkpoints in place."""
        prefix = name + "." if name else ""
        for kind in ("weight", "bias"):
            joint = state_dict.pop(f"{prefix}in_proj_{kind}", None)
            if joint is not None:
                for projection, part in zip("qkv", joint.chunk(3)):
                    state_dict[f"{prefix}{projection}_proj.{kind}"] = part

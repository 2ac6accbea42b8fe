# SPDX-License-Identifier: BSD-3-Clause
"""Rotary position embedding (Su et al., 2021) of queries and keys together, with positions of several dimensions, and into
a cache."""

from __future__ import annotations

import torch
from torch import Tensor

from .basic import npu_rotary_mul
from .gradient import gradients
from .norm import npu_rms_norm

_LAYOUTS = ("BSND", "SBND", "BNSD", "TND")


def npu_rotary_mul_backward(
    grad: Tensor, self: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half"
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of npu_rotary_mul: of self, r1 and r2."""
    return gradients(lambda x, a, b: npu_rotary_mul(x, a, b, rotary_mode), [self, r1, r2], grad)


def npu_apply_rotary_pos_emb(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Tensor, Tensor]:
    """npu_rotary_mul of query and key; cos and sin have one head, which serves all. Rotates the leading part of the last
    dimension if cos is shorter. rotary_mode: "half", "interleave", or "quarter" for two halves rotated apart.

    query, key: of the layout BSND, SBND, BNSD or TND.
    """
    if layout not in _LAYOUTS and layout != "BSH":
        raise RuntimeError(f"npu_apply_rotary_pos_emb: layout must be one of {', '.join(_LAYOUTS)}, but it is '{layout}'.")
    if rotary_mode not in ("half", "interleave", "quarter"):
        raise RuntimeError(
            f"npu_apply_rotary_pos_emb: rotary_mode must be 'half', 'interleave' or 'quarter', but it is '{rotary_mode}'."
        )
    size = cos.size(-1)

    def rotated(x: Tensor) -> Tensor:
        part = x[..., :size]
        if rotary_mode == "quarter":
            halves = zip(part.chunk(2, -1), cos.chunk(2, -1), sin.chunk(2, -1))
            part = torch.cat([npu_rotary_mul(*half) for half in halves], -1)
        else:
            part = npu_rotary_mul(part, cos, sin, rotary_mode)
        return part if size == x.size(-1) else torch.cat((part, x[..., size:]), -1)

    return rotated(query), rotated(key)


def npu_interleave_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x (B, N, S, D), of whose last dimension the even places come first and then the odd ones, rotated by halves."""
    if x.size(-1) % 2:
        raise RuntimeError(f"npu_interleave_rope: the last dimension of x must be even, but its size is {x.size(-1)}.")
    return npu_rotary_mul(torch.cat((x[..., ::2], x[..., 1::2]), -1), cos, sin)


def npu_mrope(
    positions: Tensor, query: Tensor, key: Tensor, cos_sin_cache: Tensor, head_size: int, *,
    mrope_section: list[int] | None = None, rotary_mode: str = "half", cache_mode: str = "default",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Rotation by positions of several dimensions (time, height, width; Wang et al., Qwen2-VL, 2024) from a cache.

    positions: (tokens,), or (3, tokens) with mrope_section the three parts of the frequencies, whose sum is half the rotated
    size. query, key: (tokens, heads · head_size). cos_sin_cache: (positions, rotated size), cosines first. cache_mode
    "interleave": the three take turns frequency by frequency instead.
    """
    if cache_mode not in ("default", "interleave"):
        raise RuntimeError(f"npu_mrope: cache_mode only support default or interleave, but it is '{cache_mode}'.")
    if rotary_mode not in ("half", "interleave"):
        raise RuntimeError(f"npu_mrope: rotary_mode must be 'half' or 'interleave', but it is '{rotary_mode}'.")
    rotated = cos_sin_cache.size(-1)
    cos, sin = cos_sin_cache[positions.long()].chunk(2, -1)
    sections = list(mrope_section or [])
    if positions.dim() == 2:
        if sum(sections) != rotated // 2 or len(sections) != positions.shape[0]:
            raise RuntimeError(
                f"npu_mrope: mrope_section must have {positions.shape[0]} numbers of sum {rotated // 2}, but is {sections}."
            )
        source = torch.arange(len(sections)).repeat_interleave(torch.tensor(sections))
        if cache_mode == "interleave":
            source = torch.zeros(rotated // 2, dtype=torch.long)
            for i in range(1, len(sections)):
                source[i : sections[i] * len(sections) : len(sections)] = i
        pick = source.to(cos.device).view(1, 1, -1).expand(1, cos.shape[1], -1)
        cos, sin = cos.gather(0, pick)[0], sin.gather(0, pick)[0]
    if rotary_mode == "half":
        cos, sin = torch.cat((cos, cos), -1), torch.cat((sin, sin), -1)
    else:
        cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)

    def turn(x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (-1, head_size))
        part = npu_rotary_mul(heads[..., :rotated].float(), cos.unsqueeze(-2).float(), sin.unsqueeze(-2).float(), rotary_mode)
        return torch.cat((part.to(x.dtype), heads[..., rotated:]), -1).flatten(-2)

    return turn(query), turn(key)


def npu_kv_rmsnorm_rope_cache_v2(
    kv: Tensor, gamma: Tensor, cos: Tensor, sin: Tensor, index: Tensor, k_cache: Tensor, ckv_cache: Tensor, *,
    k_rope_scale: Tensor | None = None, c_kv_scale: Tensor | None = None, k_rope_offset: Tensor | None = None,
    c_kv_offset: Tensor | None = None, v: Tensor | None = None, epsilon: float = 1e-5, cache_mode: str = "Norm",
    is_output_kv: bool = False, k_cache_dtype: int | None = None, ckv_cache_dtype: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The compressed key-value of latent attention into its caches (DeepSeek-V2): (rotated part, normalised part).

    kv: (B, 1, S, D), its first len(gamma) places are normalised into ckv_cache, the others rotated (npu_interleave_rope) into
    k_cache. cache_mode "Norm": caches (B, 1, cache size, …), index (B, S) of places; "PA" and "PA_BNSD": caches of blocks,
    (blocks, block size, 1, …) and (blocks, 1, block size, …), index (B · S) of slots. −1 writes nothing. The results are empty
    without is_output_kv.
    """
    if cache_mode not in ("Norm", "PA", "PA_BNSD"):
        raise NotImplementedError(f"npu_kv_rmsnorm_rope_cache: cache_mode '{cache_mode}' is not implemented for NPU.")
    if any(x is not None for x in (k_rope_scale, c_kv_scale, k_rope_offset, c_kv_offset, v)):
        raise NotImplementedError("npu_kv_rmsnorm_rope_cache: quantised caches and v are not implemented for NPU.")
    size = gamma.numel()
    compressed = npu_rms_norm(kv[..., :size], gamma, epsilon)[0]
    rotated = npu_interleave_rope(kv[..., size:], cos, sin).to(kv.dtype)
    for cache, new in ((k_cache, rotated), (ckv_cache, compressed)):
        if cache_mode == "Norm":
            batch = torch.arange(kv.shape[0], device=kv.device).view(-1, 1)
            keep = index >= 0
            rows = batch.expand_as(index)[keep]
            cache.index_put_((rows, torch.zeros_like(rows), index[keep].long()), new[:, 0][keep].to(cache.dtype))
        else:
            slots = index.flatten().long()
            keep = slots >= 0
            flat = cache.view(-1, cache.shape[-1])
            flat.index_put_((slots[keep],), new.reshape(-1, new.shape[-1])[keep].to(cache.dtype))
    if is_output_kv:
        return rotated, compressed
    return kv.new_empty(0), kv.new_empty(0)


def npu_kv_rmsnorm_rope_cache(
    kv: Tensor, gamma: Tensor, cos: Tensor, sin: Tensor, index: Tensor, k_cache: Tensor, ckv_cache: Tensor, *,
    k_rope_scale: Tensor | None = None, c_kv_scale: Tensor | None = None, k_rope_offset: Tensor | None = None,
    c_kv_offset: Tensor | None = None, v: Tensor | None = None, epsilon: float = 1e-5, cache_mode: str = "Norm",
    is_output_kv: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """(k_cache, ckv_cache, rotated part, normalised part): see npu_kv_rmsnorm_rope_cache_v2; writes the caches in place."""
    rotated, compressed = npu_kv_rmsnorm_rope_cache_v2(
        kv, gamma, cos, sin, index, k_cache, ckv_cache, k_rope_scale=k_rope_scale, c_kv_scale=c_kv_scale,
        k_rope_offset=k_rope_offset, c_kv_offset=c_kv_offset, v=v, epsilon=epsilon, cache_mode=cache_mode,
        is_output_kv=is_output_kv,
    )  # fmt: skip
    return k_cache, ckv_cache, rotated, compressed


OPERATORS = {
    "npu_rotary_mul_backward(Tensor grad, Tensor self, Tensor r1, Tensor r2, str rotary_mode='half') -> (Tensor, Tensor, "
    "Tensor)": npu_rotary_mul_backward,
    "npu_apply_rotary_pos_emb(Tensor query, Tensor key, Tensor cos, Tensor sin, str layout='BSND', str "
    "rotary_mode='half') -> (Tensor, Tensor)": npu_apply_rotary_pos_emb,
    "npu_interleave_rope(Tensor x, Tensor cos, Tensor sin) -> Tensor": npu_interleave_rope,
    "npu_mrope(Tensor positions, Tensor query, Tensor key, Tensor cos_sin_cache, int head_size, *, int[]? "
    "mrope_section=None, str? rotary_mode='half', str? cache_mode='default') -> (Tensor, Tensor)": npu_mrope,
    "npu_kv_rmsnorm_rope_cache_v2(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index, Tensor(a!) k_cache, "
    "Tensor(b!) ckv_cache, *, Tensor? k_rope_scale=None, Tensor? c_kv_scale=None, Tensor? k_rope_offset=None, Tensor? "
    "c_kv_offset=None, Tensor? v=None, float epsilon=1e-5, str cache_mode='Norm', bool is_output_kv=False, int? "
    "k_cache_dtype=None, int? ckv_cache_dtype=None) -> (Tensor, Tensor)": npu_kv_rmsnorm_rope_cache_v2,
    "npu_kv_rmsnorm_rope_cache(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index, Tensor k_cache, Tensor "
    "ckv_cache, *, Tensor? k_rope_scale=None, Tensor? c_kv_scale=None, Tensor? k_rope_offset=None, Tensor? "
    "c_kv_offset=None, Tensor? v=None, float epsilon=1e-5, str cache_mode='Norm', bool is_output_kv=False) -> (Tensor, "
    "Tensor, Tensor, Tensor)": npu_kv_rmsnorm_rope_cache,
}  # fmt: skip

# SPDX-License-Identifier: BSD-3-Clause
"""Dropout (Srivastava et al., 2014) with its mask as eight choices in a byte, the first in the lowest bit; 1 keeps.

A mask is as long as a chip makes it: bytes for a multiple of 128 elements. Random numbers are the device's generator's.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def _check(operator: str, p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"{operator}: dropout probability has to be between 0 and 1, but got {p}")


def _packed(keep: Tensor) -> Tensor:
    """The mask of flat bools."""
    length = -(-keep.numel() // 128) * 128
    bits = F.pad(keep.to(torch.int32), (0, length - keep.numel())).view(-1, 8)
    weight = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.int32, device=keep.device)
    return (bits * weight).sum(1).to(torch.uint8)


def _kept(mask: Tensor, like: Tensor) -> Tensor:
    """The bools of a mask in a tensor's shape."""
    shifts = torch.arange(8, dtype=torch.int32, device=mask.device)
    bits = (mask.flatten().to(torch.int32).unsqueeze(1) >> shifts) & 1
    return bits.flatten()[: like.numel()].view(like.shape).bool()


def _scaled(x: Tensor, mask: Tensor, p: float) -> Tensor:
    factor = 0.0 if p == 1.0 else 1.0 / (1.0 - p)
    return torch.where(_kept(mask, x), x * factor, torch.zeros_like(x))


def _mask(count: int, p: float, device: torch.device) -> Tensor:
    return _packed(torch.rand(count, device=device) >= p)


def npu_dropout_gen_mask(
    size: list[int], p: float, *, dtype: torch.dtype | None = None, layout: torch.layout | None = None,
    device: torch.device | None = None, pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """A mask for a tensor of that size."""
    _check("npu_dropout_gen_mask", p)
    return _mask(math.prod(size), p, torch.device("npu") if device is None else device)


def _npu_dropout_gen_mask(
    self: Tensor, size: list[int], p: float, seed: int, offset: int, *, parallel: bool = True, sync: bool | None = None
) -> Tensor:
    """A mask for a tensor of that size, on self's device; the same for the same seed and offset."""
    _check("_npu_dropout_gen_mask", p)
    generator = torch.Generator(device=self.device)
    generator.manual_seed(seed ^ (offset * 0x9E3779B97F4A7C15 & 0x7FFFFFFFFFFFFFFF))
    return _packed(torch.rand(math.prod(size), device=self.device, generator=generator) >= p)


def npu_dropout_do_mask(self: Tensor, mask: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """(self by the mask, the kept elements / (1 − p); the mask)."""
    _check("npu_dropout_do_mask", p)
    return _scaled(self, mask, p), mask


def _npu_dropout(self: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """(self with each element left out with probability p, the mask)."""
    _check("_npu_dropout", p)
    mask = _mask(self.numel(), p, self.device)
    return _scaled(self, mask, p), mask


def npu_dropout_backward(grad_output: Tensor, mask: Tensor, p: float) -> Tensor:
    """The gradient of _npu_dropout's self."""
    return _scaled(grad_output, mask, p)


def dropout_with_byte_mask(self: Tensor, p: float, train: bool) -> Tensor:
    """torch.dropout."""
    _check("dropout_with_byte_mask", p)
    if not train or p == 0:
        return self
    return _dropout_with_byte_mask(self, p)[0]


def _dropout_with_byte_mask(self: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """(self with each element left out with probability p, a mask of a byte an element)."""
    _check("_dropout_with_byte_mask", p)
    mask = (torch.rand(self.shape, device=self.device) >= p).to(torch.uint8)
    return _dropout_with_byte_mask_backward(self, mask, p), mask


def _dropout_with_byte_mask_backward(grad_output: Tensor, mask: Tensor, p: float) -> Tensor:
    factor = 0.0 if p == 1.0 else 1.0 / (1.0 - p)
    return torch.where(mask.view(grad_output.shape).bool(), grad_output * factor, torch.zeros_like(grad_output))


def npu_dropout_with_add_softmax(
    self: Tensor, x1: Tensor, alpha: float, prob: float, dim: int
) -> tuple[Tensor, Tensor, Tensor]:
    """(mask, softmax(x1 + alpha · self), that with elements left out with probability prob)."""
    _check("npu_dropout_with_add_softmax", prob)
    soft = torch.softmax((x1 + self * alpha).float(), dim).to(self.dtype)
    mask = _mask(soft.numel(), prob, soft.device)
    return mask, soft, _scaled(soft, mask, prob)


def npu_dropout_with_add_softmax_backward(
    grad: Tensor, mask: Tensor, softmax_out: Tensor, alpha: float, prob: float, dim: int
) -> tuple[Tensor, Tensor]:
    """Gradients of npu_dropout_with_add_softmax: of self and x1."""
    kept, soft = _scaled(grad, mask, prob).float(), softmax_out.float()
    inner = soft * (kept - (soft * kept).sum(dim, keepdim=True))
    return (inner * alpha).to(grad.dtype), inner.to(grad.dtype)


OPERATORS = {
    "npu_dropout_gen_mask(int[] size, float p, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor": npu_dropout_gen_mask,
    "_npu_dropout_gen_mask.Tensor(Tensor self, int[] size, float p, int seed, int offset, *, bool? parallel=True, bool? "
    "sync=None) -> Tensor": _npu_dropout_gen_mask,
    "npu_dropout_do_mask(Tensor self, Tensor mask, float p) -> (Tensor, Tensor)": npu_dropout_do_mask,
    "_npu_dropout(Tensor self, float p) -> (Tensor, Tensor)": _npu_dropout,
    "npu_dropout_backward(Tensor grad_output, Tensor mask, float p) -> Tensor": npu_dropout_backward,
    "dropout_with_byte_mask(Tensor self, float p, bool train) -> Tensor": dropout_with_byte_mask,
    "_dropout_with_byte_mask(Tensor self, float p) -> (Tensor, Tensor)": _dropout_with_byte_mask,
    "_dropout_with_byte_mask_backward(Tensor grad_output, Tensor mask, float p) -> Tensor": _dropout_with_byte_mask_backward,
    "npu_dropout_with_add_softmax(Tensor self, Tensor x1, Scalar alpha, float prob, int dim) -> (Tensor, Tensor, Tensor)":
    npu_dropout_with_add_softmax,
    "npu_dropout_with_add_softmax_backward(Tensor grad, Tensor mask, Tensor softmax_out, Scalar alpha, float prob, int "
    "dim) -> (Tensor, Tensor)": npu_dropout_with_add_softmax_backward,
}  # fmt: skip

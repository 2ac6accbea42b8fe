# SPDX-License-Identifier: BSD-3-Clause
"""What every rank's tensors hold, and what collectives make of them, on the CPU."""

import torch
import torch.distributed as dist

NUMBERS = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
]
MOVABLE = [*NUMBERS, torch.bool, torch.complex64, torch.uint16, torch.float8_e4m3fn]
SIZES = [0, 1, 7, 1000, 65537]


def data(rank: int, size: int, dtype: torch.dtype, salt: int = 0) -> torch.Tensor:
    """Rank's tensor: small whole numbers, so that sums and products of a few ranks are exact in every type."""
    base = (torch.arange(size, dtype=torch.int64) * 7 + rank * 3 + salt * 5) % 4 + (rank + salt) % 2
    if dtype == torch.bool:
        return base % 3 == 0
    if dtype == torch.complex64:
        return torch.complex(base.float(), -base.float())
    return base.to(dtype)


def reduced(parts: list[torch.Tensor], op: "dist.ReduceOp.RedOpType") -> torch.Tensor:
    """The reduction of the ranks' tensors."""
    dtype = parts[0].dtype
    if dtype == torch.bool:
        stack = torch.stack(parts)
        return stack.any(0) if op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX) else stack.all(0)
    stack = torch.stack([p.double() if p.is_floating_point() else p.long() for p in parts])
    if op == dist.ReduceOp.SUM:
        value = stack.sum(0)
    elif op == dist.ReduceOp.AVG:
        value = stack.sum(0) / len(parts) if stack.is_floating_point() else stack.sum(0).div(len(parts), rounding_mode="trunc")
    elif op == dist.ReduceOp.PRODUCT:
        value = stack.prod(0)
    elif op == dist.ReduceOp.MAX:
        value = stack.amax(0)
    else:
        value = stack.amin(0)
    return value.to(dtype)


def same(got: torch.Tensor, want: torch.Tensor, what: object) -> None:
    """Equal to the last bit."""
    got = got.cpu()
    assert got.dtype == want.dtype and got.shape == want.shape, (what, got.dtype, got.shape, want.dtype, want.shape)
    if got.dtype == torch.float8_e4m3fn:
        got, want = got.view(torch.uint8), want.view(torch.uint8)
    assert torch.equal(got, want), (what, got.flatten()[:8], want.flatten()[:8])

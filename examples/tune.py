# SPDX-License-Identifier: BSD-3-Clause
"""Finds the batch size, the precision and the loader's settings for a training function of yours, by measuring them.

    python examples/tune.py                              # a small CNN, to see what comes out
    python examples/tune.py --step train.py:make_step    # yours

`make_step(batch_size, device)` builds what one training step needs and returns a function without arguments that runs one
step. Batch sizes are tried upwards until memory ends, speed falls, or --most is reached; each with float32, bfloat16 and float16
(autocast). `--loader train.py:make_dataset` (a function that returns a Dataset) also measures num_workers and pin_memory.

Printed: tables in Markdown, and a recommendation. Written: the curves, to --out (tune.png).
"""

import argparse
import importlib.util
import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
import torch_npu  # noqa: F401
from torch import nn
from torch.utils.data import DataLoader, Dataset

Step = Callable[[], None]
PRECISIONS = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


class Point(NamedTuple):
    """One measurement."""

    precision: str
    batch: int
    samples: float
    """A second."""
    busy: float
    """Percent of the device's workers, as npu-smi shows it."""
    memory: float
    """MB at the peak."""


def example_step(batch_size: int, device: str) -> Step:
    """A small CNN on images of 3×32×32."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(batch_size, 3, 32, 32, device=device), torch.randint(0, 10, (batch_size,), device=device)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


class ExampleImages(Dataset):
    """Images that cost some work to make, as decoding and augmenting do."""

    def __init__(self, length: int = 512) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        generator = torch.Generator().manual_seed(index)
        image = torch.randn(3, 96, 96, generator=generator)
        return nn.functional.avg_pool2d(image.flip(-1)[None], 3)[0], index % 10


def load(place: str) -> Any:
    """The object of "file.py:name"."""
    path, _, name = place.rpartition(":")
    if not path or not os.path.isfile(path):
        raise SystemExit(f"tune: {place} should be file.py:function")
    spec = importlib.util.spec_from_file_location("tuned", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["tuned"] = module
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise SystemExit(f"tune: {path} has no {name}")
    return getattr(module, name)


def measure(step: Step, batch: int, precision: str, device: str, seconds: float) -> Point:
    """Runs steps for at least `seconds`, after two that do not count."""
    dtype = PRECISIONS[precision]
    with torch.autocast("npu", dtype=dtype) if dtype else nullcontext():
        torch.npu.reset_peak_memory_stats(device)
        for _ in range(2):
            step()
        torch.npu.synchronize()
        begin, count = time.perf_counter(), 0
        while count < 2 or time.perf_counter() - begin < seconds:
            step()
            count += 1
            if count % 8 == 0:
                torch.npu.synchronize()
        torch.npu.synchronize()
        spent = time.perf_counter() - begin
    return Point(precision, batch, count * batch / spent, torch.npu.utilization(), torch.npu.max_memory_allocated(device) / 1e6)


def sweep(
    make_step: Callable[[int, str], Step], batches: list[int], precisions: list[str], device: str, seconds: float
) -> list[Point]:
    """Measures batch sizes upwards for each precision; stops at out-of-memory, or when a larger batch is half as fast."""
    points: list[Point] = []
    for precision in precisions:
        best = 0.0
        for batch in batches:
            try:
                point = measure(make_step(batch, device), batch, precision, device, seconds)
            except torch.OutOfMemoryError as error:
                print(f"{precision}: batch {batch} does not fit: {str(error).splitlines()[0]}", file=sys.stderr)
                torch.npu.empty_cache()
                break
            points.append(point)
            print(
                f"{precision}: batch {batch}: {point.samples:.1f} samples/s, {point.busy:.0f} % busy, {point.memory:.0f} MB",
                file=sys.stderr,
            )
            torch.npu.empty_cache()
            if (
                point.samples < best / 2
                and measure(make_step(batch, device), batch, precision, device, seconds).samples < best / 2
            ):
                break
            best = max(best, point.samples)
    return points


def sweep_loader(dataset: Dataset, workers: list[int], batch: int, device: str) -> list[tuple[int, bool, float]]:
    """(num_workers, pin_memory, samples/s) of one pass that copies every batch to the device."""
    rows = []
    for count in workers:
        for pin in (False, True):
            loader = DataLoader(dataset, batch_size=batch, num_workers=count, pin_memory=pin, persistent_workers=count > 0)
            begin, samples = 0.0, 0
            for k, item in enumerate(loader):
                first = item[0] if isinstance(item, (list, tuple)) else item
                first.to(device, non_blocking=pin)
                if k == 0:
                    torch.npu.synchronize()
                    begin = time.perf_counter()  # the workers' start does not count
                else:
                    samples += first.shape[0]
            torch.npu.synchronize()
            spent = time.perf_counter() - begin
            rows.append((count, pin, samples / spent if spent > 0 else 0.0))
            print(f"num_workers={count} pin_memory={pin}: {rows[-1][2]:.1f} samples/s", file=sys.stderr)
            del loader
    return rows


def recommend(points: list[Point], capacity: float) -> Point | None:
    """The smallest batch within 5 % of the fastest, with a fifth of the memory left free."""
    fitting = [p for p in points if p.memory <= 0.8 * capacity] or points
    if not fitting:
        return None
    fastest = max(p.samples for p in fitting)
    return min((p for p in fitting if p.samples >= 0.95 * fastest), key=lambda p: (p.batch, -p.samples))


def draw(points: list[Point], loader: list[tuple[int, bool, float]], path: str) -> None:
    """The curves as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7))
    for axis, field, label in zip(axes.flat, ("samples", "busy", "memory"), ("samples/s", "AI Core %", "peak memory, MB")):
        for precision in PRECISIONS:
            own = [p for p in points if p.precision == precision]
            if own:
                axis.plot([p.batch for p in own], [getattr(p, field) for p in own], marker="o", label=precision)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("batch size")
        axis.set_ylabel(label)
        axis.legend()
    last = axes.flat[3]
    for pin in (False, True):
        own = [row for row in loader if row[1] == pin]
        if own:
            last.plot([row[0] for row in own], [row[2] for row in own], marker="o", label=f"pin_memory={pin}")
            last.legend()
    last.set_xlabel("num_workers")
    last.set_ylabel("samples/s of the loader")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main(words: list[str] | None = None) -> int:
    """Measures, prints, draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", default="", metavar="FILE:NAME", help="your make_step(batch_size, device)")
    parser.add_argument("--loader", default="", metavar="FILE:NAME", help="your make_dataset()")
    parser.add_argument("--device", default="npu:0")
    parser.add_argument("--most", type=int, default=256, help="largest batch size (default: %(default)s)")
    parser.add_argument("--precisions", default="fp32,bf16,fp16")
    parser.add_argument("--workers", default="0,1,2,4", help="values of num_workers (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement (default: %(default)s)")
    parser.add_argument("--out", default="tune.png")
    chosen = parser.parse_args(words)
    precisions = chosen.precisions.split(",")
    if unknown := [name for name in precisions if name not in PRECISIONS]:
        parser.error(f"--precisions {','.join(unknown)}: fp32, bf16, fp16")
    batches = [2**k for k in range(int(math.log2(max(1, chosen.most))) + 1)]
    torch.npu.set_device(chosen.device)
    points = sweep(load(chosen.step) if chosen.step else example_step, batches, precisions, chosen.device, chosen.seconds)
    dataset = load(chosen.loader)() if chosen.loader else ExampleImages() if not chosen.step else None
    loader = sweep_loader(dataset, [int(n) for n in chosen.workers.split(",")], 32, chosen.device) if dataset else []
    print("| precision | batch | samples/s | AI Core % | peak MB |\n|---|---:|---:|---:|---:|")
    for p in points:
        print(f"| {p.precision} | {p.batch} | {p.samples:.1f} | {p.busy:.0f} | {p.memory:.1f} |")
    if loader:
        print("\n| num_workers | pin_memory | samples/s |\n|---:|---|---:|")
        for count, pin, samples in loader:
            print(f"| {count} | {pin} | {samples:.1f} |")
    capacity = torch.npu.mem_get_info()[1] / 1e6
    best = recommend(points, capacity)
    if best is None:
        print("\nNo batch fits.")
        return 1
    print(f"\nRecommended: batch size {best.batch} with {best.precision}: {best.samples:.1f} samples/s, {best.memory:.0f} MB.")
    if loader:
        count, pin, _ = max(loader, key=lambda row: row[2])
        print(f"Loader: num_workers={count}, pin_memory={pin}.")
    draw(points, loader, chosen.out)
    print(f"Curves: {chosen.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""DataLoader: workers by fork and spawn, pinned batches, the prefetcher, and a worker that touches a used device."""

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

PROGRAM = """
import sys, torch, torch_npu
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self): return 24
    def __getitem__(self, k): return {"x": torch.full((3,), float(k)), "y": (k * k, "name%d" % k)}

class OnTheDevice(Squares):
    def __getitem__(self, k): return torch.ones(1, device="npu")

if __name__ == "__main__":
    kind, used, data = sys.argv[1], sys.argv[2] == "used", globals()[sys.argv[3]]()
    if used: torch.ones(1).npu()
    seen = []
    loader = DataLoader(data, 8, num_workers=2, pin_memory=True, multiprocessing_context=kind, persistent_workers=True)
    for epoch in range(2):
        for batch in loader:
            assert batch["x"].is_pinned() and batch["y"][0].is_pinned() and batch["y"][1][0].startswith("name")
            x = batch["x"].npu(non_blocking=True)
            seen.append(int((x[:, 0] ** 2).sum().item()))
    assert sum(seen) == 2 * sum(k * k for k in range(24)), seen
    print("ok")
"""


@pytest.fixture
def program(tmp_path, run):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)

    def call(kind, used, data="Squares"):
        return run(
            f"import sys, runpy; sys.argv[1:] = {[kind, used, data]!r}; runpy.run_path({str(path)!r}, run_name='__main__')"
        )

    return call


@pytest.mark.parametrize("used", ["used", "fresh"])
def test_forked_workers(program, used):
    done = program("fork", used)
    assert done.stdout.strip() == "ok", done.stderr


def test_spawned_workers(tmp_path):
    import subprocess
    import sys

    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(path), "spawn", "used", "Squares"], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "ok", done.stderr


def test_a_forked_worker_that_touches_a_used_device_gets_the_official_sentence(program):
    done = program("fork", "used", "OnTheDevice")
    sentence = (
        "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn' start method"
    )
    assert done.returncode != 0 and sentence in done.stderr


def test_pinning_needs_no_device_argument():
    loader = DataLoader(TensorDataset(torch.arange(6.0), torch.arange(6)), 2, pin_memory=True)
    batches = list(loader)
    assert len(batches) == 3 and all(t.is_pinned() and t.device.type == "cpu" for batch in batches for t in batch)
    with_device = DataLoader(TensorDataset(torch.arange(2.0)), 2, pin_memory=True, pin_memory_device="npu")
    assert next(iter(with_device))[0].is_pinned()


def test_prefetcher_gives_every_batch_in_order():
    from torch_npu.contrib.module.prefetcher import Prefetcher

    data = TensorDataset(torch.arange(12.0), torch.arange(12))
    ahead = Prefetcher(DataLoader(data, 4, pin_memory=True))
    seen = []
    x, y = ahead.next()
    while x is not None:
        assert x.is_npu and y.is_npu
        seen += (x + y).tolist()
        x, y = ahead.next()
    assert seen == [2.0 * k for k in range(12)]

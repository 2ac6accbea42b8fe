# SPDX-License-Identifier: BSD-3-Clause
"""What the guides tell a newcomer to type, as checks; prints a line for each and exits with the number of those that fail.

Run by matrix.py in each version's environment, on the package that was built for it.
"""
from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Callable

import torch
import torch.nn as nn
import torch_npu

CHECKS: list[Callable[[], None]] = []


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS.append(function)
    return function


@check
def versions_fit() -> None:
    assert torch_npu.__version__.split("+")[0] == torch.__version__.split("+")[0]
    assert torch.npu.is_available() and torch.npu.device_count() >= 1
    assert torch.npu.get_device_name(0).startswith("Ascend")


@check
def tensors_move_and_print() -> None:
    x = torch.randn(2, 2).npu()
    assert str(x.device) == "npu:0" and "device='npu:0'" in repr(x)
    assert torch.equal(x.cpu(), torch.as_tensor(x.cpu().numpy()))


@check
def matrix_product() -> None:
    a, b = torch.randn(1000, 1000), torch.randn(1000, 1000)
    torch.testing.assert_close((a.npu() @ b.npu()).cpu(), a @ b, rtol=1e-4, atol=1e-3)


def losses(device: str, autocast: bool = False) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 10))
    x, y = torch.randn(16, 1, 8, 8).to(device), torch.randint(10, (16,)).to(device)
    model, out = model.to(device), []
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    for _ in range(10):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=autocast):
            loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


@check
def training_agrees_with_the_cpu() -> None:
    torch.testing.assert_close(torch.tensor(losses("npu")), torch.tensor(losses("cpu")), rtol=1e-4, atol=1e-5)


@check
def mixed_precision() -> None:
    torch.testing.assert_close(torch.tensor(losses("npu", True)), torch.tensor(losses("cpu", True)), rtol=5e-2, atol=5e-2)
    scaler = torch.npu.amp.GradScaler()
    assert scaler.is_enabled() and scaler.get_scale() > 1


@check
def streams_and_events() -> None:
    stream, begin, end = torch.npu.Stream(), *(torch.npu.Event(enable_timing=True) for _ in range(2))
    with torch.npu.stream(stream):
        begin.record()
        y = torch.ones(1000, device="npu") * 2
        end.record()
    torch.npu.current_stream().wait_stream(stream)
    end.synchronize()
    assert begin.elapsed_time(end) >= 0 and y.sum().item() == 2000


@check
def save_and_load() -> None:
    file = io.BytesIO()
    torch.save({"w": torch.arange(4.0).npu()}, file)
    file.seek(0)
    assert torch.load(file, weights_only=True)["w"].device.type == "npu"
    file.seek(0)
    assert torch.load(file, map_location="cpu", weights_only=True)["w"].tolist() == [0, 1, 2, 3]


@check
def operators_without_a_kernel_fall_back() -> None:
    a = torch.randn(4, 4)
    torch.testing.assert_close(torch.linalg.svdvals(a.npu()).cpu(), torch.linalg.svdvals(a))
    assert torch_npu.npu.utils.cpu_fallback_count()


@check
def memory_is_counted() -> None:
    before = torch.npu.memory_allocated()
    x = torch.empty(1 << 20, device="npu")
    assert torch.npu.memory_allocated() - before == 4 << 20
    del x
    torch.npu.empty_cache()
    assert torch.npu.memory_allocated() == before


@check
def cuda_scripts_run_after_one_import() -> None:
    from torch_npu.contrib import transfer_to_npu  # noqa: F401

    assert torch.cuda.is_available() and torch.zeros(2).cuda().device.type == "npu"
    assert torch.ones(2, device="cuda").sum().item() == 2


def main() -> int:
    failed = 0
    for function in CHECKS:
        try:
            function()
            print(f"ok      {function.__name__}")
        except Exception:
            failed += 1
            print(f"FAILED  {function.__name__}: {traceback.format_exc(limit=-1).splitlines()[-1][:300]}")
    print(f"{len(CHECKS) - failed} of {len(CHECKS)} checks pass")
    return failed


if __name__ == "__main__":
    sys.exit(main())

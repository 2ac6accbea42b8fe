# SPDX-License-Identifier: BSD-3-Clause
"""What the official torch_npu must do on our libraries; run by swap.py in the wheel's environment. Prints a line a check and
ends with 1 when one failed.
"""

import copy
import sys
import traceback

import torch
import torch_npu

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


@check
def imports() -> str:
    assert "anynpu" not in torch_npu.__version__, f"this is not the official wheel: {torch_npu.__version__}"
    assert torch.npu.is_available() and torch.npu.device_count() >= 1
    assert torch.randn(3, 3).npu().device == torch.device("npu:0")
    return f"torch {torch.__version__}, torch_npu {torch_npu.__version__}, {torch.npu.get_device_name()}"


@check
def prints_a_tensor() -> str:
    x = torch.tensor([[1.5, -2.0], [float("inf"), 1e-7]])
    text = repr(x.npu())
    assert text == repr(x)[:-1] + ", device='npu:0')", text
    assert repr(torch.arange(3).npu()) == "tensor([0, 1, 2], device='npu:0')"
    return "as on the CPU"


@check
def multiplies_matrices() -> str:
    a, b = torch.randn(1000, 1000), torch.randn(1000, 1000)
    c = (a.npu() @ b.npu()).cpu()
    torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-3)
    return f"largest difference {(c - a @ b).abs().max():.2e}"


def losses(device: str, model: torch.nn.Module, make_optimizer, x: torch.Tensor, y: torch.Tensor) -> list[float]:
    model, x, y = copy.deepcopy(model).to(device), x.to(device), y.to(device)
    optimizer, loss_of, out = make_optimizer(model.parameters()), torch.nn.CrossEntropyLoss(), []
    for _ in range(5):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


def compare_training(make_optimizer) -> str:
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128), torch.nn.ReLU(),
                                torch.nn.Linear(128, 10))
    x, y = torch.randn(96, 64), torch.randint(0, 10, (96,))
    cpu, npu = (losses(device, model, make_optimizer, x, y) for device in ("cpu", "npu"))
    worst = max(abs(a - b) / abs(a) for a, b in zip(cpu, npu, strict=True))
    assert worst < 1e-4, f"cpu {cpu}, npu {npu}"
    assert npu[-1] < npu[0]
    return f"{npu[0]:.4f} → {npu[-1]:.4f}, relative difference from the CPU {worst:.1e}"


@check
def trains_with_sgd() -> str:
    return compare_training(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))


@check
def trains_with_adamw() -> str:
    return compare_training(lambda p: torch.optim.AdamW(p, lr=1e-2))


@check
def names_what_is_wrong() -> str:
    x = torch.ones(2, 3, device="npu")
    try:
        x @ x
        torch.npu.synchronize()
    except RuntimeError as error:
        return str(error).splitlines()[0][:100]
    raise AssertionError("multiplying 2x3 by 2x3 raised nothing")


def main() -> int:
    failed = 0
    for function in CHECKS:
        name = function.__name__.replace("_", " ")
        try:
            print(f"  {name}: {function()}", flush=True)
        except Exception:
            failed += 1
            print(f"  {name}: FAILED\n{traceback.format_exc()}", flush=True)
            if function is imports:
                break
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""accelerate: finds the NPU, trains on it in every precision, and its tools name it."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@pytest.fixture(autouse=True)
def fresh_state():
    """accelerate keeps one state a process."""
    from accelerate.state import AcceleratorState, GradientState, PartialState

    def reset():
        for state in (AcceleratorState, PartialState, GradientState):
            state._reset_state()

    reset()
    yield
    reset()


def test_the_npu_is_found():
    from accelerate import Accelerator
    from accelerate.state import DistributedType
    from accelerate.utils import is_bf16_available, is_npu_available

    accelerator = Accelerator()
    assert is_npu_available(check_device=True) and is_bf16_available()
    assert accelerator.device.type == "npu" and accelerator.distributed_type == DistributedType.NO
    assert accelerator.num_processes == 1 and accelerator.is_main_process


def train(precision, cpu=False):
    """Losses of 20 steps with accumulation and clipping, and the gathered predictions."""
    from accelerate import Accelerator
    from accelerate.utils import set_seed

    accelerator = Accelerator(mixed_precision=precision, gradient_accumulation_steps=2, cpu=cpu)
    set_seed(3)
    x = torch.randn(160, 8, generator=torch.Generator().manual_seed(0))
    y = (x.sum(1) > 0).long()
    net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.5, 20)
    net, optimizer, loader, schedule = accelerator.prepare(net, optimizer, DataLoader(TensorDataset(x, y), 8), schedule)
    losses = []
    for a, b in loader:
        assert a.device.type == accelerator.device.type
        with accelerator.accumulate(net):
            out = net(a)
            loss = F.cross_entropy(out, b)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather_for_metrics(loss.detach()).mean().item())
    accelerator.wait_for_everyone()
    with torch.no_grad(), accelerator.autocast():
        predicted = accelerator.gather(net(x.to(accelerator.device))).argmax(1)
    assert accelerator.unwrap_model(net) is not None and accelerator.reduce(torch.ones(1, device=accelerator.device)).item() == 1
    return losses, (predicted.cpu() == y).float().mean().item(), out.dtype


def test_training_equals_the_cpus():
    npu, accuracy, _ = train("no")
    from accelerate.state import AcceleratorState, GradientState, PartialState

    for state in (AcceleratorState, PartialState, GradientState):
        state._reset_state()
    cpu, other, _ = train("no", cpu=True)
    assert npu == pytest.approx(cpu, rel=1e-3, abs=1e-4) and accuracy == pytest.approx(other, abs=0.02)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_mixed_precision_learns(precision):
    losses, accuracy, _ = train(precision)
    assert losses[-1] < losses[0] and accuracy > 0.8


def test_state_is_saved_and_resumed(tmp_path):
    from accelerate import Accelerator

    accelerator = Accelerator()
    net = torch.nn.Linear(4, 4)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    net, optimizer = accelerator.prepare(net, optimizer)
    accelerator.backward(net(torch.ones(1, 4, device="npu")).sum())
    optimizer.step()
    accelerator.save_state(tmp_path)
    kept = net.weight.detach().clone()
    torch.nn.init.zeros_(net.weight)
    accelerator.load_state(tmp_path)
    assert net.weight.equal(kept) and net.weight.is_npu


def test_both_ways_of_finding_the_npu_together(tmp_path):
    """transfer_to_npu with accelerate: one warning, and both still work."""
    program = tmp_path / "both.py"
    program.write_text("""
import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    from torch_npu.contrib import transfer_to_npu
    from accelerate import Accelerator
    accelerator = Accelerator(mixed_precision="fp16")
    Accelerator()
import torch
net = accelerator.prepare(torch.nn.Linear(2, 2))
assert accelerator.device.type == "npu" and net.weight.is_npu and torch.ones(1).cuda().is_npu
accelerator.backward(net(torch.ones(1, 2, device="cuda")).sum())
assert net.weight.grad.is_npu
print(sum("use one of the two" in str(w.message) for w in seen))
""")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "1"


def test_command_line_tools(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.accelerate_cli", "env"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "PyTorch accelerator: NPU" in done.stdout and "CANN version: " in done.stdout
    script = tmp_path / "script.py"
    script.write_text("""
import torch
from accelerate import Accelerator
a = Accelerator()
net, o = torch.nn.Linear(2, 1), None
net = a.prepare(net)
a.backward(net(torch.ones(1, 2, device=a.device)).sum())
a.print(a.device, a.mixed_precision, net.weight.grad.tolist())
""")
    command = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--num_processes",
        "1",
        "--mixed_precision",
        "bf16",
        str(script),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "npu bf16 [[1.0, 1.0]]", done.stdout

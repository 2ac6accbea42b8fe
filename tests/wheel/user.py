# SPDX-License-Identifier: BSD-3-Clause
"""What a user does after `pip install torch-npu anynpu`: trains under the profiler, while npu-smi looks. Writes into argv[1]."""

import subprocess
import sys

import torch
import torch_npu
from torch_npu.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

assert "site-packages" in torch_npu.__file__, torch_npu.__file__
print(torch.randn(2, 2).npu())
held = torch.empty(300 << 20, dtype=torch.uint8, device="npu")
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).npu()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
    schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
    on_trace_ready=tensorboard_trace_handler(sys.argv[1]),
    record_shapes=True,
) as prof:
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(torch.randn(32, 64).npu()), torch.randint(10, (32,)).npu())
        loss.backward()
        optimizer.step()
        prof.step()
assert torch.isfinite(loss) and not torch.npu.utils.cpu_fallback_count()
seen = subprocess.run(["npu-smi", "info"], capture_output=True, text=True, check=True).stdout
print(seen)

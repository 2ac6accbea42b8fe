# SPDX-License-Identifier: BSD-3-Clause
"""What is measured in processes of its own: importing, one thread against several, and company: PyTorch's OpenMP threads in
the same process, or another process on the same cores.

    python beside.py                # all as JSON
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time

CORES = len(os.sched_getaffinity(0))

# Programs print one JSON line. `best(call)` is the least of many, in microseconds.
PRELUDE = """
import json, sys, time
import torch, torch_npu
sys.path.insert(0, PATH)
import layers
def best(call, between=lambda: None, seconds=1.0):
    least, end = 1e30, time.perf_counter() + seconds
    while time.perf_counter() < end:
        between()
        begin = time.perf_counter()
        call()
        torch.npu.synchronize()
        least = min(least, (time.perf_counter() - begin) * 1e6)
    return least
def calls(device):
    f32 = torch.float32
    x = torch.randn(1000000).to(device)
    return {"matmul 1024": layers.product((0, 1024, 1024, 1024), f32)(device),
            "conv 64 3×3 at 56": layers.convolution(layers.CONVOLUTIONS["64 3×3 at 56"], 2, f32)(device),
            "sdpa 512": layers.attention(512, f32, False, False)(device),
            "exp 1e6": lambda: torch.exp(x)}
"""
SCALING = "print(json.dumps({name: best(call) for name, call in calls('npu').items()}))"
COMPANY = """
cpu = torch.randn(512, 512)
result = {}
for name, call in calls('npu').items():
    call()
    result[name] = [best(call), best(call, lambda: torch.mm(cpu, cpu))]
print(json.dumps(result))
"""


def run(program: str, threads: int = CORES) -> dict:
    code = PRELUDE.replace("PATH", repr(os.path.dirname(os.path.abspath(__file__)))) + program
    env = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def import_seconds(rounds: int = 5) -> dict:
    """Seconds of `import torch` alone, and of the import of torch_npu that follows, medians."""
    program = """
import time
a = time.perf_counter()
import torch
b = time.perf_counter()
import torch_npu
print(b - a, time.perf_counter() - b)
"""
    env = os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    pairs = []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, text=True, check=True)
        pairs.append([float(x) for x in done.stdout.split()])
    return {"torch": statistics.median(p[0] for p in pairs), "torch_npu": statistics.median(p[1] for p in pairs)}


def two_processes() -> dict:
    """A network's step alone and while another process trains on the same cores: [ms alone, ms each], on both devices."""
    program = """
import json, sys, time
import torch, torch_npu
sys.path.insert(0, PATH)
import models
step = models.step_of("cnn28x28_b64", DEVICE)
for _ in range(3): step().item()
print("ready", flush=True); sys.stdin.readline()
begin, n = time.perf_counter(), 0
while time.perf_counter() < begin + 2: step().item(); n += 1
print((time.perf_counter() - begin) / n * 1e3)
"""
    out = {}
    for device in ("cpu", "npu"):
        code = program.replace("PATH", repr(os.path.dirname(os.path.abspath(__file__)))).replace("DEVICE", repr(device))
        out[device] = []
        for count in (1, 2):
            pipe = subprocess.PIPE
            many = [subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True) for _ in range(count)]
            for p in many:
                p.stdout.readline()
            for p in many:
                p.stdin.write("\n")
                p.stdin.flush()
            out[device].append(statistics.mean(float(p.communicate()[0]) for p in many))
    return out


def memory() -> dict:
    """Bytes of device memory that attention takes, forward and backward, by sequence length."""
    return run("print(json.dumps({n: layers.peak_bytes(n) for n in (256, 512, 1024, 2048, 4096)}))")


def scaling() -> dict:
    """Microseconds with one thread and with all."""
    one, every = run(SCALING, 1), run(SCALING)
    return {name: [one[name], every[name]] for name in one}


def measure_all() -> dict:
    """What could be measured, by name; what could not says why on the terminal."""
    out = {}
    for name, measure in {"import_seconds": import_seconds, "attention_bytes": memory, "scaling": scaling,
                          "company": lambda: run(COMPANY), "two_processes": two_processes}.items():  # fmt: skip
        try:
            out[name] = measure()
        except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    return out


if __name__ == "__main__":
    begin = time.perf_counter()
    print(json.dumps(measure_all(), indent=1, ensure_ascii=False))
    print(f"{time.perf_counter() - begin:.0f} s", file=sys.stderr)

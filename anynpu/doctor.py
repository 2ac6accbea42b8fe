# SPDX-License-Identifier: BSD-3-Clause
"""`anynpu doctor`: which layer is wrong, with evidence, and what to type. In the guides' order: is there a CANN, is it
loaded, do the versions fit, does it compute. The first layer that fails explains those behind it.

Everything that could crash or print runs in a process of its own.
"""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator

from . import __version__, toolkit_path

PROBES = {
    "torch": "import os; os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'; import torch; print(torch.__version__)",
    "torch_npu": "import torch_npu, torch; print(torch_npu.__version__, torch_npu.__path__[0])",
    "cann": """
import torch, torch_npu
torch.npu.device_count()
path = [line.split()[-1] for line in open('/proc/self/maps') if 'libascendcl.so' in line][0]
print(torch_npu.utils.get_cann_version() or 'unknown version', path)
""",
    "device": """
import torch, torch_npu
n = torch.npu
if not n.is_available(): raise SystemExit(n.why_not_available())
print(n.device_count(), n.get_device_name(0), f"{n.mem_get_info()[1] / 2**30:.0f} GiB")
""",
    "compute": """
import torch, torch_npu
a, b = torch.randn(1000, 1000), torch.randn(1000, 1000)
c = torch.matmul(a.npu(), b.npu())
worst = (c.cpu().double() - a.double() @ b.double()).abs().max().item()
fell = sum(torch.npu.utils.cpu_fallback_count().values())
if worst > 1e-2 or c.device.type != 'npu' or fell:
    raise SystemExit(f'wrong: {c.device}, difference {worst:.2g}, {fell} on the CPU')
print(f'1000×1000 matmul on {c.device} agrees with float64 to {worst:.1e}, nothing ran on the CPU')
""",
}


def _probe(code: str) -> tuple[bool, str]:
    """(worked, last line of what it printed, or its error)."""
    try:
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return False, "no answer within 300 s"
    if done.returncode == 0:
        return True, (done.stdout.strip().splitlines() or [""])[-1]
    lines = done.stderr.strip().splitlines() or [f"died with status {done.returncode}"]
    starts = [k for k, line in enumerate(lines) if line[:1].strip() and ": " in line and not line.startswith("[ERROR]")]
    return False, "\n".join(lines[starts[-1] if starts else -1 :])


def _installed(name: str) -> str:
    found = {str(dist.locate_file("")): dist.version for dist in importlib.metadata.distributions(name=name)}
    return ", ".join(f"{version} in {place}" for place, version in found.items())


def examine() -> Iterator[tuple[str, bool, str, str]]:
    """Yields (layer, fine, evidence, what to type) from the bottom up; ends after the first layer that is not fine."""
    yield "system", sys.platform == "linux", f"{platform.platform(terse=True)}, Python {platform.python_version()}", "use Linux"
    try:
        yield "toolkit", True, f"anynpu {__version__}, {toolkit_path()}", ""
    except FileNotFoundError as error:
        yield "toolkit", bool(os.environ.get("ASCEND_HOME_PATH")), str(error), "pip install --force-reinstall anynpu"
    home = os.environ.get("ASCEND_HOME_PATH")
    yield "environment", True, f"ASCEND_HOME_PATH={home}" if home else "no ASCEND_HOME_PATH: the toolkit above is used", ""
    cann = "source /usr/local/Ascend/ascend-toolkit/set_env.sh, or unset ASCEND_HOME_PATH to use the software NPU"
    advice = {
        "torch": "pip install torch==2.13.0",
        "torch_npu": "pip install torch-npu; torch, torch-npu and the CANN must be of one release",
        "cann": cann,
        "device": "unset ASCEND_RT_VISIBLE_DEVICES",
        "compute": "ASCEND_GLOBAL_LOG_LEVEL=1 ASCEND_SLOG_PRINT_TO_STDOUT=1 and look for the first error",
    }
    for layer, code in PROBES.items():
        fine, text = _probe(code)
        if fine:
            yield layer, True, text, ""
            continue
        if layer == "torch_npu":
            text += f"\ninstalled: torch-npu {_installed('torch-npu') or 'not at all'}; torch {_installed('torch')}"
        yield layer, False, text, cann if "libascendcl.so" in text or "CANN" in text else advice[layer]
        return


def doctor(as_json: bool = False) -> int:
    """Prints the examination; returns 1 if a layer is not fine."""
    rows, failed = [], False
    for layer, fine, evidence, advice in examine():
        failed |= not fine
        rows.append({"layer": layer, "ok": fine, "evidence": evidence, "advice": "" if fine else advice})
        if not as_json:
            print(f"{'ok ' if fine else 'NOT'}  {layer:12} " + evidence.replace("\n", "\n" + " " * 18), flush=True)
            if not fine:
                print(f"     try:         {advice}")
    if as_json:
        print(json.dumps(rows, indent=1))
    return int(failed)

# SPDX-License-Identifier: BSD-3-Clause
"""`anynpu doctor [script.py]`: which layer is wrong, with evidence, and what to type.

In the guides' order: is the hardware recognised, is the environment right, does the stack load, do the versions fit, does it
compute; at last the user's script. The first layer that is wrong explains those behind it, so the examination ends there.

Everything that could crash, hang or print runs in a process of its own. No PyTorch is needed to be told that there is none.
Exit status: 0 all is well (perhaps with remarks), 1 something is wrong, 2 wrong usage.
"""

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from . import __version__, options, toolkit_path, versions
from .script import read_script

OLDEST_PYTHON = (3, 10)
LIBRARY = os.path.join("lib64", "libascendcl.so")
SOURCE = "source /usr/local/Ascend/ascend-toolkit/set_env.sh"

PROBES = {
    "stack": """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
answer = ctypes.create_string_buffer(4096)
ask = getattr(library, "aclsysGetCANNVersion", None)
print(answer.value.decode() if ask and not ask(0, answer) else "unknown version")
print([line.split()[-1] for line in open('/proc/self/maps') if 'libascendcl.so' in line][0])
""",
    "torch": """
import os
os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'
import torch
print(torch.__version__, torch.__path__[0])
""",
    "torch_npu": "import torch_npu, torch; print(torch_npu.__version__, torch_npu.__path__[0])",
    "device": """
import torch, torch_npu
n = torch.npu
if not n.is_available(): raise SystemExit(n.why_not_available() if hasattr(n, 'why_not_available') else 'is_available() is False')
print(n.device_count(), n.get_device_name(0), f"{n.mem_get_info()[1] / 2**30:.0f} GiB")
""",
    "compute": """
import torch, torch_npu
a, b = torch.randn(1000, 1000), torch.randn(1000, 1000)
c = torch.matmul(a.npu(), b.npu())
worst = (c.cpu().double() - a.double() @ b.double()).abs().max().item()
fell = sum(torch.npu.utils.cpu_fallback_count().values()) if hasattr(torch.npu.utils, 'cpu_fallback_count') else 0
if worst > 1e-2 or c.device.type != 'npu' or fell:
    raise SystemExit(f'wrong: {c.device}, difference {worst:.2g}, {fell} on the CPU')
print(f'1000×1000 matmul on {c.device} agrees with float64 to {worst:.1e}, nothing ran on the CPU')
""",
}


class Finding(NamedTuple):
    """One layer."""

    layer: str
    status: str
    """ok, remark or wrong."""
    evidence: str
    advice: str = ""
    """What to type."""


def _probe(code: str, *arguments: str) -> tuple[bool, str]:
    """(worked, what it printed, or its error)."""
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return False, "no answer within 300 s"
    if done.returncode == 0:
        return True, done.stdout.strip()
    lines = done.stderr.strip().splitlines() or [f"died with status {done.returncode}"]
    starts = [k for k, line in enumerate(lines) if line[:1].strip() and ": " in line and not line.startswith("[ERROR]")]
    return False, "\n".join(lines[starts[-1] if starts else -1 :])


def _installed(name: str) -> dict[str, str]:
    """Place → version of each distribution of that name."""
    return {str(dist.locate_file("")): dist.version for dist in importlib.metadata.distributions(name=name)}


def _home() -> str:
    return os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_TOOLKIT_HOME") or ""


def _toolkit() -> str:
    """The toolkit that torch_npu will open; "" where there is none."""
    if _home():
        return _home()
    try:
        return toolkit_path()
    except FileNotFoundError:
        return ""


def _system() -> Finding:
    text = f"{platform.platform(terse=True)}, {platform.machine()}, Python {platform.python_version()}"
    if sys.platform != "linux":
        return Finding("system", "wrong", text, "use Linux, or a container or virtual machine with it")
    if tuple(sys.version_info) < OLDEST_PYTHON:
        newest = next(iter(versions.PYTHONS))
        first, last = versions.PYTHONS[newest]
        return Finding("system", "wrong", f"{text}: PyTorch {newest} comes for Python {first} to {last}",
                       "python3.11 -m venv .venv && source .venv/bin/activate, then install again")  # fmt: skip
    return Finding("system", "ok", text)


def _hardware() -> Finding:
    """npu-smi info -l: what the guides type first."""
    tools = [os.path.join(folder, "npu-smi") for folder in os.environ.get("PATH", "").split(os.pathsep)]
    tools.append(os.path.join(_toolkit(), "bin", "npu-smi"))
    tool = next((path for path in tools if os.access(path, os.X_OK)), "")
    real = os.path.exists("/dev/davinci_manager")
    if not tool:
        if real:
            return Finding("hardware", "wrong", "/dev/davinci_manager is there, npu-smi is not", "install the driver's tools")
        return Finding("hardware", "remark", "no npu-smi on PATH", "pip install --force-reinstall anynpu")
    try:
        done = subprocess.run([tool, "info", "-l"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("hardware", "wrong", f"{tool} info -l: {error}", "reinstall what npu-smi belongs to")
    found = re.search(r"Total Count\s*:\s*(\d+)", done.stdout)
    if done.returncode or not found or found[1] == "0":
        text = (done.stdout + done.stderr).strip().splitlines()
        advice = "unset ANYNPU_DEVICES" if os.environ.get("ANYNPU_DEVICES") == "0" else "load the driver; see dmesg"
        return Finding("hardware", "wrong", f"{tool} info -l: {(text or ['no answer'])[0]}", advice)
    kind = "hardware" if real else "software devices"
    return Finding("hardware", "ok", f"{tool} counts {found[1]} NPUs ({kind})")


def _environment() -> Finding:
    home, libraries = _home(), os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    one, two = os.environ.get("ASCEND_HOME_PATH"), os.environ.get("ASCEND_TOOLKIT_HOME")
    if home and not os.path.isdir(home):
        return Finding("environment", "wrong", f"ASCEND_HOME_PATH={home} is no folder",
                       f"{SOURCE}, or unset ASCEND_HOME_PATH ASCEND_TOOLKIT_HOME to use the software NPU")  # fmt: skip
    if home and not os.path.exists(os.path.join(home, LIBRARY)):
        return Finding("environment", "wrong", f"ASCEND_HOME_PATH={home} has no {LIBRARY}: not a toolkit",
                       f"{SOURCE}, or unset ASCEND_HOME_PATH ASCEND_TOOLKIT_HOME to use the software NPU")  # fmt: skip
    if not home and (os.environ.get("ASCEND_OPP_PATH") or os.environ.get("ASCEND_AICPU_PATH")):
        return Finding("environment", "wrong", "half sourced: ASCEND_OPP_PATH is set, ASCEND_HOME_PATH is not",
                       f"{SOURCE}, or unset ASCEND_OPP_PATH ASCEND_AICPU_PATH")  # fmt: skip
    if one and two and os.path.realpath(one) != os.path.realpath(two):
        return Finding("environment", "wrong", f"two toolkits: ASCEND_HOME_PATH={one}, ASCEND_TOOLKIT_HOME={two}",
                       f"a new shell, then {SOURCE} once")  # fmt: skip
    holders = [folder for folder in libraries if folder and os.path.exists(os.path.join(folder, "libascendcl.so"))]
    own = os.path.realpath(os.path.join(home, "lib64")) if home else ""
    if holders and os.path.realpath(holders[0]) != own:
        advice = f"a new shell, then {SOURCE} once" if home else "unset LD_LIBRARY_PATH, or source that toolkit's set_env.sh"
        text = f"half sourced: LD_LIBRARY_PATH leads to {holders[0]}, but ASCEND_HOME_PATH is {home or 'not set'}"
        return Finding("environment", "wrong", text, advice)
    wrong = []
    if _toolkit() and os.access(os.path.join(toolkit_path() if not home else _toolkit(), "bin", "anynpu-options"), os.X_OK):
        try:
            wrong = options.complaints(options.options())
        except (OSError, subprocess.SubprocessError, ValueError, FileNotFoundError):
            wrong = []
    if wrong:
        return Finding("environment", "wrong", "\n".join(wrong), f"unset {re.split(r'[= ]', wrong[0])[0]}")
    return Finding("environment", "ok", f"ASCEND_HOME_PATH={home}" if home else "no set_env.sh sourced, none needed: see stack")


def _stack() -> tuple[Finding, str]:
    """Also the CANN's version."""
    place = _toolkit()
    if not place:
        return Finding("stack", "wrong", f"anynpu {__version__} carries no toolkit ({LIBRARY}), and no CANN is sourced",
                       f"pip install --force-reinstall anynpu, or {SOURCE}"), ""  # fmt: skip
    fine, text = _probe(PROBES["stack"], os.path.join(place, LIBRARY))
    if not fine:
        advice = SOURCE if _home() else "pip install --force-reinstall anynpu"
        return Finding("stack", "wrong", f"{os.path.join(place, LIBRARY)} does not load: {text}", advice), ""
    cann, _, path = text.partition("\n")
    return Finding("stack", "ok", f"CANN {cann} from {path}"), cann


def _versions(cann: str) -> Finding:
    torches, npus = _installed("torch"), _installed("torch-npu")
    torch, npu = next(iter(torches.values()), ""), next(iter(npus.values()), "")
    fine, text = versions.judge(torch, npu, "" if cann == "unknown version" else cann, platform.python_version())
    if not torch:
        return Finding("versions", "wrong", "torch is not installed", f"pip install torch=={versions.PAIRS[0][1]}")
    if not npu:
        return Finding("versions", "wrong", f"torch {torch} is installed, torch-npu is not", "pip install torch-npu")
    if len(npus) > 1:
        both = ", ".join(f"{version} in {place}" for place, version in npus.items())
        kinds = {"+anynpu" in version for version in npus.values()}
        what = "the official torch-npu and AnyNPU's are both installed" if len(kinds) > 1 else "torch-npu is installed twice"
        return Finding("versions", "wrong", f"{what}: {both}; which one runs depends on the path",
                       "pip uninstall -y torch-npu (until none is left), then pip install the one you want")  # fmt: skip
    if not fine:
        right = versions.PAIRS[0][1] if "+anynpu" in npu else (versions.rows_for(torch_npu=npu) or [versions.PAIRS[0]])[0][1]
        return Finding("versions", "wrong", text, f"pip install torch=={right}" if "torch is" in text else "see the pairs above")
    return Finding("versions", "ok", f"{text} (published table of {versions.DATE})")


def _script(path: str) -> Finding:
    try:
        remarks = read_script(path)
    except (OSError, SyntaxError, ValueError) as error:
        return Finding("script", "wrong", f"{path}: {error}", "python -m py_compile " + path)
    text = "\n".join(f"{path}:{remark.line}: {remark.text}" for remark in remarks)
    if any(remark.wrong for remark in remarks):
        return Finding("script", "wrong", text, "replace what is named; docs of transfer_to_npu say what it redirects")
    return Finding("script", "remark" if remarks else "ok", text or f"{path}: nothing that only CUDA has")


ADVICE = {
    "torch": f"pip install torch=={versions.PAIRS[0][1]}",
    "torch_npu": "pip install --force-reinstall torch-npu; torch, torch-npu and the CANN must be of one release",
    "device": "unset ASCEND_RT_VISIBLE_DEVICES",
    "compute": "ASCEND_GLOBAL_LOG_LEVEL=1 ASCEND_SLOG_PRINT_TO_STDOUT=1 and look for the first error",
}


def examine(script: str = "") -> Iterator[Finding]:
    """Findings from the bottom up; ends after the first layer that is wrong."""
    cann = ""
    for step in (_system, _hardware, _environment, _stack, _versions):
        finding = step(cann) if step is _versions else step()
        if step is _stack:
            finding, cann = finding
        yield finding
        if finding.status == "wrong":
            return
    for layer in ("torch", "torch_npu", "device", "compute"):
        fine, text = _probe(PROBES[layer])
        if fine:
            yield Finding(layer, "ok", text.splitlines()[-1] if text else "")
            continue
        advice = ADVICE[layer]
        if layer == "torch_npu" and ("libascendcl.so" in text or "CANN" in text):
            advice = SOURCE
        elif layer == "device" and "ASCEND_RT_VISIBLE_DEVICES" not in os.environ:
            advice = ADVICE["compute"]
        yield Finding(layer, "wrong", text, advice)
        return
    if script:
        yield _script(script)


def doctor(as_json: bool = False, script: str = "") -> int:
    """Prints the examination; returns 1 if a layer is wrong."""
    marks = {"ok": "ok ", "remark": "ok*", "wrong": "NOT"}
    rows, wrong = [], False
    for finding in examine(script):
        wrong |= finding.status == "wrong"
        rows.append(finding._asdict() | {"ok": finding.status != "wrong"})
        if not as_json:
            print(f"{marks[finding.status]}  {finding.layer:12} " + finding.evidence.replace("\n", "\n" + " " * 18), flush=True)
            if finding.advice:
                print(f"     {'try:' if finding.status == 'wrong' else 'or:':12} {finding.advice}", flush=True)
    if as_json:
        print(json.dumps({"ok": not wrong, "versions_of": versions.DATE, "layers": rows}, indent=1, ensure_ascii=False))
    elif not wrong:
        print("everything the guides ask for is there")
    return int(wrong)

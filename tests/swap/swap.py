# SPDX-License-Identifier: BSD-3-Clause
"""The official torch-npu wheel on our libraries, for both families of chips that it knows.

    swap.py [PROGRAM [ARGUMENT…]]     another program than program.py, for trying things: prints its output

The wheel lives in an environment of its own, build/swap/venv, made at the first run: torch is shared with the environment
that runs this script when it is the right one there. ANYNPU_SWAP_PYTHON names another environment's python instead.
"""

import importlib.metadata
import os
import pathlib
import subprocess
import sys
import sysconfig
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLKIT = ROOT / "build/release/python/anynpu/toolkit"
PLACE = ROOT / "build/swap/venv"
TORCH, WHEEL = "2.13.0", "torch-npu==2.13.0"
# name of the chip, further variables, program: the wheel decides by the name which operators it calls; its queue thread hides
# errors, so it is off except once.
RUNS = [
    ("Ascend950PR_9599", {"TASK_QUEUE_ENABLE": "0"}, "program.py"),
    ("Ascend910B1", {"TASK_QUEUE_ENABLE": "0"}, "program.py"),
    ("Ascend910B1", {}, "program.py"),
    ("Ascend910B1", {}, "profiling.py"),
    ("Ascend910B1", {}, "ddp.py"),
]


def shares_torch() -> bool:
    """Is the running environment's torch the right one, and is there no torch_npu beside it?"""
    try:
        right = importlib.metadata.version("torch").split("+")[0] == TORCH
        importlib.metadata.version("numpy"), importlib.metadata.version("pyyaml")
    except importlib.metadata.PackageNotFoundError:
        return False
    site = importlib.metadata.distributions(path=[sysconfig.get_path("purelib")])
    npu = [d for d in site if d.name in ("torch-npu", "torch_npu")]
    return right and not npu


def environment() -> str:
    """The python of the wheel's environment, made if it is missing."""
    if os.environ.get("ANYNPU_SWAP_PYTHON"):
        return os.environ["ANYNPU_SWAP_PYTHON"]
    python = PLACE / "bin/python"
    done = PLACE / "ready"
    if not done.exists():
        print(f"Making {PLACE.relative_to(ROOT)} with {WHEEL}: a minute or two, once", flush=True)
        venv.create(PLACE, with_pip=True, clear=True)
        # -I: without PYTHONPATH, where pip would find our own torch-npu and be content with it
        pip = [python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if shares_torch():
            site = next(PLACE.glob("lib/python*/site-packages"))
            (site / "shared_torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
        else:
            subprocess.run([*pip, f"torch=={TORCH}", "numpy", "pyyaml"], check=True)
        subprocess.run([*pip, "--no-deps", WHEEL], check=True)
        done.touch()
    return str(python)


def run(python: str, soc: str, variables: dict[str, str], program: list[str]) -> int:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "TASK_QUEUE", "PYTHONPATH"))}
    # the environment's own first, as when it is activated: msprof runs with its python3
    programs = [str(pathlib.Path(python).parent), str(TOOLKIT / "tools/profiler/bin"), str(TOOLKIT / "bin")]
    env |= {
        "ANYNPU_SOC": soc,
        "ASCEND_HOME_PATH": str(TOOLKIT),
        "ASCEND_TOOLKIT_HOME": str(TOOLKIT),
        "ASCEND_OPP_PATH": str(TOOLKIT / "opp"),
        "PATH": ":".join([*programs, os.environ.get("PATH", "/usr/bin:/bin")]),
        "LD_LIBRARY_PATH": ":".join(filter(None, [str(TOOLKIT / "lib64"), os.environ.get("LD_LIBRARY_PATH")])),
    } | variables
    # not from the root folder: its torch_npu would be imported
    return subprocess.run([python, *program], env=env, cwd=ROOT / "tests/swap", timeout=600).returncode


def main() -> int:
    if not (TOOLKIT / "lib64/libascendcl.so").exists():
        sys.exit(f"{TOOLKIT} holds no libraries: build them first")
    python = environment()
    if len(sys.argv) > 1:
        soc = os.environ.get("ANYNPU_SOC", "Ascend910B1")
        return run(python, soc, {"TASK_QUEUE_ENABLE": os.environ.get("TASK_QUEUE_ENABLE", "0")}, sys.argv[1:])
    failed = 0
    for soc, variables, program in RUNS:
        print(f"official torch_npu on {soc}{'' if variables else ', with its queue'}: {program}", flush=True)
        failed += run(python, soc, variables, [program]) != 0
    print(f"official wheel: {len(RUNS) - failed} of {len(RUNS)} runs passed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

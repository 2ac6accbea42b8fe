# SPDX-License-Identifier: BSD-3-Clause
"""Builds both wheels, installs them into an environment of their own, and uses them there; see README.md."""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/wheel-test"


def run(*command: object, **more: object) -> str:
    """The command's output; an error with all of it when it fails."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "PYTHONPATH", "LD_LIBRARY_PATH"))}
    env["PATH"] = f"{PLACE / 'venv/bin'}:{env['PATH']}"
    done = subprocess.run([str(c) for c in command], env=env, capture_output=True, text=True, cwd=PLACE, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


def build() -> list[pathlib.Path]:
    wheels = PLACE / "wheels"
    wheels.mkdir(parents=True)
    for source in (ROOT / "anynpu", ROOT):
        print(f"building {source.relative_to(ROOT.parent)}", flush=True)
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", wheels, source)
    return sorted(wheels.glob("*.whl"))


def install(wheels: list[pathlib.Path]) -> pathlib.Path:
    """The environment's python. PyTorch is this environment's own, by a path file: it need not be fetched again."""
    venv.create(PLACE / "venv", with_pip=True)
    python = PLACE / "venv/bin/python"
    site = next((PLACE / "venv").glob("lib/python*/site-packages"))
    (site / "shared_torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
    # torch-npu names anynpu by the source tree it was built from; here the wheel beside it is meant
    run(python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *wheels)
    return python


def check(python: pathlib.Path) -> None:
    doctor = run("anynpu", "doctor")
    assert "everything the guides ask for is there" in doctor, doctor
    print(run("npu-smi", "-v").strip())
    table = run("npu-smi", "info")
    assert re.search(r"^\| 0 +910B3 +\| OK ", table, re.M) and "No running processes found in NPU 0" in table, table
    result = PLACE / "result"
    seen = run(python, ROOT / "tests/wheel/user.py", result)
    assert "device='npu:0'" in seen, seen
    row = re.search(r"^\| 0 +0 +\| (\d+) +\| python\S* +\| (\d+) +\|$", seen, re.M)
    assert row and int(row[2]) >= 300, seen
    (folder,) = result.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT")
    files = {path.name for path in folder.iterdir()}
    wanted = {"trace_view.json", "kernel_details.csv", "op_statistic.csv", "operator_details.csv", "step_trace_time.csv"}
    assert wanted <= files, files
    json.loads((folder / "trace_view.json").read_text())
    with open(folder / "op_statistic.csv") as file:
        kinds = {line["OP Type"] for line in csv.DictReader(file)}
    assert {"Addmm", "Relu"} <= kinds, kinds
    with open(folder / "step_trace_time.csv") as file:
        assert len(list(csv.DictReader(file))) == 2
    trace = run("anynpu", "trace", result)
    assert "Addmm" in trace and "nothing ran on the CPU" in trace, trace
    assert (result / "trace.html").stat().st_size > 10_000
    assert run("anynpu", "path").strip().startswith(str(PLACE))
    print(trace.splitlines()[0], "…", f"{len(files)} files", sep=" ")


def main() -> int:
    shutil.rmtree(PLACE, ignore_errors=True)
    python = install(build())
    check(python)
    shutil.rmtree(PLACE)
    print("wheels: 1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())

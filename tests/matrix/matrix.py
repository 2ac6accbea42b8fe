# SPDX-License-Identifier: BSD-3-Clause
"""The package against every PyTorch that it is written for: builds it in an environment of each version's own, runs the
guides' lines (guides.py) and some of the tests, removes the environment again and writes docs/COMPATIBILITY.md.

    matrix.py [--versions 2.7.1,2.12.0] [--keep] [--environments DIR]

PyPI's x86_64 builds of most versions bring CUDA libraries, some 5 GB each, so this is run by hand. --environments names a
folder of environments that exist already, t<version>; --keep leaves them and the builds in place.
"""
from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/matrix"
PAGE = ROOT / "docs/COMPATIBILITY.md"
VERSIONS = ("2.7.1", "2.12.0", "2.13.0")
NEEDS = ("numpy", "pyyaml", "cmake", "ninja", "pytest", "pytest-timeout")
TESTS = ("test_tensors.py", "test_streams.py", "test_elementwise.py", "test_amp.py")


@dataclass
class Outcome:
    version: str
    torch: str = "–"
    guides: str = "not run"
    tests: str = "not run"
    failures: list[str] | None = None


def environment(version: str, folder: pathlib.Path | None) -> pathlib.Path:
    """The environment's folder, made when there is none."""
    place = (folder or PLACE) / f"t{version}"
    if not (place / "bin/python").exists():
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin/python", "-m", "pip", "install", "-q", f"torch=={version}"], check=True)
    subprocess.run([place / "bin/python", "-m", "pip", "install", "-q", *NEEDS], check=True)
    return place


def build(version: str, python: pathlib.Path) -> pathlib.Path:
    """Builds the package for that Python's torch; the PYTHONPATH of the result."""
    folder = PLACE / f"build-{version}"
    cmake = [python.parent / "cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, f"-DCMAKE_MAKE_PROGRAM={python.parent / 'ninja'}",
             f"-DPython3_EXECUTABLE={python}", "-DCMAKE_BUILD_TYPE=Release", "-DANYNPU_BUILD_TESTS=OFF"]
    subprocess.run(cmake, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([python.parent / "cmake", "--build", folder, "-j", str(os.cpu_count())], check=True, stdout=subprocess.DEVNULL)
    return folder / "python"


def run(command: list[object], path: pathlib.Path) -> tuple[int, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "LD_LIBRARY_PATH"))} | {"PYTHONPATH": str(path)}
    done = subprocess.run(
        [str(c) for c in command], env=env, cwd=ROOT / "tests/matrix", capture_output=True, text=True, timeout=1800
    )
    return done.returncode, done.stdout + done.stderr


def try_version(version: str, folder: pathlib.Path | None) -> Outcome:
    result = Outcome(version, failures=[])
    try:
        python = environment(version, folder) / "bin/python"
        path = build(version, python)
    except subprocess.CalledProcessError as error:
        result.guides = f"`{pathlib.Path(str(error.cmd[0])).name}` failed"
        return result
    result.torch = run([python, "-c", "import torch; print(torch.__version__)"], path)[1].splitlines()[-1]
    _, out = run([python, "-W", "ignore", "guides.py"], path)
    result.guides = out.splitlines()[-1] if out else "no output"
    result.failures += [line.removeprefix("FAILED").strip() for line in out.splitlines() if line.startswith("FAILED")]
    tests = [ROOT / "tests/torch" / name for name in TESTS]
    _, out = run([python, "-m", "pytest", "-q", "--timeout", "300", "-p", "no:cacheprovider", *tests], path)
    found = re.findall(r"^=*\s*((?:\d+ [a-z]+,? ?)+) in ", out, re.MULTILINE)
    result.tests = found[-1] if found else out[-200:]
    result.failures += [line.removeprefix("FAILED").strip()[:200] for line in out.splitlines() if line.startswith("FAILED")]
    return result


def page(results: list[Outcome]) -> str:
    today = datetime.date.today().isoformat()
    lines = [
        "# Compatibility", "",
        "Made by `make matrix` (tests/matrix); do not edit.", "",
        f"{today} · {platform.machine()} · Python {platform.python_version()} · "
        f"{platform.freedesktop_os_release()['PRETTY_NAME']}", "",
        "One source builds with each of these versions of PyTorch; what differs between them is in",
        "torch_npu/csrc/bridge/version.h. `torch-npu` takes the version of the PyTorch that it was built beside. The guides'",
        f"lines are tests/matrix/guides.py, the tests {', '.join(TESTS)} of tests/torch.", "",
        "| PyTorch | build | the guides' lines | tests |", "|---|---|---|---|",
    ]
    lines += [f"| {r.version} | {r.torch} | {r.guides} | {r.tests} |" for r in results]
    for r in results:
        if r.failures:
            lines += ["", f"## What does not work with {r.version}", "", *(f"- {failure}" for failure in r.failures)]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", default=",".join(VERSIONS))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--environments", type=pathlib.Path)
    args = parser.parse_args()
    results = []
    for version in args.versions.split(","):
        print(f"torch {version} …", flush=True)
        results.append(try_version(version, args.environments))
        print(f"torch {version}: {results[-1].guides}; tests: {results[-1].tests}", flush=True)
        if not args.keep:
            shutil.rmtree(PLACE / f"build-{version}", ignore_errors=True)
            if not args.environments:
                shutil.rmtree(PLACE / f"t{version}", ignore_errors=True)
    PAGE.write_text(page(results))
    return any(not r.guides.startswith(tuple("123456789")) for r in results)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes what others need of torch_npu/_variables.py, the table of the package's environment variables.

variables.py --header FILE          the rows for the bridge in C (VARIABLE and ALLOC_KEY, included with macros)
variables.py --page PROGRAM         writes docs/OPTIONS.md; PROGRAM (anynpu_options) prints the software CANN's half
variables.py --check PROGRAM        1 if the committed page is not that
"""

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "OPTIONS.md"


def load() -> ModuleType:
    """torch_npu/_variables.py, without the package around it."""
    spec = importlib.util.spec_from_file_location("_variables", ROOT / "torch_npu" / "_variables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def header(variables: ModuleType) -> str:
    """VARIABLE(name, default) and ALLOC_KEY(name, kind, low, high, rule), whichever is defined."""
    lines = ["/* Written by tools/variables.py of torch_npu/_variables.py. */", "#ifdef VARIABLE"]
    lines += [f'VARIABLE({row.name}, "{row.default}")' for row in variables.TABLE.values()]
    lines += ["#endif", "#ifdef ALLOC_KEY"]
    lines += [f'ALLOC_KEY({key.name}, {key.kind}, {key.low}, {key.high}, "{key.rule}")' for key in variables.ALLOC_KEYS]
    return "\n".join(lines) + "\n#endif\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _tables(variables: ModuleType) -> list[str]:
    lines = [
        "",
        "## The PyTorch backend",
        "",
        "Environment variables that `torch_npu` reads, each when it is needed. A value that is not valid is named when the",
        "package is imported: for some it is an error, as in the official package, else the default holds. The last column says",
        "`accepted` where a right value changes nothing, because the software NPU has nothing to set. (The table is",
        "`torch_npu/_variables.py`.)",
        "",
        "| Option | Default | Accepts | Meaning | |",
        "|---|---|---|---|---|",
    ]
    for row in variables.TABLE.values():
        state = "accepted" if row.idle else ""
        lines.append(_row(f"`{row.name}`", row.default or "–", row.values, row.meaning, state))
    lines += [
        "",
        "Keys of `PYTORCH_NPU_ALLOC_CONF`, as in `max_split_size_mb:64,garbage_collection_threshold:0.6`. An unknown key or a",
        "wrong value is an error at the first use of device memory, by name.",
        "",
        "| Key | Accepts | Meaning | |",
        "|---|---|---|---|",
    ]
    for key in variables.ALLOC_KEYS:
        lines.append(_row(f"`{key.name}`", key.rule, key.meaning, "accepted" if key.idle else ""))
    return lines


def page(variables: ModuleType, program: str) -> str:
    """docs/OPTIONS.md."""
    half = subprocess.run([program], check=True, capture_output=True, text=True).stdout.rstrip("\n")
    intro = (
        "# Options\n\n`anynpu options` prints all of these with their present values, and refuses malformed ones.\n"
        "(This page is written by `cmake --build build/release --target docs`.)\n\n"
    )
    return intro + half + "\n" + "\n".join(_tables(variables)) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--header", metavar="FILE")
    parser.add_argument("--page", metavar="PROGRAM")
    parser.add_argument("--check", metavar="PROGRAM")
    chosen = parser.parse_args()
    variables = load()
    if chosen.header:
        path = Path(chosen.header)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(header(variables), encoding="utf-8")
    if chosen.page:
        PAGE.write_text(page(variables, chosen.page), encoding="utf-8")
    if chosen.check and page(variables, chosen.check) != PAGE.read_text(encoding="utf-8"):
        print(f"{PAGE} is out of date: cmake --build build/release --target docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""`anynpu options`: every environment variable that the software CANN and the PyTorch backend read, with its present value.

A malformed value and an unknown ANYNPU_ name are refused by name. The tables are those that parse the values: the toolkit's
program anynpu-options prints its own, and the backend's is read from its file, without importing PyTorch.
"""

import difflib
import importlib.util
import json
import os
import subprocess
import sys
from types import ModuleType
from typing import NamedTuple

from . import toolkit_path

ELSEWHERE = ("ANYNPU_CASES", "ANYNPU_SWAP_PYTHON")
"""Read by our tests."""


class Option(NamedTuple):
    """One variable."""

    part: str
    name: str
    default: str
    accepts: str
    meaning: str
    value: str
    """"" when it is not set."""
    valid: bool


def _cann() -> list[Option]:
    program = os.path.join(toolkit_path(), "bin", "anynpu-options")
    done = subprocess.run([program, "--values"], capture_output=True, text=True, check=True, timeout=60)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return [Option("CANN", *row[:5], valid=row[5] == "1") for row in rows]


def _table() -> ModuleType | None:
    """torch_npu/_variables.py; None where the backend is not installed."""
    for entry in sys.path:
        path = os.path.join(entry, "torch_npu", "_variables.py")
        if os.path.isfile(path):
            spec = importlib.util.spec_from_file_location("_torch_npu_variables", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    return None


def _backend() -> list[Option]:
    table = _table()
    found = []
    for row in table.TABLE.values() if table else ():
        value = os.environ.get(row.name, "")
        meaning = row.meaning + (" (Accepted; nothing to set in software.)" if row.idle else "")
        found.append(Option("torch_npu", row.name, row.default, row.values, meaning, value, not value or row.accepts(value)))
    return found


def options() -> list[Option]:
    """All options, the CANN's first."""
    return _cann() + _backend()


def complaints(rows: list[Option]) -> list[str]:
    """What is wrong in the environment, a line each."""
    lines = [f"{row.name}={row.value} is not valid: expected {row.accepts}" for row in rows if not row.valid]
    known = {row.name for row in rows} | set(ELSEWHERE)
    for name in sorted(os.environ):
        if name.startswith("ANYNPU_") and name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0)[0]
            lines.append(f"{name} is not an option; did you mean {near}?")
    return lines


def print_options(as_json: bool = False, only_set: bool = False) -> int:
    """Prints the options; what is wrong goes to stderr. Returns 1 if something is."""
    rows = options()
    shown = [row for row in rows if row.value or not only_set]
    if as_json:
        print(json.dumps([row._asdict() for row in shown], indent=1, ensure_ascii=False))
    else:
        width = max((len(row.name) for row in shown), default=0)
        part = ""
        for row in shown:
            if row.part != part:
                part = row.part
                print(f"{part}:")
            value = f"{row.value}  (set)" if row.value else row.default or "–"
            print(f"  {row.name:<{width}}  {value}\n  {'':<{width}}    {row.meaning} [{row.accepts}]")
    wrong = complaints(rows)
    for line in wrong:
        print(f"anynpu: {line}", file=sys.stderr)
    return int(bool(wrong))

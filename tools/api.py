#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/API.md: the official torch_npu's public Python names, looked up in our installed package.

  api.py --write        writes the page
  api.py --check        1 if the committed page is not that, a signature disagrees or something missing has no reason

Names and signatures are official_api.tsv's. The state of a name:

  works      it is there, its signature agrees, and a test uses it
  accepted   it is there, checks what it is given, and has nothing to do on a software NPU (api_notes.tsv says why)
  untested   it is there, and no test uses it
  missing    it is not there, or refuses every call (api_notes.tsv says why; such a note begins with "Refused")
"""

import argparse
import ast
import fnmatch
import importlib
import inspect
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "API.md"
TESTS = ("torch", "distributed", "profiler")
"""Folders of tests that use the package as programs do."""

STATES = ("works", "accepted", "untested", "missing")


class Name(NamedTuple):
    """A row of official_api.tsv."""

    module: str
    name: str
    signature: str


class Row(NamedTuple):
    """A row of the page; disagreement is "" where the signature agrees."""

    name: Name
    state: str
    note: str
    disagreement: str


def _lines(path: Path) -> list[list[str]]:
    text = path.read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


def official() -> list[Name]:
    """official_api.tsv."""
    return [Name(*cells) for cells in _lines(ROOT / "tools" / "official_api.tsv")]


def notes() -> list[tuple[str, str, str]]:
    """api_notes.tsv: (pattern of "module.name", state or "", note)."""
    return [tuple(cells) for cells in _lines(ROOT / "tools" / "api_notes.tsv")]


def used_by_tests() -> set[str]:
    """Names that the tests use as an attribute or import, in their own code or in programs that they run."""
    found = set()
    for path in sorted(path for folder in TESTS for path in (ROOT / "tests" / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.ImportFrom | ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(re.findall(r"\.(\w+)", node.value))
                found.update(re.findall(r"import ([\w, ]+)", node.value))
                found.update(re.findall(r"^\w{5,}$", node.value))  # a name given to getattr
    return found


def _parameters(text: str) -> list[inspect.Parameter] | None:
    """Parameters of "(a, b=1, *, c)"; a default that is no literal becomes Ellipsis."""
    inside = text[text.index("(") + 1 : text.rindex(")")]
    try:
        arguments = ast.parse(f"def f({inside}): pass").body[0].args
    except SyntaxError:
        return None

    def default(node: ast.expr | None) -> Any:
        if node is None:
            return inspect.Parameter.empty
        try:
            return eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
        except NameError:
            return ...

    plain = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    made = [inspect.Parameter(a.arg, kind, default=default(d)) for a, d in zip(plain, defaults) if a.arg != "self"]
    for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults):
        made.append(inspect.Parameter(a.arg, inspect.Parameter.KEYWORD_ONLY, default=default(d)))
    return made


def disagreement(name: Name, ours: Any) -> str:
    """How our object differs from the official signature; "" if calls written for it work here."""
    for method in name.signature.partition("methods: ")[2].split():
        if not hasattr(ours, method):
            return f"no method {method}"
    text = name.signature.partition(" methods: ")[0]
    wanted = _parameters(text) if "(" in text else None
    if wanted is None:
        return ""
    try:
        have = dict(inspect.signature(ours).parameters)
    except (TypeError, ValueError):
        return "no signature to compare"
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in have.values()):
        return ""
    positions = [p.name for p in have.values() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    for at, parameter in enumerate(wanted):
        if parameter.name not in have:
            return f"no parameter {parameter.name}"
        mine = have[parameter.name].default
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and positions[at : at + 1] != [parameter.name]:
            return f"parameter {parameter.name} is not number {at + 1}"
        if parameter.default is inspect.Parameter.empty and mine is not inspect.Parameter.empty:
            continue
        if parameter.default is not ... and mine != parameter.default and str(mine) != str(parameter.default):
            return f"{parameter.name} is {mine!r} by default, not {parameter.default!r}"
    extra = [p for p in have.values() if p.name not in {w.name for w in wanted} and p.default is inspect.Parameter.empty]
    extra = [p for p in extra if p.kind is not inspect.Parameter.VAR_POSITIONAL]
    return f"parameter {extra[0].name} must be given" if extra else ""


def examine() -> list[Row]:
    """All rows, by looking at the package that Python finds."""
    import torch_npu  # noqa: F401

    used, remarks, rows = used_by_tests(), notes(), []
    for name in official():
        full = f"{name.module}.{name.name}"
        state, note = next(((s, n) for pattern, s, n in remarks if fnmatch.fnmatchcase(full, pattern)), ("", ""))
        try:
            ours = getattr(importlib.import_module(name.module), name.name)
        except (ImportError, AttributeError):
            rows.append(Row(name, "missing", note, ""))
            continue
        if state == "missing" and note.startswith("Refused"):
            rows.append(Row(name, "missing", note, ""))
            continue
        differs = disagreement(name, ours) if name.signature else ""
        if state != "accepted":
            state, note = ("works", "") if name.name in used else ("untested", "")
        rows.append(Row(name, state, note, differs))
    return rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(rows: list[Row]) -> str:
    """docs/API.md."""
    npu = Counter(row.state for row in rows if row.name.module == "torch_npu.npu")
    every = Counter(row.state for row in rows)
    lines = [
        "# The official Python names",
        "",
        "Every public name of the official torch_npu 2.13.0 (the `__all__` of each of its modules), looked up in this package by",
        "`python tools/api.py --write`. **works**: it is there with the official signature, and a test uses it;",
        "**accepted**: it is there and checks what it is given, and a software NPU has nothing to set; **untested**: it is",
        "there, no test uses it; **missing**: it is not there or refuses, with the reason. `torch.npu` is `torch_npu.npu`.",
        "Operators are listed in [CONFORMANCE.md](CONFORMANCE.md), environment variables in [OPTIONS.md](OPTIONS.md).",
        "",
        "| | names | " + " | ".join(STATES) + " |",
        "|---|---" + "|---" * len(STATES) + "|",
        f"| `torch.npu` | {sum(npu.values())} | " + " | ".join(str(npu[state]) for state in STATES) + " |",
        f"| all modules | {sum(every.values())} | " + " | ".join(str(every[state]) for state in STATES) + " |",
    ]
    merged: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        key = (row.name.name, row.name.signature, row.state, row.note)
        merged.setdefault(key, []).append(row.name.module)
    order: dict[str, list[str]] = {}
    for (name, signature, state, note), modules in merged.items():
        home, others = modules[0], modules[1:]
        shown = re.sub(r"^class", "", signature.partition(" methods: ")[0]).replace("(self, ", "(").replace("(self)", "()")
        where = f" Also in {', '.join(f'`{other}`' for other in others)}." if others else ""
        call = f"`{name}{shown}`" if shown.startswith("(") else f"`{name}`"
        order.setdefault(home, []).append(f"| {_cell(call)} | {state} | {_cell(note)}{where} |")
    for module in sorted(order, key=lambda m: (m != "torch_npu.npu", m)):
        title = module + (" (torch.npu)" if module == "torch_npu.npu" else "")
        lines += ["", f"## {title}", "", "| Name | State | |", "|---|---|---|", *order[module]]
    return "\n".join(lines) + "\n"


def complaints(rows: list[Row]) -> list[str]:
    """What must not be."""
    wrong = [f"{r.name.module}.{r.name.name}: {r.disagreement}" for r in rows if r.disagreement]
    wrong += [f"{r.name.module}.{r.name.name}: missing without a reason" for r in rows if r.state == "missing" and not r.note]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    rows = examine()
    wrong = complaints(rows)
    if chosen.write:
        PAGE.write_text(page(rows), encoding="utf-8")
    if chosen.check and page(rows) != PAGE.read_text(encoding="utf-8"):
        wrong.append(f"{PAGE} is out of date: python tools/api.py --write")
    print("\n".join(wrong), end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

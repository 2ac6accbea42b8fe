# SPDX-License-Identifier: BSD-3-Clause
"""Turns the operator rows of cann/ops/*.rows into C: headers, definitions and the export list.

A row is one line:

    aclnnAdd  self:Tensor other:Tensor alpha:Scalar out:Tensor! | prepare_binary, BINARY_ADD

name, the parameters of GetWorkspaceSize in order (``!`` written by the operator, ``?`` may be NULL), then the prepare
function, optionally the family's code and detail (C expressions). ``#`` begins a comment. The family ``x.rows`` includes
``ops/x.h``, which declares its prepare functions. An operator that CANN has no name for is called ``anynpu_X``: it is declared
in anynpu/operators.h and exported privately.

    rows.py --out DIR x.rows y.rows …     writes DIR/include/aclnnop/*.h, DIR/x_rows.c …, DIR/opapi.exports, DIR/row_cases.c
"""
from __future__ import annotations

import argparse
import pathlib
import re
import sys
from dataclasses import dataclass, field

INTEGERS = "int64_t int32_t int16_t int8_t int uint64_t uint32_t bool aclDataType".split()

# type → (C type of a const parameter, of a written one, union member, kind letter)
TYPES = {
    "Tensor": ("const aclTensor *", "aclTensor *", "tensor", "T"),
    "Scalar": ("const aclScalar *", "aclScalar *", "scalar", "S"),
    "IntArray": ("const aclIntArray *", "aclIntArray *", "ints", "I"),
    "FloatArray": ("const aclFloatArray *", "aclFloatArray *", "floats", "F"),
    "BoolArray": ("const aclBoolArray *", "aclBoolArray *", "bools", "B"),
    "TensorList": ("const aclTensorList *", "aclTensorList *", "tensors", "L"),
    "ScalarList": ("const aclScalarList *", "aclScalarList *", "scalars", "Q"),
    "char*": ("const char *", "char *", "s", "s"),
    "double": ("double ", "double ", "d", "d"),
    "float": ("float ", "float ", "d", "d"),
} | {t: (t + " ", t + " ", "i", "i") for t in INTEGERS}


@dataclass
class Param:
    name: str
    type: str
    output: bool
    optional: bool

    @property
    def declaration(self) -> str:
        return TYPES[self.type][1 if self.output else 0] + self.name


@dataclass
class Row:
    name: str
    params: list[Param]
    prepare: str
    code: str
    detail: str

    @property
    def header(self) -> str:
        if self.name.startswith("anynpu_"):
            return "anynpu/operators.h"
        return "aclnnop/aclnn_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", self.name[5:]).lower() + ".h"

    @property
    def prototypes(self) -> tuple[str, str]:
        args = ", ".join(p.declaration for p in self.params)
        first = f"aclnnStatus {self.name}GetWorkspaceSize({args}, uint64_t *workspaceSize, aclOpExecutor **executor)"
        second = f"aclnnStatus {self.name}(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)"
        return first, second


@dataclass
class Family:
    name: str
    rows: list[Row] = field(default_factory=list)


def parse(path: pathlib.Path) -> Family:
    family = Family(path.stem)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        where = f"{path}:{number}"
        left, bar, right = line.partition("|")
        if not bar:
            sys.exit(f"{where}: a row needs '| prepare'")
        name, *params = left.split()
        parts = [p.strip() for p in right.split(",", 2)]
        row = Row(name, [], parts[0], parts[1] if len(parts) > 1 else "0", parts[2] if len(parts) > 2 else "NULL")
        for text in params:
            match = re.fullmatch(r"(\w+):([\w*]+)([!?]*)", text)
            if not match or match[2] not in TYPES:
                sys.exit(f"{where}: parameter '{text}' is not name:Type[!][?] with a known type")
            row.params.append(Param(match[1], match[2], "!" in match[3], "?" in match[3]))
        family.rows.append(row)
    return family


def header(rows: list[Row]) -> str:
    guard = re.sub(r"\W", "_", rows[0].header).upper()
    out = ["/* SPDX-License-Identifier: BSD-3-Clause */", f"#ifndef {guard}", f"#define {guard}", "",
           '#include "aclnn/acl_meta.h"', "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for row in rows:
        out += [f"ACL_FUNC_VISIBILITY {p};" for p in row.prototypes] + [""]
    return "\n".join(out + ["#ifdef __cplusplus", "}", "#endif", "#endif", ""])


def definitions(family: Family) -> str:
    out = ["/* SPDX-License-Identifier: BSD-3-Clause */", f'#include "ops/{family.name}.h"', '#include "ops/plan.h"', ""]
    out += [f'#include "{h}"' for h in sorted({r.header for r in family.rows})] + [""]
    for row in family.rows:
        params = ", ".join(f'{{"{p.name}", \'{TYPES[p.type][3]}\', {int(p.output)}, {int(p.optional)}}}' for p in row.params)
        values = ", ".join(f"{{.{TYPES[p.type][2]} = {p.name}}}" for p in row.params)
        written = [i for i, p in enumerate(row.params) if p.output]
        tensors = sum(TYPES[p.type][3] == "T" for p in row.params)
        first, second = row.prototypes
        out += [
            f"static const struct op_param {row.name}_param[] = {{{params}}};",
            f'static const struct op_row {row.name}_row = {{"{row.name}", {row.prepare}, {row.name}_param, {len(row.params)},'
            f" {row.code}, {row.detail}, {tensors}, {len(written)}, {written[0] if written else -1}}};",
            first, "{",
            f"    const union op_value args_[] = {{{values}}};",
            f"    return op_prepare(&{row.name}_row, args_, workspaceSize, executor);", "}",
            second, "{",
            f"    return op_launch(&{row.name}_row, workspace, workspaceSize, executor, stream);", "}", "",
        ]
    return "\n".join(out)


def cases(families: list[Family]) -> str:
    """What tests/aclnn/rows.h describes: every operator, callable with an array of arguments."""
    rows = [row for family in families for row in family.rows]
    out = ["/* SPDX-License-Identifier: BSD-3-Clause */", '#include "aclnn/rows.h"', ""]
    out += [f'#include "{h}"' for h in sorted({r.header for r in rows})] + [""]
    table = []
    for row in rows:
        values = ", ".join(argument(i, p) for i, p in enumerate(row.params))
        params = ", ".join(f'{{"{p.name}", \'{TYPES[p.type][3]}\', {int(p.output)}, {int(p.optional)}}}' for p in row.params)
        out += [
            f"static aclnnStatus prepare_{row.name}(const union op_value *v, uint64_t *size, aclOpExecutor **executor)", "{",
            f"    return {row.name}GetWorkspaceSize({values}, size, executor);", "}",
            f"static const struct op_param {row.name}_param[] = {{{params}}};", "",
        ]
        table.append(f'    {{"{row.name}", {row.name}_param, {len(row.params)}, prepare_{row.name}, {row.name}}},')
    out += ["const struct row_case row_cases[] = {", *table, "};", f"const int row_case_count = {len(table)};", ""]
    return "\n".join(out)


def argument(index: int, param: Param) -> str:
    _, written, member, kind = TYPES[param.type]
    cast = f"({written.strip()})" if param.output or kind in "id" else ""
    return f"{cast}v[{index}].{member}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("rows", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    include = args.out / "include"
    for folder in ("aclnnop", "anynpu"):
        (include / folder).mkdir(parents=True, exist_ok=True)
    exports, seen, headers = [], set(), {}
    families = [parse(path) for path in args.rows]
    for path, family in zip(args.rows, families):
        for row in family.rows:
            if row.name in seen:
                sys.exit(f"{path}: {row.name} is defined twice")
            seen.add(row.name)
            headers.setdefault(row.header, []).append(row)
            exports += [row.name, row.name + "GetWorkspaceSize"]
        write(args.out / f"{family.name}_rows.c", definitions(family))
    for name, rows in headers.items():
        write(include / name, header(rows))
    for stale in set(include.glob("*/*.h")) - {include / n for n in headers}:
        stale.unlink()
    write(args.out / "row_cases.c", cases(families))
    write(args.out / "opapi.exports", "\n".join(sorted(exports)) + "\n")


def write(path: pathlib.Path, text: str) -> None:
    """Leaves an unchanged file alone, so that nothing is rebuilt for nothing."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    main()

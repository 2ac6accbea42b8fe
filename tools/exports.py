# SPDX-License-Identifier: BSD-3-Clause
"""Export lists: one name a line, `#` begins a comment.

    exports.py --map FILE LIST…       writes the linker's version script: the names of LIST, anynpu_* in ANYNPU_PRIVATE
    exports.py --check LIB LIST…      exits 1 when LIB's dynamic symbols are not exactly those of LIST, or when it asks for so
                                      much static thread-local memory that it cannot be dlopened in a full process
"""
from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys


def names(lists: list[pathlib.Path]) -> set[str]:
    lines = (line.split("#")[0].strip() for path in lists for line in path.read_text().splitlines())
    return {line for line in lines if line}


def version_script(wanted: set[str]) -> str:
    private = sorted(n for n in wanted if n.startswith("anynpu_"))
    public = sorted(wanted - set(private))
    text = ""
    if public:
        text += "CANN {\n  global:\n" + "".join(f"    {n};\n" for n in public) + ("" if private else "  local: *;\n") + "};\n"
    if private:
        text += "ANYNPU_PRIVATE {\n  global:\n" + "".join(f"    {n};\n" for n in private) + "  local: *;\n};\n"
    return text or "CANN {\n  local: *;\n};\n"


def exported(library: pathlib.Path) -> set[str]:
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    fields = (line.split() for line in out.splitlines())
    return {f[2].split("@")[0] for f in fields if len(f) == 3 and f[1] != "A"}


STATIC_TLS_MAX = 128  # bytes; the C library keeps some 1,600 for all libraries that are dlopened, CUDA's among them


def static_tls(library: pathlib.Path) -> int:
    """Bytes of the library's static thread-local block; 0 when its thread-local memory is made on demand."""
    out = subprocess.run(["readelf", "-dlW", library], check=True, capture_output=True, text=True).stdout
    if "STATIC_TLS" not in out:
        return 0
    return next((int(line.split()[5], 16) for line in out.splitlines() if line.split()[:1] == ["TLS"]), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--map", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("lists", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    wanted = names(args.lists)
    if args.map:
        args.map.write_text(version_script(wanted))
    if args.check:
        have = {n for n in exported(args.check) if not n.startswith(("__asan", "__tsan", "__ubsan", "_init", "_fini"))}
        for name in sorted(have - wanted):
            print(f"{args.check.name}: exports {name}, which is not in the list")
        for name in sorted(wanted - have):
            print(f"{args.check.name}: lacks {name}")
        tls = static_tls(args.check)
        if tls > STATIC_TLS_MAX:
            print(f"{args.check.name}: {tls} bytes of static thread-local memory, at most {STATIC_TLS_MAX}: a variable of the "
                  "initial-exec model makes all of the library's static")
        sys.exit(have != wanted or tls > STATIC_TLS_MAX)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""The command `anynpu` (also `python -m anynpu`)."""

import argparse
import sys

from . import __version__, toolkit_path


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="anynpu", description="AnyNPU: a software CANN")
    parser.add_argument("--version", action="version", version=f"anynpu {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    commands.add_parser("path", help="print the toolkit's folder (a value for ASCEND_HOME_PATH)")

    install = commands.add_parser("install-toolkit", help="put the toolkit where the guides expect it")
    install.add_argument("--prefix", default="/usr/local/Ascend", metavar="DIR", help="install below DIR (default: %(default)s)")
    install.add_argument("--copy", action="store_true", help="copy the files instead of linking to this package")
    install.add_argument("--force", action="store_true", help="replace what is there, even if it is not ours")

    examine = commands.add_parser("doctor", help="say which layer is wrong and what to type")
    examine.add_argument("script", nargs="?", default="", help="also read this script for what only CUDA can do")
    examine.add_argument("--json", action="store_true", help="as JSON")

    compared = commands.add_parser("compare", help="run a script on several devices and say where they part")
    compared.add_argument("script", help="a training script; what follows it are its own arguments")
    compared.add_argument("--devices", default="cpu,npu", help="comma-separated: cpu, npu, cuda (default: %(default)s)")
    compared.add_argument("--out", default="anynpu-compare", metavar="DIR", help="folder of the report (default: %(default)s)")
    compared.add_argument("--rtol", type=float, default=1e-3, help="tolerance of losses and operators (default: %(default)s)")
    compared.add_argument("--atol", type=float, default=1e-5, help="the same, absolute (default: %(default)s)")
    compared.add_argument("--amp", action="store_true", help="also with bfloat16 autocast: what mixed precision does")
    compared.add_argument("--steps", type=int, default=0, metavar="N", help="stop each run after N losses")
    compared.add_argument("--operators", type=int, default=3, metavar="N",
                          help="compare the operators of the first N steps (default: %(default)s; 0: none)")  # fmt: skip

    listing = commands.add_parser("options", help="list the environment variables with their values, and refuse malformed ones")
    listing.add_argument("--json", action="store_true", help="as JSON")
    listing.add_argument("--set", action="store_true", help="only those that are set")

    trace = commands.add_parser("trace", help="the costliest operators of a recording, overlap, fallbacks; an HTML timeline")
    trace.add_argument("path", metavar="DIR", help="a folder of torch_npu.profiler or aclprof, or a *.trace file")
    trace.add_argument("--html", metavar="FILE", help="where to write the page (default: DIR/trace.html)")
    trace.add_argument("--all", action="store_true", help="every trace below DIR, not the newest alone")

    chosen, rest = parser.parse_known_args(arguments)
    if rest and chosen.command != "compare":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if chosen.command == "path":
        print(toolkit_path())
        return 0
    if chosen.command == "doctor":
        from .doctor import doctor

        return doctor(as_json=chosen.json, script=chosen.script)
    if chosen.command == "compare":
        from .compare import compare

        chosen.arguments = rest[1:] if rest[:1] == ["--"] else rest
        return compare(chosen)
    if chosen.command == "options":
        from .options import print_options

        return print_options(as_json=chosen.json, only_set=chosen.set)
    if chosen.command == "trace":
        from .trace import report

        return report.main(chosen.path, chosen.html, chosen.all)
    from .install import install_toolkit

    return install_toolkit(chosen.prefix, copy=chosen.copy, force=chosen.force)


if __name__ == "__main__":
    sys.exit(main())

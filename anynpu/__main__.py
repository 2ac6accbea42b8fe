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
    examine.add_argument("--json", action="store_true", help="as JSON")

    listing = commands.add_parser("options", help="list the environment variables with their values, and refuse malformed ones")
    listing.add_argument("--json", action="store_true", help="as JSON")
    listing.add_argument("--set", action="store_true", help="only those that are set")

    trace = commands.add_parser("trace", help="the costliest operators of a recording, overlap, fallbacks; an HTML timeline")
    trace.add_argument("path", metavar="DIR", help="a folder of torch_npu.profiler or aclprof, or a *.trace file")
    trace.add_argument("--html", metavar="FILE", help="where to write the page (default: DIR/trace.html)")
    trace.add_argument("--all", action="store_true", help="every trace below DIR, not the newest alone")

    chosen = parser.parse_args(arguments)
    if chosen.command == "path":
        print(toolkit_path())
        return 0
    if chosen.command == "doctor":
        from .doctor import doctor

        return doctor(as_json=chosen.json)
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

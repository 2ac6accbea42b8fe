# SPDX-License-Identifier: BSD-3-Clause
"""`atc` on PATH: starts the toolkit's program, or says what the build of this package lacked."""

import os
import sys

from . import toolkit_path

LACKS = """atc is not part of this installation: when it was built, protobuf-c or the Python package onnx was missing.
Install them and then this package again:
    apt-get install protobuf-c-compiler libprotobuf-c-dev
    pip install onnx && pip install --force-reinstall --no-deps anynpu"""


def main() -> int:
    """Replaces this process by atc with the same arguments; 5 when there is none."""
    program = os.path.join(toolkit_path(), "bin", "atc")
    if not os.path.exists(program):
        print(LACKS, file=sys.stderr)
        return 5
    os.execv(program, ["atc", *sys.argv[1:]])

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# msprof: exports profiling data (--export=on --output=PROF_...). The program is msprof.py, where tools look for it.
here=$(dirname "$(readlink -f "$0")")
exec "${ANYNPU_PYTHON:-python3}" "$here/../profiler_tool/analysis/msprof/msprof.py" "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the programs from the field on npu, where the folder of cases is present beside the repository (ANYNPU_CASES).
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
cases=${ANYNPU_CASES:-$here/../shared/cases}
[ -d "$cases" ] || { echo "no folder of field cases here: 0 passed, 0 failed, skipped"; exit 0; }
cd "$cases" || exit 2
files=$(ls ./*.py | sed 's,^\./,,')
export PATH=$here/build/release/python/anynpu/toolkit/bin:$PATH
# shellcheck disable=SC2086
DEV=npu PY=${PYTHON:-$here/.venv/bin/python} PYTHONPATH=${PYTHONPATH:-$here/build/release/python} sh ./run.sh $files

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The test suites in order, a line each; the first failing suite is shown in full and ends the run with 1.
#   tests/run.sh quick   what `make test` and CI run
#   tests/run.sh all     everything longer too
set -uo pipefail
cd "$(dirname "$0")/.."
mode=${1:-quick}
build=build/release
python=$PWD/.venv/bin/python
export PYTHONPATH=$PWD/$build/python
logs=$build/logs
mkdir -p "$logs"
passed=0 failed=0

suite() { # suite NAME COMMAND…
    local name=$1 began=$SECONDS
    shift
    printf '%-34s' "$name"
    if "$@" >"$logs/$name.log" 2>&1; then
        passed=$((passed + 1))
        printf 'ok    %4d s   %s\n' $((SECONDS - began)) "$(grep -vE '^\s*$' "$logs/$name.log" | tail -1 | cut -c1-90)"
    else
        failed=$((failed + 1))
        printf 'FAILED %3d s   (%s)\n' $((SECONDS - began)) "$logs/$name.log"
        tail -60 "$logs/$name.log"
    fi
}

suite layers "$python" tools/layers.py
suite style make -s style
suite c-tests ctest --test-dir $build --output-on-failure -j2
suite torch-tests "$python" -m pytest -q -x --timeout 300 -p no:cacheprovider tests/torch
suite atc-tests "$python" -m pytest -q -x --timeout 300 -p no:cacheprovider tests/atc
suite dist-tests "$python" -m pytest -q -x --timeout 300 -p no:cacheprovider tests/distributed
suite offline-models "$python" -m pytest -q -x --timeout 300 -p no:cacheprovider tests/om
suite onnx-operators "$python" tests/onnx/node_tests.py --quick
suite onnx-versions "$python" -m pytest -q --timeout 300 -p no:cacheprovider tests/onnx
suite hugging-face "$python" -m pytest -q --timeout 300 -p no:cacheprovider tests/hf
suite first-run "$python" examples/first_run.py
suite run-ddp "$python" examples/ddp.py --ranks 1,2,8 --epochs 4
suite field-cases tests/cases.sh
suite conformance tests/conformance/run.sh quick
suite official-wheel "$python" tests/swap/swap.py
if [ "$mode" = all ]; then
    suite asan make -s asan
    suite tsan make -s tsan
    suite dist-long env ANYNPU_LONG=1 "$python" -m pytest -q -x --timeout 3600 -p no:cacheprovider tests/distributed
    suite onnx-full "$python" tests/onnx/node_tests.py
    suite conformance-full tests/conformance/run.sh full
    suite bench "$python" tests/bench/bench.py --out $build/bench.json
    suite bench-offline "$python" tests/bench/offline.py --out $build/offline.json
    suite bench-distributed "$python" tests/bench/distributed.py --out $build/distributed.json
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

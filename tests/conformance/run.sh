#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# PyTorch's operator samples and the networks on npu against cpu.
#   run.sh quick   one sample an operator and dtype, forward and backward; all networks
#   run.sh full    three samples, all forms, all dtypes; writes docs/CONFORMANCE.md
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
out=${ANYNPU_BUILD:-$root/build/release}/conformance
export PYTHONPATH=${PYTHONPATH:-$root/build/release/python}
mkdir -p "$out"
common=(--device npu --import torch_npu --fallback torch_npu.npu.utils:cpu_fallback_count --jobs 2)
if [ "${1:-quick}" = full ]; then
    "$python" "$here/opinfo.py" "${common[@]}" --max-samples 3 --out "$out/opinfo.json" \
        --dtypes float32,float64,float16,bfloat16,int64,int32,int16,int8,uint8,bool,complex64,complex128 --checks forward,backward,inplace,out,noncontig
    "$python" "$here/models.py" "${common[@]}" --out "$out/models.json"
    exec "$python" "$here/report.py" --opinfo "$out/opinfo.json" --models "$out/models.json" --write "$root/docs/CONFORMANCE.md" \
        --floor 99.3 --models-floor 89
fi
"$python" "$here/opinfo.py" "${common[@]}" --max-samples 1 --out "$out/opinfo-quick.json"
"$python" "$here/models.py" "${common[@]}" --out "$out/models-quick.json"
exec "$python" "$here/report.py" --opinfo "$out/opinfo-quick.json" --models "$out/models-quick.json" --floor 99.3 --models-floor 89

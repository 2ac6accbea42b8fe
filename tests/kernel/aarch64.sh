#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the C half for 64-bit Arm, runs its tests under qemu-user, and compares the kernels' results of both architectures by
# the digests that the kernel tests print. Needs gcc-aarch64-linux-gnu and qemu-user-static (Debian). Tests that make no digest of
# their results (they compare by their own means) are compared by tolerance alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
missing=()
command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu)
command -v qemu-aarch64-static >/dev/null || command -v qemu-aarch64 >/dev/null || missing+=(qemu-user-static)
if [ ${#missing[@]} -gt 0 ]; then
    echo "needs the packages: ${missing[*]} (apt-get install)" >&2
    exit 1
fi
jobs=${JOBS:-$(nproc)}
cmake --preset aarch64 >/dev/null
cmake --build --preset aarch64 -j"$jobs"
[ "${1:-}" = digests ] || ctest --preset aarch64 -j"$jobs"
cmake --preset release >/dev/null
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
differ=0
for kernel in attention conv copy foreach index loss matmul pool random remap; do
    cmake --build --preset release -t test_kernel_$kernel >/dev/null
    here=$(build/release/tests/test_kernel_$kernel --digest | grep digest)
    there=$("$qemu" -L /usr/aarch64-linux-gnu build/aarch64/tests/test_kernel_$kernel --digest | grep digest)
    if [ "$here" = "$there" ]; then
        echo "$kernel: the same bits"
    else
        echo "$kernel: DIFFERENT bits ($here here, $there on aarch64)"
        differ=1
    fi
done
exit $differ

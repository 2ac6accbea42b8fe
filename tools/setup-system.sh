#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages that the build needs (as root), or says which ones to install.
set -eu
packages="build-essential cmake ninja-build python3-dev python3-venv binutils git"
more="libucx-dev libprotobuf-c-dev protobuf-c-compiler" # collectives between computers, atc; the build goes without

command -v dpkg-query >/dev/null 2>&1 || {
    echo "Not a Debian system: make sure of a C and a C++20 compiler, CMake >= 3.25, Ninja and Python >= 3.10 with venv and headers."
    exit 0
}
missing_of() {
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf ' %s' "$package"
    done
}
# shellcheck disable=SC2086
missing=$(missing_of $packages) wished=$(missing_of $more)
[ "$(id -u)" -eq 0 ] || [ -z "$wished" ] || echo "For collectives between computers (UCX) and for atc (protobuf-c) also install:$wished"
[ -n "$missing" ] || [ -n "$wished" ] || exit 0
[ -n "$missing" ] || [ "$(id -u)" -eq 0 ] || exit 0
if [ "$(id -u)" -eq 0 ]; then
    echo "Installing Debian packages:$missing$wished"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086
    [ -z "$missing" ] || apt-get install -y -qq --no-install-recommends $missing >/dev/null
    # shellcheck disable=SC2086
    [ -z "$wished" ] || apt-get install -y -qq --no-install-recommends $wished >/dev/null || echo "$more is not to be had: go without"
else
    echo "These Debian packages are missing:$missing"
    echo "Install them and try again:  sudo apt-get install$missing"
    exit 1
fi

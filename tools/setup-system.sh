#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages that the build needs (as root), or says which ones to install.
set -eu
packages="build-essential cmake ninja-build python3-dev python3-venv binutils git"

command -v dpkg-query >/dev/null 2>&1 || {
    echo "Not a Debian system: make sure of a C and a C++20 compiler, CMake >= 3.25, Ninja and Python >= 3.10 with venv and headers."
    exit 0
}
missing=""
for package in $packages; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -eq 0 ]; then
    echo "Installing Debian packages:$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
    echo "These Debian packages are missing:$missing"
    echo "Install them and try again:  sudo apt-get install$missing"
    exit 1
fi

# SPDX-License-Identifier: BSD-3-Clause
# To be sourced (sh, bash, zsh): makes this toolkit the CANN of the shell, wherever it is installed. Sourcing it again changes
# nothing.
_anynpu_file=
if [ -n "${BASH_SOURCE:-}" ]; then
    _anynpu_file=${BASH_SOURCE}
elif [ -n "${ZSH_VERSION:-}" ]; then
    eval '_anynpu_file=${(%):-%x}'
else # a plain sh does not say what it sources, but has it open
    for _anynpu_fd in /proc/$$/fd/*; do
        case $(readlink "$_anynpu_fd") in
        */set_env.sh) _anynpu_file=$(readlink "$_anynpu_fd") ;;
        esac
    done
fi
_anynpu_home=$(cd "$(dirname "${_anynpu_file:-.}")" 2>/dev/null && pwd)
if [ -e "$_anynpu_home/latest/lib64/libascendcl.so" ]; then
    _anynpu_home=$_anynpu_home/latest
fi

# _anynpu_first NAME FOLDER: FOLDER to the front of the search path NAME, unless it is in it.
_anynpu_first() {
    eval "_anynpu_old=\${$1:-}"
    case ":$_anynpu_old:" in
    *":$2:"*) ;;
    *) eval "export $1=\"\$2\${_anynpu_old:+:\$_anynpu_old}\"" ;;
    esac
}

if [ -e "$_anynpu_home/lib64/libascendcl.so" ]; then
    export ASCEND_TOOLKIT_HOME="$_anynpu_home"
    export ASCEND_HOME_PATH="$_anynpu_home"
    export ASCEND_OPP_PATH="$_anynpu_home/opp"
    export ASCEND_AICPU_PATH="$_anynpu_home"
    export TOOLCHAIN_HOME="$_anynpu_home/toolkit"
    _anynpu_first LD_LIBRARY_PATH "$_anynpu_home/lib64"
    _anynpu_first PYTHONPATH "$_anynpu_home/python/site-packages"
    _anynpu_first PATH "$_anynpu_home/tools/profiler/bin"
    _anynpu_first PATH "$_anynpu_home/bin"
    _anynpu_status=0
else
    echo "set_env.sh: no toolkit beside ${_anynpu_file:-this file} (lib64/libascendcl.so is missing)" >&2
    _anynpu_status=1
fi
unset -f _anynpu_first
unset _anynpu_file _anynpu_fd _anynpu_home _anynpu_old
[ "$_anynpu_status" = 0 ]

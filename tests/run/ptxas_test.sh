#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ptxas_test.sh: the PTX of every feature kernel and example in every variant assembles, with no
# spills and no stack frame. Usage: ptxas_test.sh PATH-TO-tile-kernels [EVERY]: of EVERY files one
# is looked at (default 1: all).
set -u
kernels=$(realpath "$1") every=${2:-1}
cd "$(dirname "$0")/../.."
. tests/lib.sh

# check TARGET [EVERY]: all PTX for it, or one of EVERY files, as many at once as there are cores
check() {
    local every=${2:-$every}
    mkdir "$work/$1"
    "$kernels" --target="$1" --ptx="$work/$1" >"$work/log" || fail "kernels for $1" "$work/log"
    # shellcheck disable=SC2016
    find "$work/$1" -name '*.ptx' | sort | awk -v n="$every" 'NR % n == 0' | xargs -P "$(nproc)" -I{} sh -c '
        tests/tools/ptxas-check "$1" "$2" >"$1.log" 2>&1; echo $? >"$1.rc"' _ {} "$1"
    local f rc log
    for f in "$work/$1"/*.ptx; do
        [ -f "$f.rc" ] || continue
        head -1 "$f" | grep -q huge-tiles && continue # of more registers than there are: they spill
        rc=$(cat "$f.rc" 2>/dev/null || echo 1)
        log=$f.log
        [ "$failed" -lt 5 ] || log= # the first will do
        count "$rc" "$(head -1 "$f")" ${log:+"$log"}
    done
}

check sm_80
check sm_90a
# What is sm_80's way with another `.target`.
for target in sm_100 sm_120; do check $target $((every * 8)); done
finish

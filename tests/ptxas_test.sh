#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ptxas_test.sh: the PTX of every example, for every target, and of the tests of code generation
# assembles for each GPU that is to run it, with no spills and no stack frame. Usage: ptxas_test.sh PATH-TO-tilec
set -u
tilec=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh

# check EXAMPLE TARGET GPU…
check() {
    local source=$1 target=$2 out types
    out=$work/$(basename "$source" .tl).$target.ptx
    shift 2
    case $source in */gather_matmul.tl) types=-sshards='(*fp16:16,)' ;; *) types= ;; esac # one for each other GPU
    "$tilec" -I examples "$source" ${types:+"$types"} --target="$target" -o "$out" >"$work/log" 2>&1 &&
        tests/tools/ptxas-check "$out" "$@" >>"$work/log" 2>&1
    count $? "$source for $target" "$work/log"
}

# same_code EXAMPLE: `-g` adds directives and comments; the instructions are the same. (What ptxas makes
# of them may yet be in another order: 13.0.88 does that to grouped_gemm.)
same_code() {
    local name
    name=$(basename "$1" .tl)
    if code "$1" "$work/$name.plain" && code "$1" "$work/$name.lines" -g &&
        [ -s "$work/$name.plain" ] && cmp -s "$work/$name.plain" "$work/$name.lines" &&
        grep -q '\.loc' "$work/$name.lines.ptx"; then
        pass
    else
        fail "the code of $1 is another with -g"
    fi
}
# code EXAMPLE FILE OPTION…: its PTX without what -g adds
code() {
    "$tilec" "$1" --target=sm_90a -Wno-perf "${@:3}" -o "$2.ptx" &&
        sed -E 's|[[:space:]]*//.*||; /^[[:space:]]*(\.loc|\.file|\$L__(tmp|func|BB[0-9]+_DEBUG))/d
            /^[[:space:]]*\.section[[:space:]]+\.debug/d; /^[[:space:]]*$/d' "$2.ptx" >"$2"
}

for source in examples/*.tl; do
    same_code "$source"
    check "$source" sm_80 sm_80 sm_86 sm_89 sm_90
    check "$source" sm_86 sm_86 sm_89
    check "$source" sm_89 sm_89 sm_90
    check "$source" sm_90a sm_90a
    check "$source" sm_87 sm_87 sm_90
    check "$source" sm_100 sm_100 sm_103 sm_120
    for target in sm_103 sm_110 sm_120; do check "$source" $target $target; done
done
for source in tests/codegen/*.t[il]* tests/layout/*.tl examples/*.tir examples/distributed/*.tl; do
    case $source in */large-* | */spill-*) continue ;; esac # they spill, however they are made
    grep -qE "error(@[^:]*)?: |EXIT: 1" "$source" && continue # one that must not compile
    grep -q make_desc "$source" || check "$source" sm_80 sm_80 sm_90 # it has no descriptors
    check "$source" sm_90a sm_90a
done
finish

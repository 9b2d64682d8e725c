#!/bin/bash
# ptxas_test.sh: the PTX of every example, for every target, and of the tests of code generation
# assembles for each GPU that is to run it, with no spills and no stack frame. Usage: ptxas_test.sh PATH-TO-tilec
set -u
tilec=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# check EXAMPLE TARGET GPU…
check() {
    local source=$1 target=$2 out rc
    out=$work/$(basename "$source" .tl).$target.ptx
    shift 2
    "$tilec" "$source" --target="$target" -o "$out" >"$work/log" 2>&1 &&
        tests/tools/ptxas-check "$out" "$@" >>"$work/log" 2>&1
    rc=$?
    case $rc in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *)
        failed=$((failed + 1))
        echo "ptxas: $source for $target:"
        cat "$work/log"
        ;;
    esac
}

# same_code EXAMPLE: `-g` adds directives and comments, and ptxas makes the same code of the rest.
same_code() {
    local name rc=0
    name=$(basename "$1" .tl)
    code "$1" "$work/$name.plain" && code "$1" "$work/$name.lines" -g || rc=$?
    if [ $rc -eq 77 ]; then
        skipped=$((skipped + 1))
    elif [ $rc -eq 0 ] && [ -s "$work/$name.plain" ] && cmp -s "$work/$name.plain" "$work/$name.lines" &&
        grep -q '\.loc' "$work/$name.lines.ptx"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "ptxas: the code of $1 is another with -g"
    fi
}
# code EXAMPLE FILE OPTION…: the instructions that ptxas makes, as a dump
code() {
    [ -x "$ptxas" ] || return 77
    "$tilec" "$1" --target=sm_90a -Wno-perf "${@:3}" -o "$2.ptx" &&
        "$ptxas" -arch=sm_90a -o "$2.cubin" "$2.ptx" &&
        objdump -h "$2.cubin" | awk '$2 ~ /^\.text/ { print $2 }' |
        while read -r section; do readelf -x "$section" "$2.cubin"; done >"$2"
}
ptxas=${PTXAS:-$(command -v ptxas || ls /usr/local/cuda*/bin/ptxas 2>/dev/null | head -1)}

for source in examples/*.tl; do
    same_code "$source"
    check "$source" sm_80 sm_80 sm_86 sm_89 sm_90
    check "$source" sm_86 sm_86 sm_89
    check "$source" sm_89 sm_89 sm_90
    check "$source" sm_90a sm_90a
done
for source in tests/codegen/*.t[il]* tests/layout/*.tl; do
    grep -qE "error(@[^:]*)?: |EXIT: 1" "$source" && continue # one that must not compile
    check "$source" sm_80 sm_80 sm_90
    check "$source" sm_90a sm_90a
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

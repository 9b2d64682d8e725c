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

for source in examples/*.tl; do
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

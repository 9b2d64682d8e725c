#!/bin/bash
# tests/limit_test.sh TILEC: the worst case of each limit of the front end (tests/frontend/limit-*.tl)
# ends in its error within 2 seconds, and within 512 MB. Ends with `N passed, N failed`.
set -u
cd "$(dirname "$0")/.."
tilec=$1
passed=0 failed=0
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for file in tests/frontend/limit-*.tl; do
    started=$(date +%s%N)
    (ulimit -v $((512 * 1024)) && timeout 20 "$tilec" --emit=tir "$file" -o "$out/x.tir") >"$out/log" 2>&1
    rc=$?
    ms=$((($(date +%s%N) - started) / 1000000))
    if [ $rc -eq 1 ] && [ $ms -le 2000 ] && grep -q ': error: ' "$out/log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$file: exit code $rc after $ms ms (want 1 within 2000)"
        head -n 3 "$out/log"
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]

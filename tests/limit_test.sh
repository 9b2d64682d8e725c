#!/bin/bash
# tests/limit_test.sh TILEC: the worst case of each limit of the front end (tests/frontend/limit-*.tl)
# ends in its error within 2 seconds, and within 512 MB. Ends with `N passed, N failed`.
set -u
cd "$(dirname "$0")/.."
tilec=$1
. tests/lib.sh
for file in tests/frontend/limit-*.tl; do
    started=$(date +%s%N)
    (ulimit -v $((512 * 1024)) && timeout 20 "$tilec" --emit=tir "$file" -o "$work/x.tir") >"$work/log" 2>&1
    rc=$?
    ms=$((($(date +%s%N) - started) / 1000000))
    if [ $rc -eq 1 ] && [ $ms -le 2000 ] && grep -q ': error: ' "$work/log"; then
        pass
    else
        fail "$file: exit code $rc after $ms ms (want 1 within 2000)" "$work/log"
    fi
done
finish && [ "$passed" -gt 0 ]

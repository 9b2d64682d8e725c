#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fake_test.sh BUILD-FOLDER: tilerun on the fake driver while its n-th call fails, for every n and some
# errors: it ends with a sentence and an exit code of its own, and nothing else happens.
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
. tests/lib.sh
export LD_LIBRARY_PATH=$build/tests/fake
"$build/bin/tilec" --target=sm_80 -o "$work/copy.ptx" examples/copy.tl 2>"$work/log" || exit 1

# run N:CODE: its exit code, what it said in $work/log
run() {
    FAKE_CUDA_FAIL=$1 timeout 20 "$build/bin/tilerun" --device=cuda "$work/copy.ptx" \
        'src=randn:fp32[1000]' 'dst=zeros:fp32[1000]' n=1000 >"$work/log" 2>&1
}

run 0:0
count $? 'nothing fails' "$work/log"
for code in 2 1 700 100 999; do
    n=0 good=0 seen=0
    while [ $((n += 1)) -le 60 ]; do
        run $n:$code
        rc=$?
        [ $rc -eq 0 ] || seen=$((seen + 1))
        if [ $rc -eq 0 ] || { [ $rc -lt 10 ] && [ -s "$work/log" ]; }; then
            good=$((good + 1))
        else
            echo "fake: call $n fails with $code: exit code $rc"
            cat "$work/log"
        fi
    done
    if [ $good -eq 60 ] && [ $seen -gt 15 ]; then
        pass
    else
        fail "$code: $good of 60 ends were good, $seen failures were seen"
    fi
done
finish

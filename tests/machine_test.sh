#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# machine_test.sh BIN: files of PTX that no compiler of ours writes, on the PTX machine. `// with: NAME=VALUE…`
# are further arguments; `// out: …` is what 32-bit `out` holds then, `// q: …` what 64-bit `q` does, in hex.
set -u
bin=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. tests/lib.sh
line() { sed -n "s|^// $1: ||p" "$2"; }
for file in tests/machine/*.ptx; do
    read -ra want <<<"$(line out "$file")"
    read -ra wide <<<"$(line q "$file")"
    read -ra with <<<"$(line with "$file")"
    "$bin/tilerun" "$file" --device=ptx "out=zeros:i32[${#want[@]}]" "${with[@]}" --save="out=$work/out.npy" \
        --save="q=$work/q.npy" >"$work/log" 2>&1 || { fail "$file" "$work/log"; continue; }
    {
        tail -c $((4 * ${#want[@]})) "$work/out.npy" | od -An -v -td4 -w4
        tail -c $((8 * ${#wide[@]})) "$work/q.npy" | od -An -v -tx8 -w8
    } | xargs -n1 >"$work/got"
    printf '%s\n' "${want[@]}" "${wide[@]}" | diff - "$work/got" >"$work/log"
    count $? "$file" "$work/log"
done
finish

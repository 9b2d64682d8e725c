#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/entry_test.sh BIN: which entry of a kernel a launch takes, and why no further one, as tilerun says it.
set -u
bin=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 2
. tests/lib.sh

product() { # K STRIDE_AM OPTIONS…
    "$bin/tilerun" examples/matmul.tl --device=ptx --check=none {a,b,c}_ptr=zeros:fp16[65536] M=256 N=256 K="$1" stride_am="$2" \
        stride_ak=1 stride_bk=256 stride_bn=1 stride_cm=256 stride_cn=1 "${@:3}" >"$work/said" 2>&1
}

# says NAME REGEX: the next run says that
says() {
    grep -qE "$2" "$work/said"
    count $? "$1" "$work/said"
}

further='matmul__persistent'
product 64 64 --target=sm_90a --bench
says 'a further entry' "^  by $further\$"
product 64 0 --target=sm_90a --bench
says 'no map' "^  not by $further: no tensor map of 'a_ptr' with the sizes and strides .*: strides must be multiples of 16 bytes"
product 64 64 --target=sm_80 --bench
says 'one entry' '^matmul: median'
! grep -q ' by ' "$work/said"
count $? 'of one entry there is nothing to tell' "$work/said"
product 64 64 --target=sm_90a --bench --compare --single-entry
says 'both' "^entry +$further +matmul\$"
product 64 0 --target=sm_90a --bench --compare --single-entry
says 'neither' '^entry +matmul +matmul$'
says 'why' "^ +A: not by $further: no tensor map"
product 64 0 --target=sm_90a --json
python3 -c 'import json, sys
said = json.load(open(sys.argv[1]))
(no,) = said["not_by"]
assert said["entry"] == "matmul" and no["entry"] == sys.argv[2] and "16 bytes" in no["why"]' "$work/said" $further
count $? 'JSON' "$work/said"
finish

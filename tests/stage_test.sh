#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# stage_test.sh: what scripts/stage collects is small enough, needs nothing but glibc (scripts/stage
# itself fails otherwise), shows nothing but tile.h, and works the same elsewhere.
# Usage: stage_test.sh BUILD-FOLDER (of the release preset, to compare with)
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh

ok 'scripts/stage' scripts/stage "$work/stage"
exported() {
    nm -D --defined-only "$work/stage/lib/$1" | awk '$2 != "A" { print $3 }' | grep -vE "$2" | grep . && return 1
    return 0
}
ok 'the compiler shows only its part of tile.h' exported libtile_compiler.so '^tile_(compile|file_reader|jit|language_server|report|target_name|tune)'
ok 'the runtime shows only its part of tile.h' exported libtile_runtime.so '^tile_'
mv "$work/stage" "$work/moved" # nothing may depend on where it was made
for source in examples/*.tl; do
    name=$(basename "$source" .tl)
    ok "$name compiles" "$work/moved/bin/tilec" -Wno-perf "$source" -o "$work/$name.ptx"
    "$build/bin/tilec" -Wno-perf "$source" -o "$work/expected.ptx"
    ok "$name compiles the same" cmp "$work/$name.ptx" "$work/expected.ptx"
done
ok 'an example runs' "$work/moved/examples/matmul" --device=cpu examples/matmul.tl 32 32 32
[ ! -x "$work/moved/examples/distributed/mlp" ] || ok 'an example of many GPUs runs' timeout 60 mpirun --oversubscribe \
    --allow-run-as-root -n 2 "$work/moved/examples/distributed/mlp" --device=cpu
for app in "$work"/moved/package/bin/*; do
    ok "$(basename "$app") of the installed package runs" "$app" cpu
done
ok 'it has the runtime that was installed' sh -c "
    ldd '$work/moved/package/bin/app_cxx' | grep -F 'package/bin/../lib/libtile_runtime.so.1 ('"
ok 'the tutorial' "$work/moved/tests/tutorial_test.sh" --device=cpu "$work/moved"
ok 'data files' "$work/moved/bin/tile-test" --tools="$work/moved/tests/tools" "$work/moved/tests"

finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# launcher_test.sh: `tilec --emit=launcher`: C11 and C++17 that gcc and clang take without a warning, that
# includes no file of ours and needs no library but the fake driver here; launches as they should be, the
# same as libtile's, and no leak when the driver fails. Usage: launcher_test.sh BUILD-FOLDER
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh
tilec=$build/bin/tilec
export LC_ALL=C
strict="-Wall -Wextra -Wpedantic -Werror"
sanitize="-g -fsanitize=address,undefined -fno-sanitize-recover=all"
export LD_LIBRARY_PATH=$build/tests/fake

# refused CODE PATTERN ARGUMENTS…: tilec says so and writes nothing
refused() {
    local code=$1 pattern=$2 rc
    shift 2
    rm -f "$work"/no.*
    "$tilec" -Wno-perf --emit=launcher "$@" >"$work/said" 2>&1
    rc=$?
    ok "tilec $*" sh -c "cat '$work/said'; [ $rc -eq $code ] && [ ! -e '$work/no.c' ] && [ ! -e '$work/no.h' ]"
    ok "tilec $* says it" sh -c 'cat "$2"; grep -qE -- "$1" "$2"' - "$pattern" "$work/said"
}
# launcher NAME OPTIONS…: into $work/NAME.c
launcher() { "$tilec" -Wno-perf --emit=launcher -o "$work/$1.c" "${@:2}"; }

# ---- the files ----
cat >"$work/variants.txt" <<'INNER'
out_ptr=:16, n=:16, m >= 1000, num_warps=1
out_ptr=:16, n=:16, m < 1000, num_warps=2
n=:1, m != -1, num_warps=8
64 % m == 0, n != 32, num_warps=16
none=None
INNER
cat >"$work/names.tl" <<'INNER'
import triton, triton.language as tl
@triton.jit
def nothing():
    pass
# tile: grid = int32_t
@triton.jit
def tile_launch(tile_pointer: "*i32", int32_t: "i32", v_: "i32", stream_: "i64", RTLD_NOW: "i32",
                uint8_t: "u8", free: "fp32", main: "i32", _: "i32", cdiv: "i32", kernels: "fp32",
                Entry: "i32", INT32_MAX: "i32", args: "i32", kernels_: "i32", int: "i32", int_: "i32"):
    tl.store(tile_pointer, int32_t)
@triton.jit
def reserved(p: "*i32", _Bool: "i32", _Atomic: "i32", __int128: "i32", __FILE__: "i32", _bool: "i32"):
    tl.store(p, _Bool + _Atomic + __int128 + __FILE__ + _bool)
INNER
both=--target=sm_80,sm_90a
ok 'kernels with variants' launcher kernels $both --variants="@$work/variants.txt" tests/artefact/kernels.tl
ok 'variants for sizes' launcher sized --variants='n ~ 100,num_warps=1;n ~ 1000,num_warps=2;n ~ 10000,num_warps=4' tests/artefact/sized.tl
ok 'strange names' launcher names "$work/names.tl"
ok 'vector_add' launcher vector_add $both examples/vector_add.tl
ok 'softmax' launcher softmax $both examples/softmax.tl
ok 'matmul' launcher matmul $both --variants='M >= 1024,BM=128,BN=256,BK=64,num_warps=8;M >= 0' examples/matmul.tl
cp "$work/vector_add.c" "$work/first.c"
ok 'the same again' launcher vector_add $both examples/vector_add.tl
ok 'the same bytes' cmp "$work/vector_add.c" "$work/first.c"
ok 'nothing of ours is included' sh -c "[ \$(cat '$work'/*.c '$work'/*.h | grep -E '^ *# *include' | grep -cE 'tile|cuda') -eq 0 ]"
ok 'nor left to fill in' sh -c "! cat '$work'/*.c | grep -E 'LAUNCHER_|#pragma'"
ok 'a line of PTX a literal' grep -qE '^ {4}".version [0-9.]+\\n"' "$work/vector_add.c"
ok 'the PTX' "$tilec" -Wno-perf --target=sm_90a -o "$work/matmul.ptx" examples/matmul.tl
ok 'in a launcher' launcher whole --target=sm_90a examples/matmul.tl
ok 'is the same' python3 - "$work" <<'INNER'
import ast, sys
ptx = open(sys.argv[1] + "/matmul.ptx").read().split("// tilec manifest end\n")[1]
lines = open(sys.argv[1] + "/whole.c").read().split("ptx_0_[] = {\n")[1].split("    NULL};")[0].splitlines()
pieces = "\n".join(lines).split(",\n")
joined = "".join("".join(ast.literal_eval(line.strip().rstrip(",")) for line in piece.splitlines()) for piece in pieces)
assert joined == ptx, "the literals are other PTX"
assert max(len("".join(ast.literal_eval(l.strip().rstrip(",")) for l in p.splitlines())) for p in pieces) < 4096
assert ptx.count("\n") == len(lines)
INNER
ok 'symbols that cuda_h_test.sh knows' sh -c "grep -ohE '\"cu[A-Z][A-Za-z_0-9]*\"' tools/launcher_*.h | while read -r s; do grep -qF \"\$s\" runtime/cuda_api.def || exit 1; done"

# A pointer is const where nothing is written through it; where that is not known it is not.
cat >"$work/reads.tl" <<'INNER'
import triton, triton.language as tl
@triton.jit
def plain(r0: "*fp32", w0: "*fp32", r1: "*fp16", w1: "*i32", unused: "*u8", n: "i32"):
    i = tl.arange(0, 16)
    p = w0 + i
    for k in range(n):
        tl.store(p, tl.load(r0 + i) + tl.load(r1 + i).to(tl.float32))
        p += 16
    tl.atomic_add(w1, 1)
@triton.jit
def either(w2: "*fp32", w3: "*fp32", n: "i32"):
    i = tl.arange(0, 16)
    tl.store(tl.where(i < n, w2 + i, w3 + i), 1.0)
@triton.jit
def through(w4: "**fp32", w5: "*fp32"):
    p = tl.load(w4)
    tl.store(p, tl.load(w5))
INNER
ok 'what is only read' launcher reads "$work/reads.tl"
ok 'is const' sh -c "[ \$(grep -oE 'const (float|void|uint8_t) \*(r[01]|unused)' '$work/reads.h' | wc -l) -eq 3 ]"
ok 'and nothing else' sh -c "! grep -oE 'const [a-z0-9_]+ \*w[0-9]' '$work/reads.h'"

# Every example, by each compiler, as both languages.
names='kernels sized names vector_add softmax matmul first'
for example in examples/*.tl; do
    name=x_$(basename "$example" .tl)
    ok "$example" launcher "$name" --target=sm_90a --stream-k=auto "$example"
    names+=" $name"
done
if command -v ptxas >/dev/null; then # the fake driver refuses machine code: then PTX stands in
    ok 'machine code, too' launcher softmax $both --embed=cubin,ptx examples/softmax.tl
    ok 'as numbers' grep -q '^static const unsigned char cubin_0_' "$work/softmax.c"
    ok 'machine code alone' launcher x_cubin --embed=cubin examples/softmax.tl
    names+=' x_cubin'
fi
for language in 'gcc -std=c11' 'clang -std=c11' 'g++ -x c++ -std=c++17' 'clang++ -x c++ -std=c++17'; do
    command -v "${language%% *}" >/dev/null || { skip; continue; }
    for name in $names; do
        # shellcheck disable=SC2086
        ok "$name, $language" $language $strict -fsyntax-only "$work/$name.c"
    done
done

for folder in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/cuda*/include /usr/include; do
    [ -e "$folder/cuda.h" ] || continue
    for include in cuda.h cuda_runtime_api.h; do
        printf '#include "matmul.h"\n#include <%s>\n#include "vector_add.h"\n' $include >"$work/beside.c"
        ok "beside $include" gcc -std=c11 -isystem "$folder" -Wall -Wextra -Werror -fsyntax-only "$work/beside.c"
        ok "beside $include, C++" g++ -x c++ -std=c++17 -isystem "$folder" -Wall -Wextra -Werror -fsyntax-only "$work/beside.c"
    done
    break
done

# ---- the programs ----
# runs NAME PROGRAM: adds what it counts
runs() {
    local counts
    "$2" >"$work/ran" 2>&1
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/ran")
    if [ -n "$counts" ]; then
        passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
        grep '^launcher:' "$work/ran"
    else
        fail "$1 runs" "$work/ran"
    fi
}
parts='kernels sized names vector_add softmax matmul'
# program LANGUAGE…: each file is one of its own
program() {
    local name objects=()
    for name in $parts; do
        "$@" $strict $sanitize -c "$work/$name.c" -o "$work/$name.o" || return 1
        objects+=("$work/$name.o")
    done
    "$@" $strict $sanitize -I. -I"$work" -c tests/artefact/launcher_fake.c -o "$work/program.o" &&
        "$1" $sanitize "$work/program.o" "${objects[@]}" -ldl -o "$work/program"
}
for language in 'gcc -std=c11' 'clang++ -x c++ -std=c++17'; do
    command -v "${language%% *}" >/dev/null || { skip; continue; }
    # The fake driver of the asan preset has gcc's ASan, which clang's programs cannot have.
    case $language in clang*) nm -D "$build/tests/fake/libcuda.so.1" | grep -q __asan_init && { skip; continue; } ;; esac
    # shellcheck disable=SC2086
    ok "a program, $language" program $language
    runs "$language" "$work/program"
done
ok 'nothing of ours is linked' sh -c "! ldd '$work/program' | grep -E 'tile|jansson|LLVM'"
LD_LIBRARY_PATH='' ok 'and no driver is needed to start' sh -c "'$work/program' | grep -q 'not in the fake driver'"

# ---- as libtile launches ----
asan=$(instrumented "$tilec")
mkdir "$work/header"
# same OPTIONS…: of a launcher and a header
same() {
    launcher matmul $both "$@" examples/matmul.tl &&
        "$tilec" -Wno-perf --embed=ptx -o "$work/header/matmul.h" $both "$@" examples/matmul.tl &&
        gcc -std=c11 -O1 $strict $asan -c "$work/matmul.c" -o "$work/matmul.o" &&
        gcc -std=c11 -O1 $strict $asan -Iinclude -I"$work" -DBY_HEADER -c tests/artefact/launcher_same.c -o "$work/by.o" &&
        gcc -std=c11 -O1 $strict $asan -I. -I"$work" -c tests/artefact/launcher_same.c -o "$work/same.o" &&
        gcc $asan "$work"/{matmul,by,same}.o "$build/lib/libtile_runtime.a" -ljansson -ldl -lm -lpthread -o "$work/same"
}
ok 'a launcher and a header' same --variants='M >= 1024,BM=128,BN=256,BK=64,num_warps=8;M >= 0'
runs 'as libtile' "$work/same"
ok 'clusters' grep -q '[1-9][0-9]* in clusters' "$work/ran"
ok 'that share out iterations' same --stream-k=auto -D BM=128 -D BN=128 -D BK=64 --num-warps=8
runs 'as libtile, stream-k' "$work/same"
ok 'shared out' grep -q '[1-9][0-9]* shared out' "$work/ran"

# ---- mistakes ----
cp examples/copy.tl "$work/we\"ird.tl"
refused 2 'no #include can name .*ird.c' "$work/we\"ird.tl"
refused 2 'two files: name the one that ends in .c' -o "$work/no.h" examples/copy.tl
refused 2 'two files: name the one that ends in .c' -o - examples/copy.tl
refused 2 'its --embed is of ptx and cubin' --embed=ptx,tir -o "$work/no.c" examples/copy.tl
refused 1 'no kernel has all of the integers' --variants='Q > 3' -o "$work/no.c" examples/copy.tl
refused 2 'are of one output' --stats -o "$work/no.c" examples/copy.tl
refused 3 'cannot' -o "$work/nowhere/no.c" examples/copy.tl
ok 'the suffix says it' "$tilec" -o "$work/copy.c" examples/copy.tl
ok 'a header beside it' grep -q copy_launch "$work/copy.h"
(cd "$work" && "$tilec" -MD --emit=launcher "$OLDPWD/examples/copy.tl") 2>"$work/log"
ok 'a rule for make' grep -q 'copy.c.*:' "$work/copy.d"
finish

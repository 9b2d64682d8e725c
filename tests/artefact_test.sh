#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# artefact_test.sh: `tilec --emit=header` and `--emit=cubin`: the header is clean C11, C23 and C++, a
# program with it needs the runtime alone and gets the variants it should, command lines with mistakes
# are refused. Usage: artefact_test.sh BUILD-FOLDER [DEVICE]   (of programs that run; default cpu)
set -u
build=$(realpath "$1")
device=${2:-cpu}
cd "$(dirname "$0")/.."
. tests/lib.sh
tilec=$build/bin/tilec
export LC_ALL=C

# refused CODE PATTERN ARGUMENTS…: tilec says so and writes nothing
refused() {
    local code=$1 pattern=$2 rc
    shift 2
    rm -f "$work/no.h"
    "$tilec" -Wno-perf -o "$work/no.h" "$@" >"$work/said" 2>&1
    rc=$?
    ok "tilec $*" sh -c "cat '$work/said'; [ $rc -eq $code ] && [ ! -e '$work/no.h' ]"
    ok "tilec $* says it" sh -c 'cat "$2"; grep -qE -- "$1" "$2"' - "$pattern" "$work/said"
}

sanitize=$(instrumented "$tilec")
libraries="$build/lib/libtile_runtime.a -ljansson -ldl -lm -lpthread $sanitize"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
source=tests/artefact/kernels.tl
variants=@tests/artefact/variants.txt
ok 'the header is written' "$tilec" --emit=header --target=sm_80,sm_90a --variants="$variants" \
    -o "$work/kernels.h" $source
ok 'the same bytes again' sh -c "'$tilec' --target=sm_80,sm_90a --variants='$variants' -o - --emit=header $source | cmp - '$work/kernels.h'"

# try NAME COMPILER…: builds the program and adds what it counts
try() {
    local name=$1 counts
    shift
    # shellcheck disable=SC2086 # lists of options
    ok "$name" "$@" $warnings $sanitize -Iinclude -I"$work" -c tests/artefact/program.c -o "$work/program.o"
    # shellcheck disable=SC2086
    ok "$name links" "$1" "$work/program.o" $libraries -o "$work/program"
    "$work/program" "$device" >"$work/log" 2>&1
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/log")
    if [ -n "$counts" ]; then
        passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
        grep '^artefact:' "$work/log"
    else
        fail "$name runs" "$work/log"
    fi
}
try 'C11' gcc -std=c11
try 'C23' gcc -std=c2x
try 'C++11' g++ -x c++ -std=c++11
try 'C++17' g++ -x c++ -std=c++17
ok 'no LLVM is needed' sh -c "! ldd '$work/program' | grep -iE 'llvm'"
printf '#include "kernels.h"\n#include "kernels.h"\n' >"$work/twice.c"
# shellcheck disable=SC2086
ok 'twice, and unused' gcc -std=c11 $warnings -Iinclude -I"$work" -c "$work/twice.c" -o "$work/twice.o"

# Parameters that are called as the header's own words, and a kernel without any.
cat >"$work/names.tl" <<'INNER'
import triton, triton.language as tl
@triton.jit
def nothing():
    pass
# tile: grid = int32_t
@triton.jit
def tile_launch(tile_pointer: "*i32", int32_t: "i32", tile_int: "i32", tile_arg: "i64", TILE_I32: "i32",
                uint8_t: "u8", tile_status: "fp32", main: "i32", _: "i32", __: "i32", tile_none: "fp32",
                tile_bundle_launch: "i32", INT32_MAX: "i32", args: "i32", kernels_: "i32", int: "i32", int_: "i32"):
    tl.store(tile_pointer, int32_t)
INNER
ok 'strange names' "$tilec" -o "$work/names.h" "$work/names.tl"
for language in '-std=c11 -x c' '-std=c2x -x c' '-std=c++11 -x c++'; do
    # shellcheck disable=SC2086
    ok "compile, $language" gcc $language $warnings -Iinclude -c "$work/names.h" -o "$work/names.o"
done

# Every example makes a header; a kernel without promises makes one variant.
for example in examples/*.tl; do
    ok "$example" "$tilec" -Wno-perf -o "$work/x.h" "$example"
    # shellcheck disable=SC2086
    ok "$example compiles" gcc -std=c11 $warnings -Iinclude -x c -c "$work/x.h" -o "$work/x.o"
done
printf 'import triton\n@triton.jit\ndef k(p: "*fp32"): pass\n' >"$work/one.tl"
ok 'one variant' sh -c "'$tilec' -o '$work/one.h' '$work/one.tl' && [ \$(grep -c 'static const unsigned char' '$work/one.h') -eq 2 ]"
ok 'the tile IR alone' sh -c "'$tilec' --embed=tir -o '$work/one.h' '$work/one.tl' && [ \$(grep -c 'static const unsigned char' '$work/one.h') -eq 1 ]"
ok 'from a pipe' sh -c "'$tilec' --emit=header -o - - <'$work/one.tl' | grep -q 'tile_status kernels_load'"

refused 2 "'x' is none of NAME=TYPE" --variants=x $source
refused 2 'expected a number or a name' --variants='n >> 3' $source
refused 1 'no kernel has all of the integers that its condition names: Q > 3' --variants='Q > 3' $source
refused 1 'no kernel has all of the integers' --variants='out_ptr > 3' $source
refused 2 'config takes a whole number' --variants='config=x' $source
refused 3 'cannot read' --variants=@nope.txt $source
refused 2 'there is none' --variants='; ;' $source
refused 2 'unknown target .sm_1' --target=sm_80,sm_1 $source
refused 2 '--embed is of ptx, cubin and tir' --embed=ptx,elf $source
refused 2 'is for --emit=header' --emit=ptx --variants='n=:16' $source
refused 2 'of one output, not of a header' --stats $source
refused 1 'no autotune configs' --variants='config=3' $source
refused 1 'takes .i32 as parameter .out_ptr., and another .fp16' --kernel=which --variants='out_ptr=*fp16:16' $source
refused 1 "no kernel has a parameter 'q'" --variants='q=:16' $source

# ---- a variant for each size that was tuned ----
# entry TARGET KEY CONFIG: of the kernel `which`; the second config failed
entry() {
    printf '{"kernel": "which", "device": "D", "target": "%s", "types": "*i32,i32,i64", "key": "%s", "source": "0",\n' "$1" "$2"
    printf ' "configs": [{"config": "%s", "ms": 1, "low": 1, "high": 1, "runs": 5}, {"config": "V=99", "failed": "slow"}]}' "$3"
}
sizes=('n=1024,m=1024' 'n=64,m=64' 'n=1024,m=16' 'n=0,m=100000')
# tuning TARGET: a file in which V is the number of the size
tuning() {
    printf '{"tuning": 1, "entries": ['
    for i in "${!sizes[@]}"; do printf '%s\n' "$([ "$i" = 0 ] || echo ,)$(entry "$1" "${sizes[i]}" "V=$((i + 1))")"; done
    printf ']}\n'
}
# which VARIANTS OPTIONS…: makes the program from $work/tuned.json
which() {
    local variants=$1
    shift
    rm -f "$work/which.h"
    "$tilec" --kernel=which --tuning="$work/tuned.json" --variants="$variants" -o "$work/which.h" "$@" $source 2>"$work/said" || { cat "$work/said"; return 1; }
    # shellcheck disable=SC2086
    gcc -std=c11 $warnings $sanitize -Iinclude -I"$work" tests/artefact/tuned.c $libraries -o "$work/which"
}
# takes PROGRAM-ARGUMENTS… -- WANTED…
takes() {
    local arguments=()
    while [ "$1" != -- ]; do arguments+=("$1"); shift; done
    shift
    local got
    got=$("$work/which" "${arguments[@]}" | tr '\n' ' ')
    [ "$got" = "$* " ] || { echo "${arguments[*]}: '$got', not '$* '"; return 1; }
}
tuning cpu >"$work/tuned.json"
ok 'tuned variants' which tuned --embed=tir
ok 'of which the nearest is taken' takes 1024 1024 64 64 1024 16 0 100000 900 700 30 30 3000 1 1 1000000 -5 70000 -- V=1 V=2 V=3 V=4 V=1 V=2 V=3 V=4 V=4
ok 'and no others' [ "$(grep -c '"cpu", [0-9]*, "n ~' "$work/which.h")" -eq 4 -a "$(grep -c '"cpu", ' "$work/which.h")" -eq 4 ]
for s in '700 16' '255 255' '256 256' '257 257' '0 0' '1 99999' '100 1000' '5000 100' '33000 33000' '1024 128' '1024 127'; do
    config=$("$tilec" --kernel=which --tuning="$work/tuned.json" --variants='swizzle_grid=1' --embed=tir --for="n=${s% *},m=${s#* }" -o "$work/x.h" $source 2>&1 | sed -n 's/.*config \(V=[0-9]*\),.*/\1/p')
    # shellcheck disable=SC2086
    ok "a launch and --for agree, n m = $s" takes $s -- "${config:-nothing}"
done
ok 'with promises' which 'out_ptr=:16, tuned; V=7, out_ptr=:16; n ~ 5, V=8; tuned, n < 0' --embed=tir
ok 'no promise is assumed' takes 64 64 +64 64 +0 0 -5 3 -- V=2 V=8 V=8 V=2
tuning sm_80 >"$work/tuned.json"
ok 'the CPU device as the GPU' which tuned
ok 'has its choice' takes 64 64 1024 16 -- V=2 V=3
python3 - "$work" <<'INNER'
import json, sys
def entry(target, key, v):
    return {"kernel": "which", "device": "D", "target": target, "types": "*i32,i32,i64", "key": key, "source": "0",
            "configs": [{"config": f"V={v}", "ms": 1.0, "low": 1.0, "high": 1.0, "runs": 5}]}
json.dump({"tuning": 1, "entries": [entry("sm_80", "n=1,m=1", 1), entry("sm_80", "n=100,m=1", 2),
           entry("sm_90a", "n=1,m=1", 3)]}, open(sys.argv[1] + "/tuned.json", "w"))
INNER
ok 'each target has its own' which tuned --target=sm_86,sm_90a,sm_80
ok 'and one without times is said' grep -qx 'tilec: .*: sm_86: nothing was tuned there, .*' "$work/said"
ok 'the same code is there once' [ "$(grep -c 'static const unsigned char' "$work/which.h")" -eq 5 -a "$(grep -c '^        {"' "$work/which.h")" -eq 8 ]
# In a build the header follows the tuning file.
mkdir "$work/app"
cp $source "$work/app/kernels.tl"
tuning cpu >"$work/app/tuned.json"
cat >"$work/app/CMakeLists.txt" <<INNER
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES C)
add_executable(tile::tilec IMPORTED)
set_target_properties(tile::tilec PROPERTIES IMPORTED_LOCATION $tilec)
include($PWD/cmake/tileKernels.cmake)
add_library(app STATIC app.c)
target_include_directories(app PRIVATE $PWD/include)
tile_add_kernels(app kernels.tl OPTIONS --kernel=which --embed=tir --tuning=tuned.json --variants=tuned)
INNER
echo '#include "kernels.h"' >"$work/app/app.c"
app() { # COUNT: builds; the header has so many images
    cmake --build "$work/app/out" && [ "$(grep -c '"cpu", ' "$work/app/out/tile_kernels/app/kernels.h")" -eq "$1" ]
}
ok 'a build is set up' cmake -S "$work/app" -B "$work/app/out"
ok 'from the source folder' app 4
sleep 0.01
(sizes=('n=1,m=1') && tuning cpu) >"$work/app/tuned.json"
ok 'and again' app 1
refused 2 "'tuned' is for --tuning" --kernel=which --variants=tuned $source
refused 2 'config chooses, and so does tuned' --kernel=which --tuning="$work/tuned.json" --variants='tuned,config=1' $source
refused 1 'has no config for this kernel with these types on sm_89 cpu' --kernel=which --tuning="$work/tuned.json" --variants=tuned --target=sm_89 $source
refused 2 'choose it with --kernel' --tuning="$work/tuned.json" --variants=tuned $source
sed -i 's/n=1,m=1/n=1.5,m=1/' "$work/tuned.json"
refused 2 "a launch cannot be compared with the key 'n=1.5,m=1'" --kernel=which --tuning="$work/tuned.json" --variants=tuned $source
sed -i 's/n=1.5,m=1/n=1,zz=1/' "$work/tuned.json"
refused 1 'no kernel has all of the integers that its condition names: n ~ 1,zz ~ 1' --kernel=which --tuning="$work/tuned.json" --variants=tuned $source

# Machine code, where there is an assembler.
no_tools=$(mktemp -d -p "$work")
PATH=$no_tools CUDA_HOME=$no_tools "$tilec" -Wno-perf -o "$work/no.cubin" $source 2>"$work/said"
ok 'no ptxas' grep -q 'neither in PATH nor in .CUDA_HOME/bin' "$work/said"
ok 'and no cubin' [ ! -e "$work/no.cubin" ]

if ptxas=$(command -v ptxas || ls "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" 2>/dev/null); then
    ok 'a cubin' "$tilec" -Wno-perf -o "$work/c.cubin" $source
    ok 'it is one' sh -c "head -c 4 '$work/c.cubin' | grep -q ELF"
    ok 'with its manifest' sh -c "tail -n 1 '$work/c.cubin' | grep -qx '// tilec manifest end'"
    mkdir -p "$work/cuda/bin"
    ln -s "$ptxas" "$work/cuda/bin/ptxas"
    TMPDIR=$work/nowhere "$tilec" -Wno-perf -o "$work/no.cubin" $source 2>"$work/said"
    ok 'no TMPDIR: exit code 3' [ $? -eq 3 ]
    ok 'in words' grep -qx "tilec: error: cannot keep temporary files in '$work/nowhere': No such file or directory; TMPDIR=FOLDER names another folder \\[R0005\\]" "$work/said"
    # A limit on the size of files stands for a full disk: the PTX does not fit.
    (trap '' XFSZ; ulimit -f 1; "$tilec" -Wno-perf -o "$work/no.cubin" $source) 2>"$work/said"
    ok 'a full TMPDIR: exit code 3' [ $? -eq 3 ]
    ok 'in its words' grep -q '^tilec: error: cannot keep temporary files in ' "$work/said"
    ok 'and no cubin of half the PTX' [ ! -e "$work/no.cubin" ]
    ok 'by CUDA_HOME' env PATH=/nonexistent CUDA_HOME="$work/cuda" "$tilec" -Wno-perf -o "$work/d.cubin" $source
    ok 'the same' cmp "$work/c.cubin" "$work/d.cubin"
    ok 'in a header' "$tilec" -Wno-perf --embed=cubin,ptx,tir -o "$work/kernels.h" --variants="$variants" $source
    try 'C11 with cubins' gcc -std=c11
fi

finish

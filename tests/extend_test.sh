#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# extend_test.sh: what docs/architecture.md says under "Adding things" is all that has to be done: a copy
# of the tree gets one thing of each kind, in so many files and no more, is built, and has it everywhere.
# Usage: extend_test.sh BUILD-FOLDER (whose LLVM is taken)
#
# A kind is three things here: its name in `kinds` with how many files it may take, a function add_KIND,
# which changes the copy by `insert`, and a function show_KIND, which looks for it in the programs that
# were built. Where the tree's own suites walk a table, `suites` names them: they have to pass with the
# new row.
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh

kinds='option:2 flag:2 builtin:4 fold_rule:1 target:1 message:2'
suites='test_fields test_compile_options test_ir test_schema test_codegen test_codegen_tiles test_passes'

# insert FILE BEFORE TEXT: a line in front of the first that has BEFORE
insert() {
    grep -qF -e "$2" "$1" || { echo "$1 has no line '$2'"; return 1; }
    awk -v before="$2" -v text="$3" '!done && index($0, before) { print text; done = 1 } { print }' "$1" \
        >"$work/changed" && cp "$work/changed" "$1" && echo "$1" >>"$touched"
}
# within FILE TEXT…: each is in the file
within() {
    local file=$1 pattern
    shift
    for pattern in "$@"; do
        grep -qF -e "$pattern" "$file" || { echo "no $pattern in:"; cat "$file"; return 1; }
    done
}
# prints TEXT COMMAND…: it prints that, wherever to
prints() {
    "${@:2}" >"$work/printed" 2>&1
    within "$work/printed" "$1"
}
# refuses TEXT COMMAND…: it fails, and says that
refuses() {
    ! "${@:2}" >"$work/printed" 2>&1 || { echo 'it works:'; cat "$work/printed"; return 1; }
    within "$work/printed" "$1"
}

# ---- an option of kernels: a row, and a place that uses it ----
add_option() {
    insert ir/options.def 'OPTION(TEXT, target,' \
        'KERNEL_OPTION(NAMED, probe_depth, probe, 2, 9, 0, 0, "probe-depth", "N", "how deep to probe")' &&
        insert codegen/codegen.c 'gen_make_kernel(g' \
            '    if (f->probe) diag(&g->s->diags, P_NARROW, f->span, "probed %d deep", f->probe);'
}
show_option() {
    local view images
    cat >probe.tl <<'PY'
import triton
import triton.language as tl


@triton.autotune([triton.Config({"B": 32}), triton.Config({"B": 64, "probe_depth": 3})], key=[])
@triton.jit
def kernel(p: "*fp32", B: tl.constexpr):
    tl.store(p + tl.arange(0, B), 1.0)
PY
    ok 'parsed, and used' prints 'perf: probed 7 deep' tilec probe.tl -o probe.ptx --probe-depth=7
    ok 'in the manifest' within probe.ptx '"probe": 7'
    ok 'nowhere when it is not given' sh -c '! tilec probe.tl -o - 2>&1 | grep probed'
    ok 'refused' refuses 'probe_depth must be between 2 and 9, not 10' tilec probe.tl -o - --probe-depth=10
    ok 'refused at once' refuses '--probe-depth takes a whole number from 2 on' tilec probe.tl -o - --probe-depth=1
    ok 'near' refuses 'did you mean --probe-depth?' tilec probe.tl --probe-dept=3
    for view in help man bash zsh; do
        [ $view != help ] || view=
        ok "tilec --${view:+manual=}${view:-help}" prints probe tilec "--${view:+manual=}${view:-help}"
        ok "tilerun --${view:+manual=}${view:-help}" prints probe tilerun "--${view:+manual=}${view:-help}"
    done
    ok 'in tile IR' prints ' probe=5 ' tilec --emit=tir probe.tl -o - --probe-depth=5
    tilec --emit=tir probe.tl -o probe.tir --probe-depth=5
    ok 'out of tile IR' prints 'perf: probed 5 deep' tilec probe.tir -o probe.ptx
    ok 'in configs' prints 'B=64,probe_depth=3,num_warps=4' tilec --emit=configs probe.tl -o -
    ok 'of a config' prints 'perf: probed 3 deep' tilec probe.tl -o probe.ptx --config=1
    ok "of a config's text" prints 'perf: probed 4 deep' tilec probe.tl -o probe.ptx --config=B=8,probe_depth=4
    ok 'tilerun' prints '"B=8,probe_depth=4,' tilerun --device=cpu probe.tl 'p=zeros:fp32[8]' --grid=1 --json --tune \
        --tuning=probe.json --space='B=8;probe_depth=2,4;num_warps=1'
    ok 'a kernel that is compiled' refuses ', --probe-depth, ' tilerun --probe-depth=3 probe.tir
    ok 'variants' tilec -Wno-perf probe.tl --emit=header --embed=tir --variants='probe_depth=2;probe_depth=3' -o probe.h
    images=$(grep -c '^static const unsigned char' probe.h)
    ok 'variants differ' test "$images" -ge 2
    ok 'a variant is refused' refuses 'probe_depth must be' tilec probe.tl --emit=header --variants=probe_depth=1 -o -
    ok 'documented' within docs/options.md '| `probe_depth` | `--probe-depth=N` | 2 to 9 |'
    ok 'in the schema' within docs/manifest.schema.json '"probe": {"description": "how deep to probe"'
    ok 'in the page of tile IR' within docs/ir.md '| `probe` | 2 to 9 |'
}

# ---- the same without a value ----
add_flag() {
    insert ir/options.def 'OPTION(TEXT, target,' \
        'KERNEL_OPTION(NAMED, probe_on, probe_on, 1, 1, 0, 0, "probe-on", NULL, "whether to probe")' &&
        insert codegen/codegen.c 'gen_make_kernel(g' \
            '    if (f->probe_on) diag(&g->s->diags, P_NARROW, f->span, "probed");'
}
show_flag() {
    ok 'a flag' prints 'perf: probed' tilec examples/copy.tl -o flag.ptx --probe-on
    ok 'a flag in the manifest' within flag.ptx '"probe_on": 1'
    ok 'a flag by name' prints ' probe_on=1 ' tilec --emit=tir examples/vector_add.tl --config=probe_on=1 -o -
    ok 'a flag takes no value' refuses 'takes no value' tilec examples/copy.tl --probe-on=1 -o -
}

# ---- an elementwise builtin with an operation of its own ----
add_builtin() {
    insert ir/ops.def 'OP(CMP,' \
        'OP(ROTL, "rotl", "ii", "", ARG0, E|S, NONE, "x with its bits turned left by y")' &&
        insert ir/interp/ops.c 'OP(SHL, 2,' \
            '    OP(ROTL, 2, (ua & MASK) << ub % BITS | (ua & MASK) >> (BITS - ub % BITS) % BITS) \\' &&
        insert codegen/gen_number.c 'case OP_UMULHI:' \
            '    case OP_ROTL: return float_intrinsic(g, INTRINSIC_FSHL, (LLVMValueRef[]){x, x, y}, 3);' &&
        insert frontend/builtins.def 'BUILTIN("umulhi",' 'BUILTIN("rotl", "LM", "x, y", bi_elementwise, OP_ROTL)'
}
show_builtin() {
    local target
    cat >rotl.tl <<'PY'
import triton
import triton.language as tl


@triton.jit
def kernel(p: "*u32", q: "*i16"):
    i = tl.arange(0, 64)
    x = tl.mul(0x9e3779b9, i.to(tl.uint32), sanitize_overflow=False)
    y = tl.rotl(x, i)
    by = i % 32
    tl.device_assert(y == tl.where(by == 0, x, (x << by) | (x >> (32 - by))), "32 bits")
    short = (i - 32).to(tl.int16)
    tl.device_assert(short.rotl(tl.full((64,), 16, tl.int16)) == short, "16 bits all around")
    turned = tl.rotl(short, tl.full((64,), 1, tl.int16))
    tl.device_assert((turned & 1) == (i < 32).to(tl.int16), "the sign comes in below")
    tl.store(p + i, y)
    tl.store(q + i, tl.rotl(tl.full((64,), 0x4001, tl.int16), tl.full((64,), 1, tl.int16)))
PY
    cat >wrong.tl <<'PY'
import triton
import triton.language as tl


@triton.jit
def kernel(p: "*fp32"):
    tl.store(p, tl.rotl(tl.load(p), 1))
PY
    ok 'in tile IR' prints ' = rotl %' tilec --emit=tir rotl.tl -o -
    ok 'of constants' prints 'const value=-32766' tilec --passes=fold --emit=tir rotl.tl -o -
    ok 'of floats' refuses 'tl.rotl takes integers, not fp32' tilec wrong.tl -o -
    for target in sm_80 sm_90a; do
        ok "code for $target" prints 'shf.l.wrap.b32' tilec --target=$target rotl.tl -o -
        tilec --emit=layout --debug --target=$target rotl.tl -o rotl.$target.tir
        ok "through the passes for $target" within rotl.$target.tir ' = rotl %' '  assert %'
        ok "after the passes for $target" \
            tilerun --device=cpu rotl.$target.tir p=empty:u32[64] q=empty:i16[64] --grid=1
    done
    ok 'on the CPU device' tilerun --device=cpu rotl.tl p=empty:u32[64] q=empty:i16[64] --grid=1
    ok 'in the page of builtins' within docs/builtins.md '| `tl.rotl`, `tensor.rotl` | `x, y` |'
    ok 'in the page of operations' within docs/ir.md '| `rotl` | ii |'
}

# ---- a kind of message: its row and its page ----
add_message() {
    insert base/codes.def 'CODE(P, 0002,' 'CODE(P, 0099, PROBED, "a probe was here")' &&
        insert tools/explain/perf.txt 'P0002' 'P0099\nNothing is slow: this is a probe.\n'
}
show_message() {
    ok 'a code with its title' prints 'P0099: a probe was here' tilec --explain=P0099
    ok 'and its page' prints 'this is a probe' tilec --explain=p0099
    ok 'on the page of all' within docs/errors.md '## P0099: a probe was here' 'this is a probe'
}

# ---- a rule of algebra ----
add_fold_rule() {
    insert passes/fold.def 'FOLD(INT, "min x (max x y)"' 'FOLD(INT, "or (xor x y) (and x y)", "or x y")'
}
show_fold_rule() {
    cat >rule.tl <<'PY'
import triton
import triton.language as tl


@triton.jit
def kernel(p: "*i32", q: "*i32"):
    i = tl.arange(0, 32)
    x, y = tl.load(p + i), tl.load(q + i)
    tl.store(p + i, (y & x) | (x ^ y))
PY
    tilec --passes=fold,dce --emit=tir rule.tl -o rule.tir
    ok 'a rule fires' within rule.tir ' = or %x, %y'
    ok 'and leaves nothing behind' sh -c '! grep -E " = (and|xor) " rule.tir'
    ok 'not without the pass' prints ' = xor ' tilec --emit=tir rule.tl -o -
}

# ---- a GPU, which gpus.def has two names for already ----
add_target() {
    insert ir/target.def 'TARGET(SM_120,' \
        'TARGET(SM_121, "sm_121", 121, "DGX Spark", "sm_120", "ptx87", "sm_90", "ptx84", "8.8", 65536, 1024, 65536, .async_copy = true, .stmatrix = true)'
}
show_target() {
    local view
    for name in sm_121 'DGX Spark' GB10; do
        ok "code for $name" prints '.target sm_121' tilec "--target=$name" examples/copy.tl -o -
    done
    ok 'of its PTX version' prints '.version 8.8' tilec --target=sm_121 examples/copy.tl -o -
    ok 'others stay what they are' prints '.target sm_120' tilec '--target=RTX 5090' examples/copy.tl -o -
    ok 'in the manifest' prints '"target": "sm_121"' tilec --target=sm_121 --emit=manifest examples/copy.tl -o -
    tilec --target=sm_121 --emit=layout examples/copy.tl -o copy.tir
    ok 'in tile IR' within copy.tir 'target="sm_121"'
    ok 'out of tile IR' prints '.target sm_121' tilec copy.tir -o -
    ok 'in a header' prints '{"sm_121", ' tilec -Wno-perf --emit=header --target=sm_80,sm_121 examples/copy.tl -o -
    ok 'its memory is what it has' prints '; sm_121 has 65536 per program' \
        tilec --target=sm_121 examples/matmul.tl --config=BM=256,BN=256,BK=128 -o -
    ok 'for which others are too large' prints '(sm_86, sm_89, sm_121, sm_120)' \
        tilec examples/matmul.tl --config=BM=256,BN=256,BK=128 -o -
    ok 'among what there is' refuses ', sm_121, ' tilec --target=nonsense examples/copy.tl -o -
    for view in man bash zsh help; do
        ok "tilec --manual=$view" prints sm_121 tilec "--manual=$view"
        [ $view = man ] || [ $view = help ] || ok "tilerun --manual=$view" prints sm_121 tilerun "--manual=$view"
    done
    ok 'in the page of options' within docs/options.md 'sm_110 sm_121 sm_120'
    ok 'in the table of GPUs' within docs/artefacts.md '| `sm_121` | DGX Spark | 64 KB | all later GPUs |'
}

# ---- the copy ----
mkdir "$work/tree"
tar c --exclude='./build*' --exclude=./.git --exclude=./stage . | tar x -C "$work/tree"
cd "$work/tree" || exit 1
for row in $kinds; do
    kind=${row%:*} most=${row#*:}
    touched=$work/touched.$kind
    ok "add_$kind" "add_$kind"
    ok "$kind in $most files" test "$(sort -u "$touched" | wc -l)" -le "$most"
done
llvm=$(sed -n 's/^TILE_LLVM_VERSION:[A-Z]*=//p' "$build/CMakeCache.txt")
compile() {
    # shellcheck disable=SC2086 # words
    cmake -G Ninja -S . -B build -DTILE_LLVM=shared "-DTILE_LLVM_VERSION=$llvm" &&
        cmake --build build --target tilec tilerun $suites
}
ok 'it is built' compile
[ "$failed" -eq 0 ] || { finish; exit 1; }
PATH=$PWD/build/bin:$PATH
ok 'the pages are made' scripts/gen-docs
for row in $kinds; do "show_${row%:*}"; done
for suite_of_table in $suites; do ok "$suite_of_table with the rows" "build/tests/$suite_of_table"; done

# A field of the public struct that has no row is an error, not a key that lacks it.
sed -i 's|^} tile_compile_options;|    int forgotten;\n&|' include/tile.h
ok 'a field without a row' refuses 'has a row for every field' \
    gcc -std=c11 -D_POSIX_C_SOURCE=200809L -I. -Iinclude -fsyntax-only compiler/fields.c
finish

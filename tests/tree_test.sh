#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tree_test.sh: rules of the source tree that a compiler does not check: who may include whom, what
# library code may call, no mutable globals, files that say what they are, tables without gaps.
# Usage: tree_test.sh BUILD-FOLDER (of the release preset; its object files are looked at)
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh
shopt -s lastpipe # `… | holds` counts in this shell

# holds NAME: the command's output on standard input must be empty
holds() {
    cat >"$work/found"
    if [ -s "$work/found" ]; then fail "$1" "$work/found"; else pass; fi
}

sources() { find "$@" -name '*.[chly]' -not -path './build*' 2>/dev/null | sort; }

# may_include FOLDER ALLOWED…: "base/x.h" and the like only from the folders named; a folder in a folder is
# one of its own
folders=
may_include() {
    local folder=$1 allowed
    shift
    folders+=" $folder"
    allowed=$(printf '|%s' "$folder" "$@")
    grep -nE '^ *# *include +"' $(sources "$folder" -maxdepth 1) /dev/null |
        grep -vE "\"(${allowed#|})/[^/\"]*\"" |
        grep -vE '"([^/"]*\.(h|def)|passes/passes\.def)"' | holds "includes of $folder"
}
may_include base
may_include ir base
may_include ir/analysis base ir
may_include ir/interp base ir
may_include ptx base
may_include ptx/machine base ir ptx
may_include frontend base ir
may_include frontend/syntax base frontend
may_include frontend/host base frontend/syntax
may_include frontend/lower base ir frontend frontend/syntax frontend/host
may_include passes base ir ir/analysis ir/interp
may_include codegen base ir ir/analysis
may_include runtime base ir ir/interp ptx ptx/machine include
phases='frontend frontend/syntax frontend/host frontend/lower passes codegen'
may_include compiler base ir ir/analysis $phases compiler/report compiler/jit compiler/tune
may_include compiler/lsp base ir $phases compiler
may_include compiler/report base ir ir/analysis passes ptx compiler
may_include compiler/jit base ir $phases compiler
may_include compiler/tune base ir $phases compiler compiler/jit
may_include tools base ir include # and the table of passes, for --help
may_include tools/explain # pages alone
may_include python include
may_include examples
may_include examples/distributed include
find base ir ptx frontend passes codegen runtime compiler tools -mindepth 0 -type d | while read -r f; do
    case " $folders " in *" $f "*) ;; *) echo "$f" ;; esac
done | holds 'folders without a line that says what they may include'
grep -nE '"(include/)?tile\.h"' $(sources base ir ptx frontend passes codegen) /dev/null | holds 'tile.h below the libraries'
grep -ln 'llvm-c/' $(sources base ir ptx frontend passes compiler runtime tools python examples) /dev/null |
    holds 'LLVM outside codegen'
grep -nE 'include *[<"]cuda' $(sources .) /dev/null | grep -v '"runtime/cuda' | holds 'cuda.h'
# What a GPU has is a column of target.def; which code it runs, and since when there is an mma, are questions of order.
grep -nE '(->|\.)sm ([<>]|[=!]=)|([<>]=?|[=!]=) [a-z_>.-]*(->|\.)sm\b' \
    $(sources base ir ptx frontend passes codegen compiler runtime tools | grep -vxE 'ir/(target|mma)\.c') /dev/null |
    holds 'comparisons of capabilities'

# Calls in object files see through comments and macros.
libraries="base ir ptx frontend passes codegen compiler runtime"
objects() { for l in "$@"; do find "$build/CMakeFiles/${l}_objects.dir" -name '*.o'; done; }
for o in $(objects $libraries); do
    nm -u "$o" | awk '{print $NF}' |
        grep -xE 'exit|_exit|abort|__assert_fail|printf|__printf_chk|puts|putchar|perror|stdout|stderr|system' |
        sed "s|^|${o##*/} calls |"
done | holds 'library code that exits or prints'
for o in $(objects frontend passes codegen ir ptx); do
    nm -u "$o" | awk '{print $NF}' | grep -xE 'malloc|calloc|realloc|free' |
        sed "s|^|${o##*/} calls |"
done | grep -vE '^(lexer|grammar)\.' | holds 'memory outside the arena'
# In a program that has the libraries inside, theirs would take the place of the C library's for all others.
nm -D --defined-only "$(gcc -print-file-name=libc.so.6)" "$(gcc -print-file-name=libm.so.6)" |
    awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort -u >"$work/of_libc"
for o in $(objects $libraries); do nm -g --defined-only "$o" | awk '{ print $NF }'; done | sort -u |
    comm -12 - "$work/of_libc" | holds 'functions called as those of the C library'
# Zero-initialised or not, a writable object is shared state. The once-flag for LLVM is the one.
for o in $(objects $libraries) ; do
    objdump -t "$o" | grep -P ' O \.(data|bss)(\.(?!rel\.ro)\S+)?\t' | awk '{print $NF}' |
        sed "s|^|${o##*/} has |"
done | grep -v 'has target_once$' | holds 'mutable globals'

for f in $(sources $libraries tools python include) $(find tests examples -name '*.[ch]'); do
    case "$f" in
    *.l | *.y) head -5 "$f" ;;
    *) sed -n 2p "$f" ;;
    esac | grep -qE "^ *(%\{)? *(/\*|\* ) ?$(basename "$f" | sed 's/\./\\./'):" ||
        echo "$f does not open with '/* $(basename "$f"): …'"
done | holds 'head comments'
# Whatever is no page, data or setting of a tool; data of tests is not, for expectations name its lines.
licensed() {
    case "$1" in
    *.md | *.json | *.png | ./.clang-format | ./.gitignore | ./LICENSE | */copyright.in) false ;;
    */CMakeLists.txt) true ;;
    *.txt | *.csv | *.tsv | *.supp | ./tests/*.tl | ./tests/*.tir | ./tests/frontend/*.py) false ;;
    ./tests/*.[ch] | ./tests/*.cc | ./tests/*.def | ./tests/*.sh | ./tests/*.py | ./tests/*.cmake) true ;;
    ./tests/*) [ "$(head -c 2 "$1" | tr -d '\0')" = '#!' ] ;;
    *) true ;;
    esac
}
spdx='SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception'
find . -type f -not -path './build*' -not -path './.git' -not -path './.git/*' -not -path './stage/*' \
    -not -path '*/__pycache__/*' | sort | while read -r f; do
    if licensed "$f"; then echo "$f"; fi
done >"$work/licensed"
xargs awk -v line="$spdx" '
    FNR == 1 && /^#!/ { next }
    !index($0, line) { print FILENAME " does not open with its SPDX line" }
    { nextfile }' <"$work/licensed" | holds 'SPDX lines'
awk 'END { if (NR < 400) print NR " files" }' "$work/licensed" | holds 'hardly any file has to have an SPDX line'
for f in LICENSE CHANGELOG.md CONTRIBUTING.md; do
    [ -s $f ] || echo "$f is not there"
done | holds 'pages beside the sources'
for line in 'Apache License' 'Version 2.0, January 2004' 'END OF TERMS AND CONDITIONS' \
    '---- LLVM Exceptions to the Apache 2.0 License ----'; do
    grep -qF -- "$line" LICENSE || echo "LICENSE lacks: $line"
done | holds 'the licence and its exception'
for f in $(sources $libraries tools python) $(find python -name "*.py"); do
    n=$(wc -l < "$f")
    [ "$n" -le 750 ] || echo "$f has $n lines"
done | holds 'file sizes'
find . -type f -empty -not -path './build*' -not -path './.git/*' -not -path './stage/*' |
    holds 'empty files'
for f in tests/{frontend,passes,codegen,layout}/*.{tl,tir}; do # without one the runner passes over it
    [ ! -f "$f" ] || grep -q 'RUN:' "$f" || echo "$f has no RUN line"
done | holds 'tests that run'
for f in $(find tests -name '*_test.sh'); do
    grep -qF "$f" cmake/tests.cmake || echo "$f has no row in cmake/tests.cmake"
done | holds 'scripts that test'
grep -nE '\b(TODO|FIXME|XXX|HACK)\b' $(sources .) CMakeLists.txt scripts/* /dev/null | holds 'loose ends'
grep -nE '/(home|work|root)/' $(find . -type f -not -path './build*' -not -path './.git' -not -path './.git/*' \
    -not -path './stage/*' -not -name '*.png') | holds 'paths of one machine'

if command -v clang-format-14 >/dev/null; then # another version lays out otherwise
    scripts/format --check 2>&1 | sed -n 's/^\([a-z_/]*\.[ch]\):[0-9].* error: .*/\1/p' | sort -u |
        holds 'layout (scripts/format)'
fi

# A pass is one row and one function.
rows=$(sed -nE 's/^(NAMED_)?PASS\(([a-z_0-9]*),.*/\2/p' passes/passes.def)
for p in $rows; do
    grep -lqE "^void pass_$p\(" passes/*.c || echo "pass_$p is not defined in passes/"
done | holds 'passes.def'

finish

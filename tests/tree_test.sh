#!/bin/bash
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

# may_include FOLDER ALLOWED…: "base/x.h" and the like only from the folders named
may_include() {
    local folder=$1 allowed
    shift
    allowed=$(printf '|%s' "$folder" "$@")
    grep -nE '^ *# *include +"' $(sources "$folder") /dev/null |
        grep -vE "\"(${allowed#|})/" |
        grep -vE '"([^/"]*\.(h|def)|passes/passes\.def)"' | holds "includes of $folder"
}
may_include base
may_include ir base
may_include frontend base ir
may_include passes base ir
may_include codegen base ir
may_include runtime base ir include
may_include compiler base ir frontend passes codegen
may_include tools base ir include # and the table of passes, for --help
may_include examples
grep -nE '"(include/)?tile\.h"' $(sources base ir frontend passes codegen) /dev/null | holds 'tile.h below the libraries'
grep -ln 'llvm-c/' $(sources base ir frontend passes compiler runtime tools examples) /dev/null |
    holds 'LLVM outside codegen'
grep -nE 'include *[<"]cuda' $(sources .) /dev/null | grep -v '"runtime/cuda' | holds 'cuda.h'

# Calls in object files see through comments and macros.
libraries="base ir frontend passes codegen compiler runtime"
objects() { for l in "$@"; do find "$build/CMakeFiles/${l}_objects.dir" -name '*.o'; done; }
for o in $(objects $libraries); do
    nm -u "$o" | awk '{print $NF}' |
        grep -xE 'exit|_exit|abort|__assert_fail|printf|__printf_chk|puts|putchar|perror|stdout|stderr|system' |
        sed "s|^|${o##*/} calls |"
done | holds 'library code that exits or prints'
for o in $(objects frontend passes codegen ir); do
    nm -u "$o" | awk '{print $NF}' | grep -xE 'malloc|calloc|realloc|free' |
        sed "s|^|${o##*/} calls |"
done | grep -vE '^(lexer|grammar)\.' | holds 'memory outside the arena'
# Zero-initialised or not, a writable object is shared state. The once-flag for LLVM is the one.
for o in $(objects $libraries) ; do
    objdump -t "$o" | grep -P ' O \.(data|bss)(\.(?!rel\.ro)\S+)?\t' | awk '{print $NF}' |
        sed "s|^|${o##*/} has |"
done | grep -v 'has target_once$' | holds 'mutable globals'

for f in $(sources base ir frontend passes codegen compiler runtime tools include) $(find tests examples -name '*.[ch]'); do
    case "$f" in
    *.l | *.y) head -5 "$f" ;;
    *) head -1 "$f" ;;
    esac | grep -qE "^ *(%\{)? *(/\*|\* ) ?$(basename "$f" | sed 's/\./\\./'):" ||
        echo "$f does not open with '/* $(basename "$f"): …'"
done | holds 'head comments'
for f in $(sources $libraries tools); do
    n=$(wc -l < "$f")
    [ "$n" -le 750 ] || echo "$f has $n lines"
done | holds 'file sizes'
find . -type f -empty -not -path './build*' -not -path './.git/*' -not -path './stage/*' |
    holds 'empty files'
for f in tests/{frontend,passes,codegen,layout}/*.{tl,tir}; do # without one the runner passes over it
    [ ! -f "$f" ] || grep -q 'RUN:' "$f" || echo "$f has no RUN line"
done | holds 'tests that run'
grep -nE '\b(TODO|FIXME|XXX|HACK)\b' $(sources .) CMakeLists.txt scripts/* /dev/null | holds 'loose ends'
grep -nE '(/home|/work|/root)/' $(find . -type f -not -path './build*' -not -path './.git/*' \
    -not -path './stage/*' -not -name '*.png' -not -name tree_test.sh) | holds 'paths of one machine'

if command -v clang-format-14 >/dev/null; then # another version lays out otherwise
    scripts/format --check 2>&1 | sed -n 's/^\([a-z_/]*\.[ch]\):[0-9].* error: .*/\1/p' | sort -u |
        holds 'layout (scripts/format)'
fi

# A pass is one row and one function.
rows=$(sed -n 's/^PASS(\([a-z_0-9]*\),.*/\1/p' passes/passes.def)
for p in $rows; do
    grep -lqE "^void pass_$p\(" passes/*.c || echo "pass_$p is not defined in passes/"
done | holds 'passes.def'

finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# docs_test.sh: what README.md, CONTRIBUTING.md and docs/ say can be done: every file they name exists,
# every code block works as it stands, and pages made from tables are up to date.
# Usage: docs_test.sh BUILD-FOLDER (of the release preset; README.md speaks of build/) [PAGE…]
#
# The blocks of a page are taken in order, in one folder, where build/ and examples/ are the tree's and
# the installed package is found by pkg-config and CMake. The words behind ``` say what a block is:
#
#   python [file=NAME]   a kernel: compiled, and kept under that name
#   c, cpp [file=NAME]   a program: checked by the compiler, and kept; without `main` a part of a function,
#                        whose variables `<!-- given: tile_ptr x; -->` above it declares
#   cmake, tir file=NAME kept; a .tir is compiled
#   json                 JSON
#   sh [gpu]             run, line by line, until one fails; with `gpu` only where there is a GPU
#   sh exists            names programs that are there (those that would run this test)
#   sh fails             as sh, but its last line fails
#   text output          what the block before it printed; … stands for anything
#   text                 a picture
set -u
build=$(realpath "$1")
shift
tree=$(realpath "$(dirname "$0")/..")
. "$tree/tests/lib.sh"
cd "$tree" || exit 1
pages=("$@")
[ ${#pages[@]} -gt 0 ] || pages=(README.md CONTRIBUTING.md CHANGELOG.md docs/*.md)

# Names in backquotes that look like paths of this tree, and links to other pages.
for page in "${pages[@]}"; do
    for path in $(grep -oE '`[a-z_.]+/[A-Za-z0-9_./*-]+`' "$page" | tr -d '`' | grep -v '^build' | sort -u); do
        # shellcheck disable=SC2086 # a name may be a pattern
        ok "$page names $path" sh -c "ls -d $path"
    done
    for path in $(grep -oE '\]\([a-z][a-z_/.]*\.(md|json)\)' "$page" | sed 's/^](//; s/)$//' | sort -u); do
        ok "$page links to $path" test -f "$(dirname "$page")/$path"
    done
done

ok 'install' cmake --install "$build" --prefix "$work/prefix"
export PATH="$work/prefix/bin:$PATH" PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
export CMAKE_PREFIX_PATH="$work/prefix" LD_LIBRARY_PATH="$work/prefix/lib"
has_gpu=false
printf 'kernel @k() num_warps=1 num_stages=1 {\n  return\n}\n' >"$work/probe.tir"
tilerun --device=cuda --grid=1 "$work/probe.tir" >/dev/null 2>&1 && has_gpu=true

cat >"$work/json.cmake" <<'CMAKE'
file(READ ${FILE} text)
string(JSON kind ERROR_VARIABLE bad TYPE "${text}")
if(bad)
    message(FATAL_ERROR "${bad}")
endif()
CMAKE

# Cuts a page into NNN.block files; each line of `list` is: number, line of the page, words behind ```.
cut_page() {
    awk -v out="$2" '
        /^<!-- given: / { given = $0; sub(/^<!-- given: /, "", given); sub(/ *-->$/, "", given) }
        /^```/ && !on { on = 1; n++; name = sprintf("%s/%03d.block", out, n); printf "" >name
            printf "%03d %d %s\n", n, NR, substr($0, 4) >(out "/list")
            print given >(name ".given"); given = ""; next }
        /^```/ { on = 0; close(name); next }
        on { print >name }' "$1"
}

# Is the text of file $1 the pattern in file $2, in which … stands for anything?
fits() {
    local text pattern
    text=$(sed 's/ *$//' "$1")
    pattern=$(sed 's/ *$//; s/[][\\*?]/\\&/g; s/…/*/g' "$2")
    # shellcheck disable=SC2053 # it is a pattern
    [[ $text == $pattern ]] || { echo "it printed:"; cat "$1"; return 1; }
}

fragment() {
    printf '#include "tile.h"\n#include <stdio.h>\n#include <string.h>\n'
    grep '^#include' "$1"
    printf 'void fragment(tile_context *ctx, tile_kernel *kernel);\n'
    printf 'void fragment(tile_context *ctx, tile_kernel *kernel) {\n(void)ctx; (void)kernel;\n%s\n{\n' \
        "$(cat "$1.given")"
    grep -v '^#include' "$1"
    printf '}\n}\n'
}

# block PAGE-LINE FOLDER FILE KIND WORDS…: one block, in the page's folder
block() {
    local at=$1 folder=$2 text=$3 kind=${4:-} word name=
    shift 4 2>/dev/null || shift $#
    for word in "$@"; do
        case $word in file=*) name=${word#file=} ;; esac
    done
    [ -z "$name" ] || cp "$text" "$folder/$name"
    case "$kind $*" in
    python*) [ -n "$name" ] || { name=block.tl && cp "$text" "$folder/block.tl"; }
        ok "$at" sh -c "cd '$folder' && tilec -Wno-perf -o block.ptx '$name'" ;;
    tir*) ok "$at" sh -c "cd '$folder' && tilec -Wno-perf -o block.ptx '$name'" ;;
    c\ * | cpp\ *)
        local compiler=(gcc -std=c11)
        [ "$kind" = c ] || compiler=(g++ -std=c++17 -x c++)
        grep -q 'main(' "$text" || { fragment "$text" >"$text.c" && text=$text.c; }
        ok "$at" "${compiler[@]}" -Wall -Wextra -Werror -Wno-unused -Iinclude -I"$folder" -fsyntax-only -x \
            "$([ "$kind" = c ] && echo c || echo c++)" "$text" ;;
    json*) ok "$at" cmake -DFILE="$text" -P "$work/json.cmake" ;;
    cmake*) ok "$at is kept" test -n "$name" ;;
    sh\ gpu) if $has_gpu; then ok "$at" sh -c "cd '$folder' && bash -eu '$text' </dev/null"; else skip; fi ;;
    sh\ exists) while read -r word _; do ok "$at: $word" test -x "$word"; done <"$text" ;;
    sh\ fails) ok "$at" sh -c "cd '$folder' && ! bash -eu '$text' </dev/null" && cp "$work/log" "$folder/printed" ;;
    sh*) ok "$at" sh -c "cd '$folder' && bash -eu '$text' </dev/null" && cp "$work/log" "$folder/printed" ;;
    text\ output) ok "$at" fits "$folder/printed" "$text" ;;
    text*) ;;
    *) ok "$at: a block of no known kind: '$kind $*'" false ;;
    esac
}

for page in "${pages[@]}"; do
    parts=$work/parts-$(basename "$page" .md) folder=$work/$(basename "$page" .md)
    mkdir "$parts" "$folder"
    touch "$parts/list"
    ln -s "$build" "$folder/build"
    ln -s "$tree/examples" "$folder/examples"
    cut_page "$page" "$parts"
    while read -r number line words; do
        # shellcheck disable=SC2086 # words
        block "$page:$line" "$folder" "$parts/$number.block" $words
    done <"$parts/list"
done

ok 'docs made from tables' scripts/gen-docs --check

finish

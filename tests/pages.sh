# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pages.sh, sourced by the tests of documentation after lib.sh: runs what a page shows, in order. The words
# behind ``` say what a block is:
#
#   python [file=NAME]   a kernel: compiled, and kept under that name
#   python host file=NAME a program in Python: kept, for a `sh` block to run
#   c, cpp [file=NAME]   a program: checked by the compiler, and kept; without `main` a part of a function,
#                        whose variables `<!-- given: tile_ptr x; -->` above it declares
#   cmake, tir file=NAME kept; a .tir is compiled
#   json                 JSON
#   sh                   run, until a line fails
#   sh gpu               the same where there is a GPU
#   sh WORD              root, user, packages, sources: the same where `as` has that word (tests/tutorial_test.sh,
#                        tests/fresh_test.sh); what packages and sources take is no step of the page
#   sh exists            names programs that are there (those that would run this test)
#   sh fails             as sh, but its last line fails
#   text output          what the block before it printed; … stands for anything
#   text                 a picture
#
# The commands of a page run in one shell, as its reader's do: what a block sets, and where it goes, is so
# for the next. Files are kept where that shell is.
has_gpu=false # may be set
as=           # of root, user, packages, sources
lacking=      # programs of the page that are not here: blocks with them are passed over
checks=true   # blocks that are kept are compiled, too
page_shell=(bash)
passed_over=false # was the last block of commands?

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

cat >"$work/json.cmake" <<'CMAKE'
file(READ ${FILE} text)
string(JSON kind ERROR_VARIABLE bad TYPE "${text}")
if(bad)
    message(FATAL_ERROR "${bad}")
endif()
CMAKE

# ---- the page's shell ----

shell_begin() { # FOLDER
    coproc PAGE { cd "$1" && exec "${page_shell[@]}" 2>"$work/shell.log"; }
    page_pid=$PAGE_PID
    exec {to_shell}>&"${PAGE[1]}" {from_shell}<&"${PAGE[0]}" {PAGE[0]}<&- {PAGE[1]}>&-
}
shell_end() {
    exec {to_shell}>&- {from_shell}<&-
    wait "$page_pid"
}
# shell_run FOLDER COMMANDS: their exit code, and in `printed` what they printed. A shell that they ended
# begins anew.
shell_run() {
    local rc=
    printf '{ %s\n} </dev/null >%q 2>&1; echo $?; set +eu\n' "$2" "$work/printed" >&"$to_shell"
    read -r rc <&"$from_shell" || { shell_end; shell_begin "$1"; }
    cat "$work/printed"
    return "${rc:-1}"
}
# timed NOTE AT FILE COMMAND…: the command, and a line of `steps`: seconds, place, what was run, note
timed() {
    local began=$EPOCHREALTIME rc note=$1 at=$2 text=$3
    "${@:4}"
    rc=$?
    awk -v a="$began" -v b="$EPOCHREALTIME" -v note="$note" -v at="$at" -v text="$(head -n 1 "$text" | cut -c 1-60)" \
        'BEGIN { printf "%.2f\t%s\t%s\t%s\n", b - a, at, text, note }' >>"$work/steps"
    return $rc
}
# quick_steps SECONDS: a table of what ran and how long it took; each step is a check that it took less.
quick_steps() {
    local seconds note at text
    [ -s "$work/steps" ] || { fail 'no step was timed' && return; }
    echo "seconds  step"
    while IFS=$'\t' read -r seconds at text note; do
        printf '%7s  %s: %s%s\n' "$seconds" "$at" "$text" "${note:+ ($note)}"
        [ "$note" != 'installation, without limit' ] || continue
        ok "$at takes less than $1 s" awk -v s="$seconds" -v most="$1" 'BEGIN { print s " s"; exit s >= most }'
    done <"$work/steps"
}
shell_works() { shell_run "$1" "set -eu; . $(printf %q "$2")"; }
shell_fails() { ! shell_run "$1" "(set -eu; . $(printf %q "$2"))"; }

# ---- blocks ----

# block PAGE-LINE FOLDER FILE KIND WORDS…: one block, in the page's folder
block() {
    local at=$1 folder=$2 text=$3 kind=${4:-} word name=
    shift 4 2>/dev/null || shift $#
    for word in "$@"; do
        case $word in file=*) name=${word#file=} ;; esac
    done
    if [ -n "$name" ]; then
        ok "$at is kept" shell_run "$folder" "cp $(printf '%q ' "$text" "$name")"
        $checks || return
    fi
    case "$kind $*" in
    python\ host*) ok "$at is kept" test -n "$name" ;;
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
    sh*)
        passed_over=false
        if [[ $* =~ ^(gpu|fails)?$ && -n $lacking ]] && grep -qE "$(printf '(^|[ (])(%s)( |$)' "$lacking")" "$text"; then
            passed_over=true
            echo "$at is passed over: it needs what is not here"
            skip
            return
        fi ;;&
    sh\ gpu)
        if ! $has_gpu; then no_gpu "$at" "$folder" "$text"; else
            ok "$at" timed 'on the GPU' "$at" "$text" shell_works "$folder" "$text"
        fi ;;
    sh\ root | sh\ user | sh\ packages | sh\ sources)
        case " $as " in *" $1 "*)
            local note=
            case $1 in packages | sources) note='installation, without limit' ;; esac
            ok "$at" timed "$note" "$at" "$text" shell_works "$folder" "$text" ;;
        esac ;;
    sh\ exists) while read -r word _; do ok "$at: $word" test -x "$word"; done <"$text" ;;
    sh\ fails) ok "$at" timed '' "$at" "$text" shell_fails "$folder" "$text" ;;
    sh\ ) ok "$at" timed '' "$at" "$text" shell_works "$folder" "$text" ;;
    text\ output) $passed_over && skip || ok "$at" fits "$work/printed" "$text" ;;
    text*) ;;
    console\ ) ;; # tests/pages_test.sh
    *) ok "$at: a block of no known kind: '$kind $*'" false ;;
    esac
}
no_gpu() { skip; }

# run_page PAGE FOLDER: all of them
run_page() {
    local page=$1 folder=$2 parts number line words
    parts=$work/parts-$(basename "$page" .md)
    mkdir "$parts"
    touch "$parts/list"
    cut_page "$page" "$parts"
    shell_begin "$folder"
    while read -r number line words; do
        # shellcheck disable=SC2086 # words
        block "$page:$line" "$folder" "$parts/$number.block" $words
    done <"$parts/list"
    shell_end
}

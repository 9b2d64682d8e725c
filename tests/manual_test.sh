#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# manual_test.sh: the manual pages and completions that the programs print of themselves: each names
# every option, troff finds nothing wrong, and bash completes what a user would type.
# Usage: manual_test.sh BIN-FOLDER
set -u
bin=$(realpath "$1")
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

# completes PROGRAM EXPECTED WORDS…: what bash offers for the last word, sorted, on one line. The
# words are given as bash splits them, at '=' too.
completes() {
    local program=$1 expected=$2 got
    shift 2
    got=$(bash -c '. "./$1.bash"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_$1"
        printf "%s\n" "${COMPREPLY[@]}"' _ "$program" "$program" "$@" | sort | xargs)
    [ "$got" = "$expected" ] || { echo "offers '$got', not '$expected'"; return 1; }
}

touch a.tl b.ptx other.txt
mkdir folder
for program in tilec tilerun; do
    for view in man bash zsh; do
        ok "$program --manual=$view" sh -c "'$bin/$program' --manual=$view >$program.$view"
    done
    "$bin/$program" --help | grep -oE '^  (-[A-Za-z]+,? ?)?(--[a-z0-9-]+)?' | grep -oE -e '-[-A-Za-z0-9]+' >options
    ok "$program has options" test "$(wc -l <options)" -gt 15
    while read -r option; do
        troff=$(printf '%s' "$option" | sed 's/-/\\-/g')
        ok "$program.1 has $option" grep -qF -e "$troff\\fR" $program.man
        ok "bash knows $option" grep -qE -e "[ |']$option[= |)']" $program.bash
        ok "zsh knows $option" grep -qE -e "\*$option[=+]?\[" $program.zsh
    done <options
    if command -v groff >/dev/null; then
        ok "$program.1 is good troff" sh -c "groff -k -ww -man -Tutf8 -z $program.man 2>&1 | { ! grep .; }"
    fi
    if command -v zsh >/dev/null; then
        ok "$program.zsh is good zsh" zsh -n $program.zsh
    fi
    ok "$program: no other view" sh -c "'$bin/$program' --manual=pdf 2>&1 >/dev/null | grep pdf; [ \$? -eq 0 ]"
    ok "$program --col" completes $program '--color=' $program --col
    ok "$program --color=a" completes $program 'always auto' $program --color = a
    ok "$program --color=" completes $program 'always auto never' $program --color =
    ok "$program --kernel=" completes $program '' $program --kernel = x
done
ok 'kinds of output' completes tilec 'launcher layout llvm' tilec --emit = l
ok 'passes' completes tilec 'schedule' tilec --passes = sched
ok 'a pass or all' completes tilec 'all allocate' tilec --dump-after = al
ok 'a level behind its letter' completes tilec '0 1' tilec -O ''
ok 'any file for the output' completes tilec 'other.txt' tilec -o oth
ok 'sources' completes tilec 'a.tl folder/' tilec ''
ok 'sources and PTX' completes tilerun 'a.tl b.ptx folder/' tilerun ''

finish

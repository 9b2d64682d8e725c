#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/pages_test.sh BIN [--bless]: outputs of commands on pages of docs/: a block of ```console has a command behind
# `$ ` in its first line, and what it prints behind that. --bless writes what it prints now.
set -u
cd "$(dirname "$0")/.."
bin=$(realpath "$1")
bless=${2:-}
. tests/lib.sh
export PATH="$bin:$PATH"
mkdir "$work/run"
ln -s "$PWD/examples" "$work/run/examples"

# The page with what its commands print, instead of what stands there.
printed() {
    local line inside='' skipping=''
    while IFS= read -r line || [ -n "$line" ]; do
        if [ -n "$skipping" ]; then
            [ "$line" = '```' ] || continue
            skipping=''
        fi
        printf '%s\n' "$line"
        if [ "$line" = '```console' ]; then
            inside=1
        elif [ -n "$inside" ]; then
            inside='' skipping=1
            (cd "$work/run" && bash -c "set -o pipefail; ${line#\$ }" </dev/null 2>"$work/errors") || {
                echo "the command fails: $(head -c 300 "$work/errors")"
            }
        fi
    done <"$1"
}
for page in $(grep -l '^```console$' docs/*.md); do
    printed "$page" >"$work/page"
    [ -z "$bless" ] || cp "$work/page" "$page"
    if diff -u "$page" "$work/page" >"$work/log" && ! grep -q '^the command fails' "$work/page"; then
        pass
    else
        fail "$page" "$work/log"
    fi
done
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# docs_test.sh: what README.md, CONTRIBUTING.md and docs/ say can be done: every file they name exists,
# every code block works as it stands, and pages made from tables are up to date.
# Usage: docs_test.sh BUILD-FOLDER (of the release preset; README.md speaks of build/) [PAGE…]
#
# The blocks of a page are taken in order (tests/pages.sh), in one folder, where build/ and examples/ are the
# tree's and the installed package is found by pkg-config and CMake. Those of docs/tutorial.md are for
# tests/tutorial_test.sh.
set -u
build=$(realpath "$1")
shift
tree=$(realpath "$(dirname "$0")/..")
. "$tree/tests/lib.sh"
. "$tree/tests/pages.sh"
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
printf 'kernel @k() num_warps=1 num_stages=1 {\n  return\n}\n' >"$work/probe.tir"
tilerun --device=cuda --grid=1 "$work/probe.tir" >/dev/null 2>&1 && has_gpu=true

for page in "${pages[@]}"; do
    [ "$page" != docs/tutorial.md ] || continue
    folder=$work/$(basename "$page" .md)
    mkdir "$folder"
    ln -s "$build" "$folder/build"
    ln -s "$tree/examples" "$folder/examples"
    run_page "$page" "$folder"
done

ok 'docs made from tables' scripts/gen-docs --check

finish

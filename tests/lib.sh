# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lib.sh, sourced by the shell tests: `work`, a folder that goes when the test ends, what counts, and
# `finish`, whose line scripts/test adds up. A test is called by what its file is: cli_test.sh, `cli`.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
suite=$(basename "$0" _test.sh)
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); }
skip() { skipped=$((skipped + 1)); }
# fail NAME [FILE…]: says so, with the ends of the files
fail() {
    failed=$((failed + 1))
    echo "$suite: $1"
    shift
    [ $# -eq 0 ] || tail -qn 25 "$@" | sed 's/^/    | /'
}
# count CODE NAME [FILE…]: by an exit code, of which 77 says that something it needs is not here
count() {
    case $1 in
    0) pass ;;
    77) skip ;;
    *) fail "${@:2}" ;;
    esac
}
# instrumented PROGRAM: what gcc needs to be told where it links what PROGRAM was linked with
instrumented() {
    nm "$1" 2>/dev/null | awk '/__asan_init/ { print "-fsanitize=address,undefined"; exit } /__gcov_init/ { print "--coverage"; exit }'
}
# ok NAME COMMAND…: it works; what it printed is in $work/log
ok() {
    if "${@:2}" >"$work/log" 2>&1; then pass; else fail "$1" "$work/log"; fi
}
finish() {
    local skips=
    [ "$skipped" -eq 0 ] || skips=", $skipped skipped"
    echo "$passed passed, $failed failed$skips"
    [ "$failed" -eq 0 ]
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# count_test.sh: scripts/test in a tree of a few tests: what passes, fails, is skipped, hangs, cannot start or
# lacks its build is counted as it should be, what fails is shown, and words choose what runs.
set -u
cd "$(dirname "$0")/.."
. tests/lib.sh
mkdir -p "$work"/tree/{scripts,tests}
cp scripts/test "$work/tree/scripts/"
cp tests/count.py "$work/tree/tests/"
cd "$work/tree" || exit 1
printf '#!/bin/sh\n' >scripts/setup
chmod +x scripts/setup
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(few NONE)
enable_testing()
get_filename_component(folder ${PROJECT_BINARY_DIR} NAME)
if(folder STREQUAL build)
    add_test(NAME counts COMMAND sh -c "echo 12 passed, 0 failed, 3 skipped")
    add_test(NAME checks COMMAND sh -c "echo '100%: Checks: 5, Failures: 0, Errors: 0'")
    add_test(NAME one COMMAND true)
    add_test(NAME nothing_here COMMAND sh -c "exit 77")
    add_test(NAME long COMMAND sh -c "echo 1000 passed, 0 failed")
    set_tests_properties(nothing_here PROPERTIES SKIP_RETURN_CODE 77)
    set_tests_properties(one PROPERTIES LABELS "quick;cli")
    set_tests_properties(long PROPERTIES LABELS "full;cli")
elseif(folder STREQUAL build-asan)
    add_test(NAME some COMMAND sh -c "seq 200; echo 7 passed, 2 failed; exit 1")
    add_test(NAME checks COMMAND sh -c "echo '60%: Checks: 5, Failures: 1, Errors: 1'; exit 1")
    add_test(NAME silent COMMAND false)
    add_test(NAME hangs COMMAND sleep 100)
    add_test(NAME cannot_start COMMAND /no/such/program)
    set_tests_properties(hangs PROPERTIES TIMEOUT 1)
else()
    add_custom_target(broken ALL COMMAND echo of no use COMMAND false)
    add_test(NAME build COMMAND ${CMAKE_COMMAND} --build .)
    add_test(NAME needs_it COMMAND true)
    add_test(NAME needs_it_too COMMAND true)
    set_tests_properties(build PROPERTIES FIXTURES_SETUP built)
    set_tests_properties(needs_it needs_it_too PROPERTIES FIXTURES_REQUIRED built)
endif()
CMAKE
preset() { printf '{"name": "%s", "generator": "Ninja", "binaryDir": "${sourceDir}/%s"}' "$1" "$2"; }
printf '{"version": 6, "configurePresets": [%s, %s, %s]}\n' "$(preset release build)" \
    "$(preset asan build-asan)" "$(preset broken build-broken)" >CMakePresets.json

# ends CODE LAST-LINE WORDS…: scripts/test WORDS…
ends() {
    local code=$1 line=$2 rc
    shift 2
    scripts/test "$@" >"$work/said" 2>&1 </dev/null
    rc=$?
    if [ $rc -eq "$code" ] && [ "$(tail -n 1 "$work/said")" = "$line" ]; then
        pass
    else
        fail "scripts/test $*: exit code $rc, not $code, or not '$line'" "$work/said"
    fi
}
says() { ok "says $1" grep -qE -e "$1" "$work/said"; }
hides() { ok "hides $1" sh -c '! grep -qE -e "$1" "$2"' - "$1" "$work/said"; }

ends 0 '18 passed, 0 failed, 4 skipped' release
says '^ .* counts +12 passed, 0 failed, 3 skipped$'
ends 0 '1 passed, 0 failed' quick
ends 0 '1018 passed, 0 failed, 4 skipped' full release
ends 0 '5 passed, 0 failed' release -R checks
ends 1 '10 passed, 7 failed' asan
says '^---- some ----$'
says '^102$' # and the 99 lines that follow
hides '^101$'
says 'hangs \.*\*\*\*Timeout'
ends 1 '28 passed, 7 failed, 4 skipped'
ends 1 '0 passed, 1 failed' broken
says '^of no use$'
says '^2 not run, since what they need failed: needs_it, …$'
ends 1 '0 passed, 1 failed' nonesuch
ends 1 '0 passed, 0 failed' release -R nonesuch
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fuzzers_test.sh BIN-FOLDER SECONDS TARGET…: the fuzz targets under libFuzzer and AFL++, where there is a clang or an
# afl-clang-fast: each finds a planted mistake, and none in SECONDS of a target.
set -u
bin=$(realpath "$1") seconds=$2
shift 2
cd "$(dirname "$0")/../.."
. tests/lib.sh
unset ASAN_OPTIONS UBSAN_OPTIONS # the programs say what they need
tree=$PWD

# built PRESET TARGET…: or says why not
built() {
    local preset=$1
    shift
    cmake --preset "$preset" >"$work/log" 2>&1 && cmake --build "build-$preset" --target "$@" >"$work/log" 2>&1
}
# in_work COMMAND…: in a folder for what it leaves
in_work() { (cd "$work" && "$@"); }
programs=("${@/#/fuzz_}")
for target in planted "$@"; do
    mkdir -p "$work/$target/corpus"
    ok "a corpus of $target" "$bin/fuzz_$target" --write="$work/$target"
done

if ! command -v clang >/dev/null; then
    skip
elif built fuzz fuzz_planted "${programs[@]}"; then
    in_work timeout 120 "$tree/build-fuzz/bin/fuzz_planted" -seed=1 -runs=5000000 >"$work/log" 2>&1
    grep -q '^planted: aborts' "$work/log" && pass || fail 'libFuzzer finds a mistake' "$work/log"
    for target in "$@"; do
        ok "libFuzzer, $target" in_work timeout $((seconds + 120)) "$tree/build-fuzz/bin/fuzz_$target" \
            -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4096 -dict="$work/$target/$target.dict" "$work/$target/corpus"
    done
else
    fail 'the preset fuzz' "$work/log"
fi

export AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_UI=1 AFL_NO_AFFINITY=1
# afl TARGET SECONDS: from a few small inputs, as it tries each before it begins; what it found is in $work/afl
afl() {
    rm -rf "$work/afl" "$work/seeds" && mkdir "$work/seeds"
    find "$work/$1/corpus" -name 'made*' -size +0 -printf '%s %p\n' | sort -n | head -20 | cut -d' ' -f2- |
        xargs cp -t "$work/seeds"
    timeout $(($2 + 120)) afl-fuzz -V "$2" -t 60000 -m none -x "$work/$1/$1.dict" -i "$work/seeds" -o "$work/afl" -- \
        "build-afl/bin/fuzz_$1"
}
crashes() { find "$work/afl/default/crashes" "$work/afl/default/hangs" -name 'id*' 2>/dev/null | wc -l; }
if ! command -v afl-clang-fast >/dev/null; then
    skip
elif built afl fuzz_planted "${programs[@]}"; then
    export AFL_BENCH_UNTIL_CRASH=1
    afl planted 60 >"$work/log" 2>&1
    [ "$(crashes)" -gt 0 ] && pass || fail 'AFL++ finds a mistake' "$work/log"
    for target in "$@"; do
        afl "$target" "$seconds" >"$work/log" 2>&1 && [ "$(crashes)" -eq 0 ] && pass ||
            fail "AFL++, $target" "$work/log"
    done
else
    fail 'the preset afl' "$work/log"
fi
finish

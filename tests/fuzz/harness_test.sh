#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# harness_test.sh BIN-FOLDER: the harness of the fuzz targets on a target with planted mistakes: it finds each, says
# what repeats it, and replays regressions; every target replays those of its folder.
set -u
bin=$(realpath "$1")
cd "$(dirname "$0")/../.."
. tests/lib.sh
planted=$bin/fuzz_planted
export ASAN_OPTIONS=abort_on_error=1

# finds NAME PATTERN ARGUMENT…: ends with 1, and says so
finds() {
    local name=$1 pattern=$2
    shift 2
    timeout 60 "$planted" "$@" >"$work/log" 2>&1
    if [ $? -eq 1 ] && grep -qaE -- "$pattern" "$work/log"; then pass; else fail "$name" "$work/log"; fi
}
clean() { ok "$1" timeout 60 "$planted" "${@:2}"; }

# By numbers: found, made again, kept.
mkdir "$work/kept" "$work/written" "$work/written/corpus"
finds 'a mistake among numbers' 'signal 06, it fails: begun' --seconds=50 --save="$work/kept"
number=$(grep -ao -- '--one=0x[0-9a-f]*' "$work/log")
kept=$(sed -n 's/^kept in //p' "$work/log")
finds 'a number makes it again' 'signal 06' "$number"
finds 'so does the file that was kept' 'signal 06' "$kept"
grep -aq aborts "$kept" && pass || fail 'what was kept is the input'
clean 'as many as asked for' --runs=5
grep -q '^5 inputs in .*, 5 begun\|^5 inputs' "$work/log" && pass || fail 'their number' "$work/log"
timeout -s INT 1 "$bin/fuzz_npy" --runs=1000000000 >"$work/log" 2>&1
grep -qE '^[0-9]+ inputs in .*no failure' "$work/log" && pass || fail 'a run that is stopped' "$work/log"

# By files.
printf 'begin loops' >"$work/loops"
printf 'begin reads' >"$work/reads"
printf 'begin overflows' >"$work/overflows"
printf 'begin chosen' >"$work/chosen"
printf 'begin end' >"$work/good"
finds 'what does not end' 'signal 27, it takes too long: begun' --alarm=0.2 "$work/loops"
clean 'a file without a mistake' "$work/good"
grep -q ', 1 begun, 1 ended: no failure' "$work/log" && pass || fail 'how far it came' "$work/log"
clean 'a choice that is not made' --choices=1 "$work/chosen"
choice=0
while [ $choice -lt 6000 ] && "$planted" --choices=$choice "$work/chosen" >"$work/log" 2>&1; do choice=$((choice + 1)); done
grep -q "choices=0x$(printf %016x $choice)" "$work/log" && pass || fail 'a choice that is, and is said' "$work/log"
if nm "$planted" | grep -q __asan_init; then
    finds 'a read behind the input' 'heap-buffer-overflow' "$work/reads"
    finds 'what is undefined' 'signal 06, it fails' "$work/overflows"
fi
"$planted" "$work/none" >"$work/log" 2>&1
[ $? -eq 4 ] && pass || fail 'a file that is not there' "$work/log"
"$planted" --second=1 >"$work/log" 2>&1
[ $? -eq 2 ] && pass || fail 'an option that there is not' "$work/log"

# Regressions come first.
mkdir -p "$work/other/tests/fuzz/regress/planted"
cp "$work/good" "$work/other/tests/fuzz/regress/planted"
clean 'a regression' --corpus="$work/other" --runs=0
grep -q ' 1 regressions' "$work/log" && pass || fail 'it is counted' "$work/log"
printf 'begin aborts' >"$work/other/tests/fuzz/regress/planted/b"
finds 'a regression that is back' 'regress/planted/b ' --corpus="$work/other" --runs=0
for folder in tests/fuzz/regress/*/; do
    name=$(basename "$folder")
    files=$(find "$folder" -type f | wc -l)
    timeout 120 "$bin/fuzz_$name" --runs=0 >"$work/log" 2>&1
    grep -q ", $files regressions" "$work/log" && grep -q 'no failure' "$work/log" && pass ||
        fail "the regressions of $name" "$work/log"
done

# For other fuzzers.
clean 'a corpus and a dictionary' --write="$work/written"
[ "$(find "$work/written/corpus" -type f | wc -l)" -eq 200 ] && grep -qx '"aborts"' "$work/written/planted.dict" && pass ||
    fail 'both are there' "$work/log"
finish

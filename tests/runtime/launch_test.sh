#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# launch_test.sh BUILD-FOLDER: bench/launch.py on the fake driver measures what it says, and fails where a launch takes
# more than is allowed.
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
. tests/lib.sh
export LD_LIBRARY_PATH=$build/tests/fake PYTHONPATH=$build/python

# measure LIMIT: its exit code, what it said in $work/log
measure() {
    timeout 100 python3 bench/launch.py --launch="$build/bench/launch.so" --device=fake --rounds=10 --limit="$1" >"$work/log" 2>&1
}

measure 20
count $? 'launch.py' "$work/log"
for row in 'tile_launch, from Python .* ns' 'tilec, kernel.* of that' 'tile_launch from C and Python'; do
    grep -q "^$row" "$work/log"
    count $? "$row" "$work/log"
done
measure 1
[ $? -eq 5 ]
count $? 'a limit that none keeps' "$work/log"
finish

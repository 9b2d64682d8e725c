#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bench/run_bandwidth.sh [FOLDER [OUT]]: copy and rgb2grey against the device copy, as sm_80 and as
# native code. FOLDER is a build folder or a stage (default: build); CSV files go to OUT (default:
# the working directory).
set -euo pipefail
folder=$(realpath "${1:-build}")
out=$(realpath "${2:-.}")
cd "$(dirname "$0")/.."
[ -x "$folder/bench/bandwidth" ] || { echo "no $folder/bench/bandwidth: run scripts/build" >&2; exit 2; }
for target in sm_80 native; do
    "$folder/bench/bandwidth" --target=$target --out="$out/bandwidth-$target.csv"
done

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tsan_test.sh: threads that compile, launch and share what was compiled, under ThreadSanitizer. LLVM is
# not instrumented: tests/tsan.supp. TILE_TEST_ROUNDS=1000 makes it long (some minutes).
set -euo pipefail
cd "$(dirname "$0")/.."
build=build-tsan
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DTILE_LLVM=shared \
    -DCMAKE_C_FLAGS_DEBUG="-O1 -g1 -fsanitize=thread" >/dev/null
cmake --build $build --target test_jit >/dev/null
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp"
CK_FORK=no $build/tests/test_jit # forked, a child's reports could get lost

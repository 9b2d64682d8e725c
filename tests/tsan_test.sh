#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tsan_test.sh SUITE [ARGUMENT…]: a suite with many threads under ThreadSanitizer, in the preset tsan:
# test_jit_threads, that compile and share what was compiled ($TILE_TEST_ROUNDS, 50); test_threads [THREADS
# [ROUNDS]], that use the runtime; test_peers, whose kernels wait for each other. LLVM is not instrumented:
# tests/tsan.supp.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset tsan
cmake --build build-tsan --target "$1"
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp"
export CK_FORK=no # forked, a child's reports could get lost
exec "build-tsan/tests/$1" "${@:2}"

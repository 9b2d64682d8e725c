#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tsan_test.sh [THREADS [ROUNDS]]: the runtime used by many threads (16 x 50 when not said), on the CPU
# device and on the fake driver, under ThreadSanitizer. Builds what it needs in build-tsan/.
set -u
cd "$(dirname "$0")/../.."
[ -f build-tsan/build.ninja ] || cmake --preset tsan >/dev/null || exit 1
ninja -C build-tsan test_threads >build-tsan/log 2>&1 || {
    tail -20 build-tsan/log
    exit 1
}
TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=0} build-tsan/tests/test_threads "${1:-16}" "${2:-50}"

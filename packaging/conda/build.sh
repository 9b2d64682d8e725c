#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# build.sh: run by conda build, in the folder of the sources; puts tilec into $PREFIX, where LLVM, jansson and
# xxHash lie.
set -euo pipefail
# CMAKE_ARGS is conda's: which compilers, and where things are
# shellcheck disable=SC2086
cmake -G Ninja -S . -B build-conda ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" \
    -DCMAKE_INSTALL_LIBDIR=lib -DTILE_LLVM=shared -DTILE_LLVM_CONFIG="$PREFIX/bin/llvm-config" -DTILE_PYTHON=OFF
cmake --build build-conda --target package_files --parallel "${CPU_COUNT:-1}"
cmake --install build-conda

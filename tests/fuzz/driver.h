/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* driver.h: the fake driver for fuzz targets: contexts of "cuda" work on host memory. */
#ifndef TILE_TESTS_FUZZ_DRIVER_H
#define TILE_TESTS_FUZZ_DRIVER_H

#include "tests/runtime/fake_cuda.h"

/* Loads it, under the name by which the runtime looks for a driver; NULL: it is not there. */
const FakeCuda *fuzz_driver(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* soak.h: launches of the run tests, kept with what their buffers held before and after -> the same
 * launches again and again, mixed, in several streams, while memory stays what it is. */
#ifndef TILE_TESTS_SOAK_H
#define TILE_TESTS_SOAK_H

#include "tests/run/suite.h"

typedef struct SoakRecord SoakRecord;

typedef struct Soak {
    long launches; /* to be made */
    SoakRecord *records, *pending;
    int nrecords;
} Soak;

/* A launch that kernel_run is about to make. `by_order`: programs meet by atomic operations, so
 * that bits may depend on their order. */
typedef struct SoakLaunch {
    const char *name; /* of the kernel; one launch of each is kept */
    tile_kernel *kernel;
    const tile_grid *grid;
    const Arg *args;
    int nargs;
    bool by_order;
} SoakLaunch;

/* Keeps what the buffers hold, if it is a launch to repeat; and afterwards what they hold then. */
void soak_before(Suite *s, const SoakLaunch *launch);
void soak_after(Suite *s, bool launched);
/* A case for each kernel: none of its launches left other bits. And one each: the host's memory and
 * the device's have not grown. */
void soak_run(Suite *s);
void soak_free(Suite *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report.h: what a fuzz target's program knows of the input that is being tried. */
#ifndef TILE_TESTS_FUZZ_REPORT_H
#define TILE_TESTS_FUZZ_REPORT_H

#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <time.h>

enum { FUZZ_STAGES = 8 };

typedef struct FuzzProgress {
    volatile sig_atomic_t stage;
    bool timed; /* cost counts */
    clock_t entered;
    double cost[FUZZ_STAGES];  /* seconds of the processor for the present input, by stages */
    bool fixed;                /* choices do not follow from the input: it is being made smaller */
    volatile uint64_t choices; /* of the present input */
} FuzzProgress;

extern FuzzProgress fuzz_progress;

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rules.h: kernels that each show one rule of the language, with what must come out. */
#ifndef TILE_TESTS_CONFORMANCE_RULES_H
#define TILE_TESTS_CONFORMANCE_RULES_H

#include "tile.h"

#include "tests/run/bits.h"

#include <stdbool.h>

typedef struct RuleRun {
    tile_context *ctx;
    bool on_cpu;
    const char *root, *target;
    const char *only;       /* NULL, or a part of the file's name */
    const char *passes;     /* on the CPU device: what runs over the tile IR first */
    const char *code;       /* not NULL: what runs lies in this folder (tests/run/corpus.h) */
    const char *ptx_folder; /* not NULL: nothing runs, the PTX is written here */
    Bits *bits;             /* not NULL: what launches leave is kept or compared */
    int passed, failed, files;
} RuleRun;

/* Runs every file of tests/conformance/rules that says what must come out; the others, with a RUN
 * line, are tile-test's. False, with a message on stderr, when there are none. */
bool rules_run(RuleRun *run);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_progress.h: how far a run has come that takes long -> a line on the terminal, rewritten
 * as it goes on and erased before anything else is said:
 *
 *   running: [######..............]  31 %, about 0:49 left, 160 of 512 programs
 *   tuning: [#..........]  12 %, about 9:30 left, 1 of 8 steps, 160 of 512 programs
 *
 * The first line comes after a second. Where standard error is no terminal there is none. What is
 * left is estimated from what is done: of a launch its programs, of tuning its launches. */
#ifndef TILE_TOOLS_TILERUN_PROGRESS_H
#define TILE_TOOLS_TILERUN_PROGRESS_H

#include "tile.h"

#include <stdbool.h>

typedef struct Progress {
    bool terminal;
    const char *doing; /* "running"; NULL: nothing */
    double started;
    double drawn;             /* when the line that is there was; 0: there is none */
    double launched;          /* when the launch that runs began, as far as that is known */
    uint64_t ended, programs; /* of that launch */
    bool tunes;
    tile_tune_progress tune; /* the last that was told, */
    double told;             /* and when */
} Progress;

/* Finds out whether there is a terminal that can erase a line. */
void progress_open(Progress *p);
/* Something begins that may take long; `doing` is kept. */
void progress_start(Progress *p, const char *doing);
/* It is over. */
void progress_stop(Progress *p);
/* Takes the line away, so that something else can be printed; it comes again. */
void progress_clear(Progress *p);
/* A tile_progress_fn; user is the Progress. */
void progress_launch(void *user, uint64_t ended, uint64_t programs);
/* What tile_tune tells. */
void progress_tune(Progress *p, const tile_tune_progress *tune);

#endif

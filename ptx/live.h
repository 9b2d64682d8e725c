/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* live.h: a kernel -> how many registers hold something that is still to be read, before each of
 * its instructions. */
#ifndef TILE_PTX_LIVE_H
#define TILE_PTX_LIVE_H

#include "ptx/read.h"

enum { PTX_LIVE_MOST = 50000 }; /* instructions: what it takes grows with their registers */

typedef struct PtxLive {
    int at_most, where; /* the most of alive, and the first instruction that has it; -1: none */
    int *alive;         /* by instruction, before it: registers of 32 bits; one of 64 is two of */
    int *preds;         /* them, one of 16 is one; predicates are apart */
} PtxLive;

/* A register is alive where something may have been written to it that may still be read: a guarded
 * write leaves what was there. A factor of wgmma in registers is read until the wait_group that
 * its product ends before, where that stands behind it in the text. */
PtxLive ptx_live(Arena *a, const PtxKernel *k);

#endif

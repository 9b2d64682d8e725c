/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* flow.h: a kernel's instructions -> the blocks that run from their first to their last, and where
 * each leads. */
#ifndef TILE_PTX_FLOW_H
#define TILE_PTX_FLOW_H

#include "ptx/read.h"

typedef struct PtxBlock {
    int begin, end; /* instructions */
    int *next;      /* the blocks that it leads to */
    int nnext;
    int order; /* place in reverse postorder; -1: nothing leads here */
} PtxBlock;

typedef struct PtxFlow {
    PtxBlock *block; /* the first is where the kernel begins */
    int nblocks;
    int *by_order, nordered; /* those that something leads to, in reverse postorder */
} PtxFlow;

PtxFlow ptx_flow(Arena *a, const PtxKernel *k);

#endif

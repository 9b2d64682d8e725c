/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mma.h: the table of matrix instructions (mma.def). */
#ifndef TILE_IR_MMA_H
#define TILE_IR_MMA_H

#include "ir/ir.h"

typedef struct MmaInfo {
    int sm;           /* first that has it */
    Elem a, b, c;     /* operand and accumulator elements */
    int m, k;         /* of one instruction; N is 8 */
    int pack;         /* log2 of operand elements in a register */
    int ra, rb, rc;   /* registers of A and C for 16 rows, and of B, that a thread holds */
    const char *text; /* the PTX instruction */
} MmaInfo;

typedef struct WgmmaInfo {
    Elem a, b, c;
    int k;            /* K of one instruction; M is 64 */
    int wide;         /* what N is a multiple of beyond 32 */
    int majors;       /* operands may be stored with K outermost, too */
    int scales;       /* takes a sign for each operand */
    const char *text; /* types as PTX writes them: f32.f16.f16 */
} WgmmaInfo;
const WgmmaInfo *wgmma_find(Elem a, Elem b, Elem c);
const WgmmaInfo *wgmma_row(int row);
int wgmma_index(const WgmmaInfo *w);
/* Columns of the instructions that a dot on warpgroups is made of, whose warps are shared out. */
int64_t wgmma_columns(const Op *dot);
/* The least N of the instruction that is as many columns. */
int64_t wgmma_n(const WgmmaInfo *w, int64_t columns);

/* The instruction for these elements on this generation, NULL when there is none. */
const MmaInfo *mma_find(Elem a, Elem b, Elem c, int sm);
/* By its row in mma.def, which is what an op's mma attribute holds. */
const MmaInfo *mma_row(int row);
int mma_index(const MmaInfo *m);

#endif

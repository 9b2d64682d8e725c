/* mma.h: the table of matrix instructions (mma.def). */
#ifndef TILE_IR_MMA_H
#define TILE_IR_MMA_H

#include "ir/type.h"

typedef struct MmaInfo {
    int sm;           /* first that has it */
    Elem a, b, c;     /* operand and accumulator elements */
    int k;            /* K of one instruction; M is 16 and N is 8 */
    int pack;         /* log2 of operand elements in a 32-bit register */
    int ra, rb, rc;   /* 32-bit registers of A, B, C that a thread holds */
    const char *text; /* the PTX instruction */
} MmaInfo;

/* The instruction for these elements on this generation, NULL when there is none. */
const MmaInfo *mma_find(Elem a, Elem b, Elem c, int sm);
/* By its row in mma.def, which is what an op's mma attribute holds. */
const MmaInfo *mma_row(int row);
int mma_index(const MmaInfo *m);

#endif

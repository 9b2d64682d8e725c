/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sectors.h: how many sectors of global memory, of 32 bytes, the requests of a warp touch: for
 * notes and reports, from one place. */
#ifndef TILE_IR_ANALYSIS_SECTORS_H
#define TILE_IR_ANALYSIS_SECTORS_H

#include "ir/analysis/affine.h"
#include "ir/analysis/axis.h"

enum { SECTOR = 32 }; /* bytes, that memory gives at once */

typedef struct Sectors { /* of all requests of a warp, each without what a mask may leave out */
    bool known;          /* where elements lie from each other */
    int64_t touched;     /* where runs of neighbours begin at a sector */
    int64_t most;        /* where they begin as they may; the same: they do begin at one */
    int64_t least;       /* that the bytes which are asked for would fill */
    int requests;
} Sectors;

/* Of the first warp's access of the elements that l says, `vector` of each lane at once, through
 * the tile `pointer`. */
Sectors sectors_of(const AxisTable *axis, const AffineTable *affine, const Value *pointer,
                   const Layout *l, int vector);

#endif

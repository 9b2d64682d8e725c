/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_choice.h: which layout an anchor asks for: memory accesses, dots, tiles in shared memory.
 */
#ifndef TILE_PASSES_LAYOUT_CHOICE_H
#define TILE_PASSES_LAYOUT_CHOICE_H

#include "ir/analysis/axis.h"
#include "ir/ir.h"
#include "ir/mma.h"
#include "ir/target.h"

typedef struct Access { /* how a tile of pointers would best be accessed */
    int dim;            /* dimension to walk with vectors */
    int vec;            /* log2 elements at once */
} Access;

/* What axis analysis allows for this load or store. */
Access choose_access(const AxisTable *axis, const Op *op);
/* Threads side by side along the access's dimension, 2^vec elements each. */
Layout choose_access_layout(Type t, Access a, int num_warps);
/* For a tile nobody has wishes about. */
Layout choose_default_layout(Type t, int num_warps);
/* Is a store of a tile held as l about as good as one held as its access asks? */
bool store_layout_is_good(const Layout *l, Type t, Access a);

typedef struct DotChoice {
    const WgmmaInfo *wgmma; /* NULL: not on warpgroups */
    const MmaInfo *mma;     /* NULL: multiply-add on the ordinary units */
    int wm, wn;             /* log2 of warps (wgmma: warpgroups) along M and N */
    Layout acc;
    const char *why; /* the GPU has better instructions, and these are not for this dot; or NULL */
} DotChoice;
DotChoice choose_dot(const Op *dot, int num_warps, const Target *target);
/* A dot's operand (0 or 1) in shared memory, when its tile comes in registers held as `from`. */
Layout choose_operand_shared(const Op *dot, int operand, const Layout *from);
/* Shared memory for moving a tile from one layout to another: least bank conflicts on both sides.
 */
Layout choose_move_shared(Type t, const Layout *from, const Layout *to);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* access.h: how wide accesses of global memory are, and why no wider. */
#ifndef TILE_PASSES_ACCESS_H
#define TILE_PASSES_ACCESS_H

#include "ir/analysis/affine.h"
#include "ir/analysis/axis.h"
#include "passes/pass.h"

typedef struct Accesses {
    PassCtx *ctx;
    AxisTable axis;
    AxisTable **what_if; /* for perf: notes (access_notes.c), made when first needed */
    AffineTable *affine; /* as well */
} Accesses;

/* access_notes.c: a `perf:` note on a load or store of a tile of t under l that has fewer elements
 * a lane than `possible`, which says why. */
void note_access(Accesses *a, const Op *op, const Layout *l, Type t, int possible);

#endif

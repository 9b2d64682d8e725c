/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* min_places.h: for which launches a further entry is worth it. */
#ifndef TILE_PASSES_MIN_PLACES_H
#define TILE_PASSES_MIN_PLACES_H

#include "passes/pass.h"

/* By pointers, too, the loads of ctx->f, whose blocks descriptors name, would be as good: the
 * further entry is worth it for what it does between places, or for what a launch is known by. */
bool copies_as_well(const PassCtx *ctx);
/* How many places of the grid some program of the further entry ctx->f has where it is worth it,
 * where its own copies as well: an expression of a launch's arguments; NULL: 2, whatever these are.
 */
const char *worth_places(const PassCtx *ctx);

#endif

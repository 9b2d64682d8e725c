/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* demand.h: demand analysis: how much of a tile anything comes of. Elements that reach nothing but
 * stores whose masks leave them out are not demanded: a tile that was padded to a power of two. */
#ifndef TILE_IR_ANALYSIS_DEMAND_H
#define TILE_IR_ANALYSIS_DEMAND_H

#include "ir/ir.h"

/* So many of v's elements along the dimension, from the first, are demanded: at most. */
int64_t demand_of(Session *s, const Func *f, const Value *v, int dim);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* grid_order.h: other orders of a grid's programs than the hardware's. */
#ifndef TILE_PASSES_GRID_ORDER_H
#define TILE_PASSES_GRID_ORDER_H

#include "passes/pass.h"

/* Places on axes 0 and 1 of the program at hand, where axis `rows` counts rows, the other one
 * columns, and programs run in groups of up to `size` rows, column by column: swizzle_grid.c. */
void grid_in_groups(Builder *b, int rows, int size, Value *place[2]);

/* Why programs are not to be in another order, or several places of one: what op does would tell
 * them apart, or be waited for by others (persistent.c). NULL: op lets them. */
const char *grid_why_ordered(const Func *f, const Op *op);

#endif

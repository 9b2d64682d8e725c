/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exchange.h: tiles that move between threads through shared memory. */
#ifndef TILE_PASSES_EXCHANGE_H
#define TILE_PASSES_EXCHANGE_H

#include "ir/ir.h"

/* shared.c: out[0…n) are x held as `to`, through buffers held as `through` (NULL: what suits both):
 * all are stored before any is read. */
void exchange_tiles(Builder *b, Value *const *x, int n, const Layout *through, const Layout *to,
                    Value **out);
/* A CONVERT goes through shared memory. */
bool convert_exchanges(const Op *op);
/* exchange.c: bytes of the buffers that op, which has layouts, will be given; 0: none. */
int64_t exchange_bytes(const Op *op);

#endif

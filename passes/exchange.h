/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exchange.h: tiles that move between threads through shared memory. */
#ifndef TILE_PASSES_EXCHANGE_H
#define TILE_PASSES_EXCHANGE_H

#include "ir/ir.h"

/* shared.c: out[0…n) are x held as `to`, through buffers held as `through`: all are stored before
 * any is read. */
void exchange_tiles(Builder *b, Value *const *x, int n, const Layout *through, const Layout *to,
                    Value **out);
/* Bytes of the buffer through which so many warps, beside roles, give their own threads elements of
 * a tile of so many. */
int64_t warp_exchange_bytes(int64_t bytes, int warps);
/* A CONVERT goes through shared memory. */
bool convert_exchanges(const Op *op);
/* exchange.c: bytes of the buffers that op, which has layouts, will be given; 0: none. */
int64_t exchange_bytes(const Op *op);
/* reduce.c: of one whose axis warps share, what they hand each other. */
int64_t reduce_exchange_bytes(const Op *op);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exchange.h: what the pass `exchange` will take of shared memory: see exchange.c. */
#ifndef TILE_PASSES_EXCHANGE_H
#define TILE_PASSES_EXCHANGE_H

#include "ir/ir.h"

/* Bytes of the buffers that op, which has layouts, will be given; 0: none. */
int64_t exchange_bytes(const Op *op);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* global_order.h: accesses to global memory whose order matters: see global_order.c. */
#ifndef TILE_PASSES_GLOBAL_ORDER_H
#define TILE_PASSES_GLOBAL_ORDER_H

#include "ir/analysis/affine.h"
#include "passes/pass.h"

typedef enum GlobalKind { GLOBAL_READ, GLOBAL_WRITE, GLOBAL_ATOMIC } GlobalKind;

typedef struct GlobalAccess {
    const Op *op;
    GlobalKind kind;
    const Value *pointer, *mask; /* mask NULL: all elements */
    const Op *carried;           /* the outermost loop in an earlier iteration of which it was */
    bool in_flight;              /* a copy that has not been waited for */
} GlobalAccess;

typedef struct GlobalAccesses { /* since the last barrier */
    GlobalAccess *at;
    int n, cap;
} GlobalAccesses;

typedef struct GlobalOrder { /* of a function */
    PassCtx *ctx;
    bool matters; /* something is written and accessed otherwise, too */
    AffineTable affine;
} GlobalOrder;

GlobalOrder global_order(PassCtx *ctx);
/* What op accesses; false: no global memory, or it does not matter. */
bool global_access(const GlobalOrder *o, const Op *op, GlobalAccess *out);
/* One of `before` that another thread may make after x instead of before it; NULL: none. */
const GlobalAccess *global_conflict(const GlobalOrder *o, const GlobalAccesses *before,
                                    const GlobalAccess *x);
void global_note(const GlobalOrder *o, GlobalAccesses *all, GlobalAccess x);
/* Copies to memory by the engine have been waited for, which tells the thread that started them: a
 * write that may be anywhere. */
void global_stored(const GlobalOrder *o, GlobalAccesses *all);
/* A barrier: all that is not in flight is done. */
void global_forget(GlobalAccesses *all);
/* Copies have been waited for. */
void global_landed(GlobalAccesses *all);
/* The end of an iteration of the loop meets the begin of the next; what programs of the source load
 * and store does not, where the iterations are such programs. */
void global_carry(const GlobalOrder *o, GlobalAccesses *into, const GlobalAccesses *end,
                  const Op *loop);
void global_merge(const GlobalOrder *o, GlobalAccesses *into, const GlobalAccesses *from);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* role_registers.h: how many registers a thread of each role has. */
#ifndef TILE_PASSES_ROLE_REGISTERS_H
#define TILE_PASSES_ROLE_REGISTERS_H

#include "ir/roles.h"
#include "passes/pass.h"

typedef struct RoleRegisters {
    bool given; /* roles give each other registers; else all threads have as many */
    int of[NAMED_BARRIERS];
} RoleRegisters;

/* Of a function with roles, once its buffers are allocated. */
RoleRegisters role_registers_left(const PassCtx *ctx);

/* Of a thread with dots, where so many warps have some and a warpgroup of roles of few warps is
 * beside them, of so many programs on a multiprocessor. */
int64_t role_registers_with_dots(const Target *sm, int64_t programs, int64_t consumers);

#endif

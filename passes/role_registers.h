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

#endif

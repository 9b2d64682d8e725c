/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* roles.h: warp groups: which warps of a program run which region of its `warps`.
 *
 * A role is a region of the op, with a name and a number of warps; the roles' warps follow each
 * other in the order of the regions, from warp 0. What lies in no role is run by all warps. */
#ifndef TILE_IR_ROLES_H
#define TILE_IR_ROLES_H

#include "ir/ir.h"

enum { MAX_WARPS = 32, NAMED_BARRIERS = 16 }; /* of a program; barrier 0 is that of all threads */
enum { CLUSTER_PROGRAMS = 2 }; /* that share what they load, where a launch forms clusters */
enum { /* of a thread of a role (setmaxnreg): all of a warpgroup have the same */
       WARPGROUP = 4,
       ROLE_REGISTERS_LEAST = 24,
       ROLE_REGISTERS_MOST = 240,
       ROLE_REGISTERS_STEP = 8
};

/* The function's `warps`; NULL: all its warps do the same. */
const Op *roles_of(const Func *f);
/* Of role r: its warps, the first of them, and its name in the arena. */
int role_warps(const Op *warps, int r);
int role_first_warp(const Op *warps, int r);
const char *role_name(Arena *a, const Op *warps, int r);
/* Registers that a thread of role r may have; 0: as many as the kernel has. */
int role_registers(const Op *warps, int r);
/* The role whose region holds b; -1: none, all warps run it. */
int role_of_block(const Block *b);
/* Role r has a warpgroup together with others, or with warps that do nothing. */
bool role_shares_group(const Op *warps, int r);
/* The warps that run b, and those of the program: threads of a launch by 32. Where roles say how
 * many registers they have, there are warps that do nothing up to a whole warpgroup. */
int warps_of_block(const Func *f, const Block *b);
/* Those that tiles there are shared out among: of a role the next power of two, of which the last
 * hold what nobody asks for. */
int layout_warps_of_block(const Func *f, const Block *b);
static inline int warps_of_value(const Func *f, const Value *v) {
    return layout_warps_of_block(f, v->def ? v->def->block : v->block);
}
int warps_of_program(const Func *f);
/* Which of the hardware's named barriers a BARRIER is, and how many warps meet there. */
int barrier_id(const Op *barrier);
int barrier_warps(const Func *f, const Op *barrier);

/* Some operand or result is a tile in registers; and each warp does it for its own elements of such
 * tiles, or has an engine do it. */
bool op_has_registers(const Op *op);
bool op_is_for_itself(const Op *op);

/* What is wrong with an op of roles or barriers; NULL: nothing. In the arena. */
const char *roles_verify(Session *s, const Func *f, const Op *op);

#endif

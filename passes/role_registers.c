/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* role_registers.c: a program's roles -> the registers that a thread of each has (setmaxnreg).
 *
 * Whole warpgroups come first, then roles of few warps, such as one that starts copies. These have
 * a fixed number; a warpgroup without dots, which moves tiles, as many as these take; what both
 * leave is for the warpgroups with dots. */
#include "passes/role_registers.h"
#include "ir/mma.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/live_words.h"
#include "passes/walk.h"

typedef struct RoleWork { /* of one role */
    const Block *block;
    int64_t words, most; /* that a thread has of tiles read in one block, and the most of these */
    int64_t columns;     /* of a dot's instruction, the most; 0: it has no dots */
} RoleWork;

static void look_at_role(Op *op, void *ctx) {
    RoleWork *w = ctx;
    if (op->code == OP_DOT && wgmma_columns(op) > w->columns) w->columns = wgmma_columns(op);
    if (op->code != OP_SHARED_LOAD) return;
    if (op->block != w->block) w->words = 0;
    w->block = op->block;
    w->words += (bytes_held(op->result[0]) + 3) / 4;
    if (w->words > w->most) w->most = w->words;
}

static int64_t rounded_up(int64_t n, int64_t to) {
    return (n + to - 1) / to * to;
}

typedef struct Demand { /* of all roles */
    int64_t fixed;      /* registers by warps, of those without dots */
    int64_t many;       /* warps of those with dots */
    int64_t columns;    /* of a dot's instruction, the most */
} Demand;

static Demand demand_of(const Op *roles, RoleRegisters *out) {
    Demand d = {.fixed = COST_ROLES_FEW_REGISTERS * WARPGROUP};
    for (int r = 0; r < roles->nregions; r++) {
        RoleWork w = {0};
        ir_walk(roles->region[r], look_at_role, &w);
        bool few = role_shares_group(roles, r), dots = w.columns || !r;
        int64_t own = rounded_up(w.most + COST_ROLES_BESIDE_TILES, ROLE_REGISTERS_STEP);
        out->of[r] = few ? COST_ROLES_FEW_REGISTERS : dots ? 0 : (int)own;
        if (!few && dots) d.many += role_warps(roles, r);
        if (!few && !dots) d.fixed += own * role_warps(roles, r);
        if (w.columns > d.columns) d.columns = w.columns;
    }
    return d;
}

/* Of threads with dots, where each begins with so many. */
static int64_t left_by(const Demand *d, int64_t begin, int64_t warps) {
    int64_t n = (begin * warps - d->fixed) / d->many / ROLE_REGISTERS_STEP * ROLE_REGISTERS_STEP;
    return n < ROLE_REGISTERS_MOST ? n : ROLE_REGISTERS_MOST;
}

int64_t role_registers_with_dots(const Target *sm, int64_t programs, int64_t consumers) {
    const Demand d = {.fixed = COST_ROLES_FEW_REGISTERS * WARPGROUP, .many = consumers};
    int64_t warps = consumers + WARPGROUP;
    return left_by(&d, target_registers_shared(sm, programs, warps), warps);
}

RoleRegisters role_registers_left(const PassCtx *ctx) {
    const Func *f = ctx->f;
    const Target *sm = ctx->target;
    const Op *roles = roles_of(f);
    RoleRegisters out = {0};
    int few = 0;
    while (few < roles->nregions && !role_shares_group(roles, few)) few++;
    int64_t groups = role_first_warp(roles, few), all = role_first_warp(roles, roles->nregions);
    int64_t warps = groups + WARPGROUP, programs = target_programs(sm, f->shared_bytes);
    bool can =
        sm->wgmma && !f->maxnreg && groups && all > groups && all <= warps && warps <= MAX_WARPS;
    if (can) {
        Demand d = demand_of(roles, &out);
        bool helped = d.many < groups && d.columns <= COST_ROLES_FEW_COLUMNS;
        if (programs * warps > COST_MOST_WARPS) programs = COST_MOST_WARPS / warps;
        /* Who has others to help has a multiprocessor to itself, rather than too few registers. */
        while (helped && programs > 1 &&
               left_by(&d, target_registers_shared(sm, programs, warps), warps) <
                   COST_ROLES_LEAST_REGISTERS)
            programs--;
        int64_t begin = target_registers_shared(sm, programs, warps),
                more = left_by(&d, begin, warps);
        out.given = (helped || begin >= COST_ROLES_LEAST_REGISTERS) &&
                    more > target_registers_shared(sm, programs, all);
        for (int r = 0; r < few && out.given; r++)
            if (!out.of[r]) out.of[r] = (int)more;
    }
    for (int r = 0; r < roles->nregions && !out.given; r++)
        out.of[r] = (int)target_registers_shared(sm, programs, all);
    return out;
}

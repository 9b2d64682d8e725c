/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* occupancy.c: what a kernel does around its loads -> what ptxas should use registers for.
 *
 * The latency of global memory is hidden by bytes in flight: those of the programs that a
 * multiprocessor holds, times the loads that each issues before it needs the first. Both cost
 * registers. A loop goes on loading, and unrolled it hides its own latency, the more so as its
 * programs are few and long. A straight-line program issues its loads once, so company hides its
 * latency, unless it is so small that nearly as many fit when it has all of its loads in flight.
 * Kernels with dots keep one program's registers: their tiles are chosen for that, and their copies
 * are asynchronous. Where a loop has none, each turn waits for its own loads, beside other
 * programs, if warps are so few that they fit; and so do the barriers of few warps (cost.def). A
 * turn that fills all registers is left to itself. What only a launch knows, the number of
 * programs, is no part of this. */
#include "ir/roles.h"
#include "passes/cost.h"
#include "passes/pass.h"
#include "passes/walk.h"

/* Bytes that a thread has of v; of addresses none, which are made of few registers where they are
 * used. */
static int64_t bytes_held(const Value *v) {
    if (!v->type.rank || v->type.depth || !v->layout || type_is_buffer(v->type)) return 0;
    return (int64_t)type_elem_bytes(v->type) << v->layout->bits[IN_REG];
}

/* Elements that a thread has of v. */
static int64_t elems_held(const Value *v) {
    return bytes_held(v) ? (int64_t)1 << v->layout->bits[IN_REG] : 0;
}

/* Registers of a thread for what it has of v, computed in 32 bits. */
static int64_t words_held(const Value *v) {
    int64_t words = bytes_held(v) / 4, elems = elems_held(v);
    return words > elems ? words : elems;
}

/* Whether f is straight-line, its loads are independent, and it is small enough to have them all in
 * flight beside nearly as many other programs. */
static bool is_small(Session *s, const Func *f) {
    if (f->num_warps >= COST_MANY_WARPS) return false;
    bool *loaded = arena_array(&s->arena, f->nvalues, sizeof *loaded); /* made of a load's result */
    bool small = true;
    int64_t most = 0, loads = 0, issued = 0; /* elements of a tile, tiles loaded, by instructions */
    for (const Op *op = f->body->first; small && op; op = op->next) {
        bool is_load = op->code == OP_LOAD, from_load = is_load;
        for (int i = 0; i < op->noperands; i++) {
            bool is_made = loaded[op->operand[i].value->id];
            small &= !is_made || !is_load; /* no load waits for another */
            from_load |= is_made;
        }
        small &= !op->nregions;
        for (int i = 0; i < op->nresults; i++) {
            int64_t elems = elems_held(op->result[i]);
            loaded[op->result[i]->id] = from_load;
            if (elems > most) most = elems;
            loads += is_load && elems;
            if (is_load) issued += elems / ir_attr_int(op, AT_VECTOR, 1);
        }
    }
    int64_t fits = loads >= COST_MANY_LOADS ? COST_MANY_SMALL_ELEMS : COST_SMALL_ELEMS;
    return small && loads > 1 && most <= fits && issued <= COST_SMALL_ISSUED;
}

static Occupancy choose(Session *s, const Func *f) {
    if (f->maxnreg || roles_of(f)) return OCCUPANCY_LOADS;
    int64_t most = 0, turn = 0, loaded = 0; /* of a tile, of a turn of a loop */
    int64_t moved = 0;                      /* registers that a turn loads and stores */
    bool full = false;                      /* they leave none for the next turn's loads */
    const Op *loop = NULL;
    bool dots = false, waits = false, copies = false;
    for (const Op *op = f->body->first; op; op = op_next(op)) {
        dots |= op->code == OP_DOT;
        waits |= op->code == OP_DOT && loop && loop_around(op) == loop; /* which has loads */
        copies |= op->code == OP_ASYNC_COPY;
        for (int i = 0; i < op->nresults; i++) {
            int64_t bytes = bytes_held(op->result[i]);
            if (bytes > most) most = bytes;
        }
        bool loads = op->code == OP_LOAD && bytes_held(op->result[0]);
        const Op *around = loads || op->code == OP_STORE ? loop_around(op) : NULL;
        if (!around || (!loads && around != loop)) continue;
        if (around != loop) loaded = moved = 0;
        loop = around;
        if (loads) loaded += bytes_held(op->result[0]);
        moved += words_held(loads ? op->result[0] : op->operand[1].value);
        full |= moved > COST_TURN_WORDS;
        if (loaded > turn) turn = loaded;
    }
    waits &= !copies && f->num_warps <= COST_WAITING_WARPS;
    if (dots)
        return waits || f->num_warps <= COST_FEW_DOT_WARPS ? OCCUPANCY_PROGRAMS : OCCUPANCY_LOADS;
    bool many = f->num_warps >= COST_MANY_WARPS;
    if (many && most > 4 * COST_MOST_SHARED_WORDS) return OCCUPANCY_LOADS;
    if (is_small(s, f)) return OCCUPANCY_LOADS;
    return !turn || full || (many && turn <= COST_FEW_LOOP_BYTES) ? OCCUPANCY_PROGRAMS
                                                                  : OCCUPANCY_LOADS;
}

/* Registers that a thread has where so many warps of so many programs share a multiprocessor; none
 * fits: of one. */
static int64_t share_of(const Target *sm, int64_t programs, int64_t warps) {
    enum { LANES = 32 };
    if (programs < 1) programs = 1;
    int64_t n = sm->registers / (programs * warps * LANES);
    return n / ROLE_REGISTERS_STEP * ROLE_REGISTERS_STEP;
}

/* Whole warpgroups first, then roles of few warps, such as one that starts copies: these give
 * registers that they do not need to the others, with warps that do nothing, since a warpgroup
 * gives them together. */
static void share_registers(PassCtx *ctx) {
    Func *f = ctx->f;
    const Target *sm = ctx->target;
    const Op *roles = roles_of(f);
    int registers[NAMED_BARRIERS], few = 0;
    if (!roles || !sm->wgmma || f->maxnreg || ir_attr(roles, AT_REGISTERS)) return;
    while (few < roles->nregions && !role_shares_group(roles, few)) few++;
    int64_t many = role_first_warp(roles, few), all = role_first_warp(roles, roles->nregions);
    int64_t warps = many + WARPGROUP, programs = target_programs(sm, f->shared_bytes);
    if (!many || all == many || all > warps || warps > MAX_WARPS) return;
    if (programs * warps > COST_MOST_WARPS) programs = COST_MOST_WARPS / warps;
    int64_t own = share_of(sm, programs, warps);
    int64_t more = (own * warps - COST_ROLES_FEW_REGISTERS * WARPGROUP) / many;
    more = more / ROLE_REGISTERS_STEP * ROLE_REGISTERS_STEP;
    if (more > ROLE_REGISTERS_MOST) more = ROLE_REGISTERS_MOST;
    if (own < COST_ROLES_LEAST_REGISTERS || more <= share_of(sm, programs, all)) return;
    for (int r = 0; r < roles->nregions; r++)
        registers[r] = r < few ? (int)more : COST_ROLES_FEW_REGISTERS;
    ir_set_dims(ctx->s, f->roles, AT_REGISTERS, registers, roles->nregions);
    ctx->changed = true;
}

void pass_occupancy(PassCtx *ctx) {
    share_registers(ctx);
    if (ctx->f->occupancy) return; /* it was said */
    ctx->f->occupancy = (int)choose(ctx->s, ctx->f);
    ctx->changed = true;
}

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
#include "ir/buffer.h"
#include "ir/roles.h"
#include "passes/cost.h"
#include "passes/live_words.h"
#include "passes/pass.h"
#include "passes/role_registers.h"
#include "passes/schedule.h"
#include "passes/walk.h"

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

/* ---- dots that feed others ---- */

/* The dot's result, once it is waited for, is for more than to be added to. */
static bool feeds_others(const Value *v) {
    for (const Use *u = v->uses; u; u = u->next) {
        bool waits = u->op->code == OP_DOT_WAIT, handed_on = waits && u == u->op->operand;
        bool adds = u->op->code == OP_DOT && u == &u->op->operand[2];
        if (handed_on ? feeds_others(u->op->result[0]) : !waits && !adds && u->op->code != OP_YIELD)
            return true;
    }
    return false;
}

/* A turn stores an operand of the dot, one of two slices: what it worked out of copies, or has read
 * of them in another order. */
static bool takes_stored(const Op *dot) {
    for (int i = 0; i < 2; i++) {
        const Value *v = buffer_of_view(dot->operand[i].value);
        for (const Use *u = op_is(v, OP_BUFFER_SLICE) ? v->uses : NULL; u; u = u->next)
            if (u->op->code == OP_SHARED_STORE && u->op->block == dot->block) return true;
    }
    return false;
}

typedef struct Feeding {
    Session *s;
    const Func *f;
    int64_t words; /* that a turn of such a loop has at once, the most of these */
} Feeding;

static void look_at_loop(Op *op, void *ctx) {
    Feeding *x = ctx;
    bool feeds = false, inner = false; /* a loop around it has addresses and sums of its own */
    if (op->code != OP_FOR) return;
    for (const Op *at = op->block->parent; at; at = at->block->parent) inner |= at->code == OP_FOR;
    for (const Op *at = op->region[0]->first; at; at = at->next)
        feeds |= at->code == OP_DOT && ir_attr(at, AT_WGMMA) &&
                 (feeds_others(at->result[0]) || (!inner && takes_stored(at)));
    if (!feeds) return;
    int64_t words = live_words(x->s, x->f, op->region[0]);
    if (words > x->words) x->words = words;
}

/* What goes on between a turn's dots is hidden by other warps: so many programs as they, their
 * registers and shared memory allow. */
static int programs_of_feeding(const PassCtx *ctx) {
    const Func *f = ctx->f;
    Feeding x = {.s = ctx->s, .f = f};
    ir_walk(f->body, look_at_loop, &x);
    if (!x.words || f->maxnreg || roles_of(f) || f->num_warps > COST_FEEDING_MOST_WARPS) return 0;
    int64_t n = COST_FEEDING_MOST_WARPS / f->num_warps;
    int64_t fit = target_programs(ctx->target, f->shared_bytes);
    if (n > fit) n = fit;
    while (n > 1 &&
           target_registers_shared(ctx->target, n, f->num_warps) < x.words + COST_FEEDING_REGISTERS)
        n--;
    return n > 1 ? (int)n : 0;
}

/* ---- sums ---- */

static void look_for_wgmma(Op *op, void *found) {
    *(bool *)found |= op->code == OP_DOT && ir_attr(op, AT_WGMMA);
}

static void note_sums(Op *op, void *user) {
    const PassCtx *ctx = user;
    bool wgmma = false;
    if (op->code != OP_FOR && op->code != OP_WHILE) return;
    Block *body = op->region[op->nregions - 1];
    int64_t words = sum_words(body);
    int most = target_thread_registers(ctx->target, ctx->f->num_warps);
    ir_walk(body, look_for_wgmma, &wgmma);
    if (words < (wgmma ? COST_MANY_SUMS_WGMMA : COST_MANY_SUMS_LANES) || words >= most)
        return; /* of what cannot fit code generation speaks */
    diag(&ctx->s->diags, P_REGISTERS, op->span,
         "the sums of this loop take %lld registers of a thread, which has %d%s: more warps would "
         "share them",
         (long long)words, most, wgmma ? "" : ", for operands, too");
}

/* ---- roles ---- */

/* A warpgroup gives registers together, so where roles say how many they have there are warps that
 * do nothing, up to a whole one. */
static void share_registers(PassCtx *ctx) {
    Func *f = ctx->f;
    if (!roles_of(f) || ir_attr(roles_of(f), AT_REGISTERS)) return;
    RoleRegisters r = role_registers_left(ctx);
    if (!r.given) return;
    ir_set_dims(ctx->s, f->roles, AT_REGISTERS, r.of, roles_of(f)->nregions);
    ctx->changed = true;
}

void pass_occupancy(PassCtx *ctx) {
    share_registers(ctx);
    if (!ctx->f->entry_of) ir_walk(ctx->f->body, note_sums, ctx);
    if (ctx->f->occupancy) return; /* it was said */
    ctx->f->occupancy = (int)choose(ctx->s, ctx->f);
    if (ctx->f->occupancy == OCCUPANCY_LOADS) ctx->f->min_programs = programs_of_feeding(ctx);
    ctx->changed = true;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* overlap.c: a loop whose second dot takes what was made of its first one -> the second of one turn
 * beside the first of the next, so that neither waits for what lies between them.
 *
 *     for j from a: s = dot q, k(j); p, f = … s …; acc = dot p, v(j), acc * f
 * becomes
 *     if a < b:
 *         s = dot q, k(a); p, f = … s …; acc = acc * f
 *         for j from a + step:
 *             s = dot q, k(j); acc = dot p, v(j - step), acc; p, f = … s …; acc = acc * f
 *         acc = dot p, v(last), acc
 *
 * Each op is done as often, on the same numbers. What the second dot and the load of its second
 * operand take of their turn is carried to the next; what is made of its sum before it is, in the
 * turn that it is of, so that nothing is between the dots. */
#include "ir/effects.h"
#include "passes/cost.h"
#include "passes/pass.h"

#include <string.h>

/* Where an op of the loop goes: where it is; to its turn's end, for it is of the sum that the
 * second dot is to add to; or with that dot, a turn later. */
typedef enum Part { NOW, ENDING, LATER } Part;

typedef struct Overlap {
    PassCtx *ctx;
    Session *s;
    Func *f;
    Op *loop, *first, *second;
    int sum;       /* the number of what the loop carries that is the second's */
    uint8_t *part; /* by the id of an op's first result */
    uint32_t nvalues;
    VEC(Value *) crossing; /* what goes on to the next turn */
} Overlap;

static Part part_of(const Overlap *x, const Op *op) {
    return (Part)x->part[op->result[0]->id];
}

static bool is_later(const Overlap *x, const Value *v) {
    return v->def && v->def->block == x->loop->region[0] && v->def != x->second &&
           part_of(x, v->def) != NOW;
}

/* ---- is it to be? ---- */

/* Nothing in the loop but two dots and what may be done a turn later. */
static bool is_simple(Overlap *x) {
    const Block *body = x->loop->region[0];
    int64_t step;
    if (!ir_int_constant(x->loop->operand[2].value, &step) || step <= 0) return false;
    for (Op *op = body->first; op != body->last; op = op->next) {
        unsigned may = EFFECT_READS_GLOBAL | EFFECT_PROMISES;
        bool within = op->nregions && (op_is_control_flow(op) || !ir_is_pure(op));
        if (within || !op->nresults || (ir_effects(op) & ~may)) return false;
        if (op->code != OP_DOT) continue;
        if (x->second) return false;
        *(x->first ? &x->second : &x->first) = op;
    }
    return x->second;
}

/* v is made of the first dot's result. */
static bool is_of_first(const Overlap *x, const Value *v, uint8_t *seen) {
    const Op *op = v->def;
    if (!op || op->block != x->loop->region[0] || seen[v->id]) return false;
    seen[v->id] = 1;
    if (op == x->first) return true;
    for (int i = 0; i < op->noperands; i++)
        if (is_of_first(x, op->operand[i].value, seen)) return true;
    return false;
}

static bool is_carried_sum(Overlap *x) {
    const Op *yield = x->loop->region[0]->last;
    const Value *sum = x->second->result[0];
    if (!sum->uses || sum->uses->next || sum->uses->op != yield) return false;
    x->sum = (int)(sum->uses - yield->operand);
    return true;
}

/* All uses of v are the second dot's, or what is done with it. */
static bool goes_to_second(const Overlap *x, const Value *v) {
    for (const Use *u = v->uses; u; u = u->next) {
        bool to = u->op == x->second && u != u->op->operand;
        if (!to && (u->op->block != x->loop->region[0] || !u->op->nresults || u->op == x->second ||
                    part_of(x, u->op) == NOW))
            return false;
    }
    return v->uses;
}

/* What nothing but the second dot's operands 1 and 2 is made of. */
static void find_later(Overlap *x) {
    for (Op *op = x->loop->region[0]->last->prev; op; op = op->prev) {
        bool may = op != x->first && op != x->second && op->nresults == 1 && !op->nregions;
        if (may && goes_to_second(x, op->result[0])) x->part[op->result[0]->id] = LATER;
    }
}

/* All uses of v are the second dot's sum, or done for it at the turn's end. */
static bool goes_to_sum(const Overlap *x, const Value *v) {
    for (const Use *u = v->uses; u; u = u->next)
        if (u->op == x->second ? u != u->op->operand + 2 : part_of(x, u->op) != ENDING)
            return false;
    return true;
}

/* It needs what is read, or made for the second dot's other operand, a turn later. */
static bool needs_later(const Overlap *x, const Op *op) {
    for (int i = 0; i < op->noperands; i++) {
        const Value *v = op->operand[i].value;
        if (is_later(x, v) && part_of(x, v->def) == LATER) return true;
    }
    return !ir_is_pure(op);
}

/* What the second dot adds to is made at the end of the turn before, if that has all it needs. */
static void find_at_end(Overlap *x) {
    const Block *body = x->loop->region[0];
    bool all = true;
    for (Op *op = body->last->prev; op; op = op->prev)
        if (op != x->second && part_of(x, op) == LATER && goes_to_sum(x, op->result[0]))
            x->part[op->result[0]->id] = ENDING;
    for (Op *op = body->first; op != body->last && all; op = op->next)
        all = part_of(x, op) != ENDING || !needs_later(x, op);
    for (Op *op = body->first; op != body->last && !all; op = op->next)
        if (part_of(x, op) == ENDING) x->part[op->result[0]->id] = LATER;
}

static void cross(Overlap *x, Value *v) {
    const Value *sum = x->loop->region[0]->args[1 + x->sum];
    if (v == sum || ir_defined_outside(v, x->loop) || is_later(x, v)) return;
    for (int i = 0; i < x->crossing.n; i++)
        if (x->crossing.at[i] == v) return;
    vec_push(&x->s->arena, &x->crossing, v);
}

static void find_crossing(Overlap *x) {
    const Block *body = x->loop->region[0];
    for (Op *op = body->first; op != body->last; op = op->next)
        for (int i = 0; (op == x->second || part_of(x, op) == LATER) && i < op->noperands; i++)
            cross(x, op->operand[i].value);
}

/* Both sums and the second's first operand are in registers at once. */
static bool fits(const Overlap *x) {
    int64_t bytes = type_bytes(x->first->result[0]->type) + type_bytes(x->second->result[0]->type) +
                    type_bytes(x->second->operand[0].value->type);
    bool alone = x->f->num_warps >= COST_ROLES_CONSUMERS;
    int64_t most = alone ? COST_OVERLAP_REGISTERS : COST_OVERLAP_FEW_REGISTERS;
    return bytes <= (int64_t)x->f->num_warps * 32 * 4 * most;
}

/* The sum goes through nothing but what is done later. */
static bool is_own_sum(const Overlap *x) {
    const Value *arg = x->loop->region[0]->args[1 + x->sum], *to = x->second->operand[2].value;
    return goes_to_second(x, arg) && (to == arg || is_later(x, to));
}

static bool is_wanted(Overlap *x) {
    if (!is_simple(x) || !is_carried_sum(x) || !fits(x)) return false;
    uint8_t *seen = arena_alloc(&x->s->arena, x->nvalues);
    if (!is_of_first(x, x->second->operand[0].value, seen)) return false;
    find_later(x);
    if (!is_own_sum(x) || !is_later(x, x->second->operand[1].value)) return false;
    find_at_end(x);
    find_crossing(x);
    return true;
}

/* ---- the turns ---- */

static Value **new_map(const Overlap *x) {
    return arena_array(&x->s->arena, x->nvalues, sizeof(Value *));
}

static Value *mapped(Value *const *map, Value *v) {
    return map[v->id] ? map[v->id] : v;
}

/* A turn but for what is later; up to the first dot, or from there on, or all of it. */
static void emit_turn(Overlap *x, Builder *b, Value **map, bool before, bool after) {
    const Block *body = x->loop->region[0];
    bool behind = false;
    for (Op *op = body->first; op != body->last; op = op->next) {
        bool now = op != x->second && part_of(x, op) == NOW;
        if (now && (behind ? after : before)) ir_clone(b, op, map, x->nvalues);
        behind |= op == x->first;
    }
}

/* What the second dot takes for its sum, or the loop carries of it. */
static Value *taken_sum(const Overlap *x) {
    Value *to = x->second->operand[2].value;
    bool made = is_later(x, to) && part_of(x, to->def) == ENDING;
    return made ? to : x->loop->region[0]->args[1 + x->sum];
}

/* What a turn makes of the sum at its end. */
static Value *emit_end(Overlap *x, Builder *b, Value **map, Value *sum) {
    const Block *body = x->loop->region[0];
    map[body->args[1 + x->sum]->id] = sum;
    for (Op *op = body->first; op != body->last; op = op->next)
        if (part_of(x, op) == ENDING) ir_clone(b, op, map, x->nvalues);
    return mapped(map, taken_sum(x));
}

/* The second dot of the turn whose crossing values these are, on this sum. */
static Value *emit_second(Overlap *x, Builder *b, Value *const *crossing, Value *sum) {
    const Block *body = x->loop->region[0];
    Value **map = new_map(x);
    for (int i = 0; i < x->crossing.n; i++) map[x->crossing.at[i]->id] = crossing[i];
    map[taken_sum(x)->id] = sum;
    for (Op *op = body->first; op != body->last; op = op->next)
        if (op == x->second || part_of(x, op) == LATER) ir_clone(b, op, map, x->nvalues);
    return mapped(map, x->second->result[0]);
}

/* What a turn carries on: what the loop does, with this sum, and what crosses. */
static Value **carried(Overlap *x, Value *const *map, Value *sum, int n) {
    const Op *yield = x->loop->region[0]->last;
    Value **out = arena_array(&x->s->arena, (size_t)(n + x->crossing.n), sizeof *out);
    for (int i = 0; i < n; i++) out[i] = i == x->sum ? sum : mapped(map, yield->operand[i].value);
    for (int i = 0; i < x->crossing.n; i++) out[n + i] = mapped(map, x->crossing.at[i]);
    return out;
}

/* Where the loop begins, or so far before the last number of its type that a step more is there:
 * nothing is below that. */
static Value *before_overflow(Builder *b, const Op *loop) {
    Value *from = loop->operand[0].value;
    int64_t step = 0, known;
    int bits = type_elem_bits(from->type) - type_is_signed(from->type);
    int64_t last = bits > 62 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    ir_int_constant(loop->operand[2].value, &step);
    if (ir_int_constant(from, &known) && known <= last - step) return from;
    return ir_binary(b, OP_MIN, from, ir_const_int(b, from->type, last - step));
}

static Op *emit_loop(Overlap *x, Builder *b, Value **init, int n) {
    const Op *loop = x->loop;
    Value *step = loop->operand[2].value;
    Value *from = ir_binary(b, OP_ADD, before_overflow(b, loop), step);
    Op *to = ir_for(b, from, loop->operand[1].value, step, init, n + x->crossing.n);
    ir_copy_attr(x->s, loop, to, AT_NUM_STAGES);
    ir_copy_attr(x->s, loop, to, AT_WARP_SPECIALIZE);
    Block *body = to->region[0];
    Builder in = {x->s, x->f, body, NULL, b->span};
    Value **map = new_map(x);
    for (int i = 0; i <= n; i++) map[loop->region[0]->args[i]->id] = body->args[i];
    emit_turn(x, &in, map, true, false);
    Value *sum = emit_second(x, &in, body->args + 1 + n, body->args[1 + x->sum]);
    emit_turn(x, &in, map, false, true);
    sum = emit_end(x, &in, map, sum);
    ir_op(&in, OP_YIELD, carried(x, map, sum, n), n + x->crossing.n, NULL, 0, 0);
    return to;
}

static void split(Overlap *x) {
    Op *loop = x->loop;
    int n = loop->nresults;
    Builder b = {x->s, x->f, loop->block, loop, loop->span};
    Type *types = arena_array(&x->s->arena, (size_t)n, sizeof *types);
    for (int i = 0; i < n; i++) types[i] = loop->result[i]->type;
    Value *some = ir_cmp(&b, PRED_LT, loop->operand[0].value, loop->operand[1].value);
    Op *branch = ir_op(&b, OP_IF, &some, 1, types, n, 2);
    Builder in = {x->s, x->f, branch->region[0], NULL, loop->span};
    Value **map = new_map(x), **out = arena_array(&x->s->arena, (size_t)n, sizeof *out);
    for (int i = 0; i <= n; i++)
        map[loop->region[0]->args[i]->id] = loop->operand[i ? 2 + i : 0].value;
    emit_turn(x, &in, map, true, true);
    Value *sum = emit_end(x, &in, map, loop->operand[3 + x->sum].value);
    Op *to = emit_loop(x, &in, carried(x, map, sum, n), n);
    for (int i = 0; i < n; i++) out[i] = to->result[i];
    out[x->sum] = emit_second(x, &in, to->result + n, to->result[x->sum]);
    ir_op(&in, OP_YIELD, out, n, NULL, 0, 0);
    in.block = branch->region[1];
    for (int i = 0; i < n; i++) out[i] = loop->operand[3 + i].value;
    ir_op(&in, OP_YIELD, out, n, NULL, 0, 0);
    for (int i = 0; i < n; i++) ir_replace_uses(loop->result[i], branch->result[i]);
    ir_erase(loop);
}

static void visit(Op *loop, void *ctx_) {
    PassCtx *ctx = ctx_;
    Overlap x = {.ctx = ctx, .s = ctx->s, .f = ctx->f, .loop = loop, .nvalues = ctx->f->nvalues};
    if (loop->code != OP_FOR) return;
    x.part = arena_alloc(&ctx->s->arena, x.nvalues);
    if (!is_wanted(&x)) return;
    split(&x);
    ctx->changed = true;
}

void pass_overlap(PassCtx *ctx) {
    if (ctx->target->wgmma) ir_walk(ctx->f->body, visit, ctx);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp_tail.c: a consumer's sum over K in turns of BK elements -> one whose last turn, in a loop of
 * its own, leaves out the steps of K that are beyond the tensors.
 *
 *     acc = for t: dot a, b, acc
 * becomes
 *     acc = for t, as long as the whole block is there: dot a, b, acc
 *     acc = for the other t: dot a, b, acc, how many of K are there
 *
 * The engine fills blocks up with zeros, of which an instruction of 16 takes as long as of numbers:
 * K = 1048 in blocks of 64 is 16.4 turns, done as 17, or 16.5 so. Instructions under predicates
 * make ptxas wait for each (C7519), so the steps are a loop of the dot's own (gen_wgmma.c). */
#include "ir/desc.h"
#include "ir/mma.h"
#include "passes/layout_choice.h"
#include "passes/warp_specialize.h"

typedef struct Tail {
    Specialize *x;
    Op *dot, *loop;
    Value *k;      /* both tensors' size along K */
    int64_t block; /* of K in a turn */
    int64_t by;    /* of K for each that the loop counts, */
    int64_t from;  /* which is there at the tensors' begin */
} Tail;

/* v is so many times what the loop's index is beyond a number. */
static bool is_of_index(const Op *loop, const Value *v, int64_t *by, int64_t *from) {
    *by = 1;
    *from = 0;
    for (int i = 0; i < 2 && op_is(v, OP_MUL); i++)
        if (ir_int_constant(v->def->operand[i].value, by)) {
            v = v->def->operand[1 - i].value;
            break;
        }
    if (op_is(v, OP_SUB) && ir_int_constant(v->def->operand[1].value, from))
        v = v->def->operand[0].value;
    return v == loop->region[0]->args[0] && *by > 0;
}

static Value *without_casts(Value *v) {
    while (op_is(v, OP_CAST) && type_is_int(v->def->operand[0].value->type))
        v = v->def->operand[0].value;
    return v;
}

/* Where operand i's block lies along K, and how large its tensor is there. */
static bool look_at_operand(Tail *t, int i, Value **size, int64_t *by, int64_t *begin) {
    Loaded from;
    if (!loaded_beside(t->dot, i, &from)) return false;
    int dim = from.order[i ? 0 : 1];
    const Op *load = from.load, *desc = load->operand[0].value->def;
    *size = without_casts(desc_size(desc, dim));
    return is_of_index(t->loop, load->operand[desc_first_index(load) + dim].value, by, begin);
}

/* same: of another sum of its loop, which was split for that. */
static bool find_tail(Tail *t, const Tail *same) {
    enum { LEAST_STEPS = 2 };
    Op *loop = t->dot->block->parent;
    Value *size[2];
    int64_t by[2], from[2], step, begin;
    Type a = t->dot->operand[0].value->type;
    DotChoice d = choose_dot(t->dot, t->x->f->num_warps, t->x->ctx->target);
    if (!loop || loop->code != OP_FOR || a.rank != 2 || !d.wgmma ||
        ir_attr_int(t->dot, AT_PAIRS, 0) || ir_attr_int(loop, AT_PARALLEL, 0))
        return false;
    t->loop = loop;
    t->block = type_dim(a, 1);
    for (int i = 0; i < 2; i++)
        if (!look_at_operand(t, i, &size[i], &by[i], &from[i])) return false;
    if (size[0] != size[1] || by[0] != by[1] || from[0] != from[1]) return false;
    t->k = size[0];
    t->by = by[0];
    t->from = from[0];
    if (same)
        return same->k == t->k && same->block == t->block && same->by == t->by &&
               same->from == t->from;
    /* Turns begin at whole blocks. */
    if (!ir_int_constant(loop->operand[2].value, &step) || step * by[0] != t->block) return false;
    bool aligned = step == 1 || (ir_int_constant(loop->operand[0].value, &begin) &&
                                 (begin - t->from) % step == 0);
    return aligned && t->block >= LEAST_STEPS * d.wgmma->k &&
           type_equal(t->k->type, index_type()) &&
           type_equal(t->k->type, loop->operand[0].value->type) && ir_defined_outside(t->k, loop);
}

Op *split_loop(Specialize *x, Op *loop, Value *end, Value *begin) {
    Builder b = {x->s, x->f, loop->block, loop, loop->span};
    uint32_t n = x->f->nvalues;
    Op *first = ir_clone(&b, loop, arena_array(&x->s->arena, n, sizeof(Value *)), n);
    ir_set_operand(first, 1, end);
    ir_set_operand(loop, 0, begin);
    for (int r = 0; r < first->nresults; r++) ir_set_operand(loop, 3 + r, first->result[r]);
    return first;
}

/* The loop in front of its last turns. */
static void split_tail(Tail *t) {
    Op *tail = t->loop;
    Builder b = {t->x->s, t->x->f, tail->block, tail, tail->span};
    Type i = t->k->type;
    Value *turns = ir_binary(&b, OP_DIV, t->k, ir_const_int(&b, i, t->block));
    Value *whole = ir_binary(&b, OP_MUL, turns, ir_const_int(&b, i, t->block / t->by));
    if (t->from) whole = ir_binary(&b, OP_ADD, whole, ir_const_int(&b, i, t->from));
    Value *end = ir_binary(&b, OP_MIN, tail->operand[1].value, whole);
    split_loop(t->x, tail, end, ir_binary(&b, OP_MAX, tail->operand[0].value, whole));
}

static void leave_out_steps(Tail *t) {
    Op *before = t->dot;
    Builder b = {t->x->s, t->x->f, before->block, before, before->span};
    Value *at = t->loop->region[0]->args[0];
    if (t->from) at = ir_binary(&b, OP_SUB, at, ir_const_int(&b, at->type, t->from));
    if (t->by > 1) at = ir_binary(&b, OP_MUL, at, ir_const_int(&b, at->type, t->by));
    Value *operand[] = {before->operand[0].value, before->operand[1].value,
                        before->operand[2].value, ir_binary(&b, OP_SUB, t->k, at)};
    Op *dot = ir_op_like(&b, before, operand, 4, &before->result[0]->type);
    dot->result[0]->name = before->result[0]->name;
    ir_replace_uses(before->result[0], dot->result[0]);
    ir_erase(before);
}

typedef struct Sums {
    Specialize *x;
    AxisTable axis;
    VEC(Op *) dots;
    VEC(Tail) split; /* a loop may add up several sums */
} Sums;

/* Another loop goes on with its sums: these are the first turns (warp_epilogue.c). */
static bool goes_on(const Op *loop) {
    for (int r = 0; r < loop->nresults; r++)
        for (const Use *u = loop->result[r]->uses; u; u = u->next)
            for (const Op *op = u->op->code == OP_FOR ? u->op->region[0]->first : NULL; op;
                 op = op->next)
                if (op->code == OP_DOT) return true;
    return false;
}

/* The last block is a whole one. */
static bool is_whole(const Sums *s, const Tail *t) {
    const AxisInfo *k = axis_of(&s->axis, t->k);
    return k && k->divisibility[0] % t->block == 0;
}

static void find_sum(Op *op, void *ctx) {
    Sums *s = ctx;
    int k = (int)ir_attr_int(op, AT_ROLE, 0) - 1;
    if (op->code != OP_DOT || k < 0 || s->x->group[k].transposed) return;
    vec_push(&s->x->s->arena, &s->dots, op);
}

void split_tails(Specialize *x, Block *consumer) {
    Sums s = {.x = x, .axis = axis_analyse(x->s, x->f)};
    ir_walk(consumer, find_sum, &s);
    for (int i = 0; i < s.dots.n; i++) {
        Tail t = {.x = x, .dot = s.dots.at[i]};
        const Tail *same = NULL;
        for (int k = 0; k < s.split.n && !same; k++)
            if (s.split.at[k].loop == t.dot->block->parent) same = &s.split.at[k];
        if (!find_tail(&t, same) || goes_on(t.loop) || is_whole(&s, &t)) continue;
        if (!same) {
            split_tail(&t);
            vec_push(&x->s->arena, &s.split, t);
        }
        leave_out_steps(&t);
    }
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* schedule_copies.c: which loads of a loop can be copied ahead of it (see schedule.c).
 *
 * A load can when all that its address and mask are made of can be worked out early: arithmetic on
 * what the loop carries, and other loads, as long as nothing the loop writes may change them. */
#include "passes/schedule_plan.h"
#include "ir/analysis/alias.h"
#include "ir/effects.h"
#include "passes/walk.h"

#include <string.h>

/* Bytes that one lane copies at once: contiguous in memory, under one mask, and in the buffer. */
static int copy_bytes(const Plan *p, const Op *load, const Layout *shared) {
    const Value *r = load->result[0];
    Access a = choose_access(p->axis, load);
    int have = layout_vector_bits(r->layout, r->type, a.dim);
    int vec = a.vec < have ? a.vec : have;
    int there = layout_shared_vector_bits(r->layout, shared);
    if (there < vec) vec = there;
    return type_elem_bytes(r->type) << vec;
}

static bool read_by_dots_only(const Value *buffer, const Op *store) {
    for (const Use *u = buffer->uses; u; u = u->next) {
        bool view = u->op->code == OP_BUFFER_TRANS && read_by_dots_only(u->op->result[0], store);
        if (u->op != store && u->op->code != OP_DOT && !view) return false;
    }
    return true;
}

/* May a load of the body run iterations early, past what earlier ones do? */
static bool prefetch_is_safe(const Plan *p, const Op *load) {
    for (int i = 0; i < p->effects.n; i++)
        if (!alias_may_pass(load, p->effects.at[i])) return false;
    return true;
}

static void note_effects(Op *op, void *ctx) {
    Plan *p = ctx;
    p->acquires |= op_acquires(op);
    if (op_acquires(op) || ir_effects(op) & EFFECT_WRITES_GLOBAL)
        vec_push(&p->s->arena, &p->effects, op);
}

/* Marks what the prefetch slice needs that runs ahead to know where and whether the load reads: ops
 * of the body and carried values. False when that is not arithmetic on indices, and loads, in the
 * body itself. */
static bool mark_slice(Plan *p, const Op *load, int noperands) {
    Arena *a = &p->s->arena;
    const Block *body = p->loop->region[0];
    uint8_t *slice = arena_copy(a, p->slice, p->size);
    uint8_t *carried = arena_copy(a, p->carried, (size_t)p->loop->nresults);
    for (int i = 0; i < noperands; i++) slice[load->operand[i].value->id] = 1;
    for (bool again = true; again;) {
        again = false;
        for (const Op *op = body->last; op; op = op->prev) {
            bool wanted = false;
            for (int i = 0; i < op->nresults; i++) wanted |= slice[op->result[i]->id];
            if (!wanted) continue;
            bool pure = !ir_effects(op) && !op->nregions && op->nresults == 1 &&
                        op->code != OP_DOT && op->code != OP_GATHER && op->code != OP_HISTOGRAM;
            bool early = ir_effects(op) == EFFECT_READS_GLOBAL && prefetch_is_safe(p, op);
            if (!pure && !early) return false;
            for (int i = 0; i < op->noperands; i++) slice[op->operand[i].value->id] = 1;
        }
        for (int i = 0; i < p->loop->nresults; i++)
            if (slice[body->args[1 + i]->id] && !carried[i]) {
                carried[i] = 1;
                slice[body->last->operand[i].value->id] = 1;
                again = true;
            }
    }
    memcpy(p->slice, slice, p->size);
    memcpy(p->carried, carried, (size_t)p->loop->nresults);
    return true;
}

static void mark_operands(Op *op, void *marks) {
    for (int i = 0; i < op->noperands; i++) ((uint8_t *)marks)[op->operand[i].value->id] = 1;
}

/* Marks the values of the body that are good for more than the addresses and masks of its loads. */
static void mark_worked_on(Plan *p) {
    const Block *body = p->loop->region[0];
    uint8_t *on = p->worked_on;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < p->loop->nresults; i++)
            if (on[body->args[1 + i]->id] || ir_has_uses(p->loop->result[i]))
                on[body->last->operand[i].value->id] = 1;
        for (const Op *op = body->last->prev; op; op = op->prev) {
            bool wanted = (ir_effects(op) & ~(unsigned)EFFECT_READS_GLOBAL) || op->nregions;
            for (int i = 0; i < op->nresults; i++) wanted |= on[op->result[i]->id];
            if (!wanted || op->code == OP_LOAD) continue;
            for (int i = 0; i < op->noperands; i++) on[op->operand[i].value->id] = 1;
            for (int r = 0; r < op->nregions; r++) ir_walk(op->region[r], mark_operands, on);
        }
        for (int i = 0; i < p->loop->nresults; i++)
            again |= on[body->args[1 + i]->id] && !on[body->last->operand[i].value->id];
    }
}

/* Marks the values of the body that dots take through arithmetic. */
static void mark_for_dots(Plan *p) {
    for (const Op *op = p->loop->region[0]->last; op; op = op->prev) {
        bool wanted = op->code == OP_SHARED_STORE;
        if (op->code == OP_DOT)
            for (int i = 0; i < 2; i++) p->for_dots[op->operand[i].value->id] = 1;
        if (op->code == OP_SHARED_STORE) wanted = p->for_dots[op->operand[1].value->id];
        for (int i = 0; i < op->nresults; i++) wanted |= p->for_dots[op->result[i]->id];
        if (!wanted || op->code == OP_DOT || op->nregions) continue;
        int n = op->code == OP_LOAD ? 0 : op->noperands;
        for (int i = 0; i < n; i++) p->for_dots[op->operand[i].value->id] = 1;
    }
}

/* The store of the load's value into a buffer that dots alone read. What else uses the value reads
 * it there, too; but not where a mask gives it elements that no copy fills in. */
static Op *store_for_dots(const Op *load) {
    const Value *r = load->result[0];
    bool filled = load->noperands == 3 && !ir_is_zero(load->operand[2].value);
    if (!r->uses || (r->uses->next && filled)) return NULL;
    for (const Use *u = r->uses; u; u = u->next) {
        if (u->op->code != OP_SHARED_STORE || u->op->block != load->block) continue;
        const Value *buffer = u->op->operand[1].value;
        if (op_is(buffer, OP_BUFFER_ALLOC) && buffer->def->block == load->block &&
            read_by_dots_only(buffer, u->op))
            return u->op;
    }
    return NULL;
}

static void not_pipelined(Plan *p, const Op *load, const char *why) {
    p->refused = true;
    diag(&p->s->diags, P_PIPELINE, load->span, "this load is not pipelined: %s", why);
}

static bool is_wanted(const Plan *p, const Op *load, bool all) {
    if (load->code != OP_LOAD || !load->result[0]->layout) return false;
    const Value *r = load->result[0];
    return p->for_dots[r->id] || (all && p->worked_on[r->id]);
}

static Copy copy_of(const Plan *p, Op *load) {
    const Value *r = load->result[0];
    Copy c = {.load = load, .store = store_for_dots(load), .type = r->type};
    c.type = type_in_space(r->type, SPACE_SHARED);
    if (c.store) {
        c.buffer = c.store->operand[1].value;
        c.layout = c.buffer->layout;
    } else {
        bool converted = r->uses && !r->uses->next && r->uses->op->code == OP_CONVERT;
        const Layout *to = converted ? r->uses->op->result[0]->layout : r->layout;
        c.layout = intern_layout(p->s, choose_move_shared(r->type, r->layout, to));
    }
    bool other = load->noperands == 3 && !ir_is_zero(load->operand[2].value);
    c.plain = copy_bytes(p, load, c.layout) < COST_LEAST_COPY_BYTES || (other && c.store);
    return c;
}

/* Would its elements wait in too many registers? */
static bool is_held_too_long(const Copy *c) {
    return c->plain && c->store &&
           1 << c->load->result[0]->layout->bits[IN_REG] > COST_MOST_HELD_ELEMENTS;
}

static void consider(Plan *p, Copy c) {
    Op *load = c.load;
    if (ir_attr_int(load, AT_VOLATILE, 0))
        not_pipelined(p, load, "it is volatile");
    else if (is_held_too_long(&c))
        not_pipelined(p, load, "its lanes copy less than 4 bytes at once, and too often");
    else if (c.plain && c.store && loop_around(p->loop))
        not_pipelined(p, load,
                      "its lanes copy less than 4 bytes at once, and each turn of the loop around "
                      "this one would begin with loads of its own");
    else if (c.plain && c.store && p->waits)
        not_pipelined(p, load,
                      "its lanes copy less than 4 bytes at once, and the loop waits for another "
                      "load in any case");
    else if (c.plain && !c.store)
        not_pipelined(p, load, "its lanes copy less than 4 bytes at once");
    else if (!prefetch_is_safe(p, load))
        not_pipelined(p, load,
                      p->acquires ? "an atomic of the loop may wait for what it reads"
                                  : "the loop writes memory that it may read");
    else if (!mark_slice(p, load, c.plain || load->noperands < 2 ? load->noperands : 2))
        not_pipelined(p, load, "its addresses depend on results of the loop");
    else
        vec_push(&p->s->arena, &p->copies, c);
}

void plan_copies(Plan *p, bool all) {
    ir_walk(p->loop->region[0], note_effects, p);
    mark_for_dots(p);
    mark_worked_on(p);
    VEC(Copy) wanted = {0};
    for (Op *op = p->loop->region[0]->first; op; op = op->next)
        if (is_wanted(p, op, all)) vec_push(&p->s->arena, &wanted, copy_of(p, op));
    for (int i = 0; i < wanted.n; i++) p->waits |= is_held_too_long(&wanted.at[i]);
    for (int i = 0; i < wanted.n; i++) consider(p, wanted.at[i]);
}

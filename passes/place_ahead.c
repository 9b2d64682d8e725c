/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* place_ahead.c: roles that start copies, and work out in each place of the grid where its blocks
 * lie -> roles that know it by then.
 *
 *     for t = program to places by programs: x, y = t / n, t % n; for k: start the copy of x, k; …
 * becomes
 *     x0, y0 = program / n, program % n
 *     for t = program to places by programs, x = x0, y = y0: for k: start the copy of x, k; …
 *         x, y = (t + programs) / n, (t + programs) % n
 *
 * A chain of quotients takes some hundred clocks, for which a program's tensor cores wait. Behind
 * the last copy of a place they have stages to work on; and what a role works out in front of its
 * loop it does beside the thread that makes the barriers (codegen/gen_roles.c). */
#include "ir/effects.h"
#include "passes/pass.h"

enum { MOST_AHEAD = 8 };

typedef struct Ahead {
    Session *s;
    Func *f;
    Op *loop;
    const Op *end;         /* what is done ahead is among the body's ops before it */
    bool *ahead;           /* by value id: it is a result of theirs */
    Value *of[MOST_AHEAD]; /* what is asked for behind that */
    int n;
} Ahead;

/* Of the place alone: what else a loop carries is there only when its turn comes. */
static bool is_of_place(const Ahead *x, const Op *op) {
    if (op->code == OP_INLINE_ASM) return false;
    for (int i = 0; i < op->noperands; i++) {
        const Value *v = op->operand[i].value;
        if (v != x->loop->region[0]->args[0] && !x->ahead[v->id] && !ir_defined_outside(v, x->loop))
            return false;
    }
    for (int i = 0; i < op->nresults; i++) {
        Type t = op->result[i]->type;
        if (!type_is_int(t) || t.rank) return false;
    }
    return true;
}

/* Of a branch all that its arms do. */
static bool may_be_ahead(const Ahead *x, const Op *op) {
    if (!op->nresults || (op->nregions && op->code != OP_IF) || !is_of_place(x, op)) return false;
    for (int r = 0; r < op->nregions; r++)
        for (const Op *in = op->region[r]->first; in; in = in->next) {
            if (in->nregions || !is_of_place(x, in)) return false;
            for (int i = 0; i < in->nresults; i++) x->ahead[in->result[i]->id] = true;
        }
    return true;
}

/* Of no constant: that is a product. */
static bool is_slow(const Op *op) {
    int64_t by;
    return (op->code == OP_DIV || op->code == OP_REM) &&
           !ir_int_constant(op->operand[1].value, &by);
}

static void look_for_copy(Op *op, void *found) {
    *(bool *)found |= op->code == OP_MBAR_DESC_LOAD;
}

/* The op itself, or the branch that it is in. */
static bool is_ahead(const Ahead *x, const Op *op) {
    while (op->block != x->loop->region[0] && op->block->parent) op = op->block->parent;
    return op->nresults && x->ahead[op->result[0]->id];
}

static bool is_asked_for(const Ahead *x, const Value *v) {
    for (const Use *u = v->uses; u; u = u->next)
        if (!is_ahead(x, u->op)) return true;
    return false;
}

/* What a loop over places makes of its place first, if that is slow, and little of it is kept. */
static bool find_ahead(Ahead *x) {
    bool copies = false, slow = false;
    const Op *first = x->loop->region[0]->first;
    ir_walk(x->loop->region[0], look_for_copy, &copies);
    if (!copies) return false;
    x->ahead = arena_array(&x->s->arena, x->f->nvalues, sizeof *x->ahead);
    for (x->end = first; ir_is_pure(x->end); x->end = x->end->next) {
        if (!may_be_ahead(x, x->end)) continue;
        slow |= is_slow(x->end);
        for (int i = 0; i < x->end->nresults; i++) x->ahead[x->end->result[i]->id] = true;
    }
    for (const Op *op = first; slow && op != x->end; op = op->next)
        for (int i = 0; is_ahead(x, op) && i < op->nresults; i++) {
            if (!is_asked_for(x, op->result[i])) continue;
            if (x->n == MOST_AHEAD) return false;
            x->of[x->n++] = op->result[i];
        }
    return x->n;
}

/* The same of a place, or of the last one where there is no such place: a quotient there might be
 * none. */
static void work_out(const Ahead *x, Builder *b, Value *place, Value **out) {
    const Block *body = x->loop->region[0];
    uint32_t known = x->f->nvalues;
    Value **at = arena_array(&x->s->arena, known, sizeof *at);
    Value *last = ir_binary(b, OP_SUB, x->loop->operand[1].value, ir_const_int(b, place->type, 1));
    at[body->args[0]->id] = ir_binary(b, OP_MIN, place, last);
    for (const Op *op = body->first; op != x->end; op = op->next)
        if (is_ahead(x, op)) ir_clone(b, op, at, known);
    for (int i = 0; i < x->n; i++) out[i] = at[x->of[i]->id];
}

static void work_ahead(Ahead *x) {
    Value *first[MOST_AHEAD], *next[MOST_AHEAD];
    Op *loop = x->loop;
    int n = loop->nresults;
    Builder before = {x->s, x->f, loop->block, loop, loop->span};
    work_out(x, &before, loop->operand[0].value, first);
    Builder behind = {x->s, x->f, loop->region[0], loop->region[0]->last, loop->span};
    Value *place = ir_binary(&behind, OP_ADD, loop->region[0]->args[0], loop->operand[2].value);
    work_out(x, &behind, place, next);
    Op *to = ir_for_widen(x->s, x->f, loop, first, x->n);
    Block *body = to->region[0];
    x->loop = to;
    ir_yield_more(x->s, x->f, body->last, next, x->n);
    for (int i = 0; i < x->n; i++) ir_replace_uses(x->of[i], body->args[1 + n + i]);
    for (Op *op = x->end->prev, *prev; op; op = prev) {
        prev = op->prev;
        if (is_ahead(x, op)) ir_erase(op);
    }
}

void pass_place_ahead(PassCtx *ctx) {
    for (Op *op = ctx->f->body->first; op; op = op->next) {
        if (op->code != OP_WARPS) continue;
        for (int r = 0; r < op->nregions; r++)
            for (Op *loop = op->region[r]->first, *next; loop; loop = next) {
                Ahead x = {.s = ctx->s, .f = ctx->f, .loop = loop};
                next = loop->next;
                if (loop->code != OP_FOR || !ir_attr_int(loop, AT_PARALLEL, 0) || !find_ahead(&x))
                    continue;
                work_ahead(&x);
                ctx->changed = true;
            }
    }
}

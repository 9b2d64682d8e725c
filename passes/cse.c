/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cse.c: the pass `cse`: an operation that was already done is not done again.
 *
 * Two ops are the same when code, operands, attributes, result types and layouts are, and what is
 * in their regions; a commutative op's operands in either order. Only ops without effect are
 * merged: two loads may have a write between them. The earlier op stays, with its span. What was
 * seen in a block holds for all that follows in it, regions included, and for nothing outside it:
 * the table is a stack of scopes, taken down as blocks are left. */
#include "ir/effects.h"
#include "passes/pass.h"
#include "passes/walk.h"

#include <string.h>

typedef struct Seen {
    Op *op;
    struct Seen *below; /* in the same bucket, seen earlier */
    uint32_t bucket;
} Seen;

typedef struct Cse {
    Session *s;
    Seen **bucket;
    uint32_t mask;    /* number of buckets - 1 */
    VEC(Seen *) seen; /* all that is in the table, oldest first */
    const Value **twin;
    uint32_t values;
} Cse;

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static bool commutes(const Op *op) {
    return (op_traits(op) & TRAIT_C) && op->noperands == 2;
}

static uint64_t hash_of_attrs(const Op *op) {
    uint64_t attrs = 0; /* in any order */
    for (int i = 0; i < op->nattrs; i++)
        attrs += mix((uint64_t)op->attr[i].id, (uint64_t)op->attr[i].i);
    return attrs;
}

/* Of what is in regions: ops, attributes, and what each operand is the result of, but not which. */
static uint64_t hash_of_regions(const Op *op, uint64_t h) {
    for (int r = 0; r < op->nregions; r++)
        for (const Op *x = op->region[r]->first; x; x = x->next) {
            h = mix(mix(h, (uint64_t)x->code), hash_of_attrs(x));
            for (int i = 0; i < x->noperands; i++) {
                const Op *def = x->operand[i].value->def;
                h = mix(h, def ? (uint64_t)def->code + 1 : 0);
            }
            h = hash_of_regions(x, h);
        }
    return h;
}

static uint64_t hash(const Op *op) {
    uint64_t h = mix(17, (uint64_t)op->code);
    uint64_t x = op->noperands == 2 ? op->operand[0].value->id : 0;
    uint64_t y = op->noperands == 2 ? op->operand[1].value->id : 0;
    if (commutes(op) && x > y) /* as if the other way round */
        h = mix(mix(h, y), x);
    else
        for (int i = 0; i < op->noperands; i++) h = mix(h, op->operand[i].value->id);
    Type t = op->result[0]->type;
    h = mix(mix(h, hash_of_attrs(op)), (uint64_t)t.elem * 64 + t.rank);
    return hash_of_regions(op, h);
}

static bool same_operands(const Op *a, const Op *b) {
    if (a->noperands != b->noperands) return false;
    int i = 0;
    while (i < a->noperands && a->operand[i].value == b->operand[i].value) i++;
    if (i == a->noperands) return true;
    return commutes(a) && a->operand[0].value == b->operand[1].value &&
           a->operand[1].value == b->operand[0].value;
}

static bool same_attrs(const Op *a, const Op *b) {
    if (a->nattrs != b->nattrs) return false;
    for (int i = 0; i < a->nattrs; i++) {
        const Attr *x = &a->attr[i], *y = ir_attr(b, x->id);
        if (!y || x->i != y->i || x->ndims != y->ndims || memcmp(x->dims, y->dims, x->ndims) != 0)
            return false;
        if (x->text && (!y->text || strcmp(x->text, y->text) != 0)) return false;
    }
    return true;
}

static bool same_results(const Op *a, const Op *b) {
    if (a->nresults != b->nresults) return false;
    for (int i = 0; i < a->nresults; i++)
        if (!type_equal(a->result[i]->type, b->result[i]->type) ||
            a->result[i]->layout != b->result[i]->layout)
            return false;
    return true;
}

/* What y is in the region of one op, x is in that of another; twin: by y's id. What an earlier
 * comparison left there is of values that are not seen from here, or is overwritten before it is
 * read. */
static bool same_regions(const Op *x, const Op *y, const Value **twin) {
    if (x->nregions != y->nregions) return false;
    for (int r = 0; r < x->nregions; r++) {
        const Block *a = x->region[r], *b = y->region[r];
        if (a->nargs != b->nargs) return false;
        for (int i = 0; i < b->nargs; i++) twin[b->args[i]->id] = a->args[i];
        const Op *p = a->first, *q = b->first;
        for (; p && q; p = p->next, q = q->next) {
            if (p->code != q->code || p->noperands != q->noperands || !same_attrs(p, q) ||
                !same_results(p, q))
                return false;
            for (int i = 0; i < q->noperands; i++) {
                const Value *v = q->operand[i].value;
                if (p->operand[i].value != (twin[v->id] ? twin[v->id] : v)) return false;
            }
            if (!same_regions(p, q, twin)) return false;
            for (int i = 0; i < q->nresults; i++) twin[q->result[i]->id] = p->result[i];
        }
        if (p || q) return false;
    }
    return true;
}

static bool same(Cse *cse, const Op *a, const Op *b) {
    if (a->code != b->code || !same_operands(a, b) || !same_attrs(a, b) || !same_results(a, b))
        return false;
    if (!a->nregions) return true;
    if (!cse->twin) cse->twin = arena_array(&cse->s->arena, cse->values, sizeof *cse->twin);
    return same_regions(a, b, cse->twin);
}

static void leave_scope(Cse *cse, int from) {
    while (cse->seen.n > from) {
        Seen *top = cse->seen.at[--cse->seen.n];
        cse->bucket[top->bucket] = top->below;
    }
}

/* True when op was merged into one seen before, and is gone. */
static bool merge(Cse *cse, Op *op) {
    uint32_t at = (uint32_t)hash(op) & cse->mask;
    for (Seen *x = cse->bucket[at]; x; x = x->below) {
        if (!same(cse, x->op, op)) continue;
        for (int i = 0; i < op->nresults; i++) {
            Value *kept = x->op->result[i];
            if (!kept->name) kept->name = op->result[i]->name;
            ir_replace_uses(op->result[i], kept);
        }
        ir_erase(op);
        return true;
    }
    Seen *x = arena_alloc(&cse->s->arena, sizeof *x);
    *x = (Seen){op, cse->bucket[at], at};
    cse->bucket[at] = x;
    vec_push(&cse->s->arena, &cse->seen, x);
    return false;
}

/* The op that is looked at now, all of it: what has regions, after the last of them. */
static Op *is_done(Op *op) {
    Op *parent = op->block->parent;
    if (!(op_traits(op) & TRAIT_T)) return op->nregions ? NULL : op;
    bool last = parent && op->block == parent->region[parent->nregions - 1];
    return last && !op_is_control_flow(parent) ? parent : NULL;
}

void pass_cse(PassCtx *ctx) {
    Cse cse = {.s = ctx->s, .values = ctx->f->nvalues};
    uint32_t buckets = 64;
    while (buckets < ctx->f->nvalues && buckets < UINT32_MAX / 2) buckets *= 2;
    cse.bucket = arena_array(&ctx->s->arena, buckets, sizeof *cse.bucket);
    cse.mask = buckets - 1;
    VEC(int) scope = {0}; /* for each block around: how much had been seen before it */
    vec_push(&ctx->s->arena, &scope, 0);
    Op *next;
    for (Op *op = ctx->f->body->first; op; op = next) {
        next = op_next(op);
        bool enters = next && next == next->block->first;
        if (op_traits(op) & TRAIT_T) leave_scope(&cse, scope.at[--scope.n]);
        Op *done = is_done(op);
        if (done && ir_is_pure(done) && done->nresults && merge(&cse, done)) ctx->changed = true;
        if (enters) vec_push(&ctx->s->arena, &scope, cse.seen.n);
    }
}

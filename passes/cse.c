/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cse.c: the pass `cse`: an operation that was already done is not done again.
 *
 * Two ops are the same when code, operands, attributes, result type and layout are; a commutative
 * op's operands in either order. Only ops without effect are merged: two loads may have a write
 * between them. The earlier op stays, with its span.
 * What was seen in a block holds for all that follows in it, regions included, and for nothing
 * outside it: the table is a stack of scopes, taken down as blocks are left. */
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
} Cse;

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static bool commutes(const Op *op) {
    return (op_traits(op) & TRAIT_C) && op->noperands == 2;
}

static uint64_t hash(const Op *op) {
    uint64_t h = mix(17, (uint64_t)op->code);
    uint64_t x = op->noperands == 2 ? op->operand[0].value->id : 0;
    uint64_t y = op->noperands == 2 ? op->operand[1].value->id : 0;
    if (commutes(op) && x > y) /* as if the other way round */
        h = mix(mix(h, y), x);
    else
        for (int i = 0; i < op->noperands; i++) h = mix(h, op->operand[i].value->id);
    uint64_t attrs = 0; /* in any order */
    for (int i = 0; i < op->nattrs; i++)
        attrs += mix((uint64_t)op->attr[i].id, (uint64_t)op->attr[i].i);
    Type t = op->result[0]->type;
    return mix(mix(h, attrs), (uint64_t)t.elem * 64 + t.rank);
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

static bool same(const Op *a, const Op *b) {
    return a->code == b->code && same_operands(a, b) && same_attrs(a, b) &&
           type_equal(a->result[0]->type, b->result[0]->type) &&
           a->result[0]->layout == b->result[0]->layout;
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
        if (!same(x->op, op)) continue;
        Value *kept = x->op->result[0];
        if (!kept->name) kept->name = op->result[0]->name;
        ir_replace_uses(op->result[0], kept);
        ir_erase(op);
        return true;
    }
    Seen *x = arena_alloc(&cse->s->arena, sizeof *x);
    *x = (Seen){op, cse->bucket[at], at};
    cse->bucket[at] = x;
    vec_push(&cse->s->arena, &cse->seen, x);
    return false;
}

void pass_cse(PassCtx *ctx) {
    Cse cse = {.s = ctx->s};
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
        if (op_traits(op) & TRAIT_T)
            leave_scope(&cse, scope.at[--scope.n]);
        else if (ir_is_pure(op) && !op->nregions && op->nresults == 1 && merge(&cse, op))
            ctx->changed = true;
        if (enters) vec_push(&ctx->s->arena, &scope, cse.seen.n);
    }
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* strip_mine.c: tiles that fit no register file -> loops over slices of them.
 *
 * A store or a reduction of such a tile becomes a loop in which everything it is made of, back to
 * constants, index ranges and loads, is computed for a slice along one dimension; what several of
 * these need is computed in each. A reduction is carried along: element by element where its
 * operation commutes, else slice after slice, in order. The loads move to the loop, and take place
 * slice by slice: only where nothing is written between that may be what they read, and where a
 * store in the loop writes to other memory, or to the very elements loaded. What cannot be cut
 * stays as it is; code generation says so when it is too much (codegen/size.c). */
#include "ir/analysis/affine.h"
#include "ir/effects.h"
#include "ir/reduction.h"
#include "ir/roles.h"
#include "passes/cost.h"
#include "passes/pass.h"
#include "passes/walk.h"

#include <stdlib.h>

typedef struct Slice { /* of a value, along a dimension */
    const Value *of;
    int dim;
    uint32_t position; /* of what computes it */
    int next;          /* of the same value, along another dimension; -1: no more */
    Value *value;
} Slice;

typedef struct Strip {
    PassCtx *ctx;
    const AffineTable *affine; /* of what the pass found */
    uint32_t nvalues;
    const uint32_t *position; /* in the program, of what defines a value, by its number */
    Op *root;
    int log2;          /* slices */
    VEC(Slice) slices; /* all that a loop computes */
    int *slice;        /* of a value, by its number: the first; -1: none */
    VEC(Slice) loads;  /* of them */
    Builder b;
    Value *index; /* which slice */
} Strip;

static int64_t words_of(const PassCtx *ctx, const Value *v) {
    return type_bytes(v->type) / 4 / (32 * warps_of_value(ctx->f, v));
}

/* Registers of 32 bits for a tile that a thread has and something else besides. Addresses are made
 * from few. */
static int64_t most_words(const PassCtx *ctx, const Value *v) {
    int64_t all = ctx->target->registers / (32 * warps_of_value(ctx->f, v));
    return v->type.depth || all > COST_MOST_TILE_WORDS ? COST_MOST_TILE_WORDS - !v->type.depth
                                                       : all - 1;
}

static bool is_huge(const PassCtx *ctx, const Value *v) {
    return v->type.rank && !type_is_buffer(v->type) && words_of(ctx, v) > most_words(ctx, v);
}

/* ---- what can be cut ---- */

static Slice *find_slice(const Strip *s, const Value *v, int dim) {
    for (int i = s->slice[v->id]; i >= 0; i = s->slices.at[i].next)
        if (s->slices.at[i].dim == dim) return &s->slices.at[i];
    return NULL;
}

static void link_slice(const Strip *s, int at) {
    Slice *x = &s->slices.at[at];
    x->next = s->slice[x->of->id];
    s->slice[x->of->id] = at;
}

/* The dimension of `from` whose highest bits, in a flat index, are those of dimension dim of `to`.
 */
static int same_top(Type from, Type to, int dim) {
    int top = type_dim_shift(to, dim) + to.log2[dim];
    for (int d = 0; d < from.rank; d++)
        if (from.log2[d] && type_dim_shift(from, d) + from.log2[d] == top) return d;
    return -1;
}

/* Slices of v are needed. False: it cannot be cut. */
static bool need(Strip *s, const Value *v, int dim) {
    if (!v->type.rank || !v->type.log2[dim])
        return !is_huge(s->ctx, v); /* the same in all slices */
    if (find_slice(s, v, dim)) return true;
    if (!v->def || v->id >= s->nvalues || v->type.log2[dim] < s->log2 ||
        s->slices.n == COST_MOST_LOOP_VALUES)
        return false;
    vec_push(&s->ctx->s->arena, &s->slices, ((Slice){v, dim, s->position[v->id], -1, NULL}));
    link_slice(s, s->slices.n - 1);
    return true;
}

static bool need_operands(Strip *s, const Op *op, int dim) {
    for (int i = 0; i < op->noperands; i++)
        if (!need(s, op->operand[i].value, dim)) return false;
    return true;
}

/* The dimension of op's first operand that is cut where dimension dim of its result is; -1: none.
 */
static int operand_dim(const Op *op, int dim) {
    Type from = op->operand[0].value->type, to = op->result[0]->type;
    switch (op->code) {
    case OP_RESHAPE: return same_top(from, to, dim);
    case OP_TRANS: return ir_attr(op, AT_ORDER)->dims[dim];
    case OP_REDUCE: return dim + (dim >= ir_attr_int(op, AT_AXIS, 0));
    default: return dim;
    }
}

static bool can_cut(Strip *s, const Op *op, int dim) {
    switch (op->code) {
    case OP_CONST:
    case OP_SPLAT: return true;
    case OP_ARANGE: return op->result[0]->type.rank == 1;
    case OP_LOAD:
        if (ir_attr_int(op, AT_VOLATILE, 0) || op->block != s->root->block) return false;
        vec_push(&s->ctx->s->arena, &s->loads, *find_slice(s, op->result[0], dim));
        return need_operands(s, op, dim);
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS:
    case OP_REDUCE: {
        int d = operand_dim(op, dim);
        return d >= 0 && need_operands(s, op, d);
    }
    case OP_MAP: return need_operands(s, op, dim);
    default: return op_is_pure_elementwise(op) && op->nresults == 1 && need_operands(s, op, dim);
    }
}

static int by_place(const void *a, const void *b) {
    const Slice *x = a, *y = b;
    return x->position != y->position ? (x->position < y->position ? -1 : 1) : x->dim - y->dim;
}

static void unlink_slices(const Strip *s) {
    for (int i = 0; i < s->slices.n; i++) s->slice[s->slices.at[i].of->id] = -1;
}

/* Finds all that slices of the root's operands are made of, in the order of the program. */
static bool find_slices(Strip *s, int dim) {
    unlink_slices(s);
    s->slices.n = s->loads.n = 0;
    if (!need_operands(s, s->root, dim)) return false;
    for (int i = 0; i < s->slices.n; i++)
        if (!can_cut(s, s->slices.at[i].of->def, s->slices.at[i].dim)) return false;
    unlink_slices(s);
    qsort(s->slices.at, (size_t)s->slices.n, sizeof *s->slices.at, by_place);
    for (int i = 0; i < s->slices.n; i++) link_slice(s, i);
    return true;
}

/* ---- what may move ---- */

/* op may change what the load reads, or order it with what others do. */
static bool disturbs(const AffineTable *t, const Op *op, const Op *load) {
    unsigned effects = ir_effects(op);
    if (op->code == OP_BARRIER) return false; /* what this program writes is looked at itself */
    if (effects & EFFECT_ORDERS) return true;
    return (effects & EFFECT_WRITES_GLOBAL) &&
           affine_bases_meet(affine_of(t, op->operand[0].value)->base,
                             affine_of(t, load->operand[0].value)->base);
}

static bool may_move(const Strip *s, int dim) {
    const AffineTable *t = s->affine;
    const Op *root = s->root;
    for (int i = 0; i < s->loads.n; i++) {
        const Op *load = s->loads.at[i].of->def;
        for (const Op *op = op_after(load); op != root; op = op_next(op))
            if (disturbs(t, op, load)) return false;
        if (root->code == OP_REDUCE || !disturbs(t, root, load)) continue;
        const Value *p = root->operand[0].value;
        const Affine *a = affine_of(t, p);
        if (root->code != OP_STORE || load->operand[0].value != p || s->loads.at[i].dim != dim ||
            !a || !affine_is_injective(a, p->type))
            return false;
    }
    return true;
}

/* ---- cutting ---- */

static Type cut_type(const Strip *s, Type t, int dim) {
    t.log2[dim] = (uint8_t)(t.log2[dim] - s->log2);
    return t;
}

static Value *cut(const Strip *s, Value *v, int dim) {
    const Slice *x = v->type.rank && v->type.log2[dim] ? find_slice(s, v, dim) : NULL;
    return x ? x->value : v;
}

/* A slice of op; its first result, if it has one. */
static Value *cut_op(Strip *s, const Op *op, int dim) {
    Arena *a = &s->ctx->s->arena;
    Value **operand = arena_array(a, (size_t)op->noperands + 1, sizeof *operand);
    Type *type = arena_array(a, (size_t)op->nresults + 1, sizeof *type);
    int from = op->noperands && op->nresults ? operand_dim(op, dim) : dim;
    for (int i = 0; i < op->noperands; i++) operand[i] = cut(s, op->operand[i].value, from);
    for (int i = 0; i < op->nresults; i++) type[i] = cut_type(s, op->result[i]->type, dim);
    Span outer = s->b.span;
    s->b.span = op->span;
    Op *copy = ir_op_like(&s->b, op, operand, op->noperands, type);
    if (op->code == OP_ARANGE) {
        int64_t start = ir_attr_int(op, AT_START, 0);
        ir_set_attr(s->ctx->s, copy, AT_END, start + type_numel(type[0]));
    }
    if (op->nregions) ir_clone_region(&s->b, op->region[0], copy->region[0]);
    Value *r = op->nresults ? copy->result[0] : NULL;
    if (op->code == OP_ARANGE) {
        Value *size = ir_const_int(&s->b, type_scalar(EL_I32), type_numel(type[0]));
        Value *first = ir_binary(&s->b, OP_MUL, s->index, size);
        r = ir_binary(&s->b, OP_ADD, r, ir_given(&s->b, OP_SPLAT, first, type[0]));
    }
    s->b.span = outer;
    return r;
}

/* The slice of a value, of the slice of the first result of the same op. */
static Value *result_beside(const Value *of, Value *first) {
    const Op *op = of->def;
    int i = 0;
    while (op->result[i] != of) i++;
    return i ? first->def->result[i] : first;
}

/* The slices of that number, computed there: those of one op's results together. */
static void cut_all(Strip *s, Block *block, Op *before, Value *index) {
    s->b.block = block;
    s->b.before = before;
    s->index = index;
    const Slice *made = NULL;
    Value *first = NULL;
    for (int i = 0; i < s->slices.n; i++) {
        Slice *x = &s->slices.at[i];
        if (!made || made->of->def != x->of->def || made->dim != x->dim)
            first = cut_op(s, x->of->def, x->dim);
        made = x;
        x->value = result_beside(x->of, first);
    }
}

/* `for index in range(from, slices)` before the root, with n values carried; the builder stays in
 * it.
 */
static Op *begin_loop(Strip *s, int from, Value **init, int n) {
    Type i32 = type_scalar(EL_I32);
    Value *lo = ir_const_int(&s->b, i32, from);
    Value *hi = ir_const_int(&s->b, i32, (int64_t)1 << s->log2);
    Op *loop = ir_for(&s->b, lo, hi, ir_const_int(&s->b, i32, 1), init, n);
    Value *index = loop->region[0]->args[0];
    index->name = "slice";
    cut_all(s, loop->region[0], NULL, index);
    return loop;
}

/* The root's region over other operands, along another axis. */
static Op *reduce_like(Strip *s, Value **x, int axis) {
    const Op *root = s->root;
    Type type[TILE_MAX_RANK], *types = type;
    if (root->noperands > TILE_MAX_RANK)
        types = arena_array(&s->ctx->s->arena, (size_t)root->noperands, sizeof *types);
    for (int i = 0; i < root->noperands; i++) types[i] = type_without_dim(x[i]->type, axis);
    Op *r = ir_op(&s->b, OP_REDUCE, x, root->noperands, types, root->noperands, 1);
    ir_set_attr(s->ctx->s, r, AT_AXIS, axis);
    if (ir_attr_int(root, AT_COMMUTES, 0)) ir_set_attr(s->ctx->s, r, AT_COMMUTES, 1);
    ir_clone_region(&s->b, root->region[0], r->region[0]);
    return r;
}

static void strip_reduce(Strip *s) {
    Arena *a = &s->ctx->s->arena;
    Op *root = s->root;
    int axis = (int)ir_attr_int(root, AT_AXIS, 0), n = root->noperands;
    const Op *with = ir_combines_by(root);
    Value **x = arena_array(a, (size_t)n, sizeof *x), **sum = arena_array(a, (size_t)n, sizeof *x);
    cut_all(s, root->block, root, ir_const_int(&s->b, type_scalar(EL_I32), 0));
    for (int i = 0; i < n; i++) sum[i] = cut(s, root->operand[i].value, axis);
    if (!with) {
        Op *first = reduce_like(s, sum, axis);
        for (int i = 0; i < n; i++) sum[i] = first->result[i];
    }
    Op *loop = begin_loop(s, 1, sum, n);
    for (int i = 0; i < n; i++) x[i] = cut(s, root->operand[i].value, axis);
    Value **carried = loop->region[0]->args + 1;
    if (with) {
        Value *pair[2] = {carried[0], x[0]};
        sum[0] = ir_op_like(&s->b, with, pair, 2, &pair[0]->type)->result[0];
    } else { /* what came before and what comes now, side by side, are reduced once more */
        Op *now = reduce_like(s, x, axis);
        for (int i = 0; i < n; i++) {
            Value *pair[2] = {carried[i], now->result[i]};
            Type joined = pair[0]->type;
            joined.log2[joined.rank++] = 1;
            sum[i] = ir_op(&s->b, OP_JOIN, pair, 2, &joined, 1, 0)->result[0];
        }
        Op *both = reduce_like(s, sum, sum[0]->type.rank - 1);
        for (int i = 0; i < n; i++) sum[i] = both->result[i];
    }
    ir_op(&s->b, OP_YIELD, sum, n, NULL, 0, 0);
    s->b.block = root->block;
    s->b.before = root;
    for (int i = 0; i < n; i++) sum[i] = loop->result[i];
    if (with) sum[0] = reduce_like(s, sum, axis)->result[0];
    for (int i = 0; i < n; i++) {
        if (!sum[i]->name) sum[i]->name = root->result[i]->name;
        ir_replace_uses(root->result[i], sum[i]);
    }
}

static void strip_store(Strip *s, int dim) {
    begin_loop(s, 0, NULL, 0);
    cut_op(s, s->root, dim);
    ir_op(&s->b, OP_YIELD, NULL, 0, NULL, 0, 0);
}

/* ---- which ---- */

/* Slices of a tile along a dimension of so many words, as a logarithm; -1: they stay too large. */
static int slices_needed(const Strip *s, const Value *v, int dim, int64_t of) {
    int64_t words = words_of(s->ctx, v);
    int n = 0;
    while (n < v->type.log2[dim] && words >> n > of) n++;
    return words >> n > most_words(s->ctx, v) ? -1 : n;
}

static bool try_slices(Strip *s, int dim, int64_t of) {
    s->log2 = 0;
    for (int i = 0; i < s->root->noperands; i++) {
        const Value *v = s->root->operand[i].value;
        int need = v->type.rank ? slices_needed(s, v, dim, of) : 0;
        if (need < 0) return false;
        if (need > s->log2) s->log2 = need;
    }
    return s->log2 > 0 && find_slices(s, dim) && may_move(s, dim);
}

static bool try_along(Strip *s, int dim) {
    if (!try_slices(s, dim, COST_SLICE_WORDS)) return false;
    if (s->slices.n <= COST_MOST_LOOP_WORDS / COST_SLICE_WORDS) return true;
    return try_slices(s, dim, COST_LEAST_SLICE_WORDS) || try_slices(s, dim, COST_SLICE_WORDS);
}

/* A store, or an atomic whose result nobody wants, of a huge tile; a reduction of one to less. */
static bool is_root(const PassCtx *ctx, const Op *op) {
    if (op->code == OP_STORE && is_huge(ctx, op->operand[1].value)) return true;
    if (!op->noperands || !is_huge(ctx, op->operand[0].value)) return false;
    if (op->code == OP_STORE || op->code == OP_ATOMIC_STORE) return true;
    if (op->code == OP_ATOMIC) return !ir_has_uses(op->result[0]);
    return op->code == OP_REDUCE && !is_huge(ctx, op->result[0]);
}

/* The dimensions of a store, in the order in which they are tried: slices along the one whose
 * elements lie furthest apart leave neighbours together. */
static void order_dims(const Strip *s, const Value *pointer, int *dims) {
    const Affine *a = affine_of(s->affine, pointer);
    for (int i = 0; i < pointer->type.rank; i++) {
        int k = i;
        for (; k && a && a->strided && llabs(a->stride[dims[k - 1]]) < llabs(a->stride[i]); k--)
            dims[k] = dims[k - 1];
        dims[k] = i;
    }
}

static bool strip(Strip *s, Op *root) {
    s->root = root;
    s->b = (Builder){s->ctx->s, s->ctx->f, root->block, root, root->span};
    if (root->code == OP_REDUCE) {
        if (!try_along(s, (int)ir_attr_int(root, AT_AXIS, 0))) return false;
        strip_reduce(s);
    } else {
        const Value *pointer = root->operand[0].value;
        int dims[TILE_MAX_RANK], i = 0;
        order_dims(s, pointer, dims);
        while (i < pointer->type.rank && !try_along(s, dims[i])) i++;
        if (i == pointer->type.rank) return false;
        strip_store(s, dims[i]);
    }
    ir_erase(root);
    return true;
}

void pass_strip_mine(PassCtx *ctx) {
    VEC(Op *) roots = {0};
    uint32_t n = 0, *position = arena_array(&ctx->s->arena, ctx->f->nvalues, sizeof *position);
    for (Op *op = ctx->f->body->first; op; op = op_next(op), n++) {
        if (is_root(ctx, op)) vec_push(&ctx->s->arena, &roots, op);
        for (int i = 0; i < op->nresults; i++) position[op->result[i]->id] = n;
    }
    if (!roots.n) return;
    AffineTable affine = affine_analyse(ctx->s, ctx->f);
    /* The last first: what lies before a root is then as the analysis found it. */
    Strip s = {.ctx = ctx, .affine = &affine, .nvalues = ctx->f->nvalues, .position = position};
    s.slice = arena_array(&ctx->s->arena, ctx->f->nvalues, sizeof *s.slice);
    for (uint32_t i = 0; i < ctx->f->nvalues; i++) s.slice[i] = -1;
    for (int i = roots.n; i--;)
        if (strip(&s, roots.at[i])) ctx->changed = true;
    if (ctx->changed) pass_dce(ctx); /* what only made the tiles that are gone */
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* raise_desc.c: loads of a loop that dots read, and the stores of a kernel that has such, by
 * pointers and masks -> blocks that descriptors name: what lower_desc takes apart, put together
 * again.
 *
 * An access is a block's (ir/analysis/block.h) if, besides, the copy engine could make it: one
 * dimension lies element behind element, and there the block begins at a multiple of 16 bytes; what
 * a load's mask leaves out is 0; sizes and strides are known when it is launched.
 *
 * A mask bounds an index from above. In front of a tensor a pointer goes on into whatever lies
 * there, and so do these descriptors, by `front`.
 *
 * An index that is taken modulo the tensor's size (rows beyond the last wrap around, are computed
 * and not stored) is read as zeros there. That is the same where nothing but these rows' own
 * results comes of it, and all of those meet stores whose masks leave them out. */
#include "ir/analysis/block.h"
#include "ir/analysis/demand.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/expression.h"
#include "passes/pass.h"

#include <string.h>

typedef struct Raise {
    PassCtx *ctx;
    const Op *access; /* a load or a store */
    BlockAccess block;
    int inner;     /* the dimension whose elements lie one behind the other */
    uint8_t *seen; /* by value id: a bit for each dimension, where what wraps goes */
    int depth;
} Raise;

/* ---- what wraps ---- */

static bool ends_in_stores(Raise *r, const Value *v, int dim, int wrapped);

/* The store leaves out elements of dimension dim from the size on. */
static bool leaves_out(const Raise *r, const Op *store, int dim, int wrapped) {
    BlockBound at[BLOCK_MOST_BOUNDS];
    const BlockDim *d = &r->block.dim[wrapped];
    const Value *mask = ir_operand(store, 2);
    int n = mask ? block_bounds(r->ctx->s, mask, at) : -1;
    for (int i = 0; i < n; i++) {
        Poly end = poly_add(&d->first, &at[i].limit, 1);
        if (at[i].dim == dim && !at[i].from && poly_equal(&end, &d->size)) return true;
    }
    return false;
}

/* What the op, which takes v as operand i, makes of the rows of its dimension dim. */
static bool goes_to_stores(Raise *r, const Op *op, int i, int dim, int wrapped) {
    switch (op->code) {
    case OP_STORE: return i == 1 && leaves_out(r, op, dim, wrapped);
    case OP_TRANS: return ends_in_stores(r, op->result[0], ir_trans_dim(op, dim), wrapped);
    case OP_DOT: /* of rows of one operand come rows, of columns of the other columns */
        return (i == 2 || i == dim) && ends_in_stores(r, op->result[0], dim, wrapped);
    case OP_FOR:
        return i > 2 && ends_in_stores(r, op->result[i - 3], dim, wrapped) &&
               ends_in_stores(r, op->region[0]->args[i - 2], dim, wrapped);
    case OP_YIELD: {
        const Op *around = op->block->parent;
        if (around->code != OP_FOR && around->code != OP_IF) return false;
        if (!ends_in_stores(r, around->result[i], dim, wrapped)) return false;
        return around->code == OP_IF ||
               (/* which rows wrap is the same in each iteration */
                poly_is_invariant(&r->block.dim[wrapped].first, around) &&
                ends_in_stores(r, around->region[0]->args[1 + i], dim, wrapped));
    }
    default: return op_is_pure_elementwise(op) && ends_in_stores(r, op->result[0], dim, wrapped);
    }
}

/* The wrapped rows, along dim of v, go nowhere but into stores that leave them out. */
static bool ends_in_stores(Raise *r, const Value *v, int dim, int wrapped) {
    enum { MOST_DEPTH = 200 };
    bool ends = true;
    if (r->seen[v->id] >> dim & 1) return true;
    if (r->depth == MOST_DEPTH) return false;
    r->seen[v->id] |= (uint8_t)(1 << dim);
    r->depth++;
    for (const Use *u = v->uses; ends && u; u = u->next)
        ends = goes_to_stores(r, u->op, (int)(u - u->op->operand), dim, wrapped);
    r->depth--;
    return ends;
}

/* ---- is it one? ---- */

/* By themselves, the other way round or without dimensions of one element. */
static bool are_dots(const Use *u) {
    for (; u; u = u->next) {
        bool moves = u->op->code == OP_TRANS || u->op->code == OP_RESHAPE;
        if (u->op->code != OP_DOT && (!moves || !are_dots(u->op->result[0]->uses))) return false;
    }
    return true;
}

/* These stand in a loop, and a load that is not their turn's stands before it. */
static bool are_in_loops(const Use *u, const Block *b) {
    for (; u; u = u->next) {
        const Op *at = u->op->code == OP_DOT ? u->op->block->parent : NULL;
        bool loop = false;
        for (; at && at->block != b; at = at->block->parent) loop |= at->code == OP_FOR;
        loop |= at && at->code == OP_FOR;
        if (u->op->code == OP_DOT ? !loop : !are_in_loops(u->op->result[0]->uses, b)) return false;
    }
    return true;
}

static bool has_dot(const Block *b) {
    for (const Op *op = b->first; op; op = op->next)
        if (op->code == OP_DOT) return true;
    return false;
}

/* A load of a loop, or before one, none of whose values is looked at by anything but dots; or any
 * of a loop that asks for a warp of its own. */
static bool is_wanted(const Op *op) {
    const Op *loop = op->block->parent;
    if (op->code != OP_LOAD || !op->result[0]->type.rank || !op->result[0]->uses) return false;
    bool in_loop = loop && loop->code == OP_FOR;
    if (ir_attr_int(op, AT_VOLATILE, 0)) return false;
    if (in_loop && ir_attr_int(loop, AT_WARP_SPECIALIZE, 0)) return has_dot(op->block);
    if (!are_dots(op->result[0]->uses)) return false;
    return in_loop || are_in_loops(op->result[0]->uses, op->block);
}

static Type tile_of(const Op *access) {
    return access->code == OP_LOAD ? access->result[0]->type : access->operand[1].value->type;
}

/* A term that may take the index beyond 32 bits where no mask says that it does not: pointers may
 * walk further than integers. */
static bool goes_far(const Poly *first) {
    for (int i = 0; i < first->n; i++)
        if (first->term[i].nsymbols &&
            (first->term[i].factor > BLOCK_FAR || first->term[i].factor < -BLOCK_FAR))
            return true;
    return false;
}

static bool has_parts_of_elements(const BlockDim *at, int64_t elem) {
    return at->stride.n && at->stride.term[0].factor % elem;
}

/* Elements that the mask of a load leaves out need not come where nobody stores what is made of
 * them; a store leaves them out. Where the mask says no more the tensor may end there. */
static const char *settle_live(Raise *r, Type t) {
    bool load = r->access->code == OP_LOAD;
    for (int d = 0; d < t.rank; d++) {
        BlockDim *at = &r->block.dim[d];
        int64_t live = at->live < type_dim(t, d) ? at->live : 0, first;
        at->live = live;
        if (!live) continue;
        bool ends = !at->bounded && !at->wraps && poly_is_constant(&at->first, &first);
        bool free = live <= UINT8_MAX &&
                    (!load || demand_of(r->ctx->s, r->ctx->f, r->access->result[0], d) <= live);
        if (!free || (!load && ends)) at->live = 0;
        if (free && !ends) continue;
        if (at->bounded || at->wraps) return "its mask bounds one dimension in two ways";
        Poly limit = poly_constant(live);
        at->size = poly_add(&at->first, &limit, 1);
        at->bounded = true;
    }
    return NULL;
}

/* An index is not below 0, or is not where a launch's numbers count something, as in
 * `pid // cdiv(N, BN)` and `batch * heads + head`. */
static bool is_never_below(Raise *r, const BlockDim *at) {
    Session *s = r->ctx->s;
    Func *f = r->ctx->f;
    PolyCounts count;
    if (poly_is_natural(&at->first)) return true;
    if (!poly_is_natural_with(&at->first, &count)) return false;
    for (int i = 0; i < count.n; i++)
        if (!ir_ask_exact(s, f, count.at[i]) ||
            !ir_ask_of(s, f, count.at[i], count.least[i] ? "%s > 0" : "%s >= 0"))
            return false;
    return true;
}

/* NULL, or why the copy engine cannot make it. */
static const char *refuse(Raise *r) {
    Type t = tile_of(r->access);
    bool load = r->access->code == OP_LOAD;
    int64_t elem = type_elem_bytes(t), by;
    const char *why = block_of(r->ctx->s, r->access, &r->block);
    if (!why) why = settle_live(r, t);
    if (why) return why;
    const Value *other = load ? ir_operand(r->access, 2) : NULL;
    if (other && !ir_is_zero(other)) return "what its mask leaves out is not 0";
    r->inner = -1;
    for (int d = 0; d < t.rank; d++) {
        const BlockDim *at = &r->block.dim[d];
        if (poly_is_constant(&at->stride, &by) && by == elem && r->inner < 0) r->inner = d;
        if (has_parts_of_elements(at, elem)) return "a stride is part of an element";
        if (!poly_is_invariant(&at->stride, NULL)) return "a stride is not known at launch";
        if (at->wide && !at->bounded && !at->wraps && !poly_is_constant(&at->first, &by))
            return "an index that is worked out in 64 bits has no bound";
        if (!at->bounded && !at->wraps && goes_far(&at->first))
            return "an index without a bound goes in steps of more than 2^15";
        if ((at->bounded || at->wraps) && !poly_is_invariant(&at->size, NULL))
            return "a bound is not known at launch";
    }
    for (int d = 0; d < r->block.nleading; d++)
        if (has_parts_of_elements(&r->block.leading[d], elem))
            return "a stride is part of an element";
    for (int i = 0; i < r->block.offset.n; i++)
        if (r->block.offset.term[i].factor % elem) return "a stride is part of an element";
    if (r->inner < 0) return "no dimension is known to be contiguous";
    if (!load && r->inner != t.rank - 1) return "its last dimension is not the contiguous one";
    if (poly_divisor(r->ctx->f, &r->block.dim[r->inner].first) * elem % DESC_ALIGN)
        return "its rows are not known to begin at multiples of 16 bytes";
    if (type_dim(t, r->inner) * elem < DESC_ALIGN || type_dim(t, !r->inner) > DESC_BOX_MAX)
        return "its rows are too short or too many";
    for (int d = 0; d < t.rank; d++)
        if (r->block.dim[d].wraps && !poly_is_natural_of_sizes(&r->block.dim[d].first))
            return "an index that is taken modulo a size may be negative";
    for (int d = 0; d < t.rank; d++)
        if (r->block.dim[d].wraps && !(load && ends_in_stores(r, r->access->result[0], d, d)))
            return "elements that wrap around are used for more than stores that leave them out";
    /* Loads may begin anywhere. */
    for (int d = 0; !load && d < t.rank + r->block.nleading; d++) {
        const BlockDim *at = d < t.rank ? &r->block.dim[d] : &r->block.leading[d - t.rank];
        if (at->starts && !is_never_below(r, at))
            return "it may begin below 0, where its mask leaves elements out, and the engine "
                   "stores no such blocks";
    }
    return NULL;
}

/* ---- the descriptor ---- */

/* The number of the loop's iteration, times *factor of which it takes what it can. */
static Value *iteration_number(Builder *b, const Op *loop, int64_t *factor) {
    int64_t step;
    Value *from = ir_binary(b, OP_SUB, loop->region[0]->args[0], loop->operand[0].value);
    if (!ir_int_constant(loop->operand[2].value, &step) || !step || *factor % step)
        return ir_binary(b, OP_DIV, from, loop->operand[2].value);
    *factor /= step;
    return from;
}

static Value *emit_term(Builder *b, const PolyTerm *t, int64_t factor, Type type) {
    Value *product = NULL;
    for (int i = 0; i < t->nsymbols; i++) {
        Value *v = (Value *)t->symbol[i]; /* the function's own: analyses only look at it */
        const Op *loop = v->def ? NULL : v->block->parent;
        if (loop && loop->code == OP_FOR && v == loop->region[0]->args[0])
            v = iteration_number(b, loop, &factor);
        if (!type_equal(v->type, type)) v = ir_given(b, OP_CAST, v, type);
        product = product ? ir_binary(b, OP_MUL, product, v) : v;
    }
    Value *by = ir_const_int(b, type, factor);
    return !product ? by : factor == 1 ? product : ir_binary(b, OP_MUL, product, by);
}

/* p / elem. */
static Value *emit(Builder *b, const Poly *p, int64_t elem, Type type) {
    Value *sum = NULL;
    for (int i = 0; i < p->n; i++) {
        Value *v = emit_term(b, &p->term[i], p->term[i].factor / elem, type);
        sum = sum ? ir_binary(b, OP_ADD, sum, v) : v;
    }
    return sum ? sum : ir_const_int(b, type, 0);
}

/* The index of the block's first element: in 64 bits it may be beyond those of 32, and then is
 * beyond the tensor. */
static Value *emit_index(Builder *b, const Poly *first, bool wide) {
    Type i32 = type_scalar(EL_I32), i64 = type_scalar(EL_I64);
    if (!wide) return emit(b, first, 1, i32);
    Value *at = emit(b, first, 1, i64);
    at = ir_binary(b, OP_MAX, at, ir_const_int(b, i64, INT32_MIN));
    at = ir_binary(b, OP_MIN, at, ir_const_int(b, i64, DESC_UNBOUNDED));
    return ir_given(b, OP_CAST, at, i32);
}

typedef struct Made { /* the descriptor: leading dimensions, then the tile's, in some order */
    const BlockDim *dim[DESC_MAX_RANK];
    Type block;
    bool turned; /* the tile's own two are the other way round: the contiguous one is last */
} Made;

static Made begin(const Raise *r, Type t) {
    int n = r->block.nleading;
    Made m = {.block = t, .turned = r->inner != t.rank - 1};
    m.block.rank = (uint8_t)(n + t.rank);
    for (int d = 0; d < n; d++) {
        m.dim[d] = &r->block.leading[d];
        m.block.log2[d] = 0;
    }
    for (int d = 0; d < t.rank; d++) {
        int of = m.turned ? !d : d;
        m.dim[n + d] = &r->block.dim[of];
        m.block.log2[n + d] = t.log2[of];
    }
    return m;
}

/* Of a load whole rows of a box come, where the tensor's end keeps them within it: for instructions
 * that read boxes of 128 bytes. */
static void set_live(Raise *r, Op *desc, const Made *m) {
    enum { ROW = 128 };
    int64_t live[DESC_MAX_RANK], row = ROW / type_elem_bytes(m->block);
    int last = m->block.rank - 1;
    for (int d = 0; d <= last; d++) {
        const BlockDim *at = m->dim[d];
        live[d] = at->live ? at->live : type_dim(m->block, d);
        if (d == last && r->access->code == OP_LOAD && at->live && (at->bounded || at->wraps))
            live[d] = (live[d] + row - 1) / row * row;
    }
    desc_set_live(r->ctx->s, desc, m->block, live);
}

static Value *emit_desc(Raise *r, Builder *b, const Made *m) {
    Type i64 = type_scalar(EL_I64), desc = type_in_space(m->block, SPACE_DESC);
    int64_t elem = type_elem_bytes(m->block);
    int rank = m->block.rank;
    Value *in[1 + 2 * DESC_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        const BlockDim *at = m->dim[d];
        bool ends = at->bounded || at->wraps;
        in[1 + d] = ends ? emit(b, &at->size, 1, i64) : ir_const_int(b, i64, DESC_UNBOUNDED);
        in[1 + rank + d] = emit(b, &at->stride, elem, i64);
    }
    in[0] = (Value *)r->block.base;
    if (r->block.offset.n) {
        Value *at[] = {in[0], emit(b, &r->block.offset, elem, i64)};
        Type pointer = in[0]->type;
        in[0] = ir_op(b, OP_ADDPTR, at, 2, &pointer, 1, 0)->result[0];
    }
    Op *op = ir_op(b, OP_MAKE_DESC, in, 1 + 2 * rank, &desc, 1, 0);
    int64_t front = 0;
    for (int d = 0; d < rank; d++) { /* else the block may begin in front of its tensor */
        bool inside = m->dim[d]->starts || is_never_below(r, m->dim[d]);
        front |= (int64_t)!inside << d;
    }
    if (front) ir_set_attr(b->s, op, AT_FRONT, front);
    set_live(r, op, m);
    return op->result[0];
}

static void emit_indices(Builder *b, const Made *m, Value **in) {
    for (int d = 0; d < m->block.rank; d++)
        in[d] = emit_index(b, &m->dim[d]->first, m->dim[d]->wide);
}

static void copy_attrs(Session *s, const Op *from, Op *to) {
    ir_copy_attr(s, from, to, AT_CACHE);
    ir_copy_attr(s, from, to, AT_EVICT);
}

/* The descriptor's dimensions: the contiguous one last. */
static void raise_load(Raise *r, Op *load) {
    Session *s = r->ctx->s;
    Func *f = r->ctx->f;
    Type t = load->result[0]->type;
    Made m = begin(r, t);
    Builder at = {s, f, load->block, load, load->span};
    Builder start = {s, f, f->body, f->body->first, load->span};
    Value *in[1 + DESC_MAX_RANK];
    emit_indices(&at, &m, in + 1);
    in[0] = emit_desc(r, &start, &m);
    Op *op = ir_op(&at, OP_DESC_LOAD, in, 1 + m.block.rank, &m.block, 1, 0);
    copy_attrs(s, load, op);
    Value *v = op->result[0];
    Type own = t;
    for (int d = 0; d < t.rank; d++) own.log2[d] = t.log2[m.turned ? !d : d];
    if (m.block.rank > t.rank) v = ir_given(&at, OP_RESHAPE, v, own);
    if (m.turned) v = ir_trans(&at, v);
    v->name = load->result[0]->name;
    ir_replace_uses(load->result[0], v);
    ir_erase(load);
    r->ctx->changed = true;
}

static void raise_store(Raise *r, Op *store) {
    Session *s = r->ctx->s;
    Func *f = r->ctx->f;
    Made m = begin(r, tile_of(store));
    Builder at = {s, f, store->block, store, store->span};
    Builder start = {s, f, f->body, f->body->first, store->span};
    Value *in[2 + DESC_MAX_RANK] = {emit_desc(r, &start, &m), store->operand[1].value};
    if (r->block.nleading) in[1] = ir_given(&at, OP_RESHAPE, in[1], m.block);
    emit_indices(&at, &m, in + 2);
    copy_attrs(s, store, ir_op(&at, OP_DESC_STORE, in, 2 + m.block.rank, NULL, 0, 0));
    ir_erase(store);
}

static void raise(PassCtx *ctx, Op *op, void (*fn)(Raise *r, Op *op)) {
    Raise r = {.ctx = ctx, .access = op};
    r.seen = arena_alloc(&ctx->s->arena, ctx->f->nvalues);
    const char *why = refuse(&r);
    if (why)
        diag(&ctx->s->diags, P_DESCRIPTOR, op->span, "this %s is no block of a descriptor: %s",
             op_info[op->code].text, why);
    else
        fn(&r, op);
}

/* A tile's type without dimensions of one element, if it has two others. */
static bool is_flat(Type t, Type *flat) {
    int n = 0;
    *flat = t;
    for (int d = 0; d < t.rank; d++)
        if (t.log2[d]) flat->log2[n++] = t.log2[d];
    flat->rank = 2;
    return n == 2 && t.rank > 2;
}

/* The same access, of a tile without dimensions of one element. */
static Op *flattened(PassCtx *ctx, Op *op, Type flat) {
    Builder b = {ctx->s, ctx->f, op->block, op, op->span};
    Value *in[3], *result = NULL;
    for (int i = 0; i < op->noperands; i++) {
        Type t = op->operand[i].value->type, to = t;
        to.rank = flat.rank;
        for (int d = 0; d < flat.rank; d++) to.log2[d] = flat.log2[d];
        in[i] = t.rank ? ir_given(&b, OP_RESHAPE, op->operand[i].value, to) : op->operand[i].value;
    }
    Op *made = ir_op_like(&b, op, in, op->noperands, op->nresults ? &flat : NULL);
    if (op->nresults) {
        result = ir_given(&b, OP_RESHAPE, made->result[0], op->result[0]->type);
        ir_replace_uses(op->result[0], result);
    }
    ir_erase(op);
    return made;
}

static void visit_load(Op *op, void *ctx) {
    Type flat;
    if (!is_wanted(op)) return;
    if (is_flat(op->result[0]->type, &flat)) op = flattened(ctx, op, flat);
    if (op->result[0]->type.rank <= 2) raise(ctx, op, raise_load);
}

static void visit_store(Op *op, void *ctx) {
    Type flat;
    if (op->code != OP_STORE) return;
    if (is_flat(tile_of(op), &flat)) op = flattened(ctx, op, flat);
    if (tile_of(op).rank == 2) raise(ctx, op, raise_store);
}

void pass_raise_desc(PassCtx *ctx) {
    ir_walk(ctx->f->body, visit_load, ctx);
    if (!ctx->changed) return;
    ir_walk(ctx->f->body, visit_store, ctx);
    pass_dce(ctx); /* pointers and masks that only these used */
}

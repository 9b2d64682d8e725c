/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout.c: gives every tile a layout, and puts `convert` where two must meet.
 *
 * Anchors say what they want: loads and stores (layout_choice.c, from axis analysis), dots. Values
 * that an elementwise op or a loop unifies form a class (union-find), and each class takes its
 * strongest anchor's layout. Then ops are visited in order, and operands are materialised in the
 * layout that the op works in. The one idea: a tile made of nothing but indices and constants has
 * no layout of its own, and is rematerialised in whatever layout a use needs; only other tiles are
 * converted. */
#include "ir/buffer.h"
#include "ir/effects.h"
#include "ir/roles.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/layout_assign.h"
#include "passes/layout_buffers.h"
#include "passes/walk.h"

#include <string.h>

/* ---- rematerialisable values ---- */

static void note_rematerialisable(Op *op, void *ctx) {
    Assign *a = ctx;
    if (op->nresults != 1 || ir_effects(op) || op->nregions || !type_is_tile(op->result[0]->type))
        return;
    if (op->code == OP_DOT || op->code == OP_CONVERT || op->code == OP_GATHER ||
        op->code == OP_HISTOGRAM || op->code == OP_INLINE_ASM)
        return;
    int depth = 1;
    for (int i = 0; i < op->noperands; i++) {
        const Value *x = op->operand[i].value;
        if (!type_is_tile(x->type)) continue;
        if (!a->remat_depth[x->id]) return;
        if (a->remat_depth[x->id] + 1 > depth) depth = a->remat_depth[x->id] + 1;
    }
    /* A transcendental function per element is worth a conversion. */
    if (op->code == OP_MATH || op->code == OP_MATH2 || depth > COST_MOST_REMAT_DEPTH) return;
    a->remat_depth[op->result[0]->id] = (uint8_t)depth;
}

static void note_repeated(Op *op, void *ctx) {
    Assign *a = ctx;
    if (op->code != OP_BROADCAST && op->code != OP_RESHAPE && op->code != OP_TRANS) return;
    uint8_t before = a->repeat_depth[op->operand[0].value->id];
    if (before < COST_MOST_REMAT_DEPTH && (before || op->code == OP_BROADCAST))
        a->repeat_depth[op->result[0]->id] = (uint8_t)(before + 1);
}

/* ---- values in a layout ---- */

static Value *materialise_in_layout(Assign *a, Value *v, const Layout *l);

static void add_version(Assign *a, Value *of, const Layout *l, Value *v) {
    Version *x = arena_alloc(&a->s->arena, sizeof *x);
    *x = (Version){a->version[of->id], l, v};
    a->version[of->id] = x;
    while (a->n + (uint32_t)a->original.n < v->id) vec_push(&a->s->arena, &a->original, NULL);
    vec_push(&a->s->arena, &a->original, of);
}

/* What v is a version of. */
static Value *original_of(const Assign *a, Value *v) {
    uint32_t at = v->id - a->n;
    bool version = v->id >= a->n && at < (uint32_t)a->original.n && a->original.at[at];
    return version ? a->original.at[at] : v;
}

const Layout *operand_layout(Assign *a, const Op *op, int i, const Layout *l) {
    Type r = op->result[0]->type, x = op->operand[i].value->type;
    Layout out;
    switch (op->code) {
    case OP_BROADCAST:
        out = layout_before_broadcast(l, r, x);
        layout_drop_replicas(&out);
        return intern_layout(a->s, out);
    case OP_TRANS: {
        uint8_t back[TILE_MAX_RANK];
        const Attr *order = ir_attr(op, AT_ORDER);
        for (int d = 0; d < r.rank; d++) back[order->dims[d]] = (uint8_t)d;
        return intern_layout(a->s, layout_transposed(l, r, back));
    }
    case OP_JOIN: return intern_layout(a->s, layout_before_join(l));
    default: return l; /* elementwise; reshape: the flat index does not change */
    }
}

static Value *rematerialise(Assign *a, Value *v, const Layout *l) {
    Op *op = v->def;
    Value **operands = arena_array(&a->s->arena, (size_t)op->noperands, sizeof *operands);
    for (int i = 0; i < op->noperands; i++)
        operands[i] = materialise_in_layout(a, op->operand[i].value, operand_layout(a, op, i, l));
    Builder b = {a->s, a->f, op->block, op->next, op->span};
    Op *copy = ir_op_like(&b, op, operands, op->noperands, NULL);
    copy->result[0]->layout = l;
    copy->result[0]->name = v->name;
    return copy->result[0];
}

/* A broadcast, seen through changes of shape. What is repeated is converted before it is: made
 * again, the rest costs nothing. */
static bool is_repeated(const Assign *a, Value *v) {
    const Value *of = original_of(a, v);
    return of->id < a->n && a->repeat_depth[of->id];
}

/* Is v made of one tile that costs less to convert: one of fewer bytes, or one that a loop around v
 * does not change? What else it is made of costs nothing. */
static bool is_cheaper_before(const Assign *a, const Value *v) {
    const Op *op = v->def;
    const Value *x = NULL;
    if (!op || !(op_traits(op) & TRAIT_E) || ir_effects(op) || op->nregions || op->nresults != 1 ||
        op->code == OP_MATH || op->code == OP_MATH2)
        return false;
    for (int i = 0; i < op->noperands; i++) {
        if (!type_is_tile(op->operand[i].value->type)) continue;
        const Value *o = original_of(a, op->operand[i].value);
        if (a->remat_depth[o->id]) continue;
        if (x && x != o) return false;
        x = o;
    }
    const Op *loop = loop_around(op);
    return x &&
           (type_bytes(x->type) < type_bytes(v->type) || (loop && ir_defined_outside(x, loop)));
}

/* v held as l: itself, rematerialised, or converted where it is defined. */
static Value *materialise_in_layout(Assign *a, Value *v, const Layout *l) {
    if (!type_is_tile(v->type)) return v;
    if (v->layout == l) return v;
    v = original_of(a, v);
    if (v->layout == l) return v;
    for (Version *x = a->version[v->id]; x; x = x->next)
        if (x->layout == l) return x->value;
    Value *made;
    if (a->remat_depth[v->id] || is_repeated(a, v) || is_cheaper_before(a, v)) {
        made = rematerialise(a, v, l);
    } else {
        Builder b = {a->s, a->f, v->def ? v->def->block : v->block,
                     v->def ? v->def->next : v->block->first,
                     v->def ? v->def->span : v->block->first->span};
        made = ir_unary(&b, OP_CONVERT, v);
        made->layout = l;
        made->name = v->name;
    }
    add_version(a, v, l, made);
    return made;
}

static void materialise_operand(Assign *a, Op *op, int i, const Layout *l) {
    Value *v = op->operand[i].value, *w = materialise_in_layout(a, v, l);
    if (v != w) ir_set_operand(op, i, w);
}

/* The layout a value is held in already; a rematerialisable one gets its class's. */
static const Layout *own_layout(Assign *a, Value *v) {
    return v->layout ? v->layout : class_layout(a, v, NULL);
}

static bool is_rematerialisable(const Assign *a, const Value *v) {
    return v->id < a->n && a->remat_depth[v->id];
}

/* How a load whose value meets a dot's results, too, is copied; NULL: it is not. */
static const Layout *copied_layout(Assign *a, const Op *load, const Layout *l) {
    const Value *r = load->result[0];
    Layout own;
    bool free = a->for_dots[r->id];
    for (int i = 0; i < load->noperands && free; i++)
        free = !type_is_tile(load->operand[i].value->type) ||
               is_rematerialisable(a, load->operand[i].value);
    return free && choose_copied(a->ctx, &a->axis, load, l, &own) ? intern_layout(a->s, own) : NULL;
}

/* Each element of an atomic is one thread's. Where threads hold copies of several, as a reduction
 * leaves them, each does fewer of them in a layout of its own. */
static const Layout *owners_layout(Assign *a, const Op *atomic, const Layout *l) {
    const Value *p = atomic->operand[0].value;
    Layout own =
        choose_access_layout(p->type, choose_access(&a->axis, atomic), warps_of_value(a->f, p));
    return l->bits[IN_REG] > own.bits[IN_REG] ? intern_layout(a->s, own) : l;
}

/* A few more stores, and no way through shared memory, where all of the program's threads, or the
 * role's, wait for each other. */
static bool is_small_as_held(const Layout *l, const Layout *good) {
    return 1 << l->bits[IN_REG] <= COST_FEW_STORED && layout_move_kind(good, l) == MOVE_SHARED;
}

static bool is_stored_as_held(Assign *a, Value *v, Access x) {
    enum { LEAST = 8 }; /* bytes of an access, where there are many */
    if (is_rematerialisable(a, v)) return false;
    const Layout *l = own_layout(a, v);
    if (store_layout_is_good(l, v->type, x)) return true;
    int warps = warps_of_value(a->f, v);
    bool apart = roles_of(a->f) && warps > WARPGROUP; /* warpgroups that had to meet twice */
    bool large = a->f->entry_of && (apart || cost_is_stored_as_held(v->type));
    Layout good = choose_access_layout(v->type, x, warps);
    return (large && store_layout_fills_sectors(l, v->type, x, LEAST)) ||
           (is_small_as_held(l, &good) && store_layout_fills_sectors(l, v->type, x, 0));
}

/* How a tile is held that is stored. */
static const Layout *stored_layout(Assign *a, Value *v, Access x) {
    Layout l;
    if (is_stored_as_held(a, v, x)) return own_layout(a, v);
    bool free = is_rematerialisable(a, v);
    if (free || !choose_access_within_warps(v->type, x, own_layout(a, v), &l))
        l = choose_access_layout(v->type, x, warps_of_value(a->f, v));
    return intern_layout(a->s, l);
}

/* ---- one op at a time ---- */

static void visit_block(Assign *a, Block *b);

static void visit_elementwise(Assign *a, Op *op) {
    if (!op->nresults && !op->noperands) return; /* assembly that tells nobody anything */
    const Value *any = op->nresults ? op->result[0] : op->operand[0].value;
    if (!type_is_tile(any->type)) return;
    const Layout *hint = NULL;
    for (int i = 0; i < op->noperands && !hint; i++)
        if (!is_rematerialisable(a, op->operand[i].value)) hint = op->operand[i].value->layout;
    const Layout *l;
    if (op->code == OP_STORE) {
        Value *v = op->operand[1].value;
        l = stored_layout(a, v, choose_access(&a->axis, op));
    } else {
        l = class_layout(a, any, hint);
        const Layout *copied = op->code == OP_LOAD ? copied_layout(a, op, l) : NULL;
        if (copied) l = copied;
        if (op->code == OP_ATOMIC || op->code == OP_ATOMIC_CAS) l = owners_layout(a, op, l);
    }
    for (int i = 0; i < op->noperands; i++) materialise_operand(a, op, i, l);
    for (int i = 0; i < op->nresults; i++) op->result[i]->layout = l;
}

/* A layout for ops that walk an axis: v's own, unless lanes hold sums of bits. */
static const Layout *plain_layout(Assign *a, Value *v) {
    const Layout *l = own_layout(a, v);
    return layout_is_plain(l)
               ? l
               : intern_layout(a->s, choose_default_layout(v->type, warps_of_value(a->f, v)));
}

const Layout *reduced_layout(Assign *a, const Op *reduce) {
    Value *v = reduce->operand[0].value;
    Layout r =
        layout_without_dim(plain_layout(a, v), v->type, (int)ir_attr_int(reduce, AT_AXIS, 0));
    layout_drop_replicas(&r);
    return intern_layout(a->s, r);
}

static void visit_split(Assign *a, Op *op) {
    const Layout *l = intern_layout(a->s, layout_splittable(plain_layout(a, op->operand[0].value)));
    materialise_operand(a, op, 0, l);
    const Layout *half = intern_layout(a->s, layout_half(l));
    for (int i = 0; i < op->nresults; i++)
        if (type_is_tile(op->result[i]->type)) op->result[i]->layout = half;
}

/* Of tiles: numbers are joined again wherever they are needed. */
static void visit_join(Assign *a, Op *op) {
    /* Where one part is rematerialisable it follows the other. */
    int of = is_rematerialisable(a, op->operand[0].value) ? 1 : 0;
    const Layout *l = own_layout(a, op->operand[of].value);
    for (int i = 0; i < op->noperands; i++) materialise_operand(a, op, i, l);
    op->result[0]->layout = intern_layout(a->s, layout_joined(l));
}

/* A gather works where its index is; its tile goes through shared memory, as a histogram's does. */
static void visit_exchange(Assign *a, Op *op) {
    Value *first = op->operand[0].value;
    if (op->code == OP_GATHER) {
        const Layout *l = class_layout(a, op->result[0], op->operand[1].value->layout);
        materialise_operand(a, op, 0, own_layout(a, first));
        materialise_operand(a, op, 1, l);
        op->result[0]->layout = l;
        return;
    }
    const Layout *l = own_layout(a, first);
    for (int i = 0; i < op->noperands; i++) materialise_operand(a, op, i, l);
    op->result[0]->layout = class_layout(a, op->result[0], NULL);
}

/* Threads copy what the pointers that they hold point to. */
static void visit_copy(Assign *a, Op *op) {
    const Layout *l = own_layout(a, op->operand[0].value);
    materialise_operand(a, op, 0, l);
    if (op->noperands > 3) materialise_operand(a, op, 3, l);
}

/* A part is loaded as what it is added to is held, and was stored so, if all of them are held alike
 * (entries.c). */
static void visit_fragment(Assign *a, Op *op) {
    int like = op->code == OP_FRAGMENT_LOAD;
    const Layout *l = own_layout(a, op->operand[like].value);
    materialise_operand(a, op, like, l);
    op->result[0]->layout = l;
}

/* Each tile as it is. */
static void visit_print(Assign *a, Op *op) {
    for (int i = 0; i < op->noperands; i++)
        if (type_is_tile(op->operand[i].value->type) &&
            op->operand[i].value->type.space == SPACE_REGISTER)
            materialise_operand(a, op, i, own_layout(a, op->operand[i].value));
}

static void visit_shape(Assign *a, Op *op) {
    if (op->code == OP_BROADCAST || op->code == OP_SPLAT) {
        const Layout *l = class_layout(a, op->result[0], NULL);
        if (op->code == OP_BROADCAST) materialise_operand(a, op, 0, operand_layout(a, op, 0, l));
        op->result[0]->layout = l;
        return;
    }
    if (!type_is_tile(op->result[0]->type)) { /* a tile of one element becomes a scalar */
        if (type_is_tile(op->operand[0].value->type))
            materialise_operand(a, op, 0, own_layout(a, op->operand[0].value));
        return;
    }
    if (!type_is_tile(op->operand[0].value->type)) {
        op->result[0]->layout = class_layout(a, op->result[0], NULL);
        return;
    }
    const Layout *x = own_layout(a, op->operand[0].value);
    materialise_operand(a, op, 0, x);
    Layout l = *x;
    if (op->code == OP_TRANS)
        l = layout_transposed(x, op->operand[0].value->type, ir_attr(op, AT_ORDER)->dims);
    op->result[0]->layout = intern_layout(a->s, l);
    /* Where nothing else decides, what works on the result works where it lies. */
    if (!a->remat_depth[op->result[0]->id]) class_layout(a, op->result[0], op->result[0]->layout);
}

static bool is_loop_or_branch(const Op *op, const Value *v) {
    return (op->code == OP_FOR || op->code == OP_IF) && ir_defined_outside(v, op);
}

static bool is_dot_operand_beside(const Value *v, const Op *branch) {
    for (const Use *u = v->uses; u; u = u->next)
        if (u->op->code == OP_DOT && !ir_inside(u->op, branch)) return true;
    return false;
}

/* A buffer that holds v so, for the dot. */
static Value *copy_for_dot(Assign *a, Value *v, const Layout *l, Op *dot) {
    Type t = type_in_space(v->type, SPACE_SHARED);
    /* What a loop does not change is copied before it, once; and before a branch, if others read it
     * beside that. */
    Op *at = dot, *around = dot->block->parent;
    Value *there = copy_for_dot_before(v, dot->block, l);
    for (bool up = true; !there && around && is_loop_or_branch(around, v);) {
        up &= around->code == OP_FOR || is_dot_operand_beside(v, around);
        there = copy_for_dot_before(v, around->block, l);
        if (up) at = around;
        around = around->block->parent;
    }
    if (there) return there;
    Builder b = {a->s, a->f, at->block, at, dot->span};
    Value *buffer = ir_op(&b, OP_BUFFER_ALLOC, NULL, 0, &t, 1, 0)->result[0];
    buffer->layout = intern_layout(a->s, *l);
    buffer->name = v->name;
    ir_binary(&b, OP_SHARED_STORE, v, buffer);
    if (ir_attr(dot, AT_WGMMA)) ir_op(&b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0);
    return buffer;
}

static const uint8_t transposed[TILE_MAX_RANK] = {1, 0};

/* Of a tile w transposed the buffer holds w, and the dot sees it transposed: a copy from memory can
 * go there, and another dot take it as it is. NULL: no copy can. */
static Value *transposed_copy(Assign *a, Value *w, Op *dot, int i) {
    Type t = dot->operand[i].value->type;
    w = materialise_in_layout(a, w, own_layout(a, w));
    Layout held = layout_transposed(w->layout, w->type, transposed);
    Layout l = choose_operand_shared(dot, i, &held);
    Layout there = layout_transposed(&l, t, transposed);
    int run = type_elem_bytes(t) << layout_shared_vector_bits(w->layout, &there);
    if (op_is(w, OP_LOAD) && run < COST_LEAST_COPY_BYTES) return NULL;
    Value *buffer = copy_for_dot(a, w, &there, dot);
    Builder b = {a->s, a->f, dot->block, dot, dot->span};
    t = type_in_space(t, SPACE_SHARED);
    Op *view = ir_op(&b, OP_BUFFER_TRANS, &buffer, 1, &t, 1, 0);
    ir_set_dims(a->s, view, AT_ORDER, (const int[]){1, 0}, 2);
    view->result[0]->layout = intern_layout(a->s, l);
    return view->result[0];
}

/* v in another layout, where it is made. */
static Value *converted(Assign *a, Value *v, const Layout *l) {
    Builder b = {a->s, a->f, v->def->block, v->def->next, v->def->span};
    v = ir_unary(&b, OP_CONVERT, v);
    v->layout = intern_layout(a->s, *l);
    return v;
}

static Value *shared_copy(Assign *a, Op *dot, int i) {
    Value *v = dot->operand[i].value;
    Value *w = op_is(v, OP_TRANS) && v->type.rank == 2 ? v->def->operand[0].value : NULL;
    if (type_is_buffer(v->type)) {
        layout_buffer_of_dot(a->ctx, &a->axis, dot, i);
        return v;
    }
    Value *there = w ? transposed_copy(a, w, dot, i) : NULL;
    if (there) return there;
    const Layout *own = own_layout(a, v);
    bool copied = op_is(v, OP_LOAD) && will_be_copied(a->ctx, v->def);
    Layout read, write;
    if (copied && dot_transposes(dot, i, own) &&
        choose_transposing(v->type, i == 0 ? 1 : 0, warps_of_value(a->f, v), &read, &write)) {
        v = materialise_in_layout(a, v, intern_layout(a->s, read));
        v = converted(a, v, &write);
    } else {
        v = materialise_in_layout(a, v, own);
    }
    Layout l = choose_operand_shared(dot, i, v->layout);
    return copy_for_dot(a, v, &l, dot);
}

/* What a view of the buffer as the copy engine writes it gave goes back to where it was. */
static bool stores_again(const Op *op) {
    const Value *v = op->code == OP_SHARED_STORE ? op->operand[0].value : NULL;
    return v && op_is(v, OP_SHARED_LOAD) && !v->uses->next &&
           op_is(v->def->operand[0].value, OP_BUFFER_REINTERPRET);
}

/* A block that the copy engine brought, on its way to a dot that takes it along K alone. */
static void visit_transposed(Assign *a, Op *store) {
    Value *v = store->operand[0].value;
    const Layout *goes = buffer_alloc(store->operand[1].value)->result[0]->layout;
    Layout read, write;
    if (!goes) return;
    int k_dim = goes->basis[IN_OFFSET][0] == 1u << type_dim_shift(v->type, 0) ? 0 : 1;
    if (!choose_transposing(v->type, k_dim, warps_of_value(a->f, v), &read, &write)) return;
    v->layout = intern_layout(a->s, read);
    ir_set_operand(store, 0, converted(a, v, &write));
}

/* The result of another dot, or what was made of it, may be held as wgmma takes its operand A. */
static bool in_registers_already(Assign *a, Value *v, const DotChoice *own) {
    if (type_is_buffer(v->type) || type_elem_bytes(v->type) != 2 || is_rematerialisable(a, v))
        return false;
    Layout want = layout_wgmma_a(v->type, own->wm, own->wn);
    return layout_equal(own_layout(a, v), &want);
}

static void visit_dot(Assign *a, Op *dot) {
    /* Two dots of different kinds may meet in one class: each works in its own layout. */
    DotChoice own = choose_dot(dot, layout_warps_of_block(a->f, dot->block), a->ctx->target);
    const Layout *l = intern_layout(a->s, own.acc);
    if (own.why)
        diag(&a->s->diags, P_DOT, dot->span, "this dot is made of %s: %s",
             own.mma ? "mma.sync" : "multiply-adds", own.why);
    if (own.wgmma) ir_set_attr(a->s, dot, AT_WGMMA, wgmma_index(own.wgmma));
    if (own.mma) ir_set_attr(a->s, dot, AT_MMA, mma_index(own.mma));
    /* Others' results are there at once. */
    if (!own.wgmma && ir_attr(dot, AT_ASYNC)) ir_set_attr(a->s, dot, AT_ASYNC, 0);
    for (int i = 0; i < 2; i++)
        if (i == 1 || !own.wgmma || !in_registers_already(a, dot->operand[0].value, &own))
            ir_set_operand(dot, i, shared_copy(a, dot, i));
    ir_set_attr(a->s, dot, AT_WARPS_M, own.wm);
    ir_set_attr(a->s, dot, AT_WARPS_N, own.wn);
    materialise_operand(a, dot, 2, l);
    dot->result[0]->layout = l;
}

/* Threads wait for a warpgroup's dots alone. */
static void visit_dot_wait(Op *wait) {
    Value *sum = wait->operand[0].value;
    wait->result[0]->layout = sum->layout;
    if (wait->noperands > 1 || !op_is(sum, OP_DOT) || ir_attr(sum->def, AT_WGMMA)) return;
    ir_replace_uses(wait->result[0], sum);
    ir_erase(wait);
}

static void give_args(Assign *a, Block *b, int from) {
    for (int i = from; i < b->nargs; i++)
        if (type_is_tile(b->args[i]->type)) b->args[i]->layout = class_layout(a, b->args[i], NULL);
}

static void materialise_like(Assign *a, Op *op, int from, Value *const *like) {
    for (int i = from; i < op->noperands; i++)
        if (type_is_tile(op->operand[i].value->type))
            materialise_operand(a, op, i, class_layout(a, like[i - from], NULL));
}

/* What v has where it is made of a dot's sum, turned or not; NULL: it is made otherwise. */
static const Layout *layout_from_dot(Assign *a, const Value *v) {
    enum { MOST_STEPS = 16, MOST_TURNS = 4 };
    const Op *turned[MOST_TURNS];
    int n = 0;
    const Class *c = layout_class_of(a, v);
    for (int i = 0; c->rank != 2 || !c->layout; i++) {
        const Op *op = v->def;
        bool turns = op && op->code == OP_TRANS;
        if (!op || i == MOST_STEPS || (turns ? n == MOST_TURNS : !op_is_pure_elementwise(op)))
            return NULL;
        if (turns) turned[n++] = op;
        int k = 0;
        while (k < op->noperands && is_rematerialisable(a, op->operand[k].value)) k++;
        if (k == op->noperands) return NULL;
        v = op->operand[k].value;
        c = layout_class_of(a, v);
    }
    Layout l = *c->layout;
    while (n--)
        l = layout_transposed(&l, turned[n]->operand[0].value->type,
                              ir_attr(turned[n], AT_ORDER)->dims);
    return intern_layout(a->s, l);
}

/* Of what a loop carries on as a dot's sum leaves it. */
static void keep_from_dot(Assign *a, Op *loop) {
    const Op *last = loop->region[0]->last;
    for (int i = 0; i < last->noperands; i++) {
        const Value *v = loop->region[0]->args[1 + i];
        const Class *c = type_is_tile(v->type) ? layout_class_of(a, v) : NULL;
        if (!c || c->layout || c->rank || c->reduce) continue;
        const Layout *l = layout_from_dot(a, last->operand[i].value);
        if (l) class_layout(a, v, l);
    }
}

static void visit_structured(Assign *a, Op *op) {
    Op *last = op->region[op->nregions - 1]->last;
    switch (op->code) {
    case OP_FOR:
        keep_from_dot(a, op);
        materialise_like(a, op, 3, op->region[0]->args + 1);
        give_args(a, op->region[0], 1);
        visit_block(a, op->region[0]);
        materialise_like(a, last, 0, op->region[0]->args + 1);
        break;
    case OP_WHILE:
        materialise_like(a, op, 0, op->region[0]->args);
        give_args(a, op->region[0], 0);
        visit_block(a, op->region[0]);
        materialise_like(a, op->region[0]->last, 1, op->result);
        give_args(a, op->region[1], 0);
        visit_block(a, op->region[1]);
        materialise_like(a, last, 0, op->region[0]->args);
        break;
    case OP_IF:
        for (int r = 0; r < 2; r++) {
            visit_block(a, op->region[r]);
            materialise_like(a, op->region[r]->last, 0, op->result);
        }
        break;
    case OP_WARPS:
        for (int r = 0; r < op->nregions; r++) visit_block(a, op->region[r]);
        return;
    default: { /* reduce, scan, map: their regions work on scalars */
        const Layout *l = plain_layout(a, op->operand[0].value);
        for (int i = 0; i < op->noperands; i++) materialise_operand(a, op, i, l);
        const Layout *kept = op->code == OP_REDUCE ? reduced_layout(a, op) : l;
        for (int i = 0; i < op->nresults; i++)
            if (type_is_tile(op->result[i]->type)) op->result[i]->layout = kept;
        return;
    }
    }
    for (int i = 0; i < op->nresults; i++)
        if (type_is_tile(op->result[i]->type))
            op->result[i]->layout = class_layout(a, op->result[i], NULL);
}

static void visit_block(Assign *a, Block *b) {
    for (Op *op = b->first, *next; op; op = next) {
        next = op->next;
        bool made_here = op->nresults && op->result[0]->id >= a->n;
        if (made_here || (op->nresults == 1 && is_rematerialisable(a, op->result[0]))) continue;
        if (op->nregions)
            visit_structured(a, op);
        else if (op_traits(op) & TRAIT_E)
            visit_elementwise(a, op);
        else if (op->code == OP_DOT)
            visit_dot(a, op);
        else if (op->code == OP_SPLIT)
            visit_split(a, op);
        else if (op->code == OP_JOIN)
            visit_join(a, op);
        else if (op->code == OP_GATHER || op->code == OP_HISTOGRAM)
            visit_exchange(a, op);
        else if (stores_again(op))
            visit_transposed(a, op);
        else if (op->code == OP_PRINT || op->code == OP_ASSERT || op->code == OP_SHARED_STORE)
            visit_print(a, op);
        else if (op->code == OP_DOT_WAIT)
            visit_dot_wait(op);
        else if (op->code == OP_FRAGMENT_LOAD || op->code == OP_FRAGMENT_ADD)
            visit_fragment(a, op);
        else if (op->code == OP_ASYNC_COPY)
            visit_copy(a, op);
        else if (op->code == OP_SHARED_LOAD)
            op->result[0]->layout = class_layout(a, op->result[0], NULL);
        else if (op->nresults == 1 && op->result[0]->type.space != SPACE_REGISTER)
            continue; /* layout_buffers.c */
        else if (op->nresults == 1 && op_info[op->code].result == RESULT_GIVEN && op->noperands)
            visit_shape(a, op);
    }
}

/* Originals of what was made again, and their conversions, have no uses now; the last first, for
 * they use each other. */
static void sweep(Assign *a, Block *b) {
    for (Op *op = b->last, *prev; op; op = prev) {
        prev = op->prev;
        for (int r = op->nregions - 1; r >= 0; r--) sweep(a, op->region[r]);
        if (op->nresults != 1 || ir_has_uses(op->result[0])) continue;
        if (is_rematerialisable(a, op->result[0]) || is_repeated(a, op->result[0]) ||
            op->code == OP_CONVERT)
            ir_erase(op);
    }
}

static void note_layout(Op *op, void *ctx) {
    for (int i = 0; i < op->nresults; i++)
        if (op->result[i]->layout && op->result[i]->type.space == SPACE_REGISTER)
            *(bool *)ctx = true;
}

/* What only tile IR with layouts has: one that was written by hand may have it without. */
static void note_too_early(Op *op, void *ctx) {
    const Op **found = ctx;
    if (op->code == OP_CONVERT && !*found) *found = op;
}

void pass_layout(PassCtx *ctx) {
    Func *f = ctx->f;
    bool already = false; /* a .tir that carries layouts goes on behind this pass */
    ir_walk(f->body, note_layout, &already);
    if (already) return;
    const Op *early = NULL;
    ir_walk(f->body, note_too_early, &early);
    if (early) {
        diag(&ctx->s->diags, E_LAYOUT, early->span,
             "'%s' is for tiles that have layouts: here they have none yet",
             op_info[early->code].text);
        return;
    }
    Assign a = {.ctx = ctx, .s = ctx->s, .f = f, .n = f->nvalues};
    a.axis = axis_analyse(ctx->s, f);
    a.class_ = arena_array(&ctx->s->arena, a.n, sizeof *a.class_);
    a.remat_depth = arena_alloc(&ctx->s->arena, a.n);
    a.for_dots = arena_alloc(&ctx->s->arena, a.n);
    a.version = arena_array(&ctx->s->arena, a.n, sizeof *a.version);
    a.spread = arena_array(&ctx->s->arena, a.n, sizeof *a.spread);
    a.spread_known = arena_alloc(&ctx->s->arena, a.n);
    a.repeat_depth = arena_alloc(&ctx->s->arena, a.n);
    ir_walk(f->body, note_rematerialisable, &a);
    ir_walk(f->body, note_repeated, &a);
    layout_make_classes(&a);
    mark_dot_inputs(f->body, a.for_dots);
    visit_block(&a, f->body);
    sweep(&a, f->body);
    layout_settle_buffers(ctx);
    ctx->changed = true;
}

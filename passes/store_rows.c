/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* store_rows.c: a product's block that the copy engine stores -> one that threads store, row by
 * row, where a program has one place and rows begin within lines of memory.
 *
 *     for t…: acc = for k…: dot …; store the parts of f(acc) by a warp of its own
 * becomes
 *     if one place each, and bytes of a row % line:
 *         for t…: acc = for k…: dot …; store pointers, f(acc)
 *     else: as before
 *
 * The engine moves boxes of 128 bytes of a row. Where rows begin with a line each is one; else two
 * parts of lines, whose other parts come much later, with another box: 132 programs store 128x256
 * fp16 in 2.6 us whole lines, in 4.2 else; row by row, 512 bytes at once, in 3.0 (H100, caches full
 * of what others wrote). A warp has whole rows of a product, of which it takes a few at a time
 * through a part of shared memory of its own: nobody waits for another warp, or for the engine.
 *
 * With whole lines the engine is as fast, and with more places it goes on beside the next one's
 * product. What each way has of shared memory lies in one place (allocate.c). */
#include "ir/desc.h"
#include "passes/cost.h"
#include "passes/exchange.h"
#include "passes/layout_choice.h"
#include "passes/warp_specialize.h"

typedef struct Look {
    const Specialize *x;
    int dots;
    bool by_rows;
} Look;

/* All warps of a dot have rows of their own. */
static void look_at_dot(Op *op, void *ctx) {
    Look *l = ctx;
    if (op->code != OP_DOT) return;
    DotChoice c = choose_dot(op, l->x->f->num_warps, l->x->ctx->target);
    l->dots++;
    l->by_rows &= c.wgmma && !c.wn;
}

/* The op of the block that a dot is in: the loop of the one sum; NULL: there are others. */
static Op *only_sum(const Specialize *x, const Block *body) {
    Op *sum = NULL;
    for (Op *op = body->first; op; op = op->next) {
        Look l = {.x = x, .by_rows = true};
        for (int r = 0; r < op->nregions; r++) ir_walk(op->region[r], look_at_dot, &l);
        if (!l.dots && op->code != OP_DOT) continue;
        if (sum || op->code != OP_FOR || !l.by_rows) return NULL;
        sum = op;
    }
    return sum;
}

static int64_t line_elements(Type t) {
    return COST_LINE_BYTES / type_elem_bytes(t);
}

static bool is_wanted(const Specialize *x, const Store *st) {
    const Op *store = st->op, *desc = store->operand[0].value->def;
    Type t = store->operand[1].value->type;
    enum { MEASURED = 2 }; /* bytes of an element: others are stored as they are held, in pieces */
    if (t.rank != 2 || desc->result[0]->type.rank != 2 || type_elem_bytes(t) != MEASURED ||
        type_dim(t, 1) <= line_elements(t) ||
        warp_exchange_bytes(type_bytes(t), x->f->num_warps) > st->bytes ||
        dim_of_sum_columns(x, store->operand[1].value) != 1)
        return false;
    for (int d = 0; d < t.rank; d++)
        if (desc_live(desc, t, d) < type_dim(t, d)) return false;
    AxisTable axis = axis_analyse(x->s, x->f);
    const AxisInfo *row = axis_of(&axis, desc_stride(desc, 0));
    return !row || row->divisibility[0] % line_elements(t);
}

/* Values are made in front of `from`, which the roles begin with. */
static bool is_in_front(const Op *from, const Value *v) {
    const Op *op = v->def;
    if (!op) return true;
    while (op && op != from) op = op->next;
    return op && v->def->block == from->block;
}

void plan_rows(Specialize *x, Op *from) {
    Op *places = loop_over_places(x->f->body), *store = x->store[0].op;
    x->rows = (Rows){0};
    if (x->nstores != 1 || !places || places->nresults || store->block != places->region[0] ||
        !only_sum(x, store->block) || !is_wanted(x, &x->store[0]) ||
        !is_in_front(from, places->operand[1].value) ||
        !is_in_front(from, places->operand[2].value))
        return;
    Builder b = {x->s, x->f, from->block, from, store->span};
    int first = desc_first_index(store);
    x->rows.desc = store->operand[0].value->def;
    for (int i = 0; i < 2; i++) x->rows.index[i] = store->operand[first + i].value;
    x->rows.checked = desc_checked_dims(store);
    Value *row = desc_stride(x->rows.desc, 0);
    int64_t line = line_elements(store->operand[1].value->type);
    Value *within = ir_binary(&b, OP_AND, row, ir_const_int(&b, row->type, line - 1));
    Value *cut = ir_cmp(&b, PRED_NE, within, ir_const_int(&b, row->type, 0));
    Value *one = ir_cmp(&b, PRED_LE, places->operand[1].value, places->operand[2].value);
    x->rows.cut = ir_binary(&b, OP_AND, cut, one);
}

/* v, a multiple of n: a launch has no map of the tensor else. */
static Value *multiple(Builder *b, Value *v, int64_t n) {
    Value *r = ir_unary(b, OP_HINT, v);
    int log2 = log2_of((int)n);
    ir_set_dims(b->s, r->def, AT_DIVISIBLE, &log2, 1);
    return r;
}

static Value *copy_of(Value *const *copy, Value *v) {
    return copy[v->id] ? copy[v->id] : v;
}

static void store_by_pointers(Specialize *x, Builder *b, const Op *part, Value *const *copy) {
    Op *desc = x->rows.desc;
    Type t = desc->result[0]->type;
    int64_t chunk = DESC_ALIGN / type_elem_bytes(t);
    Value *in[1 + 2 * DESC_MAX_RANK], *index[2], *to[3];
    for (int i = 0; i < desc->noperands; i++) in[i] = desc->operand[i].value;
    in[0] = multiple(b, in[0], DESC_ALIGN);
    in[2] = multiple(b, in[2], chunk); /* columns */
    in[3] = multiple(b, in[3], chunk); /* from row to row */
    Op *known = ir_op_like(b, desc, in, desc->noperands, &t);
    for (int i = 0; i < 2; i++) index[i] = copy_of(copy, x->rows.index[i]);
    desc_pointers(b, known, index, x->rows.checked, &to[0], &to[2]);
    ir_erase(known);
    to[1] = copy_of(copy, x->store[0].whole);
    Op *store = ir_op(b, OP_STORE, to, to[2] ? 3 : 2, NULL, 0, 0);
    ir_copy_attr(b->s, part, store, AT_CACHE);
    ir_copy_attr(b->s, part, store, AT_EVICT);
}

int split_rows(Specialize *x, Block *consumer, Block *way[2]) {
    way[0] = consumer;
    if (!x->rows.cut) return 1;
    Op *places = loop_over_places(consumer);
    Value **copy = arena_array(&x->s->arena, x->f->nvalues, sizeof *copy);
    way[0] = ir_version(x->s, x->f, places, x->rows.cut, copy)->block;
    way[1] = places->block;
    Block *body = loop_over_places(way[0])->region[0];
    bool stored = false;
    for (Op *op = body->first, *next; op; op = next) {
        next = op->next;
        if (ir_attr_int(op, AT_ROLE, 0) != x->n + 1) continue;
        Builder b = {x->s, x->f, body, op, op->span};
        if (!stored) store_by_pointers(x, &b, op, copy);
        stored = true;
        ir_erase(op);
    }
    return 2;
}

void leave_rows(Specialize *x, Block *storer) {
    if (!x->rows.cut) return;
    Op *places = loop_over_places(storer);
    Builder b = {x->s, x->f, storer, places, places->span};
    Op *branch = ir_op(&b, OP_IF, &x->rows.cut, 1, NULL, 0, 2);
    ir_append(branch->region[1], places);
    b.before = NULL;
    for (int r = 0; r < 2; r++) {
        b.block = branch->region[r];
        ir_op(&b, OP_YIELD, NULL, 0, NULL, 0, 0);
    }
}

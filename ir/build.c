/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build.c: makes tile IR and changes it: ops into blocks, uses into lists, one op at a time.
 *
 * The one invariant kept here: op->operand[i] is in the list of uses of exactly the value it names,
 * so replacing and asking for uses need no search through the function. */
#include "ir/ir.h"

#include <string.h>

Module *ir_module(Session *s) {
    Module *m = arena_alloc(&s->arena, sizeof *m);
    m->session = s;
    return m;
}

Func *ir_func(Module *m, const char *name) {
    Func *f = arena_alloc(&m->session->arena, sizeof *f);
    f->name = name;
#define FUNC_NUMBER(type, field, text, manifest, least, most, powers, absent, doc)                 \
    f->field = absent;
#include "ir/func_attrs.def"
    f->body = ir_block(m->session, NULL);
    Func **at = &m->funcs;
    while (*at) at = &(*at)->next;
    *at = f;
    return f;
}

static Value *new_value(Session *s, Func *f, Type t, const char *name) {
    Value *v = arena_alloc(&s->arena, sizeof *v);
    v->type = t;
    v->name = name;
    v->id = f->nvalues++;
    return v;
}

Value *ir_param(Session *s, Func *f, const Param *p) {
    Param *all = arena_array(&s->arena, (size_t)f->nparams + 1, sizeof *all);
    if (f->nparams) memcpy(all, f->param, (size_t)f->nparams * sizeof *all);
    all[f->nparams] = *p;
    Value *v = NULL;
    if (!p->is_one && !p->is_none) {
        v = new_value(s, f, p->type, p->name);
        v->block = f->body;
        v->index = f->nparams;
    }
    all[f->nparams].value = v;
    f->param = all;
    f->nparams++;
    return v;
}

Block *ir_block(Session *s, Op *parent) {
    Block *b = arena_alloc(&s->arena, sizeof *b);
    b->parent = parent;
    return b;
}

Value *ir_block_arg(Session *s, Func *f, Block *b, Type t, const char *name) {
    Value **args = arena_array(&s->arena, (size_t)b->nargs + 1, sizeof(Value *));
    if (b->nargs) memcpy(args, b->args, (size_t)b->nargs * sizeof(Value *));
    Value *v = new_value(s, f, t, name);
    v->block = b;
    v->index = b->nargs;
    args[b->nargs++] = v;
    b->args = args;
    return v;
}

/* ---- uses ---- */

static void link_use(Use *u, Value *v) {
    u->value = v;
    u->prev = NULL;
    u->next = v->uses;
    if (v->uses) v->uses->prev = u;
    v->uses = u;
}

static void unlink_use(Use *u) {
    if (!u->value) return;
    if (u->prev)
        u->prev->next = u->next;
    else
        u->value->uses = u->next;
    if (u->next) u->next->prev = u->prev;
    u->value = NULL;
    u->next = u->prev = NULL;
}

void ir_set_operand(Op *op, int i, Value *v) {
    unlink_use(&op->operand[i]);
    link_use(&op->operand[i], v);
}

void ir_replace_uses(Value *old, Value *with) {
    if (old == with) return;
    while (old->uses) {
        Use *u = old->uses;
        unlink_use(u);
        link_use(u, with);
    }
}

bool ir_has_uses(const Value *v) {
    return v->uses != NULL;
}

/* ---- inserting and moving ops ---- */

static void insert(Block *b, Op *op, Op *before) {
    op->block = b;
    op->next = before;
    op->prev = before ? before->prev : b->last;
    if (op->prev)
        op->prev->next = op;
    else
        b->first = op;
    if (before)
        before->prev = op;
    else
        b->last = op;
}

static void unlink_op(Op *op) {
    Block *b = op->block;
    if (!b) return;
    if (op->prev)
        op->prev->next = op->next;
    else
        b->first = op->next;
    if (op->next)
        op->next->prev = op->prev;
    else
        b->last = op->prev;
    op->block = NULL;
    op->prev = op->next = NULL;
}

void ir_move_before(Op *op, Op *where) {
    if (op == where) return;
    unlink_op(op);
    insert(where->block, op, where);
}

void ir_append(Block *b, Op *op) {
    unlink_op(op);
    insert(b, op, NULL);
}

void ir_erase(Op *op) {
    for (int r = 0; r < op->nregions; r++)
        while (op->region[r]->last) ir_erase(op->region[r]->last);
    for (int i = 0; i < op->noperands; i++) unlink_use(&op->operand[i]);
    unlink_op(op);
}

void ir_swap_regions(Op *a, Op *b) {
    for (int r = 0; r < a->nregions; r++) {
        Block *was = a->region[r];
        a->region[r] = b->region[r];
        b->region[r] = was;
        a->region[r]->parent = a;
        was->parent = b;
    }
}

bool ir_inside(const Op *op, const Op *ancestor) {
    for (const Block *b = op->block; b && b->parent; b = b->parent->block)
        if (b->parent == ancestor) return true;
    return false;
}

bool ir_defined_outside(const Value *v, const Op *op) {
    const Block *b = v->def ? v->def->block : v->block;
    for (; b && b->parent; b = b->parent->block)
        if (b->parent == op) return false;
    return true;
}

void ir_walk(Block *b, void (*fn)(Op *op, void *ctx), void *ctx) {
    for (Op *op = b->first, *next; op; op = next) {
        next = op->next;
        Block *home = op->block;
        fn(op, ctx);
        if (op->block != home) continue; /* erased or moved away */
        next = op->next;
        for (int r = 0; r < op->nregions; r++) ir_walk(op->region[r], fn, ctx);
    }
}

Value *ir_repeated(const Value *v) {
    while (v->def && (v->def->code == OP_SPLAT || v->def->code == OP_BROADCAST ||
                      v->def->code == OP_RESHAPE || v->def->code == OP_CONVERT))
        v = v->def->operand[0].value;
    return (Value *)v;
}

bool ir_int_constant(const Value *v, int64_t *out) {
    v = ir_repeated(v);
    if (!op_is(v, OP_CONST) || !type_is_int(v->type)) return false;
    *out = ir_attr_int(v->def, AT_VALUE, 0);
    return true;
}

Value *ir_trans(Builder *b, Value *v) {
    static const int order[] = {1, 0};
    Type t = v->type;
    t.log2[0] = v->type.log2[1];
    t.log2[1] = v->type.log2[0];
    Op *op = ir_op(b, OP_TRANS, &v, 1, &t, 1, 0);
    ir_set_dims(b->s, op, AT_ORDER, order, 2);
    op->result[0]->name = v->name;
    return op->result[0];
}

int ir_trans_dim(const Op *trans, int dim) {
    const Attr *order = ir_attr(trans, AT_ORDER);
    int to = 0;
    while (order->dims[to] != dim) to++;
    return to;
}

bool ir_is_zero(const Value *v) {
    v = ir_repeated(v);
    return op_is(v, OP_CONST) && ir_attr_int(v->def, AT_VALUE, 1) == 0;
}

/* ---- constructors ---- */

Op *ir_op(Builder *b, OpCode code, Value *const *operands, int noperands, const Type *results,
          int nresults, int nregions) {
    Arena *a = &b->s->arena;
    Op *op = arena_alloc(a, sizeof *op);
    op->code = code;
    if (code == OP_WARPS) b->f->roles = op;
    op->span = b->span;
    op->made_in = b->s->step;
    op->noperands = noperands;
    op->operand = arena_array(a, (size_t)noperands, sizeof(Use));
    for (int i = 0; i < noperands; i++) {
        op->operand[i].op = op;
        link_use(&op->operand[i], operands[i]);
    }
    op->nresults = nresults;
    op->result = arena_array(a, (size_t)nresults, sizeof(Value *));
    for (int i = 0; i < nresults; i++) {
        op->result[i] = new_value(b->s, b->f, results[i], NULL);
        op->result[i]->def = op;
        op->result[i]->index = i;
    }
    op->nregions = nregions;
    op->region = arena_array(a, (size_t)nregions, sizeof(Block *));
    for (int i = 0; i < nregions; i++) op->region[i] = ir_block(b->s, op);
    insert(b->block, op, b->before);
    return op;
}

Op *ir_op_like(Builder *b, const Op *op, Value *const *operands, int noperands,
               const Type *results) {
    Arena *a = &b->s->arena;
    Type *own = results ? NULL : arena_array(a, (size_t)op->nresults, sizeof *own);
    for (int i = 0; own && i < op->nresults; i++) own[i] = op->result[i]->type;
    Op *like =
        ir_op(b, op->code, operands, noperands, own ? own : results, op->nresults, op->nregions);
    like->attr = arena_copy(a, op->attr, (size_t)op->nattrs * sizeof *op->attr);
    like->nattrs = op->nattrs;
    return like;
}

static void copy_looks(Value *to, const Value *from) {
    to->name = from->name;
    to->layout = from->layout;
}

Op *ir_for(Builder *b, Value *lo, Value *hi, Value *step, Value *const *init, int n) {
    Arena *a = &b->s->arena;
    Value **operand = arena_array(a, (size_t)n + 3, sizeof *operand);
    Type *type = arena_array(a, (size_t)n, sizeof *type);
    operand[0] = lo, operand[1] = hi, operand[2] = step;
    for (int i = 0; i < n; i++) {
        operand[3 + i] = init[i];
        type[i] = init[i]->type;
    }
    Op *loop = ir_op(b, OP_FOR, operand, n + 3, type, n, 1);
    ir_block_arg(b->s, b->f, loop->region[0], lo->type, NULL);
    for (int i = 0; i < n; i++) {
        copy_looks(ir_block_arg(b->s, b->f, loop->region[0], type[i], NULL), init[i]);
        copy_looks(loop->result[i], init[i]);
    }
    return loop;
}

Op *ir_for_more(Session *s, Func *f, Op *loop, Value *const *more, int n) {
    int had = loop->nresults;
    Builder b = {s, f, loop->block, loop, loop->span};
    Value **in = arena_array(&s->arena, (size_t)(had + n), sizeof *in);
    for (int i = 0; i < had; i++) in[i] = loop->operand[3 + i].value;
    memcpy(in + had, more, (size_t)n * sizeof *in);
    Op *op = ir_for(&b, loop->operand[0].value, loop->operand[1].value, loop->operand[2].value, in,
                    had + n);
    for (int i = 0; i < loop->nattrs; i++)
        if (attr_info[loop->attr[i].id].kind == ATTR_INT)
            ir_set_attr(s, op, loop->attr[i].id, loop->attr[i].i);
    Block *was = loop->region[0], *body = op->region[0];
    for (int i = 0; i <= had; i++) {
        copy_looks(body->args[i], was->args[i]);
        ir_replace_uses(was->args[i], body->args[i]);
    }
    for (int i = 0; i < had; i++) copy_looks(op->result[i], loop->result[i]);
    while (was->first) ir_append(body, was->first);
    return op;
}

Op *ir_for_widen(Session *s, Func *f, Op *loop, Value *const *more, int n) {
    Op *to = ir_for_more(s, f, loop, more, n);
    for (int i = 0; i < loop->nresults; i++) ir_replace_uses(loop->result[i], to->result[i]);
    ir_erase(loop);
    return to;
}

Op *ir_if_widen(Session *s, Func *f, Op *branch, const Type *more, int n) {
    int had = branch->nresults;
    Builder b = {s, f, branch->block, branch, branch->span};
    Type *types = arena_array(&s->arena, (size_t)(had + n), sizeof *types);
    for (int i = 0; i < had; i++) types[i] = branch->result[i]->type;
    memcpy(types + had, more, (size_t)n * sizeof *types);
    Value *condition = branch->operand[0].value;
    Op *to = ir_op(&b, OP_IF, &condition, 1, types, had + n, 2);
    ir_swap_regions(to, branch);
    for (int i = 0; i < had; i++) {
        copy_looks(to->result[i], branch->result[i]);
        ir_replace_uses(branch->result[i], to->result[i]);
    }
    ir_erase(branch);
    return to;
}

void ir_yield_more(Session *s, Func *f, Op *yield, Value *const *more, int n) {
    int had = yield->noperands;
    Builder b = {s, f, yield->block, yield, yield->span};
    Value **out = arena_array(&s->arena, (size_t)(had + n), sizeof *out);
    for (int i = 0; i < had; i++) out[i] = yield->operand[i].value;
    memcpy(out + had, more, (size_t)n * sizeof *out);
    ir_op(&b, OP_YIELD, out, had + n, NULL, 0, 0);
    ir_erase(yield);
}

Value *ir_op1(Builder *b, OpCode code, Value *const *operands, int noperands) {
    Type t = {0};
    switch (op_info[code].result) {
    case RESULT_ARG0: t = operands[0]->type; break;
    case RESULT_ARG1: t = operands[noperands > 1 ? 1 : 0]->type; break;
    case RESULT_ARG2: t = operands[noperands > 2 ? 2 : 0]->type; break;
    case RESULT_BOOL0: t = type_with_elem(operands[0]->type, EL_I1); break;
    case RESULT_POINTEE0: t = type_pointee(operands[0]->type); break;
    case RESULT_NONE:
    case RESULT_GIVEN:
    case RESULT_MANY: ir_op(b, code, operands, noperands, NULL, 0, 0); return NULL;
    }
    return ir_op(b, code, operands, noperands, &t, 1, 0)->result[0];
}

Value *ir_unary(Builder *b, OpCode code, Value *x) {
    return ir_op1(b, code, &x, 1);
}

Value *ir_binary(Builder *b, OpCode code, Value *x, Value *y) {
    Value *xy[] = {x, y};
    return ir_op1(b, code, xy, 2);
}

Value *ir_given(Builder *b, OpCode code, Value *x, Type result) {
    return ir_op(b, code, &x, 1, &result, 1, 0)->result[0];
}

Value *ir_const_bits(Builder *b, Type t, int64_t bits) {
    Op *op = ir_op(b, OP_CONST, NULL, 0, &t, 1, 0);
    ir_set_attr(b->s, op, AT_VALUE, bits);
    return op->result[0];
}

Value *ir_const_int(Builder *b, Type t, int64_t v) {
    if (type_is_float(t)) return ir_const_float(b, t, (double)v);
    return ir_const_bits(b, t, type_is_pointer(t) ? v : elem_wrap((Elem)t.elem, v));
}

Value *ir_const_float(Builder *b, Type t, double v) {
    return ir_const_bits(b, t, (int64_t)elem_from_double((Elem)t.elem, v));
}

Value *ir_cmp(Builder *b, Pred p, Value *x, Value *y) {
    Value *v = ir_binary(b, OP_CMP, x, y);
    ir_set_attr(b->s, v->def, AT_PRED, p);
    return v;
}

static Attr *attr_slot(Session *s, Op *op, AttrId id) {
    for (int i = 0; i < op->nattrs; i++)
        if (op->attr[i].id == id) return &op->attr[i];
    Attr *all = arena_array(&s->arena, (size_t)op->nattrs + 1, sizeof *all);
    if (op->nattrs) memcpy(all, op->attr, (size_t)op->nattrs * sizeof *all);
    op->attr = all;
    all[op->nattrs] = (Attr){.id = id};
    return &all[op->nattrs++];
}

void ir_set_attr(Session *s, Op *op, AttrId id, int64_t v) {
    attr_slot(s, op, id)->i = v;
}

void ir_drop_attr(Op *op, AttrId id) {
    int kept = 0;
    for (int i = 0; i < op->nattrs; i++)
        if (op->attr[i].id != id) op->attr[kept++] = op->attr[i];
    op->nattrs = kept;
}

void ir_set_text(Session *s, Op *op, AttrId id, const char *text) {
    attr_slot(s, op, id)->text = text;
}

void ir_copy_attr(Session *s, const Op *from, Op *to, AttrId id) {
    const Attr *a = ir_attr(from, id);
    if (a) *attr_slot(s, to, id) = *a;
}

void ir_set_dims(Session *s, Op *op, AttrId id, const int *dims, int n) {
    Attr *a = attr_slot(s, op, id);
    a->ndims = (uint8_t)n;
    for (int i = 0; i < n; i++) a->dims[i] = (uint8_t)dims[i];
}

/* What has been copied, by the ids of a region: what it is made of may be few of many values. */
typedef struct Copies {
    Value **at;
    uint32_t first, n;
} Copies;

static Value *copied(Value *v, const Copies *c) {
    uint32_t at = v->id - c->first; /* an id below the first is beyond the last, too */
    return at < c->n && c->at[at] ? c->at[at] : v;
}

static void note_copy(Value *from, Value *to, const Copies *c) {
    uint32_t at = from->id - c->first;
    copy_looks(to, from);
    if (at < c->n) c->at[at] = to;
}

static void widen(Value *const *v, int n, uint32_t *first, uint32_t *end) {
    for (int i = 0; i < n; i++) {
        if (v[i]->id < *first) *first = v[i]->id;
        if (v[i]->id >= *end) *end = v[i]->id + 1;
    }
}

static void ids_of_region(const Block *b, uint32_t *first, uint32_t *end) {
    widen(b->args, b->nargs, first, end);
    for (const Op *x = b->first; x; x = x->next) {
        widen(x->result, x->nresults, first, end);
        for (int r = 0; r < x->nregions; r++) ids_of_region(x->region[r], first, end);
    }
}

static Op *clone_op(Builder *b, const Op *op, const Copies *c);

static void clone_region(Builder *b, const Block *from, Block *to, const Copies *outer) {
    Builder inner = *b;
    Copies c = *outer;
    inner.block = to;
    inner.before = NULL;
    if (!c.at) {
        uint32_t end = 0;
        c.first = UINT32_MAX;
        ids_of_region(from, &c.first, &end);
        c.n = end > c.first ? end - c.first : 0;
        c.at = arena_array(&b->s->arena, c.n, sizeof *c.at);
    }
    for (int i = 0; i < from->nargs; i++)
        note_copy(from->args[i], ir_block_arg(b->s, b->f, to, from->args[i]->type, NULL), &c);
    for (const Op *x = from->first; x; x = x->next) clone_op(&inner, x, &c);
}

static Op *clone_op(Builder *b, const Op *op, const Copies *c) {
    Arena *a = &b->s->arena;
    Value **operands = arena_array(a, (size_t)op->noperands, sizeof(Value *));
    for (int i = 0; i < op->noperands; i++) operands[i] = copied(op->operand[i].value, c);
    Span span = b->span;
    b->span = op->span;
    Op *copy = ir_op_like(b, op, operands, op->noperands, NULL);
    for (int r = 0; r < op->nregions; r++) clone_region(b, op->region[r], copy->region[r], c);
    for (int i = 0; i < op->nresults; i++) note_copy(op->result[i], copy->result[i], c);
    b->span = span;
    return copy;
}

Op *ir_clone(Builder *b, const Op *op, Value **map, uint32_t n) {
    return clone_op(b, op, &(Copies){map, 0, map ? n : 0});
}

Op *ir_version(Session *s, Func *f, Op *loop, Value *cond, Value **map) {
    Builder b = {s, f, loop->block, loop, loop->span}, other;
    uint32_t known = f->nvalues;
    int n = loop->nresults;
    Type *types = arena_array(&s->arena, (size_t)n, sizeof *types);
    for (int i = 0; i < n; i++) types[i] = loop->result[i]->type;
    Op *version = ir_op(&b, OP_IF, &cond, 1, types, n, 2);
    for (int i = 0; i < n; i++) {
        version->result[i]->layout = loop->result[i]->layout;
        version->result[i]->name = loop->result[i]->name;
        ir_replace_uses(loop->result[i], version->result[i]);
    }
    b.before = NULL;
    b.block = version->region[0];
    other = b;
    other.block = version->region[1];
    if (!map) map = arena_array(&s->arena, known, sizeof *map);
    Op *copy = ir_clone(&b, loop, map, known);
    ir_append(other.block, loop);
    ir_op(&b, OP_YIELD, copy->result, n, NULL, 0, 0);
    ir_op(&other, OP_YIELD, loop->result, n, NULL, 0, 0);
    return copy;
}

void ir_clone_region(Builder *b, const Block *from, Block *to) {
    clone_region(b, from, to, &(Copies){0});
}

Func *ir_clone_func(Module *m, Func *f, const char *name) {
    Session *s = m->session;
    Func *to = arena_alloc(&s->arena, sizeof *to);
    *to = *f;
    to->name = name;
    to->roles = NULL;
    to->nvalues = 0;
    to->body = ir_block(s, NULL);
    to->param = arena_copy(&s->arena, f->param, (size_t)f->nparams * sizeof *f->param);
    Copies c = {arena_array(&s->arena, f->nvalues, sizeof *c.at), 0, f->nvalues};
    for (int i = 0; i < f->nparams; i++) {
        Value *from = f->param[i].value;
        if (!from) continue;
        Value *v = new_value(s, to, from->type, from->name);
        v->block = to->body;
        v->index = i;
        to->param[i].value = v;
        note_copy(from, v, &c);
    }
    Builder b = {s, to, to->body, NULL, f->span};
    for (const Op *x = f->body->first; x; x = x->next) clone_op(&b, x, &c);
    f->next = to;
    return to;
}

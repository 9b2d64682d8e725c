/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace.c: which parameter each pointer value of a function was made from, for the names and
 * the bounds that its accesses are checked with.
 *
 * Convention: by value id, a parameter's index, INTERP_NO_PARAM for a pointer of several or of none
 * (one that was loaded, say), or UNSEEN. A loop's arguments depend on what its end yields, so the
 * function is walked until nothing changes; a value changes at most twice. */
#include "ir/interp/machine.h"

enum { UNSEEN = -2 };

typedef struct Trace {
    Run *r;
    int *param_of;
    bool failed, changed;
} Trace;

static void join_param(Trace *t, const Value *v, int param) {
    int *at = &t->param_of[v->id], old = *at;
    if (param == UNSEEN || old == param || old == INTERP_NO_PARAM) return;
    *at = old == UNSEEN ? param : INTERP_NO_PARAM;
    t->changed = true;
}

static void join_value(Value *from, Value *to, void *ctx) {
    Trace *t = ctx;
    if (type_is_pointer(to->type) || to->type.space == SPACE_DESC)
        join_param(t, to, t->param_of[from->id]);
}

static void trace_block(Trace *t, const Block *b, int depth);

static void trace_op(Trace *t, const Op *op, int depth) {
    for (int i = 0; i < op->nregions; i++) trace_block(t, op->region[i], depth + 1);
    ir_each_flow(op, join_value, t);
    switch (op->code) {
    case OP_FOR:
    case OP_WHILE:
    case OP_IF:
    case OP_SELECT:
    case OP_WARPS: break;
    case OP_JOIN: join_value(ir_operand(op, 1), op->result[0], t); /* fallthrough */
    case OP_MAKE_DESC:
    case OP_ADDPTR:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS:
    case OP_CONVERT:
    case OP_HINT:
    case OP_GATHER:
    case OP_BITCAST:
    case OP_SPLIT:
        for (int i = 0; i < op->nresults; i++) join_value(ir_operand(op, 0), op->result[i], t);
        break;
    default:
        for (int i = 0; i < op->nresults; i++)
            if (type_is_pointer(op->result[i]->type)) join_param(t, op->result[i], INTERP_NO_PARAM);
    }
}

static void trace_block(Trace *t, const Block *b, int depth) {
    if (depth > INTERP_MAX_DEPTH) {
        diag(&t->r->s->diags, E_NESTING_LIMIT, b->parent->span, "regions are nested deeper than %d",
             INTERP_MAX_DEPTH);
        t->failed = true;
        return;
    }
    for (const Op *op = b->first; op && !t->failed; op = op->next) trace_op(t, op, depth);
}

int *interp_trace(Run *r) {
    const Func *f = r->launch->func;
    Trace t = {.r = r};
    t.param_of = arena_array(&r->s->arena, f->nvalues, sizeof *t.param_of);
    for (uint32_t i = 0; i < f->nvalues; i++) t.param_of[i] = UNSEEN;
    for (int i = 0; i < f->nparams; i++) {
        const Value *v = f->param[i].value;
        if (v && !v->def && type_is_pointer(v->type)) t.param_of[v->id] = i;
    }
    do {
        t.changed = false;
        trace_block(&t, f->body, 0);
    } while (t.changed && !t.failed);
    for (uint32_t i = 0; i < f->nvalues; i++)
        if (t.param_of[i] == UNSEEN) t.param_of[i] = INTERP_NO_PARAM;
    return t.failed ? NULL : t.param_of;
}

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
    bool failed;
} Trace;

static bool join_param(Trace *t, const Value *v, int param) {
    int *at = &t->param_of[v->id], old = *at;
    if (param == UNSEEN || old == param || old == INTERP_NO_PARAM) return false;
    *at = old == UNSEEN ? param : INTERP_NO_PARAM;
    return true;
}

static bool join_value(Trace *t, const Value *to, const Value *from) {
    return (type_is_pointer(to->type) || to->type.space == SPACE_DESC) &&
           join_param(t, to, t->param_of[from->id]);
}

static bool join_operands(Trace *t, Value *const *to, int n, const Op *from, int first) {
    bool changed = false;
    for (int i = 0; i < n && first + i < from->noperands; i++)
        changed |= join_value(t, to[i], ir_operand(from, first + i));
    return changed;
}

static bool trace_block(Trace *t, const Block *b, int depth);

static bool trace_op(Trace *t, const Op *op, int depth) {
    bool changed = false;
    for (int i = 0; i < op->nregions; i++) changed |= trace_block(t, op->region[i], depth + 1);
    const Op *last = op->nregions ? op->region[op->nregions - 1]->last : NULL;
    const Block *first = op->nregions ? op->region[0] : NULL;
    switch (op->code) {
    case OP_FOR:
        changed |= join_operands(t, first->args + 1, first->nargs - 1, op, 3);
        changed |= join_operands(t, first->args + 1, first->nargs - 1, last, 0);
        changed |= join_operands(t, op->result, op->nresults, op, 3);
        return changed | join_operands(t, op->result, op->nresults, last, 0);
    case OP_WHILE:
        changed |= join_operands(t, first->args, first->nargs, op, 0);
        changed |= join_operands(t, first->args, first->nargs, last, 0);
        changed |= join_operands(t, op->region[1]->args, op->region[1]->nargs, first->last, 1);
        return changed | join_operands(t, op->result, op->nresults, first->last, 1);
    case OP_IF:
        changed |= join_operands(t, op->result, op->nresults, first->last, 0);
        return changed | join_operands(t, op->result, op->nresults, last, 0);
    case OP_WARPS: return changed;
    case OP_MAKE_DESC:
    case OP_ADDPTR:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS:
    case OP_CONVERT:
    case OP_HINT:
    case OP_GATHER:
    case OP_BITCAST: return changed | join_operands(t, op->result, 1, op, 0);
    case OP_JOIN:
        changed |= join_operands(t, op->result, 1, op, 0);
        return changed | join_operands(t, op->result, 1, op, 1);
    case OP_SPLIT:
        changed |= join_operands(t, op->result, 1, op, 0);
        return changed | join_operands(t, op->result + 1, 1, op, 0);
    case OP_SELECT:
        changed |= join_operands(t, op->result, 1, op, 1);
        return changed | join_operands(t, op->result, 1, op, 2);
    default:
        for (int i = 0; i < op->nresults; i++)
            changed |= type_is_pointer(op->result[i]->type) &&
                       join_param(t, op->result[i], INTERP_NO_PARAM);
        return changed;
    }
}

static bool trace_block(Trace *t, const Block *b, int depth) {
    bool changed = false;
    if (depth > INTERP_MAX_DEPTH) {
        diag(&t->r->s->diags, DIAG_ERROR, b->parent->span, "regions are nested deeper than %d",
             INTERP_MAX_DEPTH);
        t->failed = true;
        return false;
    }
    for (const Op *op = b->first; op && !t->failed; op = op->next)
        changed |= trace_op(t, op, depth);
    return changed;
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
    while (trace_block(&t, f->body, 0)) continue;
    for (uint32_t i = 0; i < f->nvalues; i++)
        if (t.param_of[i] == UNSEEN) t.param_of[i] = INTERP_NO_PARAM;
    return t.failed ? NULL : t.param_of;
}

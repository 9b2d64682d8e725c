/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan.c: what an operation's step needs to know beyond its slots, worked out once: strides,
 * the sizes along an axis, the arithmetic of a matrix product or of an atomic. */
#include "ir/interp/machine.h"

const Strides *plan_strided(Arena *a, const Op *op) {
    Type x = ir_operand(op, 0)->type, r = op->result[0]->type;
    const Attr *order = ir_attr(op, AT_ORDER);
    Strides *s = arena_alloc(a, sizeof *s);
    for (int i = 0; i < r.rank; i++) {
        int d = order ? order->dims[i] : i, below = 0;
        for (int k = d + 1; k < x.rank; k++) below += x.log2[k];
        if (r.log2[i] == 0) continue;
        s->dim[s->rank] = type_dim(r, i);
        s->stride[s->rank++] = x.log2[d] ? (int64_t)1 << below : 0;
    }
    if (s->rank == 0) s->dim[s->rank++] = 1;
    return s;
}

/* fp32 as a sum of shorter numbers, and which products of theirs are added, small ones first. */
static const DotSplit splits[] = {
    [PRECISION_TF32] = {1, 13, false, 1, {{0, 0}}},
    [PRECISION_TF32X3] = {2, 13, false, 3, {{1, 0}, {0, 1}, {0, 0}}},
    [PRECISION_IEEE] = {0},
    [PRECISION_BF16X3] = {2, 16, true, 3, {{1, 0}, {0, 1}, {0, 0}}},
    [PRECISION_BF16X6] = {3, 16, true, 6, {{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}, {0, 0}}},
};

static const char *plan_dot(Arena *arena, const Op *op, const void **detail) {
    Type a = ir_operand(op, 0)->type, b = ir_operand(op, 1)->type, r = op->result[0]->type;
    DotPlan *d = arena_alloc(arena, sizeof *d);
    int last = r.rank - 1;
    *d = (DotPlan){.batch = 1, .m = type_dim(r, last - 1), .n = type_dim(r, last)};
    d->saturates = ir_attr_int(op, AT_SATURATE, 0);
    d->k = type_dim(a, last);
    for (int i = 0; i < last - 1; i++) {
        d->batch *= type_dim(r, i);
        if (a.log2[i] != r.log2[i] || b.log2[i] != r.log2[i]) return "dot: batches differ";
    }
    bool floats = type_is_float(r);
    if (floats != type_is_float(a) || floats != type_is_float(b) ||
        (!floats && (type_elem_bits(r) != 32 || type_elem_bits(a) > 32 || type_elem_bits(b) > 32)))
        return "dot: these element types do not multiply into this one";
    d->work = !floats ? EL_I32 : r.elem == EL_F64 ? EL_F64 : EL_F32;
    size_t size = (size_t)elem_info[d->work].bytes;
    size_t na = (size_t)type_numel(a), nb = (size_t)type_numel(b);
    if (a.elem == EL_F32 && d->work == EL_F32)
        d->split = &splits[ir_attr_int(op, AT_PRECISION, PRECISION_TF32)];
    size_t parts = d->split && d->split->parts > 1 ? (size_t)d->split->parts : 1;
    d->a = arena_array(arena, na * parts, size);
    d->b = arena_array(arena, nb * parts, size);
    if ((Elem)r.elem != d->work) d->sum = arena_array(arena, (size_t)type_numel(r), size);
    d->row = arena_array(arena, (size_t)d->m, sizeof *d->row);
    d->col = arena_array(arena, (size_t)d->n, sizeof *d->col);
    *detail = d;
    return NULL;
}

static const OpCode rmw_ops[] = {[RMW_ADD] = OP_ADD, [RMW_MAX] = OP_MAX, [RMW_MIN] = OP_MIN,
                                 [RMW_AND] = OP_AND, [RMW_OR] = OP_OR,   [RMW_XOR] = OP_XOR};

const char *atomic_plan(const Op *op, Elem elem, Sem absent, AtomicPlan *plan) {
    int64_t rmw = ir_attr_int(op, AT_RMW, RMW_XCHG), sem = ir_attr_int(op, AT_SEM, absent);
    bool others = ir_attr_int(op, AT_SCOPE, SCOPE_GPU) != SCOPE_CTA; /* seen by other programs */
    plan->exchange = rmw == RMW_XCHG;
    plan->acquire = others && (sem == SEM_ACQ_REL || sem == SEM_ACQUIRE);
    plan->release = others && (sem == SEM_ACQ_REL || sem == SEM_RELEASE);
    if (plan->exchange || lane_op_of(rmw_ops[rmw], elem, &plan->lane)) return NULL;
    return "there is no such atomic for this element type";
}

static const char *plan_atomic(Arena *a, const Op *op, const void **detail) {
    AtomicPlan *plan = arena_alloc(a, sizeof *plan);
    *detail = plan;
    return atomic_plan(op, stored_elem(type_pointee(ir_operand(op, 0)->type)), SEM_ACQ_REL, plan);
}

const char *interp_plan(Run *r, const Op *op, const void **detail) {
    Arena *a = &r->s->arena;
    switch (op->code) {
    case OP_BROADCAST:
    case OP_TRANS: *detail = plan_strided(a, op); break;
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_ATOMIC_LOAD:
    case OP_ATOMIC_STORE:
    case OP_ATOMIC_POLL: return plan_atomic(a, op, detail);
    case OP_FRAGMENT_STORE:
    case OP_FRAGMENT_LOAD: *detail = fragment_plan(a, op); break;
    case OP_FRAGMENT_ADD: *detail = fragment_add_plan(a, op, *detail); break;
    case OP_DOT: return plan_dot(a, op, detail);
    default: break;
    }
    return NULL;
}

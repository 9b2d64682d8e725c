/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* atomic.c: the atomic builtins -> operations on integers, and on floats where they add.
 *
 * Convention: the operations know floats for add alone. Exchanges of floats are exchanges of their
 * bits. The larger of two floats is the larger of their bits as signed integers if the new one is
 * positive, else the smaller of the bits as unsigned integers: the bits of negative numbers rise
 * as the numbers fall. So a maximum is two operations whose masks are disjoint. */
#include "frontend/lower/internal.h"

#include <string.h>

typedef struct Order {
    Sem sem;
    MemScope scope;
} Order;

static const char *user(Lower *l, Type t) {
    return type_user_text(&l->s->arena, t);
}

static const char *const sem_words[] = {"", "acq_rel", "relaxed", "acquire", "release", NULL};
static const Sem sems[] = {SEM_ACQ_REL, SEM_ACQ_REL, SEM_RELAXED, SEM_ACQUIRE, SEM_RELEASE};
static const char *const scope_words[] = {"", "gpu", "cta", "sys", NULL};
static const MemScope scopes[] = {SCOPE_GPU, SCOPE_GPU, SCOPE_CTA, SCOPE_SYS};

static bool arg_order(Lower *l, const Args *a, int sem_at, Order *out) {
    int64_t sem, scope;
    if (!arg_word(l, a, sem_at, sem_words, &sem) ||
        !arg_word(l, a, sem_at + 1, scope_words, &scope))
        return false;
    *out = (Order){sems[sem], scopes[scope]};
    return true;
}

static Value *emit(Lower *l, OpCode code, Value *const *operand, int n, Order order) {
    Value *r = ir_op1(&l->b, code, operand, n);
    if (order.sem != SEM_ACQ_REL) ir_set_attr(l->s, r->def, AT_SEM, order.sem);
    if (order.scope != SCOPE_GPU) ir_set_attr(l->s, r->def, AT_SCOPE, order.scope);
    return r;
}

static Value *emit_rmw(Lower *l, Rmw rmw, Value *p, Value *v, Value *mask, Order order) {
    Value *operand[] = {p, v, mask};
    Value *r = emit(l, OP_ATOMIC, operand, mask ? 3 : 2, order);
    ir_set_attr(l->s, r->def, AT_RMW, rmw);
    return r;
}

/* The integer as wide as a float. */
static Type bits_of(Type t, bool is_signed) {
    int bits = type_elem_bits(t);
    Elem e = bits == 16 ? EL_I16 : bits == 32 ? EL_I32 : EL_I64;
    return type_scalar(is_signed ? e : (Elem)(e - EL_I8 + EL_U8));
}

static Value *as(Lower *l, Value *v, Type elem) {
    Type to = type_with_shape(elem, v->type);
    return type_equal(to, v->type) ? v : ir_given(&l->b, OP_BITCAST, v, to);
}

static Value *float_extreme(Lower *l, Rmw rmw, Value *p, Value *v, Value *mask, Order order) {
    Type is = bits_of(type_element(v->type), true), us = bits_of(type_element(v->type), false);
    Value *bits = as(l, v, is);
    Value *positive = ir_cmp(&l->b, PRED_GE, bits, ir_const_int(&l->b, bits->type, 0));
    Value *negative = ir_cmp(&l->b, PRED_LT, bits, ir_const_int(&l->b, bits->type, 0));
    Value *up = mask ? ir_binary(&l->b, OP_AND, mask, positive) : positive;
    Value *down = mask ? ir_binary(&l->b, OP_AND, mask, negative) : negative;
    Value *a = emit_rmw(l, rmw, as(l, p, type_pointer_to(is)), bits, up, order);
    Value *b = emit_rmw(l, rmw == RMW_MAX ? RMW_MIN : RMW_MAX, as(l, p, type_pointer_to(us)),
                        as(l, v, us), down, order);
    Value *operand[] = {positive, as(l, a, type_element(v->type)), as(l, b, type_element(v->type))};
    return ir_op1(&l->b, OP_SELECT, operand, 3);
}

/* Which element types an atomic takes. */
static bool takes(Rmw rmw, Type t) {
    int bits = type_elem_bits(t);
    if (t.depth) return false;
    if (rmw == RMW_ADD && type_is_float(t)) return bits >= 16;
    if (rmw == RMW_AND || rmw == RMW_OR || rmw == RMW_XOR) return type_is_int(t) && bits >= 32;
    return bits >= 32;
}

static Value *emit_atomic(Lower *l, Rmw rmw, Value *p, Value *v, Value *mask, Order order) {
    Type elem = type_element(v->type);
    if (rmw == RMW_ADD || !type_is_float(elem)) return emit_rmw(l, rmw, p, v, mask, order);
    if (rmw != RMW_XCHG) return float_extreme(l, rmw, p, v, mask, order);
    Type bits = bits_of(elem, true);
    Value *old = emit_rmw(l, rmw, as(l, p, type_pointer_to(bits)), as(l, v, bits), mask, order);
    return as(l, old, elem);
}

Obj bi_atomic(Lower *l, const Args *a, int64_t data) {
    Order order;
    Value *p = pointer_arg(l, a), *mask;
    if (!p || !fit_write_mask(l, a, 2, p, &mask) || !arg_order(l, a, 3, &order)) return poison();
    Type elem = type_element(type_pointee(p->type));
    if (!takes((Rmw)data, elem))
        return fail(l, E_ATOMIC_TYPE, a->where[0], "%s does not support %s",
                    builtin_text(l, a->row), user(l, elem));
    Value *v = fit_value(l, a, 1, p->type);
    if (!v) return poison();
    return obj_value(emit_atomic(l, (Rmw)data, p, v, mask, order));
}

Obj bi_atomic_cas(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Order order;
    Value *p = pointer_arg(l, a);
    if (!p || !may_write(l, a, p->type) || !arg_order(l, a, 3, &order)) return poison();
    Type elem = type_element(type_pointee(p->type));
    if (elem.depth || type_elem_bits(elem) < 16)
        return fail(l, E_ATOMIC_TYPE, a->where[0], "%s takes elements of 16, 32 or 64 bits, not %s",
                    builtin_text(l, a->row), user(l, elem));
    Value *expected = fit_value(l, a, 1, p->type);
    Value *v = expected ? fit_value(l, a, 2, p->type) : NULL;
    if (!v) return poison();
    /* Memory is compared as bits: a NaN equals itself, 0.0 and -0.0 differ. */
    Type bits = type_is_float(elem) ? bits_of(elem, true) : elem;
    Value *operand[] = {as(l, p, type_pointer_to(bits)), as(l, expected, bits), as(l, v, bits)};
    return obj_value(as(l, emit(l, OP_ATOMIC_CAS, operand, 3, order), elem));
}

/* ---- reads and writes as one step ---- */

/* One of two orders, the first of which is what None means. */
static bool arg_one_order(Lower *l, const Args *a, int sem_at, Sem ordered, Order *out) {
    if (!arg_order(l, a, sem_at, out)) return false;
    const char *text;
    if (!arg_text(l, a, sem_at, &text)) return false;
    if (!*text) out->sem = ordered;
    if (out->sem == ordered || out->sem == SEM_RELAXED) return true;
    fail(l, E_ATOMIC_ORDER, a->where[sem_at], "%s only supports %s and relaxed semantics, not '%s'",
         a->row->name, ordered == SEM_ACQUIRE ? "acquire" : "release", text);
    return false;
}

static Op *emit_access(Lower *l, OpCode code, Value *const *operand, int n, Type *result,
                       Order order) {
    Op *op = ir_op(&l->b, code, operand, n, result, result ? 1 : 0, 0);
    ir_set_attr(l->s, op, AT_SEM, order.sem);
    if (order.scope != SCOPE_GPU) ir_set_attr(l->s, op, AT_SCOPE, order.scope);
    return op;
}

/* Pointers to the bytes that bools are in memory, to all other elements as they are. */
static Value *number_pointer(Lower *l, const Args *a, Value *p) {
    Type elem = type_element(type_pointee(p->type));
    if (elem.depth) {
        fail(l, E_ATOMIC_TYPE, a->where[0],
             "%s only supports integer and floating-point elements, not %s", a->row->name,
             user(l, elem));
        return NULL;
    }
    return type_is_bool(elem) ? as(l, p, type_pointer_to(type_scalar(EL_I8))) : p;
}

Obj bi_atomic_load(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Order order;
    Value *p = pointer_arg(l, a), *mask;
    if (!p || !fit_mask(l, a, 1, &p, &mask) || !arg_one_order(l, a, 2, SEM_ACQUIRE, &order))
        return poison();
    Type elem = type_element(type_pointee(p->type));
    if (!(p = number_pointer(l, a, p))) return poison();
    Value *operand[] = {p, mask};
    Type t = type_pointee(p->type);
    Op *op = emit_access(l, OP_ATOMIC_LOAD, operand, mask ? 2 : 1, &t, order);
    return obj_value(cast_value(l, op->result[0], elem, false, a->span));
}

Obj bi_atomic_store(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Order order;
    Value *p = pointer_arg(l, a), *mask;
    if (!p || !fit_write_mask(l, a, 2, p, &mask) || !arg_one_order(l, a, 3, SEM_RELEASE, &order))
        return poison();
    Value *v = fit_value(l, a, 1, p->type);
    if (!v || !(p = number_pointer(l, a, p))) return poison();
    v = cast_value(l, v, type_element(type_pointee(p->type)), false, a->span);
    Value *operand[] = {p, v, mask};
    if (v) emit_access(l, OP_ATOMIC_STORE, operand, mask ? 3 : 2, NULL, order);
    return obj_none();
}

/* A tile of nanoseconds in the shape of p; *out NULL: no end. False after an error. */
static bool arg_timeout(Lower *l, const Args *a, int i, Type p, Value **out) {
    Obj o = a->at[i];
    *out = NULL;
    if (o.kind == OBJ_NONE) return true;
    if (o.kind == OBJ_INT && !o.big && o.i < 0) {
        fail(l, E_ARGUMENT_RANGE, a->where[i],
             "atomic_poll timeout_ns must be non-negative, not %s", obj_text(l, o));
        return false;
    }
    Value *v = arg_value(l, a, i);
    if (!v) return false;
    if (v->type.rank || !type_is_int(v->type)) {
        fail(l, E_ARGUMENT_KIND, a->where[i],
             "atomic_poll timeout_ns must be a scalar integer, not %s", user(l, v->type));
        return false;
    }
    v = cast_value(l, v, type_scalar(EL_U64), false, a->span);
    *out = broadcast_value(l, v, p, a->span);
    return *out != NULL;
}

Obj bi_atomic_poll(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Order order;
    Value *p = pointer_arg(l, a), *timeout;
    if (!p || !arg_one_order(l, a, 2, SEM_ACQUIRE, &order)) return poison();
    Type elem = type_element(type_pointee(p->type));
    if (!type_is_int(elem) || type_elem_bits(elem) < 16)
        return fail(l, E_ATOMIC_TYPE, a->where[0],
                    "atomic_poll only supports integer elements of 16, 32 or 64 bits, not %s",
                    user(l, elem));
    Value *expected = fit_value(l, a, 1, p->type);
    if (!expected || !arg_timeout(l, a, 4, p->type, &timeout)) return poison();
    Value *operand[] = {p, expected, timeout};
    Type t = type_with_shape(type_scalar(EL_I1), p->type);
    return obj_value(
        emit_access(l, OP_ATOMIC_POLL, operand, timeout ? 3 : 2, &t, order)->result[0]);
}

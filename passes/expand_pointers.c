/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand_pointers.c: how a pipelined loop carries its pointers and counters (see
 * expand_pipeline.c): strength-reduced, and where LLVM does not see how they are made. */
#include "passes/expand_pipeline.h"

/* The scalar outside of the loop that all of a tile's elements are; NULL: there is none. */
static Value *uniform(const Op *loop, Builder *b, const Value *v) {
    Value *x = ir_repeated(v);
    int64_t bits;
    if (ir_int_constant(x, &bits)) return ir_const_int(b, type_element(x->type), bits);
    if (type_is_tile(x->type)) return NULL;
    return ir_defined_outside(x, loop) ? x : NULL;
}

Value *pointer_increment(const Schedule *t, Builder *b, int carried) {
    const Value *v = t->loop->region[0]->args[1 + carried], *next = schedule_next(t, carried);
    if (!type_is_tile(v->type) || !op_is(next, OP_ADDPTR) || next->def->operand[0].value != v ||
        ir_attr_int(next->def, AT_BYTES, 0))
        return NULL;
    Value *by = uniform(t->loop, b, next->def->operand[1].value);
    Type i64 = type_scalar(EL_I64);
    if (!by) return NULL;
    if (!type_equal(by->type, i64)) by = ir_given(b, OP_CAST, by, i64);
    int64_t bytes = type_elem_bytes(type_element(type_pointee(v->type)));
    by = ir_unary(b, OP_HINT, ir_binary(b, OP_MUL, by, ir_const_int(b, i64, bytes)));
    ir_set_attr(b->s, by->def, AT_UNIFORM, 1);
    return by;
}

Value *pointer_moved(Builder *b, Value *start, Value *bytes) {
    Value *x[] = {start, ir_given(b, OP_SPLAT, bytes, type_with_shape(bytes->type, start->type))};
    x[1]->layout = start->layout;
    Value *v = ir_op1(b, OP_ADDPTR, x, 2);
    ir_set_attr(b->s, v->def, AT_BYTES, 1);
    v->layout = start->layout;
    v->name = start->name;
    return v;
}

/* Of 32 bits are the scalars that a pipeline carries beside the index. LLVM would work them out
 * from it where they are used, between matrix instructions, whose descriptors hold the uniform
 * registers; where it does not see the first it counts them. Of 64 are the numbers that the
 * pointers move on by. LLVM sees none of them, or it counts pointers, each on its own, or makes of
 * them products that ptxas multiplies out anew in each iteration: an IMAD.WIDE for each copy,
 * between matrix instructions, is 10 % of the time of 128x128x64. */
void make_opaque(Builder *b, Value **v, int n, int bits) {
    for (int i = 0; i < n; i++) {
        Type t = v[i]->type;
        if (t.space || t.rank || t.depth || !type_is_int(t) || type_elem_bits(t) != bits) continue;
        const char *name = v[i]->name;
        v[i] = ir_unary(b, OP_HINT, v[i]);
        v[i]->name = name;
        ir_set_attr(b->s, v[i]->def, AT_OPAQUE, 1);
    }
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_remainder.c: the remainder of a range by a number -> a test whether the range ends below it,
 * and remainders only where it does not.
 *
 * `(pid * BLOCK + arange(0, BLOCK)) % N` keeps the offsets of the last program inside a matrix; in
 * all others it changes nothing, and costs a division, with its latency, before the first load. */
#include "codegen/gen.h"

typedef struct Range { /* elements are base + lo … base + hi, modulo the type's size */
    LLVMValueRef base; /* i64; NULL: 0 */
    int64_t lo, hi;
} Range;

enum { MOST_DEPTH = 16 };

static LLVMValueRef wide(Gen *g, const Value *scalar) {
    LLVMValueRef v = gen_scalar(g, scalar);
    return type_is_signed(scalar->type) ? LLVMBuildSExt(g->b, v, g->i64, "")
                                        : LLVMBuildZExt(g->b, v, g->i64, "");
}

/* Looks through what an index is made of: ranges and scalars, and their sums. */
static bool range_of(Gen *g, const Value *v, int depth, Range *r) {
    const Op *op = v->def;
    Range x, y;
    int64_t number;
    *r = (Range){0};
    if (!op || depth > MOST_DEPTH) return false;
    if (ir_int_constant(v, &number)) {
        if (number < INT32_MIN || number > INT32_MAX) return false;
        r->lo = r->hi = number;
        return true;
    }
    switch (op->code) {
    case OP_ARANGE:
        r->lo = ir_attr_int(op, AT_START, 0);
        r->hi = ir_attr_int(op, AT_END, 0) - 1;
        return true;
    case OP_SPLAT: r->base = wide(g, op->operand[0].value); return true;
    case OP_RESHAPE:
    case OP_BROADCAST:
    case OP_TRANS:
    case OP_CONVERT:
    case OP_HINT: return range_of(g, op->operand[0].value, depth + 1, r);
    case OP_ADD:
        if (!range_of(g, op->operand[0].value, depth + 1, &x) ||
            !range_of(g, op->operand[1].value, depth + 1, &y))
            return false;
        *r = (Range){x.base, x.lo + y.lo, x.hi + y.hi};
        if (y.base) r->base = x.base ? LLVMBuildAdd(g->b, x.base, y.base, "") : y.base;
        return true;
    default: return false;
    }
}

static bool in_loop(const Op *op) {
    for (const Op *owner = op->block->parent; owner; owner = owner->block->parent)
        if (owner->code == OP_FOR || owner->code == OP_WHILE) return true;
    return false;
}

bool gen_remainder_guard(Gen *g, const Op *op) {
    const Value *result = op->result[0];
    int64_t known;
    if (op->code != OP_REM || !type_is_tile(result->type) || !type_is_int(result->type) ||
        type_elem_bits(result->type) != 32 || in_loop(op))
        return false;
    const Value *by = ir_repeated(op->operand[1].value);
    Range r;
    if (type_is_tile(by->type) || ir_int_constant(by, &known) ||
        !range_of(g, op->operand[0].value, 0, &r))
        return false;
    LLVMValueRef lo = LLVMConstInt(g->i64, (uint64_t)r.lo, 1),
                 hi = LLVMConstInt(g->i64, (uint64_t)r.hi, 1);
    if (r.base) {
        lo = LLVMBuildAdd(g->b, r.base, lo, "");
        hi = LLVMBuildAdd(g->b, r.base, hi, "");
    }
    LLVMValueRef inside =
        LLVMBuildAnd(g->b, LLVMBuildICmp(g->b, LLVMIntSGE, lo, LLVMConstNull(g->i64), ""),
                     LLVMBuildICmp(g->b, LLVMIntSLT, hi, wide(g, by), ""), "");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b);
    LLVMBasicBlockRef wraps = LLVMAppendBasicBlockInContext(g->c, g->func, "wraps");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(g->c, g->func, "wrapped");
    LLVMBuildCondBr(g->b, inside, done, wraps);
    LLVMPositionBuilderAtEnd(g->b, wraps);
    Tile x = gen_tile(g, op->operand[0].value), y = gen_tile(g, op->operand[1].value);
    Tile out = gen_new_tile(g, result);
    bool is_signed = type_is_signed(result->type);
    LLVMValueRef *rest = arena_array(&g->s->arena, (size_t)out.n, sizeof *rest);
    for (int i = 0; i < out.n; i++)
        rest[i] = is_signed ? LLVMBuildSRem(g->b, x.at[i], y.at[i], "")
                            : LLVMBuildURem(g->b, x.at[i], y.at[i], "");
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderAtEnd(g->b, done);
    for (int i = 0; i < out.n; i++) {
        out.at[i] = LLVMBuildPhi(g->b, g->i32, "");
        LLVMAddIncoming(out.at[i], &x.at[i], &before, 1);
        LLVMAddIncoming(out.at[i], &rest[i], &wraps, 1);
    }
    return true;
}

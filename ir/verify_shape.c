/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* verify_shape.c: an op whose result's type is written with it -> whether it can have that type. */
#include "ir/buffer.h"
#include "ir/expression.h"
#include "ir/ir.h"

typedef struct Shape {
    Session *s;
    const char *wrong; /* the first mistake */
} Shape;

static void bad(Shape *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void bad(Shape *v, const char *fmt, ...) {
    if (v->wrong) return;
    va_list ap;
    va_start(ap, fmt);
    v->wrong = arena_vprintf(&v->s->arena, fmt, ap);
    va_end(ap);
}

static Type arg_type(const Op *op, int i) {
    return op->operand[i].value->type;
}

static void check_buffer(Shape *v, const Op *op) {
    enum { MOST_BYTES = 1 << 24 };
    Type t = op->result[0]->type;
    int64_t bytes = type_is_buffer(t) ? buffer_slice_bytes(op) : 0;
    int64_t stride = ir_attr_int(op, AT_STRIDE, bytes), wanted = ir_attr_int(op, AT_SLICES, 1);
    if (!type_is_buffer(t)) bad(v, "the result must be a buffer");
    if (wanted < 1 || wanted > TYPE_MAX_SLICES || (t.slices && ir_attr(op, AT_SLICES)))
        bad(v, "of one slice 1 to %d are made", TYPE_MAX_SLICES);
    if (stride < bytes || stride > MOST_BYTES)
        bad(v, "slices of %lld bytes do not lie so", (long long)bytes);
}

/* What is reached by an index that the program works out lies in row-major order. */
static void check_row_major(Shape *v, const Value *buffer) {
    const Layout *l = buffer->layout;
    for (int i = 0; l && i < l->bits[IN_OFFSET]; i++)
        if (l->basis[IN_OFFSET][i] != (uint32_t)1 << i)
            bad(v, "the buffer is not in row-major order");
}

static void check_gather(Shape *v, const Op *op) {
    int64_t axis = ir_attr_int(op, AT_AXIS, -1);
    Type x = arg_type(op, 0), index = arg_type(op, 1), r = op->result[0]->type;
    if (!type_equal(type_element(r), type_element(type_in_space(x, SPACE_REGISTER))) ||
        !type_same_shape(r, index) || x.rank != index.rank || axis < 0 || axis >= x.rank ||
        (x.space != SPACE_REGISTER && x.space != SPACE_SHARED))
        bad(v, "takes elements along an axis, in the index's shape");
    for (int d = 0; d < x.rank && d < index.rank; d++)
        if (d != axis && x.log2[d] != index.log2[d])
            bad(v, "operand and index differ in another dimension than the axis");
    if (type_is_buffer(x)) check_row_major(v, op->operand[0].value);
}

static void check_histogram(Shape *v, const Op *op, const Value *counts, int first) {
    Type x = arg_type(op, first), r = counts->type;
    bool shared = r.space == SPACE_SHARED;
    if (x.rank != 1 || r.rank != 1 || r.depth || r.elem != EL_I32 || (first && !shared) ||
        (op->noperands > first + 1 && !type_same_shape(x, arg_type(op, first + 1))))
        bad(v, "counts a tile of rank 1 into i32[bins]");
    if (shared) check_row_major(v, counts);
}

static void check_workspace(Shape *v, int64_t bytes) {
    enum { MOST = 1 << 24, UNIT = 16 };
    if (bytes < UNIT || bytes > MOST || bytes % UNIT)
        bad(v, "a program has 16 to %d bytes, a multiple of 16", MOST);
}

/* What is made of no tile. */
static void check_made(Shape *v, const Op *op) {
    Type r = op->result[0]->type;
    switch (op->code) {
    case OP_ARANGE: {
        int64_t start = ir_attr_int(op, AT_START, 0), end = ir_attr_int(op, AT_END, 0);
        bool fits = start >= INT32_MIN && start <= end && end <= INT32_MAX;
        if (!type_equal(r, type_tile(EL_I32, 1, (int64_t[]){type_numel(r)})) || !fits ||
            end - start != type_numel(r))
            bad(v, "the result must be i32[end - start]");
        break;
    }
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS:
    case OP_WORK_SIZE:
        if (!type_equal(r, type_scalar(EL_I32))) bad(v, "the result must be i32");
        if ((uint64_t)ir_attr_int(op, AT_AXIS, 0) > 2) bad(v, "axis must be 0, 1 or 2");
        break;
    case OP_CLUSTER_RANK:
    case OP_CLUSTER_SIZE:
    case OP_CLUSTER_ID:
    case OP_NUM_CLUSTERS:
        if (!type_equal(r, type_scalar(EL_I32))) bad(v, "the result must be i32");
        break;
    case OP_STREAM_K:
        if (!type_equal(r, type_scalar(EL_I32))) bad(v, "the result must be i32");
        for (AttrId id = AT_ITERATION_CLOCKS; id <= AT_MEET_CLOCKS; id++) {
            int64_t clocks = ir_attr_int(op, id, 0);
            if (clocks < 0 || clocks > MOST_CLOCKS) bad(v, "clocks are 0 to 2^30");
        }
        break;
    case OP_WORKSPACE:
        if (!type_equal(r, type_pointer_to(type_scalar(EL_I64))))
            bad(v, "the result must be ptr<i64>");
        check_workspace(v, ir_attr_int(op, AT_BYTES, 0));
        break;
    case OP_LAUNCH_MARK:
        if (!type_equal(r, type_scalar(EL_I64))) bad(v, "the result must be i64");
        break;
    case OP_SINGLE_CTA:
        if (!type_equal(r, type_scalar(EL_I1))) bad(v, "the result must be i1");
        break;
    case OP_CONST:
        if (type_is_pointer(r) && ir_attr_int(op, AT_VALUE, 0)) bad(v, "a constant pointer is 0");
        if (r.space) bad(v, "%s is no constant", space_text[r.space]);
        break;
    default: break;
    }
}

static void check_launch_number(Shape *v, const Op *op) {
    Type r = op->result[0]->type;
    Buf text = buf_new(&v->s->arena);
    if (!type_equal(r, type_scalar(EL_I32)) && !type_equal(r, type_scalar(EL_I64)))
        bad(v, "the result must be i32 or i64");
    else if (!ir_expression(op->operand[0].value, WITH_DIVISORS, &text))
        bad(v, "takes a sum, product or quotient of parameters");
}

static void check_rounded(Shape *v, const Op *op) {
    int64_t arith = ir_attr_int(op, AT_ARITH, ARITH_ADD);
    Type x = op->operand[0].value->type, r = op->result[0]->type;
    bool wide = type_is_int(x) ? type_elem_bits(x) >= 32 : x.elem == EL_F64;
    if (r.depth || (r.elem != EL_F32 && r.elem != EL_F64))
        bad(v, "gives f32 or f64");
    else if (op->noperands != arith_operands(arith))
        bad(v, "has another number of operands");
    else if (arith != ARITH_CVT && !type_equal(x, r))
        bad(v, "gives the type of its operands");
    else if (arith == ARITH_CVT && (!type_same_shape(x, r) || !wide))
        bad(v, "keeps the shape, and converts f64 and integers of 32 and 64 bits");
}

static void check_shape_op(Shape *v, const Op *op) {
    Type r = op->result[0]->type, x = op->noperands ? arg_type(op, 0) : r;
    bool same_elem = r.elem == x.elem && r.depth == x.depth && r.space == x.space;
    switch (op->code) {
    case OP_SPLAT:
        if (!same_elem || x.rank || !r.rank) bad(v, "takes a scalar to a tile of its type");
        break;
    case OP_BROADCAST:
        if (!same_elem || x.rank != r.rank) bad(v, "keeps element type and rank");
        for (int i = 0; i < x.rank && i < r.rank; i++)
            if (x.log2[i] != r.log2[i] && x.log2[i]) bad(v, "only dimensions of size 1 repeat");
        break;
    case OP_RESHAPE:
        if (!same_elem || type_log2_numel(x) != type_log2_numel(r))
            bad(v, "keeps element type and number of elements");
        break;
    case OP_TRANS:
    case OP_BUFFER_TRANS: {
        const Attr *order = ir_attr(op, AT_ORDER);
        unsigned seen = 0;
        if (!same_elem || x.rank != r.rank || !order || order->ndims != x.rank) {
            bad(v, "needs one order entry per dimension");
            break;
        }
        for (int i = 0; i < r.rank; i++) {
            int d = order->dims[i];
            if (d >= x.rank || (seen >> d & 1) || r.log2[i] != x.log2[d])
                bad(v, "order is no permutation that gives this shape");
            if (d < x.rank) seen |= 1u << d;
        }
        break;
    }
    case OP_BUFFER_REINTERPRET:
        if (!type_equal(x, r) || x.slices) bad(v, "keeps the type, of a buffer or of one slice");
        break;
    case OP_CAST:
        if (!type_same_shape(x, r)) bad(v, "keeps the shape");
        if ((x.depth && !r.depth && r.elem != EL_I64 && r.elem != EL_U64) ||
            (r.depth && !x.depth && x.elem != EL_I64 && x.elem != EL_U64))
            bad(v, "pointers convert to and from 64-bit integers only");
        break;
    case OP_ROUNDED: check_rounded(v, op); break;
    case OP_BITCAST:
        if (!type_same_shape(x, r) || type_elem_bits(x) != type_elem_bits(r))
            bad(v, "keeps the shape and the size of an element");
        break;
    case OP_JOIN: {
        bool last = r.rank == x.rank + 1 && r.log2[x.rank] == 1;
        r.rank = (uint8_t)(r.rank - last);
        if (last) r.log2[r.rank] = 0;
        if (!last || !type_equal(r, x)) bad(v, "the result has one dimension of 2 more");
        break;
    }
    case OP_GATHER:
    case OP_SHARED_GATHER: check_gather(v, op); break;
    case OP_HISTOGRAM: check_histogram(v, op, op->result[0], 0); break;
    case OP_BUFFER_ALLOC: check_buffer(v, op); break;
    case OP_BUFFER_SLICE:
        if (!x.slices) bad(v, "operand 0 has no slices");
        x.slices = 0;
        if (!type_equal(x, r)) bad(v, "the result must be one slice of operand 0");
        break;
    case OP_SHARED_LOAD:
        if (!type_equal(type_in_space(x, SPACE_REGISTER), r) || x.space != SPACE_SHARED)
            bad(v, "the result must be the tile of a shared buffer");
        break;
    default: break;
    }
}

const char *ir_shape_error(Session *s, const Op *op) {
    Shape v = {.s = s};
    if (op->code == OP_SHARED_COUNT) check_histogram(&v, op, op->operand[0].value, 1);
    if (op->code == OP_LAUNCH_NUMBER) check_launch_number(&v, op);
    if (op_info[op->code].result != RESULT_GIVEN) return v.wrong;
    check_made(&v, op);
    check_shape_op(&v, op);
    return v.wrong;
}

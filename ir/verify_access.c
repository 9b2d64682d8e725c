/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* verify_access.c: how an access of memory is said to be made -> whether its layouts allow that.
 * Code generation takes the attributes that the pass `access` wrote as they are. */
#include "ir/fragment.h"

/* The tile whose registers are moved; NULL: op has none. */
static const Value *tile_of(const Op *op) {
    switch (op->code) {
    case OP_LOAD:
    case OP_CMP:
    case OP_ATOMIC:
    case OP_SHARED_LOAD: return op->result[0];
    case OP_STORE: return op->operand[1].value;
    case OP_ASYNC_COPY:
    case OP_SHARED_STORE: return op->operand[0].value;
    default: return NULL;
    }
}

/* The shared buffer that they are moved to or from; NULL: they are not. */
static const Value *buffer_of(const Op *op) {
    switch (op->code) {
    case OP_SHARED_LOAD: return op->operand[0].value;
    case OP_ASYNC_COPY:
    case OP_SHARED_STORE: return op->operand[1].value;
    default: return NULL;
    }
}

/* log2 of the longest run of registers of a tile of t that are neighbours in global memory, which
 * is along a dimension, and in the shared buffer. */
static int longest_run(const Op *op, const Layout *l, Type t) {
    const Value *buffer = buffer_of(op);
    if (!l || (buffer && !buffer->layout)) return 0;
    int run = 0, there = buffer ? layout_shared_vector_bits(l, buffer->layout) : LAYOUT_MAX_BITS;
    if (buffer && op->code != OP_ASYNC_COPY) return there;
    for (int d = 0; d < t.rank; d++) {
        int n = layout_vector_bits(l, t, d);
        if (n > run) run = n;
    }
    return run < there ? run : there;
}

const char *ir_cache_error(Session *s, const Op *op, bool load) {
    int64_t cache = ir_attr_int(op, AT_CACHE, CACHE_NONE);
    if (load ? cache < CACHE_WB : cache != CACHE_CA && cache != CACHE_CV) return NULL;
    return arena_printf(&s->arena, "has no cache modifier '%s'", attr_words(AT_CACHE)[cache]);
}

/* How lanes read the operands of a dot. */
static const char *dot_error(Session *s, const Op *op) {
    const Attr *vectors = ir_attr(op, AT_VECTORS);
    int64_t matrices = ir_attr_int(op, AT_LDMATRIX, 0), n_first = ir_attr_int(op, AT_N_FIRST, 0);
    if (!vectors && !matrices && !n_first) return NULL;
    if (!fragment_in_lanes(op)) return "no lane reads this dot's operands from buffers";
    if (matrices >> 2 || (vectors && vectors->ndims != 2)) return "a dot reads two operands";
    if (n_first && ir_attr(op, AT_MMA)) return "n_first is a way to read for multiply-adds";
    for (int i = 0; i < 2; i++) {
        const Value *buffer = op->operand[i].value;
        if (matrices >> i & 1) {
            if (fragment_has_matrices(op, i)) continue;
            return arena_printf(&s->arena, "operand %d has no matrices that ldmatrix reads", i);
        }
        Layout at = fragment_layout(op, i);
        int vec = vectors ? vectors->dims[i] : 0;
        if (vec > layout_shared_access_bits(&at, buffer->layout, buffer->type))
            return arena_printf(&s->arena,
                                "a thread finds no 2^%d elements of operand %d in a row, of up to "
                                "16 bytes",
                                vec, i);
    }
    return NULL;
}

const char *ir_access_error(Session *s, const Op *op) {
    if (op->code == OP_DOT) return dot_error(s, op);
    const Value *x = tile_of(op);
    if (!x) return NULL;
    const Layout *l = x->layout;
    Type t = op->code == OP_ASYNC_COPY ? type_pointee(x->type) : x->type;
    int64_t vector = ir_attr_int(op, AT_VECTOR, 1);
    if (vector != 1 &&
        (vector < 1 || vector & (vector - 1) || vector > (int64_t)1 << longest_run(op, l, t) ||
         vector * type_elem_bytes(t) > 16))
        return arena_printf(&s->arena, "a thread has no %lld elements in a row, of up to 16 bytes",
                            (long long)vector);
    if (ir_attr_int(op, AT_BY_ROW, 0) && ir_attr_int(op, AT_CACHE, CACHE_NONE) != CACHE_CG)
        return "by_row is a way to copy with cache=cg";
    int64_t form = ir_attr_int(op, AT_MATRIX, MATRIX_NONE);
    if (form != MATRIX_NONE &&
        (!l || ir_attr_int(op, AT_OWNER, 0) || !op->operand[1].value->layout ||
         layout_matrix_form(l, op->operand[1].value->layout, t) != form))
        return "threads do not hold matrices whose rows lie whole in the buffer";
    int64_t redundant = ir_attr_int(op, AT_REDUNDANT, 0);
    if (redundant < 0 || redundant >> (l ? l->bits[IN_REG] : 0))
        return "there are fewer registers than 'redundant' says";
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* verify_desc.c: the rules of descriptors and of what is done by them (see desc.h). */
#include "ir/buffer.h"
#include "ir/desc.h"

static Type type_of(const Op *op, int i) {
    return op->operand[i].value->type;
}

/* Of a block, a buffer or a tile of this type. */
static const char *verify_live(const Op *op, Type t) {
    const Attr *live = ir_attr(op, AT_LIVE);
    if (live && live->ndims != t.rank)
        return "live says of each dimension how many elements matter";
    for (int d = 0; live && d < t.rank; d++)
        if (live->dims[d] >= type_dim(t, d)) return "live says how many matter, where not all do";
    return NULL;
}

/* Its slices are written by threads and read by the copy engine: instructions that step through a
 * buffer know nothing of what has no room there. */
static bool is_for_stores(const Value *buffer) {
    for (const Use *u = buffer->uses; u; u = u->next) {
        bool stored = u->op->code == OP_SHARED_STORE || u->op->code == OP_ASYNC_DESC_STORE;
        bool slice = u->op->code == OP_BUFFER_SLICE && is_for_stores(u->op->result[0]);
        if (!slice && (!stored || u != &u->op->operand[1])) return false;
    }
    return true;
}

static bool are_exact(const Func *f, const Value *buffer) {
    for (const Use *u = buffer->uses; u; u = u->next)
        if (u->op->code == OP_BUFFER_SLICE || u->op->code == OP_BUFFER_REINTERPRET
                ? !are_exact(f, u->op->result[0])
                : u->op->code == OP_SHARED_STORE && !stores_what_matters(f, u->op))
            return false;
    return true;
}

static const char *verify_buffer(const Func *f, const Op *op) {
    if (ir_attr_int(op, AT_PACKED, 0) && !ir_attr(op, AT_LIVE))
        return "packed leaves out what does not matter: live says what does";
    if (ir_attr_int(op, AT_PACKED, 0) && !is_for_stores(op->result[0]))
        return "what is packed holds blocks that are stored, and nothing else";
    if (ir_attr(op, AT_LIVE) && ir_attr(op, AT_OFFSET) && !are_exact(f, op->result[0]))
        return "threads store what does not matter, for which it has no room";
    return verify_live(op, op->result[0]->type);
}

static const char *verify_make_desc(const Op *op) {
    Type d = op->result[0]->type, p = type_of(op, 0);
    if (d.space != SPACE_DESC || d.rank < 1)
        return "the result must be a descriptor of 1 dimension or more";
    if (p.rank || !p.depth || !type_equal(type_pointee(p), type_element(d)))
        return "operand 0 must be a pointer to the descriptor's elements";
    if (op->noperands != 1 + 2 * d.rank) return "takes a size and a stride for each dimension";
    if (ir_attr_int(op, AT_FRONT, 0) >> d.rank) return "front is a bit for each dimension";
    if (desc_has_front(op) && ir_attr(op, AT_PADDING))
        return "a tensor that goes on in front is not padded there";
    if (ir_attr_int(op, AT_PADDING, PADDING_ZERO) == PADDING_NAN && !type_is_float(type_element(d)))
        return "only floats are padded with NaN";
    return verify_live(op, d);
}

/* Indices are operands `first` on. A tile as index 0 numbers rows, of which the block has one. */
static const char *verify_access(Session *s, const Op *op, int first, Type value) {
    Type d = type_of(op, 0);
    const Attr *sure = ir_attr(op, AT_IN_BOUNDS);
    if (op->noperands != first + d.rank) return "takes an index for each dimension";
    for (int i = first; i < op->noperands; i++) {
        Type t = type_of(op, i);
        if (type_is_bool(t)) return "indices are no int1";
        if (t.rank && (i > first || t.rank != 1 || d.rank != 2 || d.log2[0]))
            return "indices are scalars, but for a tile of row numbers where the block is a row";
    }
    for (int i = 0; sure && i < sure->ndims; i++)
        if (sure->dims[i] >= d.rank) return "in_bounds names dimensions of the block";
    Value *row = op->operand[first].value;
    if (!type_equal(value, desc_tile(d, &row))) return "moves a tile of the descriptor's block";
    return ir_cache_error(s, op, op->code == OP_DESC_LOAD);
}

/* The buffer has the block's shape, its dimensions in the op's order. */
static bool is_of_block(const Op *op, Type m, Type d) {
    const Attr *given = ir_attr(op, AT_ORDER);
    uint8_t order[TILE_MAX_RANK];
    if (m.rank != (given ? given->ndims : d.rank) || !desc_order(op, order)) return false;
    for (int i = 0; i < m.rank; i++)
        if (m.log2[i] != d.log2[order[d.rank - m.rank + i]]) return false;
    return true;
}

/* The buffer has room for what comes, or was filled with what goes. */
static bool has_live(const Op *op, Type d) {
    const Op *alloc = buffer_alloc(op->operand[1].value), *desc = op->operand[0].value->def;
    uint8_t order[TILE_MAX_RANK];
    if (!alloc || !desc_order(op, order)) return true;
    Type m = alloc->result[0]->type;
    for (int i = 0; i < m.rank; i++)
        if (desc_live(alloc, m, i) < desc_live(desc, d, order[d.rank - m.rank + i])) return false;
    return true;
}

/* A block that the copy engine moves, between global memory and a buffer of its shape. */
static const char *verify_async(const Op *op, int first) {
    Type d = type_of(op, 0), m = type_of(op, 1);
    const Op *desc = op->operand[0].value->def;
    int64_t last;
    if (d.rank > DESC_MAX_RANK || d.depth) return "a descriptor of numbers in 1 to 5 dimensions";
    if (!ir_int_constant(desc_stride(desc, d.rank - 1), &last) || last != 1)
        return "the descriptor's last stride must be 1";
    if (ir_attr(desc, AT_PADDING)) return "the descriptor is to be padded with zeros";
    if (m.space != SPACE_SHARED || m.slices || m.elem != d.elem || m.depth ||
        !is_of_block(op, m, d))
        return "the buffer must be of the descriptor's block";
    if (!has_live(op, d)) return "more of the descriptor's block matters than of the buffer";
    if (op->noperands != first + d.rank) return "takes an index for each dimension";
    for (int i = first; i < op->noperands; i++)
        if (type_of(op, i).elem != EL_I32) return "indices are i32";
    return NULL;
}

/* PTX ISA, cp.reduce.async.bulk.tensor. */
static const char *verify_reduce(const Op *op) {
    Type t = type_element(type_of(op, 0));
    int bits = type_elem_bits(t);
    bool is_float = type_is_float(t), half = is_float && bits == 16, ok;
    switch (ir_attr_int(op, AT_RMW, RMW_XCHG)) {
    case RMW_ADD: ok = half || (bits == 32) || t.elem == EL_U64; break;
    case RMW_MIN:
    case RMW_MAX: ok = half || (!is_float && bits >= 32); break;
    case RMW_AND:
    case RMW_OR:
    case RMW_XOR: ok = !is_float && bits >= 32; break;
    default: ok = false;
    }
    return ok ? verify_async(op, 2) : "the copy engine does not combine such elements so";
}

const char *desc_verify(Session *s, const Func *f, const Op *op) {
    bool by_desc = op->noperands && type_of(op, 0).space == SPACE_DESC;
    if (by_desc && !op_is(op->operand[0].value, OP_MAKE_DESC))
        return "operand 0 must be made by a make_desc";
    switch (op->code) {
    case OP_MAKE_DESC: return verify_make_desc(op);
    case OP_BUFFER_ALLOC: return verify_buffer(f, op);
    case OP_SHARED_STORE: return verify_live(op, type_of(op, 0));
    case OP_DESC_LOAD: return verify_access(s, op, 1, op->result[0]->type);
    case OP_DESC_STORE:
    case OP_DESC_REDUCE: return verify_access(s, op, 2, type_of(op, 1));
    case OP_ASYNC_DESC_LOAD:
    case OP_MBAR_DESC_LOAD: return verify_async(op, 3);
    case OP_ASYNC_DESC_STORE: return verify_async(op, 2);
    case OP_ASYNC_DESC_REDUCE: return verify_reduce(op);
    default: return NULL;
    }
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* descriptor.c: block pointers and tensor descriptors -> descriptors of tile IR.
 *
 * Both are a base pointer, the shape and strides of a tensor in memory, and the size of the block
 * that is read or written. A block pointer has its offsets inside, a tensor descriptor is given
 * them with each access. The object is a tuple that begins with a tag, so that whatever carries
 * tuples (loops, branches, calls) carries descriptors; each access makes a value of it
 * (`make_desc`), and equal ones are merged. */
#include "frontend/lower/signature.h"
#include "ir/desc.h"

#include <string.h>

enum { TAG, BASE, SHAPE, STRIDES, OFFSETS, BLOCK, PADDING, PARTS };

static const char *const tags[] = {"a block pointer", "a tensor descriptor"};

bool obj_is_descriptor(Obj o) {
    if (o.kind != OBJ_TUPLE || o.seq.n != PARTS || o.seq.at[0].kind != OBJ_MODULE) return false;
    return o.seq.at[0].path == tags[0] || o.seq.at[0].path == tags[1];
}

const char *descriptor_text(Obj o) {
    return o.seq.at[TAG].path;
}

bool descriptor_is_tensor(Obj o) {
    return descriptor_text(o) == tags[1];
}

static const char *user(Lower *l, Type t) {
    return type_user_text(&l->s->arena, t);
}

/* ---- making ---- */

/* A scalar integer as an int64 value; NULL: it is none. */
static Value *index_value_of(Lower *l, Obj x, Span span) {
    Type t = type_scalar(EL_I64);
    if ((x.kind == OBJ_INT || x.kind == OBJ_BOOL) && !x.big)
        return number_value(l, obj_int(x.i), t, span);
    if (x.kind != OBJ_VALUE || x.value->type.rank || !type_is_int(x.value->type)) return NULL;
    return cast_value(l, x.value, t, false, span);
}

/* A sequence of n scalar integers as int64 values. */
static bool scalars(Lower *l, const Args *a, int i, int n, Obj *out) {
    Obj o = a->at[i], one = obj_tuple(l, &o, 1);
    if (o.kind != OBJ_TUPLE) o = one;
    if (o.seq.n != n) {
        fail(l, E_DESCRIPTOR_SHAPE, a->where[i], "%s: '%s' has %d numbers where %d are needed",
             builtin_text(l, a->row), arg_name(l, a, i), o.seq.n, n);
        return false;
    }
    *out = obj_tuple(l, o.seq.at, o.seq.n);
    for (int k = 0; k < o.seq.n; k++) {
        Value *v = index_value_of(l, o.seq.at[k], a->where[i]);
        if (!v) {
            fail(l, E_DESCRIPTOR_SHAPE, a->where[i],
                 "%s: '%s' must be made of scalar integers, not %s", builtin_text(l, a->row),
                 arg_name(l, a, i), obj_what(l, o.seq.at[k]));
            return false;
        }
        out->seq.at[k] = obj_value(v);
    }
    return true;
}

/* base, shape, strides and block, which makers of both kinds begin with. */
static bool common_parts(Lower *l, const Args *a, int block_at, Obj *part) {
    Type block;
    Value *base = arg_value(l, a, 0);
    if (!base) return false;
    if (!base->type.depth || base->type.rank) {
        arg_error(l, a, 0, "a scalar pointer");
        return false;
    }
    if (!arg_shape(l, a, block_at, type_element(base->type), &block)) return false;
    if (!block.rank) {
        arg_error(l, a, block_at, "the sizes of at least one dimension");
        return false;
    }
    part[BASE] = obj_value(base);
    part[PADDING] = obj_none();
    part[BLOCK] = obj_dtype(l, block);
    return scalars(l, a, 1, block.rank, &part[SHAPE]) &&
           scalars(l, a, 2, block.rank, &part[STRIDES]);
}

Obj bi_make_block_ptr(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj part[PARTS] = {[TAG] = {.kind = OBJ_MODULE, .path = tags[0]}};
    if (!common_parts(l, a, 4, part) || !scalars(l, a, 3, part[BLOCK].type->rank, &part[OFFSETS]))
        return poison();
    Dims order; /* says how the memory is laid out, which the strides say better */
    if (!arg_dims(l, a, 5, &order)) return poison();
    if (order.n != part[BLOCK].type->rank)
        return arg_error(l, a, 5, "as long as the block has dimensions");
    return obj_tuple(l, part, PARTS);
}

Obj bi_advance(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj o = a->at[0], by;
    if (!obj_is_descriptor(o) || descriptor_is_tensor(o))
        return arg_error(l, a, 0, "a block pointer");
    if (!scalars(l, a, 1, o.seq.at[BLOCK].type->rank, &by)) return poison();
    Obj next = obj_tuple(l, o.seq.at, PARTS);
    Obj offsets = obj_tuple(l, o.seq.at[OFFSETS].seq.at, o.seq.at[OFFSETS].seq.n);
    for (int i = 0; i < by.seq.n; i++) {
        Obj step = a->at[1].kind == OBJ_TUPLE ? a->at[1].seq.at[i] : a->at[1];
        if (step.kind == OBJ_INT && !step.i) continue;
        offsets.seq.at[i] =
            obj_value(ir_binary(&l->b, OP_ADD, offsets.seq.at[i].value, by.seq.at[i].value));
    }
    next.seq.at[OFFSETS] = offsets;
    return next;
}

static bool is_constant(const Value *v, int64_t *out) {
    *out = v->def && v->def->code == OP_CONST ? ir_attr_int(v->def, AT_VALUE, 0) : 0;
    return v->def && v->def->code == OP_CONST;
}

static bool last_stride_is_one(Lower *l, Obj strides, Span span) {
    int64_t stride;
    if (!is_constant(strides.seq.at[strides.seq.n - 1].value, &stride) || stride == 1) return true;
    fail(l, E_DESCRIPTOR_STRIDES, span,
         "the last stride of a tensor descriptor must be 1, not %lld", (long long)stride);
    return false;
}

/* A stride that is known must be a multiple of 16 bytes: Triton 3.9 says so. */
static bool aligned_strides(Lower *l, const Args *a, int rank, int bytes) {
    enum { ALIGNED = 16 };
    for (int i = 0; i + 1 < rank && a->at[2].kind == OBJ_TUPLE; i++) {
        Obj stride = a->at[2].seq.at[i];
        if (stride.kind != OBJ_INT || stride.i % ALIGNED * bytes % ALIGNED == 0) continue;
        differs(l, CHANGE_STRIDES, a->where[2], "a stride of %s * %d bytes is an error",
                obj_text(l, stride), bytes);
        if (!changed(l, CHANGE_STRIDES)) continue;
        fail(l, E_DESCRIPTOR_STRIDES, a->where[2],
             "the strides of a tensor descriptor must be multiples of %d bytes, not %s * %d",
             ALIGNED, obj_text(l, stride), bytes);
        return false;
    }
    return true;
}

Obj bi_make_descriptor(Lower *l, const Args *a, int64_t data) {
    (void)data;
    enum { LEAST_BYTES = DESC_ALIGN };
    Obj part[PARTS] = {[TAG] = {.kind = OBJ_MODULE, .path = tags[1]}};
    const char *padding;
    if (!common_parts(l, a, 3, part) || !arg_text(l, a, 4, &padding)) return poison();
    Type block = *part[BLOCK].type, elem = type_pointee(type_element(block));
    int last = block.rank - 1;
    if (block.rank > DESC_MAX_RANK)
        return fail(l, E_DESCRIPTOR_SHAPE, a->where[3],
                    "a tensor descriptor has at most %d dimensions", DESC_MAX_RANK);
    if (!last_stride_is_one(l, part[STRIDES], a->where[2])) return poison();
    if (!aligned_strides(l, a, block.rank, type_elem_bytes(elem))) return poison();
    if (type_dim(block, last) * type_elem_bytes(elem) < LEAST_BYTES)
        return fail(l, E_DESCRIPTOR_BLOCK, a->where[3],
                    "Descriptor block shape must have at least %d bytes in the last dimension, "
                    "not %lld",
                    LEAST_BYTES, (long long)(type_dim(block, last) * type_elem_bytes(elem)));
    bool nan = strcmp(padding, "nan") == 0;
    if (!nan && *padding && strcmp(padding, "zero") != 0)
        return arg_error(l, a, 4, "'zero' or 'nan'");
    if (nan && !type_is_float(elem))
        return fail(l, E_NAN_PADDING, a->where[4], "padding with NaN needs floats, not %s",
                    user(l, elem));
    part[PADDING] = obj_string(l, nan ? "nan" : ""); /* text: numbers would become tensors */
    part[OFFSETS] = obj_tuple(l, NULL, 0);
    return obj_tuple(l, part, PARTS);
}

/* Shape or strides of a descriptor that a launch passes. */
static bool passed_numbers(Lower *l, const Argument *a, Obj given, Span span, Obj *out) {
    *out = obj_tuple(l, given.seq.at, given.seq.n);
    for (int i = 0; i < given.seq.n; i++) {
        Value *v = index_value_of(l, given.seq.at[i], span);
        if (!v) {
            fail(l, E_DESCRIPTOR_ARGUMENT, span, "'%s' must be an integer, not %s", a->part[i].path,
                 obj_what(l, given.seq.at[i]));
            return false;
        }
        out->seq.at[i] = obj_value(v);
    }
    return true;
}

Obj descriptor_argument(Lower *l, const Argument *a, const Obj *given, Span span) {
    Obj part[PARTS] = {[TAG] = {.kind = OBJ_MODULE, .path = tags[1]}};
    Obj base = given[DESCRIPTOR_BASE];
    const Argument *strides = &a->part[DESCRIPTOR_STRIDES];
    Type t = base.kind == OBJ_VALUE ? base.value->type : type_scalar(EL_I1);
    if (t.depth != 1 || t.elem != a->block.elem)
        return fail(l, E_DESCRIPTOR_ARGUMENT, span, "'%s' must be a *%s, not %s",
                    a->part[DESCRIPTOR_BASE].path, elem_signature_name((Elem)a->block.elem),
                    obj_what(l, base));
    if (!passed_numbers(l, &a->part[DESCRIPTOR_SHAPE], given[DESCRIPTOR_SHAPE], span,
                        &part[SHAPE]) ||
        !passed_numbers(l, strides, given[DESCRIPTOR_STRIDES], span, &part[STRIDES]) ||
        !last_stride_is_one(l, part[STRIDES], span))
        return poison();
    int64_t one;
    int last = a->block.rank - 1;
    if (!l->options->no_promises && !is_constant(part[STRIDES].seq.at[last].value, &one))
        return fail(l, E_DESCRIPTOR_STRIDES, span,
                    "'%s', the last stride of a tensor descriptor, must be 1",
                    strides->part[last].path);
    part[BASE] = base;
    part[OFFSETS] = obj_tuple(l, NULL, 0);
    part[BLOCK] = obj_dtype(l, type_with_shape(t, a->block));
    part[PADDING] = obj_string(l, a->nan ? "nan" : "");
    return obj_tuple(l, part, PARTS);
}

/* ---- accesses ---- */

/* The descriptor as a value: blocks of it are read as NaN outside the tensor, or as zeros. */
static Value *desc_value(Lower *l, Obj w, bool nan) {
    Type block = *w.seq.at[BLOCK].type;
    Type t = type_with_shape(type_pointee(type_element(block)), block);
    Value *operand[1 + 2 * TILE_MAX_RANK] = {w.seq.at[BASE].value};
    for (int i = 0; i < t.rank; i++) {
        operand[1 + i] = w.seq.at[SHAPE].seq.at[i].value;
        operand[1 + t.rank + i] = w.seq.at[STRIDES].seq.at[i].value;
    }
    t.space = SPACE_DESC;
    Op *op = ir_op(&l->b, OP_MAKE_DESC, operand, 1 + 2 * t.rank, &t, 1, 0);
    if (nan && type_is_float(type_element(t))) ir_set_attr(l->s, op, AT_PADDING, PADDING_NAN);
    return op->result[0];
}

/* A load (without a value), store or reduction of the block at these indices. */
static Op *desc_access(Lower *l, OpCode code, Value *desc, Value *value, Obj index) {
    Value *operand[2 + TILE_MAX_RANK] = {desc, value};
    int n = value ? 2 : 1;
    for (int i = 0; i < index.seq.n; i++) operand[n++] = index.seq.at[i].value;
    Type t = desc_tile(desc->type, operand + (value ? 2 : 1));
    return ir_op(&l->b, code, operand, n, &t, !value, 0);
}

/* boundary_check names the dimensions that may reach beyond the tensor. */
static bool checked_dims(Lower *l, const Args *a, int i, int rank, uint32_t *out) {
    Dims dims = {0};
    *out = 0;
    if (a->at[i].kind != OBJ_NONE && !arg_dims(l, a, i, &dims)) return false;
    for (int k = 0; k < dims.n; k++) {
        int64_t d = dims.at[k] < 0 ? dims.at[k] + rank : dims.at[k];
        if (d < 0 || d >= rank || *out >> d & 1) {
            fail(l, E_AXIS, a->where[i], "%s: dimension %lld does not fit a block of %d dimensions",
                 builtin_text(l, a->row), (long long)dims.at[k], rank);
            return false;
        }
        *out |= 1u << d;
    }
    return true;
}

Op *block_pointer_access(Lower *l, const Args *a, int check_at, bool nan, Value *value) {
    Obj w = a->at[0];
    int sure[TILE_MAX_RANK], n = 0, rank = w.seq.at[BLOCK].type->rank;
    uint32_t dims;
    if (!checked_dims(l, a, check_at, rank, &dims)) return NULL;
    OpCode code = value ? OP_DESC_STORE : OP_DESC_LOAD;
    Op *op = desc_access(l, code, desc_value(l, w, nan), value, w.seq.at[OFFSETS]);
    for (int i = 0; i < rank; i++)
        if (!(dims >> i & 1)) sure[n++] = i;
    if (n) ir_set_dims(l->s, op, AT_IN_BOUNDS, sure, n);
    return op;
}

bool block_pointer(Lower *l, const Args *a) {
    if (!descriptor_is_tensor(a->at[0])) return true;
    fail(l, E_POINTER_NEEDED, a->where[0], "%s needs a pointer, not a tensor descriptor",
         builtin_text(l, a->row));
    note(l, (Span){0}, "a descriptor has methods: desc.load([i, j]), desc.store([i, j], x)");
    return false;
}

Type descriptor_block(Obj w) {
    return *w.seq.at[BLOCK].type;
}

/* ---- what a descriptor does ---- */

static bool descriptor(Lower *l, const Args *a) {
    if (obj_is_descriptor(a->at[0]) && descriptor_is_tensor(a->at[0])) return true;
    arg_error(l, a, 0, "a tensor descriptor");
    return false;
}

static bool whole_block(Lower *l, const Args *a, Obj *index) {
    return descriptor(l, a) && scalars(l, a, 1, descriptor_block(a->at[0]).rank, index);
}

static Obj load_block(Lower *l, Obj w, Obj index) {
    Value *desc = desc_value(l, w, obj_truth(w.seq.at[PADDING]));
    return obj_value(desc_access(l, OP_DESC_LOAD, desc, NULL, index)->result[0]);
}

static Obj store_block(Lower *l, Obj w, Value *v, Obj index) {
    if (!v) return poison();
    desc_access(l, OP_DESC_STORE, desc_value(l, w, false), v, index);
    return obj_none();
}

Obj bi_descriptor_load(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj index;
    return whole_block(l, a, &index) ? load_block(l, a->at[0], index) : poison();
}

Obj bi_descriptor_store(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj index;
    if (!whole_block(l, a, &index) || !may_write(l, a, descriptor_block(a->at[0]))) return poison();
    return store_block(l, a->at[0], fit_value(l, a, 2, descriptor_block(a->at[0])), index);
}

/* What the copy engine combines (PTX ISA, cp.reduce.async.bulk.tensor), as in Triton; on GPUs
 * without it, too. */
static bool reduces(Rmw rmw, Type t) {
    int bits = type_elem_bits(t);
    bool half = type_is_float(t) && bits == 16, wide_int = type_is_int(t) && bits >= 32;
    switch (rmw) {
    case RMW_ADD: return half || t.elem == EL_F32 || (wide_int && t.elem != EL_I64);
    case RMW_MAX:
    case RMW_MIN: return half || wide_int;
    default: return wide_int;
    }
}

Obj bi_descriptor_atomic(Lower *l, const Args *a, int64_t data) {
    Obj index;
    Rmw rmw = (Rmw)data;
    if (!whole_block(l, a, &index) || !may_write(l, a, descriptor_block(a->at[0]))) return poison();
    Type elem = type_pointee(type_element(descriptor_block(a->at[0])));
    if (elem.depth || !reduces(rmw, elem)) {
        fail(l, E_ATOMIC_TYPE, a->name_span, "a descriptor's %s does not support %s", a->row->name,
             type_user_text(&l->s->arena, elem));
        return note(l, (Span){0}, "tl.%s of a tile of pointers may", a->row->name), poison();
    }
    Value *v = fit_value(l, a, 2, descriptor_block(a->at[0]));
    if (!v) return poison();
    Op *op = desc_access(l, OP_DESC_REDUCE, desc_value(l, a->at[0], false), v, index);
    ir_set_attr(l->s, op, AT_RMW, rmw);
    return obj_none();
}

/* Rows x_offsets (a 1-D tile), columns y_offset, y_offset + 1 … of a 2-D tensor; *block is the type
 * of as many pointers. */
static bool rows_access(Lower *l, const Args *a, int rows_at, Obj *index, Type *block) {
    Obj column;
    if (!descriptor(l, a)) return false;
    *block = descriptor_block(a->at[0]);
    Value *rows = arg_value(l, a, rows_at);
    if (!rows || !scalars(l, a, rows_at + 1, 1, &column)) return false;
    if (block->rank != 2 || block->log2[0]) {
        fail(l, E_DESCRIPTOR_ROWS, a->where[0], "%s needs a descriptor with blocks of one row",
             a->row->name);
        return false;
    }
    if (rows->type.rank != 1 || !type_is_int(rows->type)) {
        arg_error(l, a, rows_at, "a 1-D tile of integers");
        return false;
    }
    if (rows->type.elem != EL_I16 && rows->type.elem != EL_I32) {
        differs(l, CHANGE_OFFSETS, a->where[rows_at], "rows in %s are an error and were none",
                user(l, type_element(rows->type)));
        if (changed(l, CHANGE_OFFSETS)) {
            arg_error(l, a, rows_at, "a 1-D tile of int16 or int32");
            return false;
        }
    }
    block->log2[0] = rows->type.log2[0];
    if (type_log2_numel(*block) > TILE_MAX_LOG2) {
        fail(l, E_TILE_LIMIT, a->where[rows_at], "%s of a tile of %lld elements; the limit is %d",
             a->row->name, (long long)type_numel(*block), 1 << TILE_MAX_LOG2);
        return false;
    }
    rows = cast_value(l, rows, type_scalar(EL_I64), false, a->span);
    Obj at[] = {obj_value(rows), column.seq.at[0]};
    *index = obj_tuple(l, at, 2);
    return true;
}

Obj bi_descriptor_gather(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj index;
    Type block;
    return rows_access(l, a, 1, &index, &block) ? load_block(l, a->at[0], index) : poison();
}

Obj bi_descriptor_scatter(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj index;
    Type block;
    if (!rows_access(l, a, 2, &index, &block) || !may_write(l, a, block)) return poison();
    return store_block(l, a->at[0], fit_value(l, a, 1, block), index);
}

/* ---- attributes ---- */

static Obj block_shape(Lower *l, Type block) {
    Obj dims[TILE_MAX_RANK];
    for (int i = 0; i < block.rank; i++) dims[i] = obj_int(type_dim(block, i));
    return obj_tuple(l, dims, block.rank);
}

/* The sizes as Triton has them, int32. */
static Obj tensor_shape(Lower *l, Obj shape, Span span) {
    Obj o = obj_tuple(l, shape.seq.at, shape.seq.n);
    for (int i = 0; i < o.seq.n; i++)
        o.seq.at[i] = obj_value(cast_value(l, o.seq.at[i].value, type_scalar(EL_I32), false, span));
    return o;
}

Obj descriptor_attribute(Lower *l, Obj w, const char *name, Span span) {
    Type block = *w.seq.at[BLOCK].type, elem = type_pointee(type_element(block));
    bool desc = descriptor_is_tensor(w);
    if (strcmp(name, "dtype") == 0) return obj_dtype(l, desc ? elem : type_element(block));
    if (strcmp(name, "type") == 0) return obj_dtype(l, type_element(block));
    if (strcmp(name, "shape") == 0)
        return desc ? tensor_shape(l, w.seq.at[SHAPE], span) : block_shape(l, block);
    if (strcmp(name, "strides") == 0 && desc) return w.seq.at[STRIDES];
    if (strcmp(name, "block_shape") == 0) return block_shape(l, block);
    if (strcmp(name, "block_type") == 0 && desc) return obj_dtype(l, type_with_shape(elem, block));
    char letter = desc ? 'W' : 'B';
    const Builtin *row = find_builtin(letter, name);
    if (row) {
        Obj *self = arena_copy(&l->s->arena, &w, sizeof w);
        return (Obj){.kind = OBJ_BUILTIN, .builtin = {row, self}};
    }
    fail(l, E_NO_ATTRIBUTE, span, "%s has no attribute '%s'", descriptor_text(w), name);
    const char **names;
    int n = builtin_names(l, letter, &names);
    suggest(l, name, names, n);
    return poison();
}

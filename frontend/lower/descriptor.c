/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* descriptor.c: block pointers and tensor descriptors -> tiles of pointers and masks.
 *
 * Both are a descriptor: a base pointer, the shape and strides of a tensor in memory, and the size
 * of the block that is read or written. A block pointer has its offsets inside, a tensor descriptor
 * is given them with each access. Neither is a value of tile IR: the object is a tuple that begins
 * with a tag, so that whatever carries tuples (loops, branches, calls) carries descriptors. All
 * index arithmetic is in 64 bits and one-dimensional; only the last sum is as large as the block.
 */
#include "frontend/lower/internal.h"

#include <math.h>
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

/* A sequence of n scalar integers as int64 values. */
static bool scalars(Lower *l, const Args *a, int i, int n, Obj *out) {
    Obj o = a->at[i], one = obj_tuple(l, &o, 1);
    if (o.kind != OBJ_TUPLE) o = one;
    if (o.seq.n != n) {
        fail(l, a->where[i], "%s: '%s' has %d numbers where %d are needed", builtin_text(l, a->row),
             arg_name(l, a, i), o.seq.n, n);
        return false;
    }
    *out = obj_tuple(l, o.seq.at, o.seq.n);
    for (int k = 0; k < o.seq.n; k++) {
        Obj x = o.seq.at[k];
        Type t = type_scalar(EL_I64);
        bool fits = (x.kind == OBJ_INT || x.kind == OBJ_BOOL) && !x.big;
        Value *v = fits ? number_value(l, obj_int(x.i), t, a->where[i]) : NULL;
        if (x.kind == OBJ_VALUE && !x.value->type.rank && type_is_int(x.value->type))
            v = cast_value(l, x.value, t, false, a->where[i]);
        if (!v) {
            fail(l, a->where[i], "%s: '%s' must be made of scalar integers, not %s",
                 builtin_text(l, a->row), arg_name(l, a, i), obj_what(l, x));
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

Obj bi_make_descriptor(Lower *l, const Args *a, int64_t data) {
    (void)data;
    enum { MOST_DIMS = 5, LEAST_BYTES = 16 };
    Obj part[PARTS] = {[TAG] = {.kind = OBJ_MODULE, .path = tags[1]}};
    const char *padding;
    int64_t stride;
    if (!common_parts(l, a, 3, part) || !arg_text(l, a, 4, &padding)) return poison();
    Type block = *part[BLOCK].type, elem = type_pointee(type_element(block));
    int last = block.rank - 1;
    if (block.rank > MOST_DIMS)
        return fail(l, a->where[3], "a tensor descriptor has at most %d dimensions", MOST_DIMS);
    if (is_constant(part[STRIDES].seq.at[last].value, &stride) && stride != 1)
        return fail(l, a->where[2], "the last stride of a tensor descriptor must be 1, not %lld",
                    (long long)stride);
    if (type_dim(block, last) * type_elem_bytes(elem) < LEAST_BYTES)
        return fail(l, a->where[3],
                    "the last dimension of a descriptor's block must have at least %d bytes, "
                    "not %lld",
                    LEAST_BYTES, (long long)(type_dim(block, last) * type_elem_bytes(elem)));
    bool nan = strcmp(padding, "nan") == 0;
    if (!nan && *padding && strcmp(padding, "zero") != 0)
        return arg_error(l, a, 4, "'zero' or 'nan'");
    if (nan && !type_is_float(elem))
        return fail(l, a->where[4], "padding with NaN needs floats, not %s", user(l, elem));
    part[PADDING] = obj_string(l, nan ? "nan" : ""); /* text: numbers would become tensors */
    part[OFFSETS] = obj_tuple(l, NULL, 0);
    return obj_tuple(l, part, PARTS);
}

/* ---- the tile of pointers ---- */

/* A 1-D tile as dimension `dim` of a tile of the block's rank. */
static Value *along(Lower *l, Value *v, Type block, int dim) {
    Type t = type_with_shape(v->type, block);
    for (int i = 0; i < block.rank; i++)
        if (i != dim) t.log2[i] = 0;
    return type_equal(t, v->type) ? v : ir_given(&l->b, OP_RESHAPE, v, t);
}

static Value *spread(Lower *l, Value *scalar, Type like) {
    return ir_given(&l->b, OP_SPLAT, scalar, type_with_shape(scalar->type, like));
}

/* offset + 0, 1, 2 … in int64 */
static Value *positions(Lower *l, Value *offset, int64_t n) {
    Type t = type_tile(EL_I32, 1, &n), wide = type_with_elem(t, EL_I64);
    Op *range = ir_op(&l->b, OP_ARANGE, NULL, 0, &t, 1, 0);
    ir_set_attr(l->s, range, AT_START, 0);
    ir_set_attr(l->s, range, AT_END, n);
    Value *index = ir_given(&l->b, OP_CAST, range->result[0], wide);
    return ir_binary(&l->b, OP_ADD, spread(l, offset, t), index);
}

static Value *within(Lower *l, Value *index, Value *size) {
    Value *low = ir_cmp(&l->b, PRED_GE, index, ir_const_int(&l->b, index->type, 0));
    Value *high = ir_cmp(&l->b, PRED_LT, index, spread(l, size, index->type));
    return ir_binary(&l->b, OP_AND, low, high);
}

/* Adds one dimension's part: index[] are positions along `dim`, checked or not. */
static bool add_dimension(Lower *l, Obj w, int dim, Value *index, Type block, bool check, Value **p,
                          Value **mask, Span span) {
    Value *stride = w.seq.at[STRIDES].seq.at[dim].value, *size = w.seq.at[SHAPE].seq.at[dim].value;
    Value *step = ir_binary(&l->b, OP_MUL, index, spread(l, stride, index->type));
    *p = add_pointer(l, *p, along(l, step, block, dim), span);
    if (!*p || !check) return *p != NULL;
    Value *here = along(l, within(l, index, size), block, dim);
    if (*mask && !broadcast_pair(l, mask, &here, span)) return false;
    *mask = *mask ? ir_binary(&l->b, OP_AND, *mask, here) : here;
    return true;
}

bool descriptor_access(Lower *l, Obj w, Obj offsets, uint32_t checked_dims, Value **p, Value **mask,
                       Span span) {
    Type block = *w.seq.at[BLOCK].type;
    *p = w.seq.at[BASE].value;
    *mask = NULL;
    for (int i = 0; i < block.rank; i++)
        if (!add_dimension(l, w, i, positions(l, offsets.seq.at[i].value, type_dim(block, i)),
                           block, checked_dims >> i & 1, p, mask, span))
            return false;
    if (*mask) *mask = broadcast_value(l, *mask, block, span);
    return !*mask || (*mask)->type.rank;
}

/* boundary_check names the dimensions that may reach beyond the tensor. */
static bool checked_dims(Lower *l, const Args *a, int i, int rank, uint32_t *out) {
    Dims dims = {0};
    *out = 0;
    if (a->at[i].kind != OBJ_NONE && !arg_dims(l, a, i, &dims)) return false;
    for (int k = 0; k < dims.n; k++) {
        int64_t d = dims.at[k] < 0 ? dims.at[k] + rank : dims.at[k];
        if (d < 0 || d >= rank || *out >> d & 1) {
            fail(l, a->where[i], "%s: dimension %lld does not fit a block of %d dimensions",
                 builtin_text(l, a->row), (long long)dims.at[k], rank);
            return false;
        }
        *out |= 1u << d;
    }
    return true;
}

bool block_pointer_access(Lower *l, const Args *a, int check_at, Value **p, Value **mask) {
    Obj w = a->at[0];
    uint32_t dims;
    if (descriptor_is_tensor(w)) {
        fail(l, a->where[0], "%s needs a pointer, not a tensor descriptor",
             builtin_text(l, a->row));
        note(l, (Span){0}, "a descriptor has methods: desc.load([i, j]), desc.store([i, j], x)");
        return false;
    }
    return checked_dims(l, a, check_at, w.seq.at[BLOCK].type->rank, &dims) &&
           descriptor_access(l, w, w.seq.at[OFFSETS], dims, p, mask, a->span);
}

Value *descriptor_padding(Lower *l, bool nan, Type tile) {
    bool as_float = nan && type_is_float(tile);
    return as_float ? ir_const_float(&l->b, tile, (double)NAN) : ir_const_int(&l->b, tile, 0);
}

/* ---- what a descriptor does ---- */

static bool descriptor(Lower *l, const Args *a) {
    if (obj_is_descriptor(a->at[0]) && descriptor_is_tensor(a->at[0])) return true;
    arg_error(l, a, 0, "a tensor descriptor");
    return false;
}

static Obj load_tile(Lower *l, Obj w, Value *p, Value *mask) {
    Value *operand[] = {p, mask, NULL};
    operand[2] = descriptor_padding(l, obj_truth(w.seq.at[PADDING]), type_pointee(p->type));
    return obj_value(ir_op1(&l->b, OP_LOAD, operand, 3));
}

static bool whole_block(Lower *l, const Args *a, Value **p, Value **mask) {
    Obj offsets;
    if (!descriptor(l, a)) return false;
    int rank = a->at[0].seq.at[BLOCK].type->rank;
    return scalars(l, a, 1, rank, &offsets) &&
           descriptor_access(l, a->at[0], offsets, (1u << rank) - 1, p, mask, a->span);
}

Obj bi_descriptor_load(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *p, *mask;
    if (!whole_block(l, a, &p, &mask)) return poison();
    return load_tile(l, a->at[0], p, mask);
}

static Obj store_tile(Lower *l, Value *p, Value *v, Value *mask) {
    Value *operand[] = {p, v, mask};
    if (!v) return poison();
    ir_op(&l->b, OP_STORE, operand, 3, NULL, 0, 0);
    return obj_none();
}

Obj bi_descriptor_store(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *p, *mask;
    if (!whole_block(l, a, &p, &mask)) return poison();
    return store_tile(l, p, fit_value(l, a, 2, p->type), mask);
}

Obj bi_descriptor_atomic(Lower *l, const Args *a, int64_t data) {
    Value *p, *mask;
    if (!whole_block(l, a, &p, &mask)) return poison();
    Value *v = fit_value(l, a, 2, p->type);
    Order order = {SEM_RELAXED, SCOPE_GPU};
    const char *what = builtin_text(l, a->row);
    if (!v || !emit_atomic(l, (Rmw)data, p, v, mask, order, what, a->span)) return poison();
    return obj_none();
}

/* Rows x_offsets (a 1-D tile), columns y_offset, y_offset + 1 … of a 2-D tensor. */
static bool rows_access(Lower *l, const Args *a, int rows_at, Value **p, Value **mask) {
    if (!descriptor(l, a)) return false;
    Obj w = a->at[0], column;
    Type block = *w.seq.at[BLOCK].type;
    Value *rows = arg_value(l, a, rows_at);
    if (!rows || !scalars(l, a, rows_at + 1, 1, &column)) return false;
    if (block.rank != 2 || block.log2[0]) {
        fail(l, a->where[0], "%s needs a descriptor with blocks of one row", a->row->name);
        return false;
    }
    if (rows->type.rank != 1 || !type_is_int(rows->type)) {
        arg_error(l, a, rows_at, "a 1-D tile of integers");
        return false;
    }
    rows = cast_value(l, rows, type_scalar(EL_I64), false, a->span);
    block.log2[0] = rows->type.log2[0];
    *p = w.seq.at[BASE].value;
    *mask = NULL;
    Value *columns = positions(l, column.seq.at[0].value, type_dim(block, 1));
    if (!add_dimension(l, w, 0, rows, block, true, p, mask, a->span) ||
        !add_dimension(l, w, 1, columns, block, true, p, mask, a->span))
        return false;
    return true;
}

Obj bi_descriptor_gather(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *p, *mask;
    return rows_access(l, a, 1, &p, &mask) ? load_tile(l, a->at[0], p, mask) : poison();
}

Obj bi_descriptor_scatter(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *p, *mask;
    if (!rows_access(l, a, 2, &p, &mask)) return poison();
    return store_tile(l, p, fit_value(l, a, 1, p->type), mask);
}

/* ---- attributes ---- */

static Obj block_shape(Lower *l, Type block) {
    Obj dims[TILE_MAX_RANK];
    for (int i = 0; i < block.rank; i++) dims[i] = obj_int(type_dim(block, i));
    return obj_tuple(l, dims, block.rank);
}

Obj descriptor_attribute(Lower *l, Obj w, const char *name, Span span) {
    Type block = *w.seq.at[BLOCK].type, elem = type_pointee(type_element(block));
    bool desc = descriptor_is_tensor(w);
    if (strcmp(name, "dtype") == 0) return obj_dtype(l, desc ? elem : type_element(block));
    if (strcmp(name, "type") == 0) return obj_dtype(l, type_element(block));
    if (strcmp(name, "shape") == 0) return desc ? w.seq.at[SHAPE] : block_shape(l, block);
    if (strcmp(name, "strides") == 0 && desc) return w.seq.at[STRIDES];
    if (strcmp(name, "block_shape") == 0) return block_shape(l, block);
    if (strcmp(name, "block_type") == 0 && desc) return obj_dtype(l, type_with_shape(elem, block));
    char letter = desc ? 'W' : 'B';
    const Builtin *row = find_builtin(letter, name);
    if (row) {
        Obj *self = arena_copy(&l->s->arena, &w, sizeof w);
        return (Obj){.kind = OBJ_BUILTIN, .builtin = {row, self}};
    }
    fail(l, span, "%s has no attribute '%s'", descriptor_text(w), name);
    const char **names;
    int n = builtin_names(l, letter, &names);
    suggest(l, name, names, n);
    return poison();
}

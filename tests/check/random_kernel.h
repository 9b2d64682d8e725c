/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random_kernel.h: random kernels on tiles of up to 4096 elements (shared by tests of layouts and
 * of generated code).
 *
 * They mix loads and stores (by rows, by columns, masked), transposes, reshapes, broadcasts, joins,
 * splits, gathers, histograms, reductions and scans of one and of two tiles, dots, loops and
 * branches. All numbers are small integers, so that sums are exact in any order. */
#ifndef TILE_TESTS_RANDOM_KERNEL_H
#define TILE_TESTS_RANDOM_KERNEL_H

#include "ir/ir.h"

enum { MOST_LOG2 = 12, IN_COUNT = 1 << MOST_LOG2, INPUTS = 4, MOST_STORES = 64, CLAMP = 64 };
enum { PARAM_OUT = INPUTS, PARAM_N, PARAM_STRIDE, PARAM_ROOM, PARAMS };
enum { PROGRAMS = 2, ROOM_UNIT = 16, SMALL_SHARED = 2048 };

static const Elem input_elem[INPUTS] = {EL_F16, EL_F32, EL_I32, EL_U8};

typedef struct Kernel {
    Builder b;
    uint64_t rng;
    VEC(Value *) pool; /* tiles that may be used here */
    Value *in[INPUTS], *out, *n, *stride;
    int64_t room; /* elements of `out` that a program uses */
    int stores, depth;
} Kernel;

/* ---- making kernels ---- */

static int below(Kernel *k, int n) {
    k->rng ^= k->rng << 13;
    k->rng ^= k->rng >> 7;
    k->rng ^= k->rng << 17;
    return (int)((k->rng * 0x2545F4914F6CDD1Du >> 33) % (uint64_t)n);
}

static bool chance(Kernel *k, int percent) {
    return below(k, 100) < percent;
}

static Type shape(Elem e, int rank, int d0, int d1) {
    return (Type){.elem = (uint8_t)e, .rank = (uint8_t)rank, .log2 = {(uint8_t)d0, (uint8_t)d1}};
}

static Type random_shape(Kernel *k, Elem e) {
    if (chance(k, 15)) return shape(e, 1, 4 + below(k, 7), 0);
    return shape(e, 2, 3 + below(k, 4), 3 + below(k, 4));
}

static Value *splat(Kernel *k, Value *v, Type like) {
    return like.rank ? ir_given(&k->b, OP_SPLAT, v, type_with_shape(v->type, like)) : v;
}

static Value *arange(Kernel *k, int64_t n) {
    Type t = type_tile(EL_I32, 1, &n);
    Op *op = ir_op(&k->b, OP_ARANGE, NULL, 0, &t, 1, 0);
    ir_set_attr(k->b.s, op, AT_START, 0);
    ir_set_attr(k->b.s, op, AT_END, n);
    return op->result[0];
}

/* The coordinate along `dim` of every element of a tile shaped like t. */
static Value *index_along(Kernel *k, Type t, int dim) {
    Type flat = type_with_elem(t, EL_I32);
    for (int d = 0; d < t.rank; d++)
        if (d != dim) flat.log2[d] = 0;
    Value *v = arange(k, type_dim(t, dim));
    if (t.rank > 1) v = ir_given(&k->b, OP_RESHAPE, v, flat);
    return type_same_shape(flat, t) ? v
                                    : ir_given(&k->b, OP_BROADCAST, v, type_with_elem(t, EL_I32));
}

static Value *int_const(Kernel *k, Type like, int64_t v) {
    return ir_const_int(&k->b, type_with_elem(like, EL_I32), v);
}

/* Pointers to a tile in consecutive elements, rows or columns first; the stride may be one that the
 * compiler knows, or the parameter that happens to be 1. */
static Value *pointers(Kernel *k, Value *base, Type t, bool by_columns) {
    Builder *b = &k->b;
    Value *offset = index_along(k, t, t.rank - 1);
    if (t.rank == 2) {
        Value *row = index_along(k, t, 0);
        Value **slow = by_columns ? &offset : &row;
        *slow = ir_binary(b, OP_MUL, *slow, int_const(k, t, type_dim(t, by_columns ? 0 : 1)));
        offset = ir_binary(b, OP_ADD, row, offset);
    }
    if (chance(k, 20)) offset = ir_binary(b, OP_MUL, offset, splat(k, k->stride, t));
    return ir_binary(b, OP_ADDPTR, splat(k, base, t), offset);
}

/* True where a coordinate is below the parameter n or a constant. */
static Value *mask(Kernel *k, Type t) {
    Value *bound = chance(k, 50) ? splat(k, k->n, t) : int_const(k, t, 1 + below(k, 40));
    return ir_cmp(&k->b, PRED_LT, index_along(k, t, below(k, t.rank)), bound);
}

static Value *clamp(Kernel *k, Value *v) {
    if (type_is_bool(v->type) || v->type.elem == EL_U8) return v;
    Value *high = ir_const_int(&k->b, v->type, CLAMP), *low = ir_const_int(&k->b, v->type, -CLAMP);
    return ir_binary(&k->b, OP_MAX, ir_binary(&k->b, OP_MIN, v, high), low);
}

static void add(Kernel *k, Value *v) {
    vec_push(&k->b.s->arena, &k->pool, v);
}

static Value *load(Kernel *k, Type t) {
    int i = 0;
    while (i < INPUTS && input_elem[i] != (Elem)t.elem) i++;
    if (i == INPUTS) return ir_const_int(&k->b, t, below(k, 2));
    Value *args[3] = {pointers(k, k->in[i], t, chance(k, 40))};
    int n = 1;
    if (chance(k, 50)) {
        args[n++] = mask(k, t);
        args[n++] = ir_const_int(&k->b, t, below(k, 3));
    }
    return ir_op1(&k->b, OP_LOAD, args, n);
}

static void store(Kernel *k, Value *v) {
    if (k->stores++ >= MOST_STORES) return;
    Type t = v->type;
    Value *wide = t.elem == EL_F32 ? v : ir_given(&k->b, OP_CAST, v, type_with_elem(t, EL_F32));
    Value *start = ir_const_int(&k->b, type_scalar(EL_I32), k->room);
    Value *base = ir_binary(&k->b, OP_ADDPTR, k->out, start);
    Value *args[3] = {t.rank ? pointers(k, base, t, chance(k, 40)) : base, wide};
    int n = 2;
    if (t.rank && chance(k, 30)) args[n++] = mask(k, t);
    ir_op(&k->b, OP_STORE, args, n, NULL, 0, 0);
    k->room += type_numel(t);
}

/* A tile of this type: one there is, or a new one. */
static Value *like(Kernel *k, Type t) {
    for (int tries = 0; tries < 10 && k->pool.n; tries++) {
        Value *v = k->pool.at[below(k, k->pool.n)];
        if (type_equal(v->type, t)) return v;
        if (type_same_shape(v->type, t) && tries > 5)
            return clamp(k, ir_given(&k->b, OP_CAST, v, t));
        if (t.rank == 2 && v->type.rank == 2 && v->type.elem == t.elem &&
            v->type.log2[0] == t.log2[1] && v->type.log2[1] == t.log2[0]) {
            Value *x = ir_given(&k->b, OP_TRANS, v, t);
            ir_set_dims(k->b.s, x->def, AT_ORDER, (int[]){1, 0}, 2);
            return x;
        }
    }
    return load(k, t);
}

static Value *any(Kernel *k) {
    if (!k->pool.n || chance(k, 10)) add(k, load(k, random_shape(k, input_elem[below(k, INPUTS)])));
    return k->pool.at[below(k, k->pool.n)];
}

static void make_shape(Kernel *k) {
    Value *v = any(k);
    Type t = v->type, r = t;
    if (t.rank == 2 && chance(k, 50)) {
        r.log2[0] = t.log2[1];
        r.log2[1] = t.log2[0];
        Value *x = ir_given(&k->b, OP_TRANS, v, r);
        ir_set_dims(k->b.s, x->def, AT_ORDER, (int[]){1, 0}, 2);
        add(k, x);
    } else if (t.rank == 1 && t.log2[0] < 8) {
        bool column = chance(k, 50);
        r.rank = 2;
        r.log2[!column] = t.log2[0];
        r.log2[column] = 0;
        Value *x = ir_given(&k->b, OP_RESHAPE, v, r);
        r.log2[column] =
            (uint8_t)(1 + below(k, MOST_LOG2 - t.log2[0] < 6 ? MOST_LOG2 - t.log2[0] : 6));
        add(k, ir_given(&k->b, OP_BROADCAST, x, r));
    } else {
        int n = type_log2_numel(t), d = below(k, n + 1);
        r = shape((Elem)t.elem, 2, d, n - d);
        add(k, ir_given(&k->b, OP_RESHAPE, v, r));
    }
}

static void make_dot(Kernel *k) {
    static const struct {
        Elem a, c;
    } kinds[] = {{EL_F16, EL_F32}, {EL_F16, EL_F16}, {EL_F32, EL_F32}};
    int kind = below(k, 10), m = 3 + below(k, 4), n = 3 + below(k, 4), depth = 3 + below(k, 4);
    Elem a = kinds[kind < 7 ? 0 : kind - 7].a, c = kinds[kind < 7 ? 0 : kind - 7].c;
    Value *args[3] = {like(k, shape(a, 2, m, depth)), like(k, shape(a, 2, depth, n))};
    Type t = shape(c, 2, m, n);
    args[2] = chance(k, 40) ? ir_const_int(&k->b, t, 0) : like(k, t);
    Value *v = ir_op1(&k->b, OP_DOT, args, 3);
    if (chance(k, 30)) v = ir_binary(&k->b, OP_ADD, v, like(k, t));
    add(k, clamp(k, v));
}

static void make_ops(Kernel *k, int n);

typedef struct Mark {
    Builder b;
    int pool;
} Mark;

static Mark enter(Kernel *k, Block *region) {
    Mark m = {k->b, k->pool.n};
    k->b.block = region;
    k->depth++;
    return m;
}

static void leave(Kernel *k, Mark m, OpCode code, Value *const *v, int n) {
    ir_op(&k->b, code, v, n, NULL, 0, 0);
    k->b = m.b;
    k->pool.n = m.pool;
    k->depth--;
}

static Value *arg(Kernel *k, Block *b, Type t) {
    return ir_block_arg(k->b.s, k->b.f, b, t, NULL);
}

static void make_for(Kernel *k) {
    enum { MOST = 2 };
    Type index = type_scalar(EL_I32), types[MOST];
    Value *operands[3 + MOST], *yielded[MOST];
    int n = 1 + below(k, MOST), trips = below(k, 4), step = chance(k, 30) ? -1 : 1;
    operands[0] = int_const(k, index, 0);
    operands[1] = int_const(k, index, trips * step);
    operands[2] = int_const(k, index, step);
    for (int i = 0; i < n; i++) {
        operands[3 + i] = any(k);
        types[i] = operands[3 + i]->type;
    }
    Op *op = ir_op(&k->b, OP_FOR, operands, 3 + n, types, n, 1);
    Mark m = enter(k, op->region[0]);
    arg(k, op->region[0], index);
    for (int i = 0; i < n; i++) add(k, arg(k, op->region[0], types[i]));
    make_ops(k, 2 + below(k, 4));
    for (int i = 0; i < n; i++) yielded[i] = like(k, types[i]);
    leave(k, m, OP_YIELD, yielded, n);
    for (int i = 0; i < n; i++) add(k, op->result[i]);
}

/* A counter that goes from 0 to a few, and one tile that may change its type on the way out. */
static void make_while(Kernel *k) {
    Value *init[2] = {int_const(k, type_scalar(EL_I32), 0), any(k)};
    Value *seen = like(k, type_with_elem(random_shape(k, EL_F32), EL_F32));
    Type types[2] = {init[0]->type, init[1]->type}, out[2] = {types[0], seen->type};
    Op *op = ir_op(&k->b, OP_WHILE, init, 2, out, 2, 2);
    Mark m = enter(k, op->region[0]);
    Value *count = arg(k, op->region[0], types[0]);
    add(k, arg(k, op->region[0], types[1]));
    make_ops(k, 1 + below(k, 2));
    Value *more = ir_cmp(&k->b, PRED_LT, count, int_const(k, types[0], below(k, 3)));
    leave(k, m, OP_CONDITION, (Value *[]){more, count, like(k, out[1])}, 3);
    m = enter(k, op->region[1]);
    count = arg(k, op->region[1], out[0]);
    add(k, arg(k, op->region[1], out[1]));
    make_ops(k, 1 + below(k, 3));
    count = ir_binary(&k->b, OP_ADD, count, int_const(k, types[0], 1));
    leave(k, m, OP_YIELD, (Value *[]){count, like(k, types[1])}, 2);
    add(k, op->result[1]);
}

static void make_if(Kernel *k) {
    Op *pid = ir_op(&k->b, OP_PROGRAM_ID, NULL, 0, (Type[]){type_scalar(EL_I32)}, 1, 0);
    ir_set_attr(k->b.s, pid, AT_AXIS, 0);
    Value *cond =
        ir_cmp(&k->b, PRED_EQ, pid->result[0], int_const(k, type_scalar(EL_I32), below(k, 2)));
    Type t = any(k)->type;
    Op *op = ir_op(&k->b, OP_IF, &cond, 1, &t, 1, 2);
    for (int r = 0; r < 2; r++) {
        Mark m = enter(k, op->region[r]);
        make_ops(k, below(k, 4));
        Value *v = like(k, t);
        leave(k, m, OP_YIELD, &v, 1);
    }
    add(k, op->result[0]);
}

/* A result of a reduction, which may be a scalar. */
static void add_result(Kernel *k, Value *v) {
    if (v->type.rank)
        add(k, clamp(k, v));
    else
        store(k, v);
}

/* Reductions and scans: of one tile by maximum or sum; of a tile and its indices by the maximum and
 * where it is first; and a scan by a combination whose order matters, (a, b)(c, d) = (ac, bc + d),
 * on integers, which may wrap. */
static void make_combine(Kernel *k) {
    Value *in[2] = {any(k), NULL}, *arg_[4], *out[2];
    Type t = in[0]->type, result[2];
    if (t.elem == EL_U8) return;
    int axis = below(k, t.rank), n = chance(k, 50) ? 1 : 2;
    bool scan = chance(k, 50), affine = scan && t.elem == EL_I32 && chance(k, 70);
    if (n == 2) in[1] = affine ? like(k, t) : index_along(k, t, axis);
    for (int i = 0; i < n; i++) {
        result[i] = in[i]->type;
        if (scan) continue;
        for (int d = axis; d + 1 < t.rank; d++) result[i].log2[d] = result[i].log2[d + 1];
        result[i].log2[--result[i].rank] = 0;
    }
    Op *op = ir_op(&k->b, scan ? OP_SCAN : OP_REDUCE, in, n, result, n, 1);
    ir_set_attr(k->b.s, op, AT_AXIS, axis);
    if (scan && chance(k, 50)) ir_set_attr(k->b.s, op, AT_REVERSE, 1);
    Mark m = enter(k, op->region[0]);
    for (int i = 0; i < 2 * n; i++) arg_[i] = arg(k, op->region[0], type_element(in[i % n]->type));
    if (n == 1) {
        bool sum = t.elem == EL_F32 || t.elem == EL_I32 ? chance(k, 50) : false;
        out[0] = ir_binary(&k->b, sum ? OP_ADD : OP_MAX, arg_[0], arg_[1]);
    } else if (affine) {
        out[0] = ir_binary(&k->b, OP_MUL, arg_[0], arg_[2]);
        out[1] = ir_binary(&k->b, OP_MUL, arg_[1], arg_[2]);
        out[1] = ir_binary(&k->b, OP_ADD, out[1], arg_[3]);
    } else {
        Value *more = ir_cmp(&k->b, PRED_GT, arg_[0], arg_[2]);
        Value *same = ir_cmp(&k->b, PRED_EQ, arg_[0], arg_[2]);
        Value *before = ir_cmp(&k->b, PRED_LT, arg_[1], arg_[3]);
        Value *first = ir_binary(&k->b, OP_OR, more, ir_binary(&k->b, OP_AND, same, before));
        for (int i = 0; i < 2; i++)
            out[i] = ir_op1(&k->b, OP_SELECT, (Value *[]){first, arg_[i], arg_[2 + i]}, 3);
    }
    leave(k, m, OP_YIELD, out, n);
    for (int i = 0; i < n; i++) add_result(k, op->result[i]);
}

/* Joins and splits. */
static void make_pair(Kernel *k) {
    Value *v = any(k);
    Type t = v->type;
    if (chance(k, 50) && type_log2_numel(t) < MOST_LOG2) {
        Type r = t;
        r.log2[r.rank++] = 1;
        Value *x = ir_op(&k->b, OP_JOIN, (Value *[]){v, like(k, t)}, 2, &r, 1, 0)->result[0];
        int n = type_log2_numel(r), d = below(k, n + 1);
        if (chance(k, 50)) {
            int order[TILE_MAX_RANK];
            for (int i = 0; i < r.rank; i++) order[i] = (i + r.rank - 1) % r.rank;
            Type turned = r;
            for (int i = 0; i < r.rank; i++) turned.log2[i] = r.log2[order[i]];
            x = ir_given(&k->b, OP_TRANS, x, turned);
            ir_set_dims(k->b.s, x->def, AT_ORDER, order, r.rank);
        }
        add(k, ir_given(&k->b, OP_RESHAPE, x, shape((Elem)t.elem, 2, d, n - d)));
        return;
    }
    int n = type_log2_numel(t);
    if (n < 3) return;
    Type pairs = shape((Elem)t.elem, 2, n - 1, 1), half = shape((Elem)t.elem, 1, n - 1, 0);
    Value *x = ir_given(&k->b, OP_RESHAPE, v, pairs);
    if (chance(k, 50)) {
        x = ir_given(&k->b, OP_RESHAPE, v, shape((Elem)t.elem, 2, 1, n - 1));
        x = ir_given(&k->b, OP_TRANS, x, pairs);
        ir_set_dims(k->b.s, x->def, AT_ORDER, (int[]){1, 0}, 2);
    }
    Op *op = ir_op(&k->b, OP_SPLIT, &x, 1, (Type[]){half, half}, 2, 0);
    for (int i = 0; i < 2; i++)
        add(k, ir_given(&k->b, OP_RESHAPE, op->result[i],
                        shape((Elem)t.elem, 2, (n - 1) / 2, n - 1 - (n - 1) / 2)));
}

/* Gathers by loaded indices, and counts of loaded numbers. */
static void make_exchange(Kernel *k) {
    Value *v = any(k);
    Type t = v->type, index = type_with_elem(t, EL_I32);
    if (chance(k, 40)) {
        Type bins = shape(EL_I32, 1, 3 + below(k, 6), 0), flat = shape(EL_I32, 1, 0, 0);
        flat.log2[0] = (uint8_t)type_log2_numel(t);
        Value *args[2] = {ir_given(&k->b, OP_RESHAPE, like(k, index), flat)};
        if (chance(k, 50)) args[1] = mask(k, flat);
        Value *x = ir_op(&k->b, OP_HISTOGRAM, args, args[1] ? 2 : 1, &bins, 1, 0)->result[0];
        add(k, clamp(k, x));
        return;
    }
    int axis = below(k, t.rank), other = type_log2_numel(t) - t.log2[axis];
    int most = MOST_LOG2 - other < 8 ? MOST_LOG2 - other : 8;
    index.log2[axis] = (uint8_t)below(k, most + 1);
    Value *i = like(k, index);
    i = ir_binary(&k->b, OP_AND, i, ir_const_int(&k->b, index, type_dim(t, axis) - 1));
    Type r = type_with_shape(t, index);
    Value *x = ir_op(&k->b, OP_GATHER, (Value *[]){v, i}, 2, &r, 1, 0)->result[0];
    ir_set_attr(k->b.s, x->def, AT_AXIS, axis);
    add(k, x);
}

static void make_ops(Kernel *k, int n) {
    static const Elem elems[] = {EL_F16, EL_F32, EL_I32, EL_I8};
    static const OpCode binary[] = {OP_ADD, OP_SUB, OP_MIN, OP_MAX};
    for (int i = 0; i < n; i++) {
        int what = below(k, 100);
        if (what < 20) {
            add(k, load(k, random_shape(k, input_elem[below(k, INPUTS)])));
        } else if (what < 40) {
            Value *x = any(k), *y = like(k, x->type);
            add(k, clamp(k, ir_binary(&k->b, binary[below(k, 4)], x, y)));
        } else if (what < 46) {
            Value *x = any(k), *y = like(k, x->type);
            add(k, ir_op1(&k->b, OP_SELECT, (Value *[]){mask(k, x->type), x, y}, 3));
        } else if (what < 52) {
            Value *x = any(k);
            add(k,
                clamp(k, ir_given(&k->b, OP_CAST, x, type_with_elem(x->type, elems[below(k, 4)]))));
        } else if (what < 62) {
            make_shape(k);
        } else if (what < 67) {
            make_pair(k);
        } else if (what < 75) {
            make_dot(k);
        } else if (what < 78) {
            store(k, any(k));
        } else if (what < 86) {
            make_combine(k);
        } else if (what < 90) {
            make_exchange(k);
        } else if (k->depth < 2) {
            if (what < 94)
                make_for(k);
            else if (what < 97)
                make_if(k);
            else
                make_while(k);
        }
    }
}

static Value *param(Kernel *k, const char *name, Type t, int divisible) {
    return ir_param(k->b.s, k->b.f, &(Param){.name = name, .type = t, .divisible = divisible});
}

static Module *make_kernel(Session *s, Kernel *k, uint64_t seed) {
    static const char *const names[INPUTS] = {"a", "b", "c", "d"};
    Module *m = ir_module(s);
    Func *f = ir_func(m, "random");
    k->rng = seed * 2654435761u + 1;
    k->b = (Builder){.s = s, .f = f, .block = f->body};
    for (int i = 0; i < 8; i++) below(k, 2);
    f->num_warps = 1 << below(k, 4);
    for (int i = 0; i < INPUTS; i++)
        k->in[i] = param(k, names[i], (Type){.elem = (uint8_t)input_elem[i], .depth = 1},
                         chance(k, 70) ? 16 : 1);
    k->out = param(k, "out", (Type){.elem = EL_F32, .depth = 1}, 16);
    k->n = param(k, "n", type_scalar(EL_I32), chance(k, 50) ? 16 : 1);
    k->stride = param(k, "stride", type_scalar(EL_I32), 1);
    Value *room = param(k, "room", type_scalar(EL_I32), ROOM_UNIT);
    Op *pid = ir_op(&k->b, OP_PROGRAM_ID, NULL, 0, (Type[]){type_scalar(EL_I32)}, 1, 0);
    ir_set_attr(k->b.s, pid, AT_AXIS, 0);
    room = ir_binary(&k->b, OP_MUL, room, pid->result[0]);
    k->out = ir_binary(&k->b, OP_ADDPTR, k->out, room);
    make_ops(k, 18);
    for (int i = 0; i < k->pool.n; i++) store(k, k->pool.at[i]);
    ir_op(&k->b, OP_RETURN, NULL, 0, NULL, 0, 0);
    k->room = (k->room + ROOM_UNIT - 1) / ROOM_UNIT * ROOM_UNIT;
    return m;
}

#endif

/* test_layout_pass.c: kernels compute the same with layouts, shared memory and barriers as without.
 *
 * Random kernels on tiles of up to 4096 elements mix loads and stores (by rows, by columns,
 * masked), transposes, reshapes, broadcasts, dots, loops and branches. The interpreter runs each as
 * written and after the whole pipeline, where it executes the trips through shared memory and
 * proves that barriers order them; what is stored must agree bit for bit. All numbers are small
 * integers, so that sums are exact in any order. The code generator must take every such kernel,
 * too. */
#include "codegen/codegen.h"
#include "ir/interp.h"
#include "ir/target.h"
#include "passes/pass.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOG2 = 12, IN_COUNT = 1 << MOST_LOG2, INPUTS = 4, MOST_STORES = 64, CLAMP = 64 };
enum { PARAM_OUT = INPUTS, PARAM_N, PARAM_STRIDE, PARAMS };

static const Elem input_elem[INPUTS] = {EL_F16, EL_F32, EL_I32, EL_U8};

typedef struct Kernel {
    Builder b;
    uint64_t rng;
    VEC(Value *) pool; /* tiles that may be used here */
    Value *in[INPUTS], *out, *n, *stride;
    int64_t room; /* elements of `out` in use */
    int stores, depth;
    bool combining; /* reduce and scan too */
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

static void make_combine(Kernel *k) {
    Value *v = any(k);
    Type t = v->type, e = type_element(t);
    if (!k->combining || t.elem == EL_U8) return;
    int axis = below(k, t.rank);
    bool scan = chance(k, 30);
    if (!scan) {
        for (int d = axis; d + 1 < t.rank; d++) t.log2[d] = t.log2[d + 1];
        t.log2[--t.rank] = 0;
    }
    Op *op = ir_op(&k->b, scan ? OP_SCAN : OP_REDUCE, &v, 1, &t, 1, 1);
    ir_set_attr(k->b.s, op, AT_AXIS, axis);
    Mark m = enter(k, op->region[0]);
    Value *x = arg(k, op->region[0], e), *y = arg(k, op->region[0], e);
    x = ir_binary(&k->b, OP_MAX, x, y);
    leave(k, m, OP_YIELD, &x, 1);
    if (t.rank)
        add(k, op->result[0]);
    else
        store(k, op->result[0]);
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
        } else if (what < 68) {
            make_shape(k);
        } else if (what < 78) {
            make_dot(k);
        } else if (what < 84) {
            store(k, any(k));
        } else if (what < 90) {
            make_combine(k);
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
    make_ops(k, 18);
    for (int i = 0; i < k->pool.n; i++) store(k, k->pool.at[i]);
    ir_op(&k->b, OP_RETURN, NULL, 0, NULL, 0, 0);
    return m;
}

/* ---- running them ---- */

typedef struct Inputs {
    uint16_t f16[IN_COUNT];
    float f32[IN_COUNT];
    int32_t i32[IN_COUNT];
    uint8_t u8[IN_COUNT];
} Inputs;

static void fill_inputs(Inputs *in) {
    for (int i = 0; i < IN_COUNT; i++) {
        int v = (i * 37 + i / 64 * 5) % 7 - 3;
        in->f16[i] = (uint16_t)elem_from_double(EL_F16, v);
        in->f32[i] = (float)(v + i % 3);
        in->i32[i] = i % 61 - 30;
        in->u8[i] = (uint8_t)(i % 23);
    }
}

static char *all_said(Session *s) {
    Buf b = buf_new(&s->arena);
    diag_render(&s->diags, &(Source){.name = "random"}, false, &b);
    return b.data;
}

/* What the kernel stores; NULL after an error in s->diags. */
static float *run_kernel(Session *s, const Module *m, int64_t room, Inputs *in) {
    enum { NEVER = 0x7FC0DEAD };
    float *out = arena_array(&s->arena, (size_t)room + 1, sizeof *out);
    for (int64_t i = 0; i < room; i++) memcpy(&out[i], &(int){NEVER}, sizeof *out);
    InterpBuffer buffer[] = {{"a", (uint8_t *)in->f16, sizeof in->f16, NULL},
                             {"b", (uint8_t *)in->f32, sizeof in->f32, NULL},
                             {"c", (uint8_t *)in->i32, sizeof in->i32, NULL},
                             {"d", in->u8, sizeof in->u8, NULL},
                             {"out", (uint8_t *)out, (size_t)room * sizeof *out, NULL}};
    InterpArg args[PARAMS] = {{0}};
    for (int i = 0; i <= PARAM_OUT; i++) args[i].p = (uint64_t)(uintptr_t)buffer[i].base;
    args[PARAM_N].i = 16;
    args[PARAM_STRIDE].i = 1;
    InterpLaunch launch = {.module = m,
                           .func = m->funcs,
                           .arg = args,
                           .buffer = buffer,
                           .nbuffers = 5,
                           .grid = {2, 1, 1},
                           .checks = CHECK_ALL};
    return interp_run(s, &launch) ? out : NULL;
}

typedef struct Count {
    int of[OPS];
} Count;

static void count_op(Op *op, void *ctx) {
    ((Count *)ctx)->of[op->code]++;
}

static Count count_ops(const Module *m) {
    Count c = {{0}};
    ir_walk(m->funcs->body, count_op, &c);
    return c;
}

static bool run_pipeline(Session *s, Module *m, const Target *target, int level) {
    PassOptions o = {.level = level, .verify_each = true, .target = target};
    return passes_run(s, m, &o);
}

static void check_seed(uint64_t seed, Inputs *in, bool combining, Count *total) {
    Session *s = malloc(sizeof *s);
    ck_assert_ptr_nonnull(s);
    if (setjmp(s->bail)) ck_abort_msg("seed %llu: ran out of memory", (unsigned long long)seed);
    session_init(s);
    Kernel k = {.combining = combining};
    Module *m = make_kernel(s, &k, seed);
    float *want = run_kernel(s, m, k.room, in);
    ck_assert_msg(want, "seed %llu: as written: %s", (unsigned long long)seed, all_said(s));
    Buf text = buf_new(&s->arena);
    ir_print(m, &text);
    for (int level = 0; level < 2; level++) {
        const Target *target = &target_table[seed % (uint64_t)target_count];
        Module *copy = ir_parse(s, text.data, text.len);
        ck_assert_msg(copy, "seed %llu: %s", (unsigned long long)seed, all_said(s));
        ck_assert_msg(run_pipeline(s, copy, target, level), "seed %llu -O%d: %s",
                      (unsigned long long)seed, level, all_said(s));
        float *have = run_kernel(s, copy, k.room, in);
        ck_assert_msg(have, "seed %llu -O%d: %s", (unsigned long long)seed, level, all_said(s));
        for (int64_t i = 0; i < k.room; i++)
            if (memcmp(&want[i], &have[i], sizeof *want) != 0)
                ck_abort_msg("seed %llu -O%d: out[%lld] is %g, not %g", (unsigned long long)seed,
                             level, (long long)i, (double)have[i], (double)want[i]);
        Count c = count_ops(copy);
        for (int i = 0; i < OPS; i++) total->of[i] += c.of[i];
        if (combining) continue;
        CodegenOptions options = {.target = target, .level = level};
        Buf ptx = buf_new(&s->arena);
        ck_assert_msg(codegen_module(s, copy, &options, NULL, &ptx), "seed %llu -O%d: %s",
                      (unsigned long long)seed, level, all_said(s));
        ck_assert_ptr_nonnull(strstr(ptx.data, ".entry random("));
    }
    session_free(s);
    free(s);
}

static void check_seeds(uint64_t from, uint64_t to, bool combining) {
    Inputs *in = malloc(sizeof *in);
    ck_assert_ptr_nonnull(in);
    fill_inputs(in);
    Count total = {{0}};
    for (uint64_t seed = from; seed < to; seed++) check_seed(seed, in, combining, &total);
    free(in);
    /* What is to be shown must have happened. */
    static const OpCode wanted[] = {OP_SHARED_ALLOC, OP_SHARED_STORE, OP_SHARED_LOAD, OP_BARRIER,
                                    OP_DOT,          OP_CONVERT,      OP_FOR,         OP_IF,
                                    OP_WHILE,        OP_TRANS,        OP_RESHAPE};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        ck_assert_msg(total.of[wanted[i]] > (int)(to - from) / 4, "only %d '%s' in all kernels",
                      total.of[wanted[i]], op_info[wanted[i]].text);
    if (combining) ck_assert_int_gt(total.of[OP_REDUCE], 10);
}

START_TEST(pipeline_keeps_meaning) {
    check_seeds(1, 100, true);
}
END_TEST

START_TEST(pipeline_output_is_compiled) {
    check_seeds(1000, 1060, false);
}
END_TEST

/* ---- barriers ---- */

/* A product in a loop, its transpose added to it, and a tile turned round in one arm of a branch:
 * buffers are filled and read again and again, and dead ones are written over. */
static const char busy_kernel[] =
    "kernel @busy(%a: ptr<f16> divisible=16, %out: ptr<f32> divisible=16) num_warps=4 num_stages=3 "
    "{\n"
    "  %zero: i32 = const value=0\n"
    "  %one: i32 = const value=1\n"
    "  %three: i32 = const value=3\n"
    "  %i: i32[32] = arange start=0 end=32\n"
    "  %row: i32[32,1] = reshape %i\n"
    "  %col: i32[1,32] = reshape %i\n"
    "  %width: i32[32,1] = const value=32\n"
    "  %below: i32[32,1] = mul %row, %width\n"
    "  %x: i32[32,32] = broadcast %below\n"
    "  %y: i32[32,32] = broadcast %col\n"
    "  %at: i32[32,32] = add %x, %y\n"
    "  %as: ptr<f16>[32,32] = splat %a\n"
    "  %p: ptr<f16>[32,32] = addptr %as, %at\n"
    "  %os: ptr<f32>[32,32] = splat %out\n"
    "  %q: ptr<f32>[32,32] = addptr %os, %at\n"
    "  %none: f32[32,32] = const value=0x0p+0\n"
    "  %sum: f32[32,32] = for %zero, %three, %one, %none { (%k: i32, %acc: f32[32,32])\n"
    "    %v: f16[32,32] = load %p\n"
    "    %u: f16[32,32] = add %v, %v\n"
    "    %d: f32[32,32] = dot %u, %v, %acc\n"
    "    yield %d\n"
    "  }\n"
    "  %turned: f32[32,32] = trans %sum order=[1,0]\n"
    "  %both: f32[32,32] = add %sum, %turned\n"
    "  %pid: i32 = program_id axis=0\n"
    "  %odd: i1 = cmp %pid, %zero pred=ne\n"
    "  %r: f32[32,32] = if %odd {\n"
    "    %t: f32[32,32] = trans %both order=[1,0]\n"
    "    %s: f32[32,32] = add %t, %both\n"
    "    yield %s\n"
    "  } {\n"
    "    yield %both\n"
    "  }\n"
    "  store %q, %r\n"
    "  return\n"
    "}\n";

typedef struct Nth {
    int n;
    Op *found;
} Nth;

static void find_barrier(Op *op, void *ctx) {
    Nth *nth = ctx;
    if (op->code == OP_BARRIER && nth->n-- == 0) nth->found = op;
}

/* Runs busy_kernel through the pipeline and, with its barrier number `without` removed, in the
 * interpreter. Returns what was said, in malloc'ed memory; sets *barriers to how many there were.
 */
static char *run_busy(int without, int *barriers) {
    Session *s = malloc(sizeof *s);
    ck_assert_ptr_nonnull(s);
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    Module *m = ir_parse(s, busy_kernel, sizeof busy_kernel - 1);
    ck_assert_msg(m && run_pipeline(s, m, &target_table[0], 1), "%s", all_said(s));
    *barriers = count_ops(m).of[OP_BARRIER];
    if (without >= 0) {
        Nth nth = {without, NULL};
        ir_walk(m->funcs->body, find_barrier, &nth);
        ck_assert_ptr_nonnull(nth.found);
        ir_erase(nth.found);
    }
    uint16_t a[1024];
    float out[1024];
    for (int i = 0; i < 1024; i++) a[i] = (uint16_t)elem_from_double(EL_F16, i % 5);
    InterpBuffer buffer[] = {{"a", (uint8_t *)a, sizeof a, NULL},
                             {"out", (uint8_t *)out, sizeof out, NULL}};
    InterpArg args[] = {{.p = (uint64_t)(uintptr_t)a}, {.p = (uint64_t)(uintptr_t)out}};
    InterpLaunch launch = {.module = m,
                           .func = m->funcs,
                           .arg = args,
                           .buffer = buffer,
                           .nbuffers = 2,
                           .grid = {2, 1, 1},
                           .checks = CHECK_ALL};
    interp_run(s, &launch);
    char *said = strdup(all_said(s));
    session_free(s);
    free(s);
    return said;
}

START_TEST(every_barrier_is_needed) {
    int n, again;
    char *said = run_busy(-1, &n);
    ck_assert_str_eq(said, "");
    free(said);
    ck_assert_int_ge(n, 5);
    for (int i = 0; i < n; i++) {
        said = run_busy(i, &again);
        ck_assert_msg(strstr(said, "missing barrier") != NULL, "without barrier %d of %d: '%s'", i,
                      n, said);
        free(said);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("layout pass");
    TCase *c = tcase_create("layout pass");
    tcase_set_timeout(c, 240);
    tcase_add_test(c, pipeline_keeps_meaning);
    tcase_add_test(c, pipeline_output_is_compiled);
    tcase_add_test(c, every_barrier_is_needed);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

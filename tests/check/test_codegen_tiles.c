/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_codegen_tiles.c: operations that walk an axis or move elements between threads become PTX
 * for every element type, tiles of many shapes, 1 to 16 warps, at both levels; ptxas, where it is
 * found, takes it.
 *
 * One kernel per shape, number of warps and element type loads a tile and stores what scans,
 * reductions, gathers, joins, splits, histograms, transpositions and reshapes make of it. */
#include "codegen/codegen.h"
#include "passes/pass.h"
#include "tests/check/assemble.h"
#include "tests/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

typedef struct Maker {
    Builder b;
    Value *out; /* i64: address of where the next result goes */
    int64_t at;
} Maker;

typedef struct Shape {
    int rank;
    uint8_t log2[9];
} Shape;

static const Shape shapes[] = {
    {1, {0}},    {1, {3}},    {1, {10}},      {2, {5, 5}},
    {2, {0, 6}}, {2, {9, 1}}, {3, {2, 3, 4}}, {9, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, KINDS = ELEMS + 1 /* pointers last */ };

static Type type_of(const Shape *s, int kind) {
    Type t = {.elem = (uint8_t)(kind == ELEMS ? EL_F16 : kind), .rank = (uint8_t)s->rank};
    t.depth = kind == ELEMS;
    memcpy(t.log2, s->log2, sizeof s->log2);
    return t;
}

static Value *count_up(Maker *m, Type t) { /* 0, 1, 2 … in a tile's shape */
    Type line = {.elem = EL_I32, .rank = 1, .log2 = {(uint8_t)type_log2_numel(t)}};
    Op *op = ir_op(&m->b, OP_ARANGE, NULL, 0, &line, 1, 0);
    ir_set_attr(m->b.s, op, AT_START, 0);
    ir_set_attr(m->b.s, op, AT_END, type_numel(t));
    return ir_given(&m->b, OP_RESHAPE, op->result[0], type_with_elem(t, EL_I32));
}

static Value *pointers(Maker *m, Value *base, Type t) {
    if (!t.rank) return base;
    base = ir_given(&m->b, OP_SPLAT, base, type_with_shape(base->type, t));
    return ir_binary(&m->b, OP_ADDPTR, base, count_up(m, t));
}

/* Stores v at a place of its own. */
static void keep(Maker *m, Value *v) {
    Value *at = ir_binary(&m->b, OP_ADD, m->out, ir_const_int(&m->b, m->out->type, m->at));
    Value *base = ir_given(&m->b, OP_CAST, at, type_pointer_to(type_element(v->type)));
    ir_op(&m->b, OP_STORE, (Value *[]){pointers(m, base, v->type), v}, 2, NULL, 0, 0);
    m->at += 8 * type_numel(v->type);
}

/* Reduce or scan of n tiles: sums or the like; what knows no arithmetic keeps the later one. */
static void walk(Maker *m, OpCode code, Value *const *x, int n, int axis, bool back) {
    Type t[2];
    for (int i = 0; i < n; i++) {
        t[i] = x[i]->type;
        if (code == OP_SCAN) continue;
        for (int d = axis; d + 1 < t[i].rank; d++) t[i].log2[d] = t[i].log2[d + 1];
        t[i].log2[--t[i].rank] = 0;
    }
    Op *op = ir_op(&m->b, code, x, n, t, n, 1);
    ir_set_attr(m->b.s, op, AT_AXIS, axis);
    if (back) ir_set_attr(m->b.s, op, AT_REVERSE, 1);
    Builder in = m->b;
    in.block = op->region[0];
    Value *arg[4], *out[2];
    for (int i = 0; i < 2 * n; i++)
        arg[i] = ir_block_arg(in.s, in.f, op->region[0], type_element(x[i % n]->type), NULL);
    for (int i = 0; i < n; i++) {
        Type e = arg[i]->type;
        bool none = e.depth || e.elem == EL_F8E4M3 || e.elem == EL_F8E5M2;
        out[i] = none ? arg[n + i]
                      : ir_binary(&in, type_is_bool(e) ? OP_XOR : OP_ADD, arg[i], arg[n + i]);
    }
    ir_op(&in, OP_YIELD, out, n, NULL, 0, 0);
    for (int i = 0; i < n; i++) keep(m, op->result[i]);
}

static void gather(Maker *m, Value *x, Value *index, int axis) {
    Type t = x->type, to = t;
    to.log2[axis] = 2;
    index = ir_given(&m->b, OP_CAST, count_up(m, to), type_with_elem(to, (Elem)index->type.elem));
    index =
        ir_binary(&m->b, OP_AND, index, ir_const_int(&m->b, index->type, type_dim(t, axis) - 1));
    Value *v = ir_op(&m->b, OP_GATHER, (Value *[]){x, index}, 2, &to, 1, 0)->result[0];
    ir_set_attr(m->b.s, v->def, AT_AXIS, axis);
    keep(m, v);
}

static void move(Maker *m, Value *x) {
    Type t = x->type, pair = t;
    pair.log2[pair.rank++] = 1;
    Value *both = ir_op(&m->b, OP_JOIN, (Value *[]){x, x}, 2, &pair, 1, 0)->result[0];
    int order[TILE_MAX_RANK];
    Type turned = pair;
    for (int i = 0; i < pair.rank; i++) {
        order[i] = pair.rank - 1 - i;
        turned.log2[i] = pair.log2[order[i]];
    }
    Value *v = ir_given(&m->b, OP_TRANS, both, turned);
    ir_set_dims(m->b.s, v->def, AT_ORDER, order, pair.rank);
    Type line = {.elem = t.elem, .depth = t.depth, .rank = 2};
    line.log2[0] = (uint8_t)type_log2_numel(t);
    line.log2[1] = 1;
    keep(m, v);
    v = ir_given(&m->b, OP_RESHAPE, v, line);
    line.log2[--line.rank] = 0;
    Op *split = ir_op(&m->b, OP_SPLIT, &v, 1, (Type[]){line, line}, 2, 0);
    for (int i = 0; i < 2; i++) keep(m, split->result[i]);
}

static void count(Maker *m, Value *x, Value *mask) {
    Type line = {.elem = x->type.elem, .rank = 1, .log2 = {(uint8_t)type_log2_numel(x->type)}};
    Value *args[2] = {ir_given(&m->b, OP_RESHAPE, x, line),
                      ir_given(&m->b, OP_RESHAPE, mask, type_with_elem(line, EL_I1))};
    Type bins = {.elem = EL_I32, .rank = 1, .log2 = {7}};
    for (int n = 1; n <= 2; n++)
        keep(m, ir_op(&m->b, OP_HISTOGRAM, args, n, &bins, 1, 0)->result[0]);
}

static void make_kernel(Module *mod, const Shape *s, int num_warps, int kind) {
    Func *f = ir_func(
        mod, arena_printf(&mod->session->arena, "k%d_%d_%d", (int)(s - shapes), num_warps, kind));
    f->num_warps = num_warps;
    Maker m = {.b = {.s = mod->session, .f = f, .block = f->body}};
    Type t = type_of(s, kind), p = type_pointer_to(type_element(t));
    Value *in = ir_param(m.b.s, f, &(Param){.name = "in", .type = p, .divisible = 16});
    m.out = ir_param(m.b.s, f, &(Param){.name = "out", .type = type_scalar(EL_I64)});
    Value *at = pointers(&m, in, t), *x = ir_op1(&m.b, OP_LOAD, &at, 1), *y = count_up(&m, t);
    Value *five = ir_const_int(&m.b, y->type, 5), *mask = ir_cmp(&m.b, PRED_GT, y, five);
    bool is_int = !t.depth && type_is_int(t) && !type_is_bool(t);
    for (int axis = 0; axis<t.rank; axis += t.rank> 3 ? 4 : 1) {
        for (int back = 0; back < 2; back++) walk(&m, OP_SCAN, &x, 1, axis, back);
        walk(&m, OP_REDUCE, &x, 1, axis, false);
        walk(&m, OP_REDUCE, (Value *[]){x, y}, 2, axis, false);
        walk(&m, OP_SCAN, (Value *[]){y, x}, 2, axis, false);
        gather(&m, x, is_int ? x : y, axis);
    }
    move(&m, x);
    if (is_int) count(&m, x, mask);
    Op *print = ir_op(&m.b, OP_PRINT, (Value *[]){x, m.out}, 2, NULL, 0, 0);
    ir_set_text(m.b.s, print, AT_TEXT, "100% \"of\"");
    Op *assertion = ir_op(&m.b, OP_ASSERT, &mask, 1, NULL, 0, 0);
    ir_set_text(m.b.s, assertion, AT_TEXT, "more than five");
    ir_op(&m.b, OP_RETURN, NULL, 0, NULL, 0, 0);
}

static char *all_said(Session *s) {
    Buf b = buf_new(&s->arena);
    diag_render(&s->diags, &(Source){.name = "tiles"}, false, &b);
    return b.data;
}

static void check_shape(const Shape *shape, const Target *target, int level, bool with_ptxas) {
    Session *s = malloc(sizeof *s);
    ck_assert_ptr_nonnull(s);
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    Module *m = ir_module(s);
    /* All types at 4 warps, the commonest at others. */
    for (int warps = 1; warps <= 16; warps *= 2)
        for (int kind = 0; kind < KINDS; kind++)
            if (warps == 4 || kind == EL_F32) make_kernel(m, shape, warps, kind);
    PassOptions passes = {.level = level, .verify_each = true, .target = target};
    ck_assert_msg(passes_run(s, m, &passes), "%s -O%d: %s", target->name, level, all_said(s));
    CodegenOptions options = {.target = target, .level = level, .debug = level == 0};
    Buf ptx = buf_new(&s->arena);
    bool ok = codegen_module(s, m, &options, NULL, &ptx);
    ck_assert_msg(ok, "%s -O%d: %s", target->name, level, all_said(s));
    ck_assert_ptr_nonnull(strstr(ptx.data, "vprintf"));
    ck_assert_int_eq(strstr(ptx.data, "__assertfail") != NULL, level == 0);
    int status = with_ptxas ? assemble(ptx.data, target->name) : 77;
    ck_assert_msg(status == 0 || status == 77, "ptxas for %s: exit code %d", target->name, status);
    session_free(s);
    free(s);
}

START_TEST(every_shape_and_type) {
    const Target *first = &target_table[0], *last = &target_table[target_count - 1];
    check_shape(&shapes[_i], _i % 2 ? first : last, 1, _i % 3 == 0);
    check_shape(&shapes[_i], _i % 2 ? last : first, 0, false);
}
END_TEST

int main(void) {
    Suite *s = suite_create("codegen of tiles");
    TCase *c = tcase_create("codegen of tiles");
    tcase_set_timeout(c, 240);
    tcase_add_loop_test(c, every_shape_and_type, 0, SHAPES);
    return run_suite(s, c);
}

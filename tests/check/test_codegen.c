/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_codegen.c: every elementwise operation on values, on every element type it takes, becomes
 * PTX, for every target and level; ptxas, where it is found, takes all of it.
 *
 * One kernel per element type loads three tiles and stores, for each operation that ops.def lets
 * have that type, what it makes of them, as a tile and as a scalar. */
#include "codegen/codegen.h"
#include "ir/effects.h"
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
    Value *out; /* ptr<i64>: where the next result goes */
    int made;
} Maker;

enum { TILE = 512 };

static bool letter_takes(char letter, Elem e) {
    ElemClass c = elem_info[e].class_;
    switch (letter) {
    case 't': return true;
    case 'n': return true;
    case 'i': return c != ELEM_F;
    case 'f': return c == ELEM_F;
    default: return false;
    }
}

static Value *splat(Maker *m, Value *v, Type like) {
    return like.rank ? ir_given(&m->b, OP_SPLAT, v, type_with_shape(v->type, like)) : v;
}

static Value *pointers(Maker *m, Value *base, Type t) {
    if (!t.rank) return base;
    Type index = type_with_elem(t, EL_I32);
    Op *range = ir_op(&m->b, OP_ARANGE, NULL, 0, &index, 1, 0);
    ir_set_attr(m->b.s, range, AT_START, 0);
    ir_set_attr(m->b.s, range, AT_END, TILE);
    return ir_binary(&m->b, OP_ADDPTR, splat(m, base, t), range->result[0]);
}

/* Stores v, whatever its type, at a place of its own. */
static void keep(Maker *m, Value *v) {
    Type t = v->type;
    Value *base = ir_given(&m->b, OP_CAST, m->out, type_scalar(EL_I64));
    base = ir_binary(&m->b, OP_ADD, base, ir_const_int(&m->b, base->type, 8 * TILE * m->made++));
    base = ir_given(&m->b, OP_CAST, base, type_pointer_to(type_element(t)));
    ir_op(&m->b, OP_STORE, (Value *[]){pointers(m, base, t), v}, 2, NULL, 0, 0);
}

static void keep_with(Maker *m, OpCode code, Value *const *args, int n, AttrId id, int64_t attr) {
    Value *v = ir_op1(&m->b, code, args, n);
    ir_set_attr(m->b.s, v->def, id, attr);
    keep(m, v);
}

/* Functions that the code generator has; the front end asks for f32 where f64 has none. */
static bool has_function(int64_t f, Elem e) {
    bool exact =
        f == MATH_SQRT || f == MATH_SQRT_RN || f == MATH_RSQRT || f == MATH_FLOOR || f == MATH_CEIL;
    return f <= MATH_CEIL && (e == EL_F32 || (e == EL_F64 && exact));
}

/* Elementwise on values: no memory, no text of its own. */
static bool is_plain(OpCode code) {
    bool for_the_cpu = code == OP_HINT || code == OP_MATH2;
    return (op_info[code].traits & TRAIT_E) && op_info[code].effects == EFFECT_NONE &&
           code != OP_ADDPTR && op_info[code].result != RESULT_MANY && !for_the_cpu;
}

static void make_op(Maker *m, OpCode code, Value **x) {
    Type t = x[0]->type;
    const char *letters = op_info[code].operands;
    int n = 0;
    if (code == OP_SELECT) {
        keep(m,
             ir_op1(&m->b, code, (Value *[]){ir_cmp(&m->b, PRED_LT, x[1], x[2]), x[0], x[1]}, 3));
        return;
    }
    for (; letters[n]; n++)
        if (!letter_takes(letters[n], (Elem)t.elem)) return;
    switch (code) {
    case OP_CMP:
        for (int p = PRED_EQ; p <= PRED_GE; p++) keep_with(m, code, x, 2, AT_PRED, p);
        break;
    case OP_MATH:
        for (int f = 0; f < MATHS; f++)
            if (has_function(f, (Elem)t.elem)) keep_with(m, code, x, 1, AT_FUNC, f);
        break;
    case OP_CAST:
    case OP_BITCAST:
        for (int e = 0; e < ELEMS; e++) {
            if (code == OP_BITCAST && elem_info[e].bits != elem_info[t.elem].bits) continue;
            keep(m, ir_given(&m->b, code, x[0], type_with_elem(t, (Elem)e)));
            bool down = type_is_float(t) && elem_info[e].class_ == ELEM_F &&
                        elem_info[e].bits < type_elem_bits(t);
            if (code != OP_CAST || !down) continue;
            Value *v = ir_given(&m->b, code, x[0], type_with_elem(t, (Elem)e));
            ir_set_attr(m->b.s, v->def, AT_RTZ, 1);
            keep(m, v);
        }
        break;
    case OP_MIN:
    case OP_MAX:
        if (type_is_float(t)) keep_with(m, code, x, n, AT_NAN, 1);
        keep(m, ir_op1(&m->b, code, x, n));
        break;
    default: keep(m, ir_op1(&m->b, code, x, n));
    }
}

static void make_kernel(Module *mod, Elem e, bool tiles) {
    const char *kind = tiles ? "tiles" : "scalars";
    Func *f = ir_func(mod, arena_printf(&mod->session->arena, "%s_%s", elem_info[e].text, kind));
    Maker m = {.b = {.s = mod->session, .f = f, .block = f->body}};
    int64_t size = TILE;
    Type t = tiles ? type_tile(e, 1, &size) : type_scalar(e);
    Value *x[3];
    static const char *const names[] = {"x", "y", "z"};
    for (int i = 0; i < 3; i++) {
        Type p = type_pointer_to(type_scalar(e));
        Value *base =
            ir_param(mod->session, f, &(Param){.name = names[i], .type = p, .divisible = 16});
        x[i] = base;
    }
    Type out = type_pointer_to(type_scalar(EL_I64));
    m.out = ir_param(mod->session, f, &(Param){.name = "out", .type = out, .divisible = 16});
    for (int i = 0; i < 3; i++) {
        Value *p = pointers(&m, x[i], t);
        x[i] = ir_op1(&m.b, OP_LOAD, &p, 1);
    }
    for (int code = 0; code < OPS; code++)
        if (is_plain((OpCode)code)) make_op(&m, (OpCode)code, x);
    ir_op(&m.b, OP_RETURN, NULL, 0, NULL, 0, 0);
}

static char *all_said(Session *s) {
    Buf b = buf_new(&s->arena);
    diag_render(&s->diags, &(Source){.name = "ops"}, false, &b);
    return b.data;
}

static void check_target(const Target *target, int level, bool with_ptxas) {
    Session *s = malloc(sizeof *s);
    ck_assert_ptr_nonnull(s);
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    Module *m = ir_module(s);
    for (int e = 0; e < ELEMS; e++)
        for (int tiles = 0; tiles < 2; tiles++) make_kernel(m, (Elem)e, tiles);
    PassOptions passes = {.level = level, .verify_each = true, .target = target};
    ck_assert_msg(passes_run(s, m, &passes), "%s -O%d: %s", target->name, level, all_said(s));
    CodegenOptions options = {.target = target, .level = level};
    Buf ptx = buf_new(&s->arena), llvm = buf_new(&s->arena);
    bool ok = codegen_module(s, m, &options, &llvm, &ptx);
    ck_assert_msg(ok, "%s -O%d: %s", target->name, level, all_said(s));
    for (const Func *f = m->funcs; f; f = f->next) {
        const char *entry = arena_printf(&s->arena, ".entry %s(", f->name);
        ck_assert_msg(strstr(ptx.data, entry), "%s is not in the PTX", entry);
    }
    /* A local array or a call would be a stack frame or a function that nobody links. */
    ck_assert_msg(!strstr(ptx.data, ".local") && !strstr(ptx.data, "call"),
                  "%s -O%d: a stack or a call", target->name, level);
    if (with_ptxas) {
        int status = assemble(ptx.data, target->name);
        ck_assert_msg(status == 0 || status == 77, "ptxas for %s: exit code %d", target->name,
                      status);
    }
    session_free(s);
    free(s);
}

START_TEST(every_op_on_every_type) {
    for (int level = 0; level < 2; level++)
        check_target(&target_table[_i], level, level == 1 && (_i == 0 || _i == target_count - 1));
}
END_TEST

int main(void) {
    Suite *s = suite_create("codegen");
    TCase *c = tcase_create("codegen");
    tcase_set_timeout(c, 240);
    tcase_add_loop_test(c, every_op_on_every_type, 0, target_count);
    return run_suite(s, c);
}

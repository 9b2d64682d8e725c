/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_math.c: every function of math.def becomes ops that have an instruction, for both types, for
 * tiles and scalars, and the result is sound. How exact they are is for tile-ulp to say. */
#include "ir/target.h"
#include "passes/math.h"
#include "passes/pass.h"
#include "tests/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void finds_native_ops(Op *op, void *ctx) {
    const char **left = ctx;
    if (op->code == OP_MATH2) *left = "a function of two";
    if (op->nresults != 1 || !type_is_float(op->result[0]->type)) return;
    Elem e = (Elem)op->result[0]->type.elem;
    if (op->code == OP_REM) *left = "a remainder";
    if (op->code == OP_MATH && !math_is_native(e, (MathFunc)ir_attr_int(op, AT_FUNC, 0)))
        *left = attr_words(AT_FUNC)[ir_attr_int(op, AT_FUNC, 0)];
}

/* `op` with %x and %y of this type, in a kernel that stores the result. */
static void expands(const char *op, const char *elem, const char *shape) {
    static Session s;
    char text[1000];
    snprintf(text, sizeof text,
             "kernel @k(%%p: ptr<%s>, %%u: %s, %%v: %s) num_warps=4 num_stages=1 {\n"
             "  %%x: %s%s = splat %%u\n  %%y: %s%s = splat %%v\n  %%q: ptr<%s>%s = splat %%p\n"
             "  %%r: %s%s = %s\n  store %%q, %%r\n  return\n}\n",
             elem, elem, elem, elem, shape, elem, shape, elem, shape, elem, shape, op);
    if (!*shape)
        snprintf(text, sizeof text,
                 "kernel @k(%%q: ptr<%s>, %%x: %s, %%y: %s) num_warps=4 num_stages=1 {\n"
                 "  %%r: %s = %s\n  store %%q, %%r\n  return\n}\n",
                 elem, elem, elem, elem, op);
    if (setjmp(s.bail)) ck_abort_msg("out of memory");
    session_init(&s);
    Module *m = ir_parse(&s, text, strlen(text));
    ck_assert_msg(m != NULL, "%s: %s", op, s.diags.first ? s.diags.first->text : "");
    PassOptions o = {.passes = "math", .level = 1, .verify_each = true, .target = &target_table[0]};
    bool ok = passes_run(&s, m, &o);
    ck_assert_msg(ok, "%s of %s%s: %s", op, elem, shape, s.diags.first ? s.diags.first->text : "");
    const char *left = NULL;
    ir_walk(m->funcs->body, finds_native_ops, &left);
    ck_assert_msg(!left, "%s of %s%s leaves %s", op, elem, shape, left);
    session_free(&s);
}

static void expands_everywhere(const char *op) {
    static const char *const elems[] = {"f32", "f64"}, *const shapes[] = {"", "[8]", "[4,2]"};
    for (int e = 0; e < 2; e++)
        for (int i = 0; i < 3; i++) expands(op, elems[e], shapes[i]);
}

START_TEST(every_function_expands) {
    char op[100];
    for (int f = 0; f < MATHS; f++) {
        snprintf(op, sizeof op, "math %%x func=%s", attr_words(AT_FUNC)[f]);
        expands_everywhere(op);
    }
    for (int f = 0; f < MATH2S; f++) {
        snprintf(op, sizeof op, "math2 %%x, %%y func2=%s", attr_words(AT_FUNC2)[f]);
        expands_everywhere(op);
    }
    expands_everywhere("rem %x, %y");
}
END_TEST

/* What is no text of the small language is an error, not a crash; so is a wrong count of operands.
 */
START_TEST(wrong_texts_are_errors) {
    static const char *const wrong[] = {
        "",
        "return",
        "return x",
        "return 1.0;",
        "return y;",
        "return x +;",
        "return (x;",
        "return unknown(x);",
        "return fma(x, x);",
        "return poly(x);",
        "return select(x > 0.0, 1.0, 2.0);",
        "x y = x; return x;",
        "a, b = abs(x); return a;",
        "a = 1.0; return x;",
        "return repeat(2, abs, x);",
        "return repeat(x, sin, x);",
        "return sin(x, x);",
        "return x 1;",
    };
    static Session s;
    for (volatile size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (setjmp(s.bail)) ck_abort_msg("out of memory");
        session_init(&s);
        Module *m = ir_module(&s);
        Func *f = ir_func(m, "k");
        Builder b = {&s, f, f->body, NULL, {0}};
        Value *x = ir_const_float(&b, type_scalar(EL_F32), 1);
        MathFn fn = {EL_F32, "wrong", "x", wrong[i]};
        ck_assert_msg(!math_expand(&b, &fn, &x, 1), "'%s' was accepted", wrong[i]);
        ck_assert_int_eq(s.diags.errors, 1);
        session_free(&s);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("math");
    TCase *c = tcase_create("math");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, every_function_expands);
    tcase_add_test(c, wrong_texts_are_errors);
    return run_suite(s, c);
}

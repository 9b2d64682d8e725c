/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_facts.c: trees of facts as text, as JSON and beside each other; explanations of
 * instructions. */
#include "base/session.h"
#include "compiler/report/explain.h"
#include "compiler/report/facts.h"
#include "tests/run_suite.h"

#include <check.h>
#include <jansson.h>
#include <string.h>

static Session s;

static void set_up(void) {
    session_init(&s);
    ck_assert(!setjmp(s.bail));
}

static void tear_down(void) {
    session_free(&s);
}

/* A kernel with two loops, of `stages` stages; the second loop is there where `second` says. */
static Fact *tree(int stages, bool second, const char *at) {
    Arena *a = &s.arena;
    Fact *root = fact_group(a, NULL, NULL);
    fact_text(a, root, "file", "\"%s\" <é>\n", "x\\y");
    Fact *loops = fact_list(a, root, "loops");
    Fact *loop = fact_item(a, loops, "loop");
    loop->at = at;
    loop->line = 7;
    fact_why(a, fact_number(a, loop, "slots", stages), "num_stages = %d", stages);
    fact_real(a, loop, "flops_per_byte", 0.5);
    if (second) fact_number(a, fact_item(a, loops, "outer loop"), "slots", 1);
    fact_group(a, root, "nothing");
    return root;
}

START_TEST(as_text) {
    Buf out = buf_new(&s.arena);
    facts_write_text(tree(3, false, "line 9"), 1, &out);
    ck_assert_str_eq(out.data, "  file                             \"x\\y\" <é>\n\n"
                               "  loops\n"
                               "    loop, line 9\n"
                               "      slots                        3  (num_stages = 3)\n"
                               "      flops per byte               0.5\n");
}
END_TEST

START_TEST(as_json) {
    Buf out = buf_new(&s.arena);
    int slots, line;
    double real;
    const char *file, *why, *title, *at;
    facts_write_json(tree(3, true, "line 9"), &out);
    json_t *m = json_loads(out.data, 0, NULL);
    ck_assert_ptr_nonnull(m);
    ck_assert_int_eq(json_unpack(m, "{s:s,s:[{s:i,s:s,s:f,s:s,s:s,s:i},{}],s:{}}", "file", &file,
                                 "loops", "slots", &slots, "slots_why", &why, "flops_per_byte",
                                 &real, "title", &title, "at", &at, "ir_line", &line, "nothing"),
                     0);
    ck_assert_str_eq(file, "\"x\\y\" <é>\n");
    ck_assert(slots == 3 && real == 0.5 && line == 7);
    ck_assert_str_eq(why, "num_stages = 3");
    ck_assert_str_eq(title, "loop");
    ck_assert_str_eq(at, "line 9");
    ck_assert_ptr_null(strchr(out.data, '<')); /* it may lie in a script of a page */
    json_decref(m);
}
END_TEST

START_TEST(beside) {
    Buf same = buf_new(&s.arena), other = buf_new(&s.arena), json = buf_new(&s.arena);
    facts_compare_text(tree(3, true, "line 9"), tree(3, true, "line 12"), false, &same);
    ck_assert_ptr_null(strstr(same.data, "loop")); /* where it stands is no difference */
    facts_compare_text(tree(3, true, "line 9"), tree(4, false, "line 9"), false, &other);
    ck_assert_str_eq(strchr(other.data, '\n') + 1,
                     "loops\n"
                     "  loop, line 9\n"
                     "    slots                         3                         4\n"
                     "        A: num_stages = 3\n"
                     "        B: num_stages = 4\n"
                     "  outer loop                      only A\n"
                     "    slots                         1                         -\n");
    facts_compare_json(tree(3, true, "line 9"), tree(4, false, "line 9"), &json);
    json_t *m = json_loads(json.data, 0, NULL);
    ck_assert_ptr_nonnull(m);
    ck_assert_uint_eq(json_array_size(m), 2);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(m, 0), "fact")),
                     "loops/loop/slots");
    json_decref(m);
}
END_TEST

START_TEST(merged) {
    Arena *a = &s.arena;
    Fact *list = fact_list(a, NULL, "x");
    for (int i = 0; i < 4; i++) {
        fact_number(a, fact_item(a, list, "load"), "bytes", i == 1 ? 4 : 16);
        fact_merge_last(a, list);
    }
    ck_assert_int_eq(fact_named(list->first, "times")->number, 3);
    ck_assert_ptr_null(fact_named(list->last, "times"));
    ck_assert_ptr_eq(list->first->next, list->last);
}
END_TEST

static const char noted[] = "//~ a.tl:3: x = y + 1\n"
                            "//~   IR 12, fold: %x: i32 = add %y, %1\n"
                            "\tadd.s32 \t%r1, %r2, 1;\n"
                            "\t@!%p1 st.global.b32 \t[%rd1], %r1;\n"
                            "\t{ mov.b32 %r5, %r6; }\n"
                            "$L__BB0_1:\n"
                            "\tfrob.s32 \t%r1;\n"
                            "}\n"
                            "\tret;\n";

static const struct {
    uint32_t line;
    const char *words[4]; /* none: there is no instruction */
} asked[] = {
    {1, {"a + b", NULL}},
    {2, {"a + b", NULL}},
    {3, {"a + b", "%x: i32 = add %y, %1", "a.tl:3: x = y + 1", "made by    fold"}},
    {4, {"stores to global", "%p1 does not hold", "tile IR    12", NULL}},
    {5, {"copies a register", NULL}},
    {6, {"nothing is known", NULL}},
    {7, {"nothing is known", NULL}},
    {8, {NULL}},
    {9, {"ends the kernel", "no operation alone", NULL}},
    {10, {NULL}},
    {0, {NULL}},
};

START_TEST(explained) {
    Buf out = buf_new(&s.arena);
    bool has = explain_line(noted, sizeof noted - 1, asked[_i].line, &out);
    ck_assert_int_eq(has, asked[_i].words[0] != NULL);
    for (int i = 0; i < 4 && asked[_i].words[i]; i++)
        ck_assert_msg(strstr(out.data, asked[_i].words[i]) != NULL, "no '%s' in %s",
                      asked[_i].words[i], out.data);
}
END_TEST

int main(void) {
    Suite *all = suite_create("facts");
    TCase *t = tcase_create("facts");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, as_text);
    tcase_add_test(t, as_json);
    tcase_add_test(t, beside);
    tcase_add_test(t, merged);
    tcase_add_loop_test(t, explained, 0, sizeof asked / sizeof *asked);
    return run_suite(all, t);
}

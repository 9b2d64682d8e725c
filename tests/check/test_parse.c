/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_parse.c: the parser on text that no data file can hold: made up by the megabyte, broken in
 * its bytes, or fed to it by chance. Each ends in a tree or in an error, soon, and never deeper
 * than the limits that ast.h promises. */
#include "frontend/syntax/ast.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "@triton.jit\ndef k(x):\n    "
#define MB ((size_t)1 << 20)

typedef struct Parsed {
    Session s;
    AstFile *file;
    char *text; /* exactly as long as the source, so that ASan sees a read past its end */
    bool bailed;
} Parsed;

static void parse(Parsed *p, const char *text, size_t n) {
    p->bailed = false;
    p->text = malloc(n ? n : 1);
    ck_assert_ptr_nonnull(p->text);
    if (n) memcpy(p->text, text, n);
    if (setjmp(p->s.bail)) {
        p->bailed = true;
        return;
    }
    session_init(&p->s);
    p->s.source = (Source){.name = "x.tl", .text = p->text, .len = n};
    p->file = ast_parse(&p->s);
}

static void drop(Parsed *p) {
    session_free(&p->s);
    free(p->text);
}

/* head, then `unit` as often as it fits into `bytes`, then tail. */
static char *repeat(const char *head, const char *unit, const char *tail, size_t bytes,
                    size_t *len) {
    size_t h = strlen(head), u = strlen(unit), t = strlen(tail), times = bytes / u;
    char *s = malloc(h + u * times + t + 1);
    ck_assert_ptr_nonnull(s);
    memcpy(s, head, h);
    for (size_t i = 0; i < times; i++) memcpy(s + h + u * i, unit, u);
    memcpy(s + h + u * times, tail, t + 1);
    *len = h + u * times + t;
    return s;
}

static bool has_error(const Parsed *p, const char *text) {
    for (const Diag *d = p->s.diags.first; d; d = d->next)
        if (d->severity == DIAG_ERROR && strstr(d->text, text)) return true;
    return false;
}

static void expect_error(const char *text, size_t n, const char *error) {
    Parsed p;
    parse(&p, text, n);
    ck_assert(!p.bailed);
    ck_assert_msg(has_error(&p, error), "'%s' was not reported, but '%s'", error,
                  p.s.diags.first ? p.s.diags.first->text : "nothing");
    ck_assert(!p.s.diags.muted);
    drop(&p);
}

static void expect_clean(const char *text, size_t n, int nfuncs) {
    Parsed p;
    parse(&p, text, n);
    ck_assert(!p.bailed);
    ck_assert_msg(!p.s.diags.first, "%s", p.s.diags.first ? p.s.diags.first->text : "");
    ck_assert_int_eq(p.file->nfuncs, nfuncs);
    drop(&p);
}

/* ---- depth ---- */

static const struct {
    const char *head, *unit, *tail, *error;
} deep[] = {
    {HEAD "y = ", "(", "1", "nested too deeply (limit 200)"},
    {HEAD "y = ", "[{(", "1", "nested too deeply (limit 200)"},
    {HEAD "y = x", "(x", "", "nested too deeply (limit 200)"},
    {HEAD "y = x", "[x", "", "nested too deeply (limit 200)"},
    {HEAD "y = ", "-", "1\n", "nested too deeply (limit 200)"},
    {HEAD "y = ", "not ", "1\n", "nested too deeply (limit 200)"},
    {HEAD "y = ", "lambda: ", "1\n", "nested too deeply (limit 200)"},
    {HEAD "y = ", "x if x else ", "1\n", "nested too deeply (limit 200)"},
    {HEAD "y = ", "x ** ", "1\n", "nested too deeply (limit 200)"},
    {HEAD "y = ", "x + ", "1\n", "too many operators in a row (limit 1000)"},
    {HEAD "y = ", "x and ", "1\n", "too many operators in a row (limit 1000)"},
    {HEAD "y = ", "x.", "x\n", "too many operators in a row (limit 1000)"},
    {HEAD "y = x", "()", "\n", "too many operators in a row (limit 1000)"},
    {HEAD "y = x", "[0]", "\n", "too many operators in a row (limit 1000)"},
    {HEAD "y = ", "f\"{", "", "nested too deeply"},
    {HEAD "if x: pass\n    ", "elif x: pass\n    ", "\n", "nested too deeply (limit 200)"},
    {"@triton.jit\ndef k(", "x,", "):\n    pass\n", "duplicate parameter 'x'"},
    {HEAD "y = ", "f(a=1, ", "", "nested too deeply (limit 200)"},
};

START_TEST(deep_input_is_an_error) {
    static const size_t sizes[] = {30 * 1000, MB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n;
        char *text = repeat(deep[_i].head, deep[_i].unit, deep[_i].tail, sizes[i], &n);
        expect_error(text, n, deep[_i].error);
        free(text);
    }
}
END_TEST

START_TEST(deep_blocks_are_an_error) {
    enum { DEPTH = 2000 };
    char *text = malloc(sizeof HEAD + DEPTH * (DEPTH + 16));
    ck_assert_ptr_nonnull(text);
    size_t n = (size_t)sprintf(text, "@triton.jit\ndef k(x):\n");
    for (int i = 1; i < DEPTH; i++) n += (size_t)sprintf(text + n, "%*sif x:\n", i, "");
    expect_error(text, n, "nested too deeply (limit 200)");
    free(text);
}
END_TEST

/* The tree's own word on its height is true: measured here another way. */
static int height_of(const Expr *e) {
    if (!e) return 0;
    int most = 0;
    const Expr *parts[] = {e->left, e->right, e->cond};
    for (int i = 0; i < 3; i++) {
        int h = height_of(parts[i]);
        if (h > most) most = h;
    }
    for (int i = 0; i < e->nitems; i++) {
        int h = height_of(e->item[i]);
        if (h > most) most = h;
    }
    for (int i = 0; i < e->nkeywords; i++) {
        int h = height_of(e->keyword[i].value);
        if (h > most) most = h;
    }
    ck_assert_int_ge(e->height, most + 1);
    ck_assert_int_le(e->height, CHAIN_LIMIT);
    ck_assert_int_le(e->nesting, NESTING_LIMIT);
    return most + 1;
}

static void check_heights(const StmtList *list, int depth) {
    ck_assert_int_le(depth, NESTING_LIMIT);
    for (int i = 0; i < list->n; i++) {
        const Stmt *s = list->at[i];
        for (int k = 0; k < s->ntargets; k++) height_of(s->target[k]);
        height_of(s->value);
        height_of(s->annotation);
        height_of(s->message);
        check_heights(&s->body, depth + 1);
        check_heights(&s->orelse, depth + 1);
        if (s->func) check_heights(&s->func->body, depth + 1);
    }
}

static void check_tree(const Parsed *p) {
    for (int i = 0; i < p->file->nfuncs; i++) check_heights(&p->file->func[i]->body, 0);
    for (int i = 0; i < p->file->nglobals; i++) height_of(p->file->global[i].value);
}

START_TEST(what_is_built_stays_within_the_limits) {
    size_t n;
    char *text = repeat(deep[_i].head, deep[_i].unit, deep[_i].tail, 30 * 1000, &n);
    Parsed p;
    parse(&p, text, n);
    ck_assert(!p.bailed);
    check_tree(&p);
    drop(&p);
    free(text);
}
END_TEST

START_TEST(depth_below_the_limits_is_fine) {
    static const struct {
        const char *head, *unit, *middle, *close;
        int times;
    } fine[] = {
        {HEAD "y = ", "(", "1", ")", NESTING_LIMIT},
        {HEAD "y = ", "f(a + ", "1", ")", NESTING_LIMIT / 2},
        {HEAD "y = ", "-", "1", "", NESTING_LIMIT},
        {HEAD "y = ", "x + ", "1", "", CHAIN_LIMIT - 1},
        {HEAD "if x: pass\n    ", "elif x: pass\n    ", "", "", NESTING_LIMIT - 1},
    };
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        size_t n, rest;
        char *end = repeat("", fine[i].close[0] ? fine[i].close : "\n", "\n",
                           fine[i].close[0] ? (size_t)fine[i].times : 1, &rest);
        char *tail = repeat(fine[i].middle, end, "", rest, &rest);
        char *text = repeat(fine[i].head, fine[i].unit, tail,
                            strlen(fine[i].unit) * (size_t)fine[i].times, &n);
        expect_clean(text, n, 1);
        free(text);
        free(tail);
        free(end);
    }
}
END_TEST

/* ---- bulk ---- */

START_TEST(large_input_takes_no_longer_than_its_size) {
    /* Each of these would take hours if it were read again and again. */
    static const struct {
        const char *head, *unit;
    } bulk[] = {
        {HEAD, "(\n    "},
        {"", "(\n"},
        {HEAD, "\\'\\\n"},
        {HEAD, "'\\\n\\'\\\n"},
        {HEAD, "match;"},
        {HEAD, "yield;x;"},
        {HEAD, "if x:\n    "},
        {HEAD, "x = = 1\n    "},
        {HEAD, "x = (1\n    "},
        {"", "# tile: a = b\n"},
        {HEAD "y = {", "a:b,"},
        {"from ", "."},
        {"import ", "a."},
        {HEAD "y = ", "a < "},
        {HEAD, "a = "},
        {"@triton.jit\n", "@a\n"},
        {HEAD "yield; x = [", "a:"},
        {HEAD, "f'{x:{'\n    "},
        {"def f", "(\ndef f"},
        {HEAD, "\"\"\"\n''' "},
    };
    size_t n;
    char *text = repeat(bulk[_i].head, bulk[_i].unit, "", MB, &n);
    Parsed p;
    parse(&p, text, n);
    ck_assert(!p.bailed);
    check_tree(&p);
    drop(&p);
    free(text);
}
END_TEST

START_TEST(a_file_over_the_limit_is_refused) {
    size_t n = 50 * MB;
    char *text = malloc(n);
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', n);
    expect_error(text, n, "the file has 50 MB; the limit is 8 MB");
    expect_error(text, 8 * MB + 1, "the file has 9 MB; the limit is 8 MB");
    free(text);
}
END_TEST

/* ---- bytes ---- */

START_TEST(broken_bytes_are_refused_with_their_place) {
    static const struct {
        const char *text;
        size_t len;
        const char *error;
        uint32_t line;
        uint16_t col;
    } broken[] = {
        {"x = 1\ny = \xff\n", 12, "the file is not UTF-8: byte 0xff", 2, 5},
        {"\xc3", 1, "the file is not UTF-8: byte 0xc3", 1, 1},
        {"# \xed\xa0\x80", 5, "the file is not UTF-8: byte 0xed", 1, 3},
        {"# \xc0\x80", 4, "the file is not UTF-8: byte 0xc0", 1, 3},
        {"\xff\xfe"
         "d\0",
         4, "the file is not UTF-8: byte 0xff", 1, 1},
        {"x\n\0", 3, "the file is not text: it holds a NUL byte", 2, 1},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        Parsed p;
        parse(&p, broken[i].text, broken[i].len);
        ck_assert(!p.bailed);
        ck_assert_int_eq(p.s.diags.errors, 1);
        ck_assert_str_eq(p.s.diags.first->text, broken[i].error);
        ck_assert_uint_eq(p.s.diags.first->span.line, broken[i].line);
        ck_assert_uint_eq(p.s.diags.first->span.col, broken[i].col);
        ck_assert_int_eq(p.file->nfuncs, 0);
        drop(&p);
    }
}
END_TEST

START_TEST(windows_files_parse_as_others_do) {
    static const char unix_text[] = HEAD "y = (x,\n  1)\n    if y:\n        z = '''a\nb'''\n";
    static const char windows_text[] =
        "\xEF\xBB\xBF@triton.jit\r\ndef k(x):\r\n    y = (x,\r\n  1)\r\n    if y:\r\n"
        "        z = '''a\r\nb'''\r\n";
    Parsed a, b;
    parse(&a, unix_text, sizeof unix_text - 1);
    parse(&b, windows_text, sizeof windows_text - 1);
    ck_assert(!a.bailed && !b.bailed);
    ck_assert_int_eq(a.s.diags.errors + b.s.diags.errors, 0);
    Buf one = buf_new(&a.s.arena), other = buf_new(&b.s.arena);
    ast_print(a.file, &one);
    ast_print(b.file, &other);
    /* The mark at the head shifts the columns of the first line only. */
    ck_assert_str_eq(strstr(one.data, "  param"), strstr(other.data, "  param"));
    drop(&a);
    drop(&b);
}
END_TEST

START_TEST(small_files_parse) {
    static const char *const none[] = {"",
                                       "\n",
                                       "# only a comment",
                                       "\xEF\xBB\xBF",
                                       "   ",
                                       "\\",
                                       "x = 1",
                                       "class A: pass",
                                       "\t\n",
                                       "\"\"\"a",
                                       ")",
                                       "@x",
                                       "if",
                                       "x = (",
                                       "f\"{",
                                       "'\\"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        expect_clean(none[i], strlen(none[i]), 0);
    static const char one[] = HEAD "return x"; /* no newline at the end */
    expect_clean(one, sizeof one - 1, 1);
}
END_TEST

/* ---- chance ---- */

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

START_TEST(any_row_of_tokens_ends_in_a_tree_or_an_error) {
    static const char *const words[] = {
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "=",
        "==",
        "+",
        "-",
        "*",
        "**",
        "@",
        ".",
        ";",
        ":=",
        "->",
        "x",
        "y",
        "1",
        "2.5",
        "'s'",
        "f'",
        "'",
        "{x}",
        "\"\"\"",
        "if",
        "else",
        "elif",
        "for",
        "in",
        "not",
        "is",
        "and",
        "or",
        "while",
        "def",
        "return",
        "lambda",
        "pass",
        "try",
        "except",
        "class",
        "with",
        "yield",
        "import",
        "from",
        "as",
        "await",
        "async",
        "match",
        "case",
        "None",
        "True",
        "...",
        "del",
        "assert",
        "break",
        "$",
        "\\",
        "!",
        "\n",
        "\n  ",
        "\n    ",
        "\n\t",
        "\n",
        "\n  ",
        "\n    ",
        "\r\n    ",
        "\n      ",
        "# c\n",
        "é",
        "\nx = 1",
        "\ndef f(x):\n    ",
        "\n@triton.jit\ndef g(x):\n    ",
    };
    uint32_t state = 2463534242u + (uint32_t)_i;
    for (int run = 0; run < 400; run++) {
        char text[2048] = HEAD;
        size_t n = strlen(text);
        uint32_t count = next_random(&state) % 200;
        for (uint32_t i = 0; i < count; i++) {
            const char *w = words[next_random(&state) % (sizeof words / sizeof *words)];
            size_t len = strlen(w);
            if (n + len + 2 > sizeof text) break;
            memcpy(text + n, w, len);
            n += len;
            if (next_random(&state) % 4) text[n++] = ' ';
        }
        Parsed p;
        parse(&p, text, n);
        ck_assert(!p.bailed && !p.s.diags.muted);
        check_tree(&p);
        for (const Diag *d = p.s.diags.first; d; d = d->next) {
            ck_assert_uint_ge(d->span.line, 1);
            ck_assert_msg(d->text[0], "an empty message");
        }
        Buf out = buf_new(&p.s.arena);
        ast_print(p.file, &out);
        diag_render(&p.s.diags, &p.s.source, true, &out);
        ck_assert_uint_eq(out.len, strlen(out.data));
        drop(&p);
    }
}
END_TEST

/* Lines of a second source go on behind those of the first, also where an error stands behind its
 * last newline; what is said names the right file and the line in it. */
START_TEST(places_say_which_source_they_are_in) {
    const char *first = "import triton\n", *second = "x = 1\n@triton.jit\ndef f(:\n    pass\n";
    Parsed p;
    parse(&p, first, strlen(first));
    const Source *added = session_add_source(&p.s, "y.tl", second, strlen(second));
    ck_assert_uint_gt(added->before, 2);
    Source main_source = p.s.source;
    p.s.source = *added;
    AstFile *file = ast_parse(&p.s);
    p.s.source = main_source;
    ck_assert_int_eq(file->nglobals, 1);
    Span span = file->global[0].span;
    ck_assert_uint_eq(span.line, added->before + 1);
    ck_assert_ptr_eq(source_at(&p.s.source, span.line), added);
    ck_assert_ptr_eq(source_at(&p.s.source, 1), &p.s.source);
    ck_assert_uint_eq(source_line_number(&p.s.source, span.line), 1);
    ck_assert_int_eq(p.s.diags.errors, 1);
    diag(&p.s.diags, CODE_NONE, (Span){1, 1, 7}, "read from here");
    diag(&p.s.diags, CODE_NONE, (Span){0}, "without a place");
    Buf out = buf_new(&p.s.arena);
    diag_render(&p.s.diags, &p.s.source, false, &out);
    ck_assert_msg(strstr(out.data, "y.tl:3:6: error: "), "%s", out.data);
    ck_assert_msg(strstr(out.data, "    def f(:\n         ^"), "%s", out.data);
    ck_assert_msg(strstr(out.data, "x.tl:1:1: note: read from here\n    import triton"), "%s",
                  out.data);
    ck_assert_msg(strstr(out.data, "x.tl: note: without a place"), "%s", out.data);
    drop(&p);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("parse");
    TCase *t = tcase_create("parse");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, deep_input_is_an_error, 0, sizeof deep / sizeof *deep);
    tcase_add_test(t, deep_blocks_are_an_error);
    tcase_add_loop_test(t, what_is_built_stays_within_the_limits, 0, sizeof deep / sizeof *deep);
    tcase_add_test(t, depth_below_the_limits_is_fine);
    tcase_add_loop_test(t, large_input_takes_no_longer_than_its_size, 0, 20);
    tcase_add_test(t, a_file_over_the_limit_is_refused);
    tcase_add_test(t, broken_bytes_are_refused_with_their_place);
    tcase_add_test(t, windows_files_parse_as_others_do);
    tcase_add_test(t, small_files_parse);
    tcase_add_test(t, places_say_which_source_they_are_in);
    tcase_add_loop_test(t, any_row_of_tokens_ends_in_a_tree_or_an_error, 0, 8);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

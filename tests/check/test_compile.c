/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_compile.c: tile_compile as a program uses it: statuses, the manifest, hostile sources, and
 * many threads at once. */
#include "tests/run_suite.h"
#include "tile.h"

#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
    "import triton, triton.language as tl\n"
    "# tile: grid = cdiv(n, BLOCK)\n"
    "@triton.jit\n"
    "def twice(x_ptr: '*fp32:16', y_ptr: '*fp32:16', one: 'i32:1', n: 'i32',\n"
    "          BLOCK: tl.constexpr = 256, NAME: tl.constexpr = 'h\u00e9'):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    x = tl.load(x_ptr + i, mask=i < n)\n"
    "    tl.store(y_ptr + i, x + x, mask=i < n)\n";

static const char tir[] = "kernel @k(%x: ptr<f32>, %n: i32) num_warps=4 num_stages=3 {\n"
                          "  %c: f32 = const value=1.0\n"
                          "  return\n"
                          "}\n";

static tile_compile_options from(const char *text, tile_emit emit) {
    return (tile_compile_options){.source = text, .source_len = strlen(text), .emit = emit};
}

static const char *diagnostics(const tile_compiled *c) {
    return tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL);
}

/* Compiles; fails the test unless it succeeds. */
static tile_compiled *compiled(const tile_compile_options *o) {
    tile_compiled *c;
    tile_status st = tile_compile(o, &c);
    ck_assert_msg(st == TILE_OK, "%s: %s", tile_status_text(st), diagnostics(c));
    return c;
}

static void fails(const tile_compile_options *o, tile_status want, const char *why) {
    tile_compiled *c;
    tile_status st = tile_compile(o, &c);
    ck_assert_msg(st == want, "%s: %s", tile_status_text(st), diagnostics(c));
    ck_assert_msg(strstr(diagnostics(c), why) != NULL, "'%s' is not in: %s", why, diagnostics(c));
    size_t size = 1;
    ck_assert_str_eq(tile_compiled_text(c, TILE_PART_OUTPUT, &size), "");
    ck_assert_uint_eq(size, 0);
    tile_compiled_free(c);
}

START_TEST(every_kind_of_output) {
    static const char *const holds[] = {[TILE_EMIT_PTX] = ".visible .entry twice",
                                        [TILE_EMIT_LLVM] = "define",
                                        [TILE_EMIT_LAYOUT] = "@L0",
                                        [TILE_EMIT_TIR] = "kernel @twice",
                                        [TILE_EMIT_AST] = "twice",
                                        [TILE_EMIT_MANIFEST] = "\"manifest\": 1"};
    for (int emit = TILE_EMIT_PTX; emit <= TILE_EMIT_MANIFEST; emit++) {
        tile_compile_options o = from(source, (tile_emit)emit);
        tile_compiled *c = compiled(&o);
        size_t size;
        const char *text = tile_compiled_text(c, TILE_PART_OUTPUT, &size);
        ck_assert_uint_eq(strlen(text), size);
        ck_assert_msg(strstr(text, holds[emit]) != NULL, "no '%s' in %s", holds[emit], text);
        tile_compiled_free(c);
    }
}
END_TEST

/* What the text says in words the list says in numbers, in the same order. */
START_TEST(diagnostics_are_data) {
    tile_compile_options o = from("import triton, triton.language as tl\n"
                                  "@triton.jit\n"
                                  "def k(p: '*fp32', n):\n"
                                  "    tl.store(p, nam)\n",
                                  TILE_EMIT_PTX);
    o.file_name = "k.tl";
    tile_compiled *c;
    const tile_diagnostic *d;
    ck_assert_int_eq(tile_compile(&o, &c), TILE_COMPILE_ERROR);
    int n = tile_compiled_diagnostics(c, &d);
    ck_assert_int_eq(n, 3);
    ck_assert_int_eq(d[0].severity, TILE_SEVERITY_ERROR);
    ck_assert_str_eq(d[0].text, "parameter 'n' has no type");
    ck_assert_str_eq(d[0].file, "k.tl");
    ck_assert_uint_eq(d[0].line, 3);
    ck_assert_uint_eq(d[0].column, 19);
    ck_assert_uint_eq(d[0].end_column, 20);
    ck_assert_int_eq(d[0].notes, 1);
    ck_assert_int_eq(d[1].severity, TILE_SEVERITY_NOTE);
    ck_assert_ptr_null(d[1].file);
    ck_assert_uint_eq(d[1].line, 0);
    ck_assert_int_eq(d[2].severity, TILE_SEVERITY_ERROR);
    ck_assert_uint_eq(d[2].line, 4);
    ck_assert_uint_eq(d[2].column, 17);
    ck_assert_uint_eq(d[2].end_column, 20);
    static const char *const code[] = {"E1003", "", "E0201"};
    const char *at = diagnostics(c);
    for (int i = 0; i < n; i++) {
        at = strstr(at, d[i].text);
        ck_assert_ptr_nonnull(at);
        ck_assert_str_eq(tile_compiled_code(c, i), code[i]);
        ck_assert(!*code[i] ||
                  strncmp(at + strlen(d[i].text) + 2, code[i], 5) == 0); /* " [E1003" */
    }
    ck_assert_str_eq(tile_compiled_code(c, -1), "");
    ck_assert_str_eq(tile_compiled_code(c, n), "");
    ck_assert_str_eq(tile_compiled_code(NULL, 0), "");
    tile_compiled_free(c);
    o = from(source, TILE_EMIT_TIR);
    c = compiled(&o);
    ck_assert_int_eq(tile_compiled_diagnostics(c, &d), 0);
    ck_assert_int_eq(tile_compiled_diagnostics(NULL, NULL), 0);
    tile_compiled_free(c);
    o = from("kernel @k(%x: i32) {\n  mbar_init %= x\n}\n", TILE_EMIT_PTX);
    o.input_is_tir = 1;
    ck_assert_int_eq(tile_compile(&o, &c), TILE_COMPILE_ERROR); /* at what is no word at all */
    ck_assert_int_eq(tile_compiled_diagnostics(c, &d), 1);
    ck_assert(d[0].line == 2 && d[0].column == 13 && d[0].end_column == 14);
    tile_compiled_free(c);
}
END_TEST

/* Diagnostics that are not asked for go with their notes, and nothing else changes. */
START_TEST(unwanted_diagnostics) {
    tile_compile_options o = from(source, TILE_EMIT_PTX);
    tile_compiled *all = compiled(&o);
    ck_assert_ptr_nonnull(strstr(diagnostics(all), "perf: this load is 4 bytes per lane"));
    o.no_perf_notes = 1;
    tile_compiled *none = compiled(&o);
    ck_assert_str_eq(diagnostics(none), "");
    ck_assert_str_eq(tile_compiled_text(all, TILE_PART_OUTPUT, NULL),
                     tile_compiled_text(none, TILE_PART_OUTPUT, NULL));
    tile_compiled_free(all);
    tile_compiled_free(none);

    static const char warned[] = "import triton, triton.language as tl\n"
                                 "@triton.autotune([triton.Config({}, num_ctas=2)], key=[])\n"
                                 "@triton.jit\n"
                                 "def k(p: '*i32'):\n"
                                 "    tl.store(p, 1)\n";
    o = from(warned, TILE_EMIT_PTX);
    all = compiled(&o);
    ck_assert_ptr_nonnull(strstr(diagnostics(all), "warning: the config of 'k' asks for"));
    ck_assert_ptr_nonnull(strstr(diagnostics(all), "note: programs run without clusters"));
    o.no_warnings = 1;
    none = compiled(&o);
    ck_assert_str_eq(diagnostics(none), "");
    tile_compiled_free(all);
    tile_compiled_free(none);
}
END_TEST

START_TEST(the_manifest_says_all) {
    tile_compile_options o = from(source, TILE_EMIT_MANIFEST);
    tile_compiled *c = compiled(&o);
    size_t size;
    const char *text = tile_compiled_text(c, TILE_PART_OUTPUT, &size);
    for (size_t i = 0; i < size; i++) ck_assert_int_lt((unsigned char)text[i], 0x80);
    json_t *m = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(m);
    const char *target, *name, *grid, *x, *x_type, *one, *utf8;
    int version, divisible, equals, warps, block;
    ck_assert_int_eq(
        json_unpack(
            m, "{s:i,s:s,s:[{s:s,s:[{s:s,s:s,s:i},{},{s:s,s:i},{}!],s:i,s:[s],s:{s:i,s:s}}]}",
            "manifest", &version, "target", &target, "kernels", "name", &name, "params", "name", &x,
            "type", &x_type, "divisible", &divisible, "name", &one, "equals", &equals, "num_warps",
            &warps, "grid", &grid, "constexprs", "BLOCK", &block, "NAME", &utf8),
        0);
    ck_assert_int_eq(version, 1);
    ck_assert_str_eq(target, "sm_80");
    ck_assert_str_eq(name, "twice");
    ck_assert_str_eq(x, "x_ptr");
    ck_assert_str_eq(x_type, "*fp32");
    ck_assert_int_eq(divisible, 16);
    ck_assert_str_eq(one, "one");
    ck_assert_int_eq(equals, 1);
    ck_assert_int_eq(warps, 4);
    ck_assert_str_eq(grid, "cdiv(n, BLOCK)");
    ck_assert_int_eq(block, 256);
    ck_assert_str_eq(utf8, "h\u00e9");
    json_decref(m);
    tile_compiled_free(c);
}
END_TEST

/* Names that PTX cannot take are others in the code, and the manifest says which. */
START_TEST(entries_are_named) {
    tile_compile_options o = from("import triton, triton.language as tl\n"
                                  "@triton.jit\n"
                                  "def na\u00efve(p: '*fp32'):\n"
                                  "    tl.store(p, 1.0)\n"
                                  "@triton.jit\n"
                                  "def _(p: '*fp32'):\n"
                                  "    tl.store(p, 2.0)\n",
                                  TILE_EMIT_PTX);
    o.stats = 1;
    tile_compiled *ptx = compiled(&o);
    const char *text = tile_compiled_text(ptx, TILE_PART_OUTPUT, NULL);
    const char *stats = tile_compiled_text(ptx, TILE_PART_STATS, NULL);
    o.stats = 0;
    o.emit = TILE_EMIT_MANIFEST;
    tile_compiled *c = compiled(&o);
    json_t *m = json_loads(tile_compiled_text(c, TILE_PART_OUTPUT, NULL), 0, NULL);
    const char *name[2], *entry[2];
    ck_assert_int_eq(json_unpack(m, "{s:[{s:s,s:s},{s:s,s:s}]}", "kernels", "name", &name[0],
                                 "entry", &entry[0], "name", &name[1], "entry", &entry[1]),
                     0);
    ck_assert_str_eq(name[0], "na\u00efve");
    ck_assert_str_eq(name[1], "_");
    for (int i = 0; i < 2; i++) {
        char line[100];
        snprintf(line, sizeof line, ".entry %s(", entry[i]);
        ck_assert_ptr_nonnull(strstr(text, line));
        snprintf(line, sizeof line, "kernel %s: 4 warps", entry[i]);
        ck_assert_ptr_nonnull(strstr(stats, line));
    }
    json_decref(m);
    tile_compiled_free(c);
    tile_compiled_free(ptx);
}
END_TEST

/* An entry of the signature may be about the promise alone; the last one counts. */
START_TEST(promises_of_signatures) {
    static const struct {
        const char *signature;
        int general;
        const char *x, *n;
    } row[] = {
        {NULL, 0, "\"*fp32\", \"divisible\": 16}", "\"i32\", \"equals\": 1}"},
        {NULL, 1, "\"*fp32\"}", "\"i32\"}"},
        {"x=:8,n=:8", 0, "\"*fp32\", \"divisible\": 8}", "\"i32\", \"divisible\": 8}"},
        {"x=: 8,n=i64: 8 ", 0, "\"*fp32\", \"divisible\": 8}", "\"i64\", \"divisible\": 8}"},
        {"x=:,n=:16", 0, "\"*fp32\"}", "\"i32\", \"divisible\": 16}"},
        {"n=i64,n=:1", 0, "\"*fp32\", \"divisible\": 16}", "\"i64\", \"equals\": 1}"},
        {"x=*fp16:16,x=:,n=i64:16,n=:", 0, "\"*fp16\"}", "\"i64\"}"},
        {"x=*fp16:16,x=*bf16", 0, "\"*bf16\"}", "\"i32\", \"equals\": 1}"},
        {"x=None,n=:", 0, "\"*i8\", \"none\": true}", "\"i32\"}"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tile_compile_options o = from("import triton, triton.language as tl\n"
                                      "@triton.jit\n"
                                      "def k(x: '*fp32:16', n: 'i32:1'):\n"
                                      "    if x is not None: tl.store(x, n)\n",
                                      TILE_EMIT_MANIFEST);
        char want[200];
        o.signature = row[i].signature;
        o.no_promises = row[i].general;
        tile_compiled *c = compiled(&o);
        const char *text = tile_compiled_text(c, TILE_PART_OUTPUT, NULL);
        snprintf(want, sizeof want,
                 "{\"name\": \"x\", \"type\": %s,\n   {\"name\": \"n\", \"type\": %s]", row[i].x,
                 row[i].n);
        ck_assert_msg(strstr(text, want) != NULL, "row %zu: no %s in %s", i, want, text);
        tile_compiled_free(c);
    }
    tile_compile_options o = from("import triton\n@triton.jit\ndef k(x): pass\n", TILE_EMIT_TIR);
    o.signature = "x=:16";
    fails(&o, TILE_COMPILE_ERROR, "parameter 'x' has no type");
}
END_TEST

START_TEST(options_are_checked) {
    tile_compile_options o = from(source, TILE_EMIT_PTX);
    o.target = "sm_99";
    fails(&o, TILE_INVALID, "unknown target 'sm_99': the nearest that serves it is sm_89");
    o = from(source, TILE_EMIT_PTX);
    o.num_warps = 5;
    fails(&o, TILE_INVALID, "num_warps must be 1, 2, 4, 8, 16 or 32, not 5");
    o = from(source, TILE_EMIT_PTX);
    o.swizzle_grid = -1;
    fails(&o, TILE_INVALID, "swizzle_grid must be between 1 and 65535, not -1");
    o = from(source, TILE_EMIT_LLVM);
    o.stats = 1;
    fails(&o, TILE_INVALID, "stats are of PTX");
    o = from(source, TILE_EMIT_PTX);
    o.passes = "fold,,cse";
    fails(&o, TILE_INVALID, "there is no pass ''");
    o = from(source, TILE_EMIT_PTX);
    o.dump_after = "licn";
    fails(&o, TILE_INVALID, "did you mean 'licm'");
    o = from(source, (tile_emit)77);
    fails(&o, TILE_INVALID, "no such kind of output");
    o = from(source, TILE_EMIT_PTX);
    o.kernel = "thrice";
    fails(&o, TILE_COMPILE_ERROR, "thrice");
    o = from(tir, TILE_EMIT_TIR);
    o.input_is_tir = 1;
    o.kernel = "q";
    fails(&o, TILE_COMPILE_ERROR, "there is no kernel 'q'");
    o.kernel = NULL;
    o.emit = TILE_EMIT_AST;
    fails(&o, TILE_INVALID, "no syntax tree");
}
END_TEST

static void output_has(const tile_compile_options *o, const char *text) {
    tile_compiled *c = compiled(o);
    const char *output = tile_compiled_text(c, TILE_PART_OUTPUT, NULL);
    ck_assert_msg(strstr(output, text) != NULL, "'%s' is not in: %s", text, output);
    tile_compiled_free(c);
}

START_TEST(options_by_name) {
    tile_compile_options o = from(source, TILE_EMIT_TIR);
    o.num_warps = 8;
    o.num_stages = 2;
    output_has(&o, "num_warps=8 num_stages=2");
    o.options = "num_warps=1,swizzle_grid=4,num_warps=2";
    output_has(&o, "num_warps=2 num_stages=2 swizzle=4");
    output_has(&o, "\"num_warps\": 2, \"num_stages\": 2, \"swizzle\": 4, \"shared\": 0");
    o.options = "num_wraps=2";
    fails(&o, TILE_INVALID, "there is no option 'num_wraps'; did you mean 'num_warps'?");
    o.options = "num_warps=2,num_stages=17";
    fails(&o, TILE_INVALID, "num_stages must be between 1 and 16, not 17");
    o.options = "num_warps=two";
    fails(&o, TILE_INVALID, "num_warps takes a whole number, not 'two'");
}
END_TEST

START_TEST(options_of_tile_ir) {
    tile_compile_options o = from(tir, TILE_EMIT_TIR);
    o.input_is_tir = 1;
    o.num_stages = 5;
    o.options = "num_warps=4,swizzle_grid=2";
    output_has(&o, "num_warps=4 num_stages=5 swizzle=2");
    o.num_warps = 8;
    output_has(&o, "num_warps=4 num_stages=5"); /* the name wins */
    o.options = NULL;
    fails(&o, TILE_COMPILE_ERROR,
          "kernel 'k' was lowered with num_warps=4, which cannot change: compile its source");
}
END_TEST

/* Pointers that are missing, lists that are shorter than they say, words that are no text. */
START_TEST(misuse_is_told) {
    tile_compiled *c = NULL;
    ck_assert_int_eq(tile_compile(NULL, NULL), TILE_INVALID);
    ck_assert_int_eq(tile_compile(NULL, &c), TILE_INVALID);
    ck_assert_ptr_nonnull(strstr(diagnostics(c), "there is no source"));
    tile_compiled_free(c);
    tile_compile_options o = from(source, TILE_EMIT_PTX);
    ck_assert_int_eq(tile_compile(&o, NULL), TILE_INVALID);
    o.source = NULL; /* and a length still */
    fails(&o, TILE_INVALID, "there is no source");
    o.source = source;
    const char *holes[] = {"BLOCK=16", NULL};
    o.ndefines = 2;
    fails(&o, TILE_INVALID, "defines[0] is missing");
    o.defines = holes;
    fails(&o, TILE_INVALID, "defines[1] is missing");
    o.ndefines = -1;
    fails(&o, TILE_INVALID, "defines[-1] is missing");
    o.ndefines = 0;
    o.nvalues = 1;
    fails(&o, TILE_INVALID, "values[0] is missing");
    o.values = holes + 1;
    fails(&o, TILE_INVALID, "values[0] is missing");
    o.nvalues = 0;
    o.file_name = "a\nb\x1b[1m.tl"; /* what is rendered has a line for each */
    o.target = "\xff\x1b[1m";
    fails(&o, TILE_INVALID, "a b [1m.tl: error: unknown target '? [1m': it is one of sm_80");
    ck_assert_str_eq(tile_compiled_text(NULL, TILE_PART_OUTPUT, NULL), "");
    ck_assert_int_eq(tile_compiled_diagnostics(NULL, NULL), 0);
    tile_compiled_free(NULL);
}
END_TEST

START_TEST(sources_are_checked) {
    tile_compile_options o = {0};
    fails(&o, TILE_COMPILE_ERROR, "error");
    o = from("x = 1\ny = '\xff'\n", TILE_EMIT_PTX);
    fails(&o, TILE_COMPILE_ERROR, "2:6: error: the text is not UTF-8: byte 0xFF");
    size_t n = (8u << 20) + 1;
    char *big = malloc(n + 1);
    memset(big, '\n', n);
    big[n] = 0;
    o = from(big, TILE_EMIT_PTX);
    fails(&o, TILE_COMPILE_ERROR, "larger than 8 MB");
    free(big);
    o = from("kernel @k() num_warps=4 num_stages=3 constexpr B=\"{\" {\n  return\n}\n",
             TILE_EMIT_TIR);
    o.input_is_tir = 1;
    fails(&o, TILE_COMPILE_ERROR, "is not JSON");
}
END_TEST

START_TEST(tile_ir_comes_out_as_it_went_in) {
    tile_compile_options o = from(source, TILE_EMIT_TIR);
    o.line_info = 1;
    tile_compiled *first = compiled(&o);
    o = from(tile_compiled_text(first, TILE_PART_OUTPUT, NULL), TILE_EMIT_TIR);
    o.input_is_tir = 1;
    tile_compiled *second = compiled(&o);
    ck_assert_str_eq(o.source, tile_compiled_text(second, TILE_PART_OUTPUT, NULL));
    ck_assert_ptr_nonnull(strstr(o.source, "def twice")); /* -g: the source is inside */
    tile_compiled_free(first);
    tile_compiled_free(second);
}
END_TEST

START_TEST(ptx_by_way_of_tile_ir_is_the_same) {
    tile_compile_options o = from(source, TILE_EMIT_TIR);
    tile_compiled *ir = compiled(&o);
    o = from(source, TILE_EMIT_PTX);
    tile_compiled *direct = compiled(&o);
    o = from(tile_compiled_text(ir, TILE_PART_OUTPUT, NULL), TILE_EMIT_PTX);
    o.input_is_tir = 1;
    tile_compiled *indirect = compiled(&o);
    ck_assert_str_eq(tile_compiled_text(direct, TILE_PART_OUTPUT, NULL),
                     tile_compiled_text(indirect, TILE_PART_OUTPUT, NULL));
    tile_compiled_free(ir);
    tile_compiled_free(direct);
    tile_compiled_free(indirect);
}
END_TEST

START_TEST(times_and_dumps_come_when_asked_for) {
    tile_compile_options o = from(source, TILE_EMIT_PTX);
    tile_compiled *c = compiled(&o);
    ck_assert_str_eq(tile_compiled_text(c, TILE_PART_TIMES, NULL), "");
    ck_assert_str_eq(tile_compiled_text(c, TILE_PART_DUMP, NULL), "");
    tile_compiled_free(c);
    o.time = 1;
    o.dump_after = "fold";
    c = compiled(&o);
    ck_assert_ptr_nonnull(strstr(tile_compiled_text(c, TILE_PART_TIMES, NULL), "codegen"));
    ck_assert_ptr_nonnull(strstr(tile_compiled_text(c, TILE_PART_DUMP, NULL), "// after fold"));
    tile_compiled_free(c);
}
END_TEST

/* Cut anywhere, changed anywhere: an error, or a kernel, and never a bug of the compiler. */
static void hostile(const char *text, int is_tir) {
    size_t n = strlen(text);
    char *copy = malloc(n + 1);
    static const char changes[] = {'(', ':', '%', '\n', '"', '-', '9', (char)0x80};
    for (size_t i = 0; i < n; i++) {
        for (int k = -1; k < (int)sizeof changes; k++) {
            memcpy(copy, text, n + 1);
            if (k < 0)
                copy[i] = 0; /* and the length says so */
            else
                copy[i] = changes[k];
            tile_compile_options o = from(copy, TILE_EMIT_LAYOUT);
            o.input_is_tir = is_tir;
            o.verify_each = 1;
            tile_compiled *c;
            tile_status st = tile_compile(&o, &c);
            ck_assert_msg(st == TILE_OK || st == TILE_COMPILE_ERROR,
                          "%s at byte %zu, change %d: %s\n%s", tile_status_text(st), i, k,
                          diagnostics(c), copy);
            ck_assert_msg(st == TILE_OK || strstr(diagnostics(c), "error: "), "byte %zu", i);
            tile_compiled_free(c);
        }
    }
    free(copy);
}

START_TEST(damaged_sources) {
    hostile(source, 0);
}
END_TEST

START_TEST(damaged_tile_ir) {
    tile_compile_options o = from(source, TILE_EMIT_TIR);
    tile_compiled *c = compiled(&o);
    hostile(strstr(tile_compiled_text(c, TILE_PART_OUTPUT, NULL), "kernel @"), 1);
    tile_compiled_free(c);
}
END_TEST

static void *compile_often(void *out) {
    for (int i = 0; i < 5; i++) {
        tile_compile_options o = from(source, TILE_EMIT_PTX);
        tile_compiled *c;
        if (tile_compile(&o, &c) != TILE_OK) return NULL;
        free(*(char **)out);
        *(char **)out = strdup(tile_compiled_text(c, TILE_PART_OUTPUT, NULL));
        tile_compiled_free(c);
    }
    return out;
}

START_TEST(threads_compile_at_once) {
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    char *text[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, compile_often, &text[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *done;
        pthread_join(thread[i], &done);
        ck_assert_ptr_nonnull(done);
        ck_assert_str_eq(text[i], text[0]);
    }
    for (int i = 0; i < THREADS; i++) free(text[i]);
}
END_TEST

/* A report needs none of what was given to tile_compile. */
START_TEST(reports_stand_alone) {
    char *own = strdup(source), *text;
    size_t len;
    tile_compile_options o = from(own, TILE_EMIT_PTX);
    o.report = 1;
    tile_compiled *c = compiled(&o);
    memset(own, '!', strlen(own));
    free(own);
    ck_assert_int_eq(tile_report_write(c, TILE_REPORT_HTML, &text, &len), TILE_OK);
    ck_assert_uint_eq(len, strlen(text));
    ck_assert_ptr_nonnull(strstr(text, "def twice(x_ptr: &#39;*fp32:16&#39;"));
    ck_assert_ptr_nonnull(strstr(text, ".visible .entry twice"));
    free(text);
    ck_assert_int_eq(tile_report_write(c, (tile_report_format)3, &text, &len), TILE_INVALID);
    ck_assert_ptr_null(text);
    ck_assert_int_eq(tile_report_compare(c, c, TILE_REPORT_HTML, 0, &text, &len), TILE_INVALID);
    ck_assert_ptr_null(text);
    tile_compiled_free(c);
    o = from(source, TILE_EMIT_PTX);
    c = compiled(&o);
    ck_assert_int_eq(tile_report_write(c, TILE_REPORT_HTML, &text, &len), TILE_INVALID);
    tile_compiled_free(c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("compile");
    TCase *t = tcase_create("compile");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, every_kind_of_output);
    tcase_add_test(t, diagnostics_are_data);
    tcase_add_test(t, unwanted_diagnostics);
    tcase_add_test(t, the_manifest_says_all);
    tcase_add_test(t, entries_are_named);
    tcase_add_test(t, promises_of_signatures);
    tcase_add_test(t, options_are_checked);
    tcase_add_test(t, options_by_name);
    tcase_add_test(t, options_of_tile_ir);
    tcase_add_test(t, misuse_is_told);
    tcase_add_test(t, sources_are_checked);
    tcase_add_test(t, tile_ir_comes_out_as_it_went_in);
    tcase_add_test(t, ptx_by_way_of_tile_ir_is_the_same);
    tcase_add_test(t, times_and_dumps_come_when_asked_for);
    tcase_add_test(t, damaged_sources);
    tcase_add_test(t, damaged_tile_ir);
    tcase_add_test(t, threads_compile_at_once);
    tcase_add_test(t, reports_stand_alone);
    return run_suite(s, t);
}

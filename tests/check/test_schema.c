/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_schema.c: docs/manifest.schema.json against what the compiler writes: the manifest of every
 * example follows it and has no field that it does not describe, and a manifest with a mistake does
 * not pass. The part of JSON Schema that the file uses is read here; a keyword that is not known
 * fails, so that no rule of the file goes unchecked. */
#include "ir/ir.h"
#include "tests/run_suite.h"
#include "tile.h"

#include <check.h>
#include <glob.h>
#include <jansson.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *schema;
static char why[400]; /* why the last value did not pass */

static bool refuse(const char *where, const char *rule) {
    snprintf(why, sizeof why, "%s: %s", where, rule);
    return false;
}

static bool passes(const json_t *rules, const json_t *v, const char *where);

static bool has_type(const char *type, const json_t *v) {
    return strcmp(type, "object") == 0    ? json_is_object(v)
           : strcmp(type, "array") == 0   ? json_is_array(v)
           : strcmp(type, "string") == 0  ? json_is_string(v)
           : strcmp(type, "integer") == 0 ? json_is_integer(v)
           : strcmp(type, "boolean") == 0 ? json_is_boolean(v)
                                          : false;
}

static bool has_all(const json_t *names, const json_t *v) {
    for (size_t i = 0; i < json_array_size(names); i++)
        if (!json_object_get(v, json_string_value(json_array_get(names, i)))) return false;
    return true;
}

static bool all_described(const json_t *properties, const json_t *v, const char *where) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)v, key, value) {
        char at[200];
        snprintf(at, sizeof at, "%.120s.%.60s", where, key);
        const json_t *rules = json_object_get(properties, key);
        if (!rules) return refuse(at, "is not described");
        if (!passes(rules, value, at)) return false;
    }
    return true;
}

static bool all_items(const json_t *rules, const json_t *v, const char *where) {
    for (size_t i = 0; i < json_array_size(v); i++) {
        char at[200];
        snprintf(at, sizeof at, "%.120s[%zu]", where, i);
        if (!passes(rules, json_array_get(v, i), at)) return false;
    }
    return true;
}

static bool matches(const char *pattern, const char *text) {
    regex_t re;
    ck_assert_int_eq(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool found = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return found;
}

/* A rule about a string, a number or a list says nothing of other values, as in JSON Schema. */
static bool keeps(const char *rule, const json_t *is, const json_t *v, const char *where) {
    json_int_t n = json_integer_value(is), i = json_integer_value(v);
    if (strcmp(rule, "type") == 0) return has_type(json_string_value(is), v);
    if (strcmp(rule, "required") == 0) return has_all(is, v);
    if (strcmp(rule, "properties") == 0) return all_described(is, v, where);
    if (strcmp(rule, "items") == 0) return all_items(is, v, where);
    if (strcmp(rule, "minItems") == 0) return (json_int_t)json_array_size(v) >= n;
    if (strcmp(rule, "maxItems") == 0) return (json_int_t)json_array_size(v) <= n;
    if (strcmp(rule, "minLength") == 0) return (json_int_t)json_string_length(v) >= n;
    if (strcmp(rule, "minimum") == 0) return i >= n;
    if (strcmp(rule, "maximum") == 0) return i <= n;
    if (strcmp(rule, "pattern") == 0)
        return !json_is_string(v) || matches(json_string_value(is), json_string_value(v));
    if (strcmp(rule, "$ref") == 0) {
        const char *name = json_string_value(is);
        ck_assert_int_eq(strncmp(name, "#/$defs/", 8), 0);
        const json_t *rules = json_object_get(json_object_get(schema, "$defs"), name + 8);
        ck_assert_msg(rules != NULL, "the schema has no %s", name);
        return passes(rules, v, where);
    }
    if (strcmp(rule, "anyOf") == 0) {
        bool any = false;
        for (size_t k = 0; k < json_array_size(is); k++)
            any |= passes(json_array_get(is, k), v, where);
        if (any) *why = 0;
        return any;
    }
    static const char *const silent[] = {"$schema", "$defs", "title", "description"};
    for (size_t k = 0; k < sizeof silent / sizeof *silent; k++)
        if (strcmp(rule, silent[k]) == 0) return true;
    ck_abort_msg("this test does not know the keyword '%s'", rule);
    return false;
}

static bool passes(const json_t *rules, const json_t *v, const char *where) {
    const char *rule;
    json_t *is;
    json_object_foreach((json_t *)rules, rule, is) {
        *why = 0;
        if (!keeps(rule, is, v, where)) return *why ? false : refuse(where, rule);
    }
    return true;
}

static void load_schema(void) {
    json_error_t error;
    schema = json_load_file(TILE_SOURCE_DIR "/docs/manifest.schema.json", JSON_REJECT_DUPLICATES,
                            &error);
    ck_assert_msg(schema != NULL, "line %d: %s", error.line, error.text);
}

static void drop_schema(void) {
    json_decref(schema);
}

/* The manifest, alone or from the comment lines at the head of a .ptx or .tir. */
static json_t *read_manifest(const char *text, const char *file) {
    static const char begin[] = "// tilec manifest begin\n", end[] = "// tilec manifest end\n";
    char *json = calloc(strlen(text) + 1, 1);
    ck_assert_ptr_nonnull(json);
    const char *at = strstr(text, begin);
    if (!at) strcpy(json, text);
    for (at = at ? at + strlen(begin) : end; strncmp(at, end, strlen(end)) != 0;) {
        size_t n = strcspn(at, "\n") + 1;
        ck_assert_msg(strncmp(at, "// ", 3) == 0, "%s: a line of the manifest is no comment", file);
        strncat(json, at + 3, n - 3);
        at += n;
    }
    json_error_t error;
    json_t *m = json_loads(json, 0, &error);
    ck_assert_msg(m != NULL, "%s: %s", file, error.text);
    free(json);
    return m;
}

static json_t *manifest_of(const char *source, size_t len, const char *file, tile_emit emit,
                           const char *target) {
    tile_compile_options o = {.source = source,
                              .source_len = len,
                              .file_name = file,
                              .emit = emit,
                              .target = target,
                              .no_perf_notes = 1};
    tile_compiled *c;
    tile_status st = tile_compile(&o, &c);
    ck_assert_msg(st == TILE_OK, "%s", tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL));
    json_t *m = read_manifest(tile_compiled_text(c, TILE_PART_OUTPUT, NULL), file);
    tile_compiled_free(c);
    return m;
}

static void follows(const char *text, size_t len, const char *file) {
    static const tile_emit kinds[] = {TILE_EMIT_MANIFEST, TILE_EMIT_PTX, TILE_EMIT_TIR};
    static const char *const targets[] = {"sm_80", "sm_90a"}; /* with further entries */
    for (size_t i = 0; i < 2 * sizeof kinds / sizeof *kinds; i++) {
        json_t *m = manifest_of(text, len, file, kinds[i / 2], targets[i % 2]);
        ck_assert_msg(passes(schema, m, "manifest"), "%s: %s", file, why);
        json_decref(m);
    }
}

START_TEST(every_example_follows_it) {
    glob_t found;
    ck_assert_int_eq(glob(TILE_SOURCE_DIR "/examples/*.tl", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        static char text[100000];
        FILE *f = fopen(found.gl_pathv[i], "rb");
        ck_assert_ptr_nonnull(f);
        size_t len = fread(text, 1, sizeof text, f);
        fclose(f);
        follows(text, len, found.gl_pathv[i]);
    }
    ck_assert_uint_gt(found.gl_pathc, 10);
    globfree(&found);
}
END_TEST

static const char source[] =
    "import triton, triton.language as tl\n"
    "# tile: grid = cdiv(n, BLOCK), 1\n"
    "# tile: swizzle = 4\n"
    "@triton.jit\n"
    "def k(x_ptr: '*fp32:16', one: 'i32:1', n: 'i32', nothing: '*i8' = None,\n"
    "      BLOCK: tl.constexpr = 256, NAME: tl.constexpr = 'h\u00e9', T: tl.constexpr = "
    "tl.float16,\n"
    "      N: tl.constexpr = None, P: tl.constexpr = (1, 2.5)):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(x_ptr + i, 1.0, mask=i < n)\n";

START_TEST(every_field_follows_it) {
    follows(source, sizeof source - 1, "k.tl");
}
END_TEST

START_TEST(every_type_follows_it) {
    const char *pattern = NULL;
    ck_assert_int_eq(json_unpack(schema, "{s:{s:{s:{s:{s:s}}}}}", "$defs", "param", "properties",
                                 "type", "pattern", &pattern),
                     0);
    for (int e = 0; e < ELEMS; e++) {
        char text[40];
        snprintf(text, sizeof text, "**%s", elem_signature_name((Elem)e));
        ck_assert_msg(matches(pattern, text), "%s", text);
        bool by_value = e <= EL_F64; /* no host has what follows */
        ck_assert_msg(matches(pattern, text + 2) == by_value, "%s", text + 2);
    }
    ck_assert(!matches(pattern, "f16"));
    ck_assert(!matches(pattern, "fp16:16"));
}
END_TEST

/* Where in the manifest, and what to put there (NULL: nothing). */
static const struct {
    const char *path, *value;
} mistakes[] = {
    {"manifest", NULL},
    {"manifest", "2"},
    {"manifest", "\"1\""},
    {"tilec", "\"\""},
    {"target", "\"gpu\""},
    {"target", "80"},
    {"kernels", "[]"},
    {"kernels", "{}"},
    {"more", "1"},
    {"kernels/0/name", NULL},
    {"kernels/0/entry", "\"\""},
    {"kernels/0/params", "{}"},
    {"kernels/0/params/0/type", "\"*f32\""},
    {"kernels/0/params/0/divisible", "0"},
    {"kernels/0/params/1/equals", "\"1\""},
    {"kernels/0/params/3/none", "1"},
    {"kernels/0/params/3/nonne", "true"},
    {"kernels/0/constexprs", "[]"},
    {"kernels/0/num_warps", "33"},
    {"kernels/0/num_stages", "-1"},
    {"kernels/0/shared", "1.5"},
    {"kernels/0/cluster", "[1, 1]"},
    {"kernels/0/cluster", "[1, 1, 0]"},
    {"kernels/0/grid", "[\"1\", \"1\", \"1\", \"1\"]"},
    {"kernels/0/grid", "[1]"},
    {"kernels/0/swizzle", "0"},
    {"kernels/0/hidden", NULL},
};

START_TEST(a_mistake_does_not_pass) {
    json_t *m = manifest_of(source, sizeof source - 1, "k.tl", TILE_EMIT_MANIFEST, NULL), *at = m;
    char path[100];
    snprintf(path, sizeof path, "%s", mistakes[_i].path);
    char *key = path;
    for (char *slash; (slash = strchr(key, '/')); key = slash + 1) {
        *slash = 0;
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(key)) : json_object_get(at, key);
        ck_assert_ptr_nonnull(at);
    }
    if (mistakes[_i].value)
        json_object_set_new(at, key, json_loads(mistakes[_i].value, JSON_DECODE_ANY, NULL));
    else
        ck_assert_int_eq(json_object_del(at, key), 0);
    ck_assert_msg(!passes(schema, m, "manifest"), "%s", mistakes[_i].path);
    json_decref(m);
}
END_TEST

int main(void) {
    TCase *t = tcase_create("schema");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, load_schema, drop_schema);
    tcase_add_test(t, every_example_follows_it);
    tcase_add_test(t, every_field_follows_it);
    tcase_add_test(t, every_type_follows_it);
    tcase_add_loop_test(t, a_mistake_does_not_pass, 0, sizeof mistakes / sizeof *mistakes);
    return run_suite(suite_create("schema"), t);
}

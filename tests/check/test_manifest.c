/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_manifest.c: the manifest reader of the runtime: what it makes of a sound manifest, of one
 * that lies in one field, and of one that is cut or damaged anywhere. */
#include "runtime/runtime.h"
#include "tests/run_suite.h"
#include "tile.h"

#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char good_manifest[] =
    "// tilec manifest begin\n"
    "// {\"manifest\": 1, \"tilec\": \"0.1.0\", \"target\": \"sm_80\",\n"
    "//  \"kernels\": [{\"name\": \"k\", \"entry\": \"k\", \"params\": [\n"
    "//   {\"name\": \"p\", \"type\": \"*fp16\", \"divisible\": 16},\n"
    "//   {\"name\": \"i\", \"type\": \"i32\", \"equals\": 1},\n"
    "//   {\"name\": \"q\", \"type\": \"*fp32\", \"none\": true}],\n"
    "//  \"constexprs\": {\"BM\": 64, \"ACT\": \"relu\", \"ON\": true, \"F\": 0.5, \"N\": null},\n"
    "//  \"num_warps\": 8, \"num_stages\": 3, \"shared\": 32768, \"cluster\": [1, 1, 1],\n"
    "//  \"grid\": [\"cdiv(i, BM)\", \"2\"], \"hidden\": [], \"new in some later version\": 5}]}\n"
    "// tilec manifest end\n"
    ".version 7.0\n";

/* The kernels of a manifest, or what is wrong with it, in a session of the caller's. */
static const char *read_manifest(Session *s, const char *text, size_t len, tile_kernel **k,
                                 int *n) {
    char *json;
    size_t json_len, code;
    ck_assert(module_head(text, len, &json, &json_len, &code));
    json_t *root = json_loadb(json, json_len, JSON_ALLOW_NUL, NULL);
    free(json);
    const char *target;
    const char *error = root ? manifest_kernels(s, root, k, n, &target) : "no JSON";
    json_decref(root);
    return error;
}

START_TEST(manifest) {
    Session s;
    ck_assert(!setjmp(s.bail));
    session_init(&s);
    tile_kernel *k;
    int n;
    const char *error = read_manifest(&s, good_manifest, sizeof good_manifest - 1, &k, &n);
    ck_assert_msg(!error, "%s", error);
    ck_assert_int_eq(n, 1);
    ck_assert_str_eq(k->name, "k");
    ck_assert_int_eq(k->nparams, 3);
    ck_assert(k->param[0].depth == 1 && k->param[0].elem == EL_F16 && k->param[0].divisible == 16);
    ck_assert(k->param[1].has_equals && k->param[1].equals == 1 && k->param[1].divisible == 1);
    ck_assert(k->param[2].none);
    ck_assert_int_eq(k->num_warps, 8);
    ck_assert_int_eq((int)k->shared, 32768);
    ck_assert_str_eq(k->grid, "cdiv(i, BM), 2");
    ck_assert_int_eq(k->nconstexprs, 5);
    int ints = 0;
    for (int i = 0; i < 5; i++) ints += k->constexpr_[i].is_int;
    ck_assert_int_eq(ints, 2); /* BM and ON */
    session_free(&s);
}
END_TEST

/* One field of the good manifest replaced by something else. */
static const struct {
    const char *from, *to, *words;
} lies[] = {
    {"\"manifest\": 1", "\"manifest\": \"1\"", "'manifest'"},
    {"\"manifest\": 1", "\"manifest\": 99999999999999", "'manifest'"},
    {"\"target\": \"sm_80\"", "\"target\": 80", "'target'"},
    {"\"kernels\": [{", "\"kernels\": [5, {", "'name'"},
    {"\"name\": \"k\"", "\"name\": \"\"", "'name'"},
    {"\"name\": \"k\"", "\"name\": \"a\\u0000b\"", "'name'"},
    {"\"name\": \"k\"", "\"name\": \"a\\u001b[31mb\"", "'name'"},
    {"\"entry\": \"k\"", "\"entry\": null", "'entry'"},
    {"\"*fp16\"", "\"fp17\"", "'type'"},
    {"\"*fp16\"", "\"*****fp16\"", "'type'"},
    {"\"*fp16\"", "[]", "'type'"},
    {"\"divisible\": 16", "\"divisible\": 0", "'divisible'"},
    {"\"divisible\": 16", "\"divisible\": -16", "'divisible'"},
    {"\"divisible\": 16", "\"divisible\": 1.5", "'divisible'"},
    {"\"equals\": 1", "\"equals\": \"1\"", "'equals'"},
    {"\"divisible\": 16", "\"equals\": 1", "'equals'"},
    {"\"none\": true", "\"none\": 1", "'none'"},
    {"{\"BM\": 64,", "[\"BM\", 64], \"x\": {", "'constexprs'"},
    {"\"num_warps\": 8", "\"num_warps\": 0", "'num_warps'"},
    {"\"num_warps\": 8", "\"num_warps\": 64", "'num_warps'"},
    {"\"num_stages\": 3", "\"num_stages\": -1", "'num_stages'"},
    {"\"shared\": 32768", "\"shared\": -1", "'shared'"},
    {"\"shared\": 32768", "\"shared\": 4294967296", "'shared'"},
    {"\"cluster\": [1, 1, 1]", "\"cluster\": [1, 0]", "'cluster'"},
    {"\"cluster\": [1, 1, 1]", "\"cluster\": 3", "'cluster'"},
    {"[\"cdiv(i, BM)\", \"2\"]", "\"2\"", "'grid'"},
    {"[\"cdiv(i, BM)\", \"2\"]", "[1, 2]", "'grid'"},
    {"[\"cdiv(i, BM)\", \"2\"]", "[\"1\", \"1\", \"1\", \"1\"]", "'grid'"},
    {"\"hidden\": []", "\"hidden\": {}", "'hidden'"},
#define MAP(base, type, sizes, strides, box, swizzle)                                              \
    "\"hidden\": [{\"kind\": \"tensor_map\", \"base\": \"" base                                    \
    "\", \"offset\": \"0\", \"type\": \"" type "\", \"sizes\": " sizes ", \"strides\": " strides   \
    ", \"box\": " box ", \"swizzle\": " swizzle "}]"
    {"\"hidden\": []", MAP("i", "fp16", "[\"i\"]", "[\"1\"]", "[8]", "0"), "'base'"},
    {"\"hidden\": []", MAP("nobody", "fp16", "[\"i\"]", "[\"1\"]", "[8]", "0"), "'base'"},
    {"\"hidden\": []", MAP("p", "*fp16", "[\"i\"]", "[\"1\"]", "[8]", "0"), "'type'"},
    {"\"hidden\": []", MAP("p", "fp16", "[]", "[\"1\"]", "[8]", "0"), "'sizes'"},
    {"\"hidden\": []", MAP("p", "fp16", "[\"i\", \"i\"]", "[\"1\"]", "[8]", "0"), "'sizes'"},
    {"\"hidden\": []", MAP("p", "fp16", "[\"i, i\"]", "[\"1\"]", "[8]", "0"), "'sizes'"},
    {"\"hidden\": []", MAP("p", "fp16", "[\"i\"]", "[1]", "[8]", "0"), "'strides'"},
    {"\"hidden\": []", MAP("p", "fp16", "[\"i\"]", "[\"1\"]", "[]", "0"), "'box'"},
    {"\"hidden\": []", MAP("p", "fp16", "[\"i\"]", "[\"1\"]", "[512]", "0"), "'box'"},
    {"\"hidden\": []", MAP("p", "fp16", "[\"i\"]", "[\"1\"]", "[8, 8, 8, 8, 8, 8]", "0"), "'box'"},
    {"\"hidden\": []", MAP("p", "fp16", "[\"i\"]", "[\"1\"]", "[8]", "256"), "'swizzle'"},
};

START_TEST(lying_manifests) {
    Session s;
    ck_assert(!setjmp(s.bail));
    session_init(&s);
    const char *at = strstr(good_manifest, lies[_i].from);
    ck_assert_ptr_nonnull(at);
    Buf text = buf_new(&s.arena);
    buf_write(&text, good_manifest, (size_t)(at - good_manifest));
    buf_puts(&text, lies[_i].to);
    buf_puts(&text, at + strlen(lies[_i].from));
    tile_kernel *k;
    int n;
    const char *error = read_manifest(&s, text.data, text.len, &k, &n);
    ck_assert_msg(error && strstr(error, lies[_i].words), "%s: %s", lies[_i].to,
                  error ? error : "accepted");
    session_free(&s);
}
END_TEST

static void refused_on_cpu(const char *text, size_t len, const char *words) {
    tile_context *ctx;
    tile_module *module;
    ck_assert_int_eq(tile_context_create("cpu", &ctx), TILE_OK);
    ck_assert_int_eq(tile_module_load(ctx, text, len, &module), TILE_BAD_MODULE);
    ck_assert_msg(strstr(tile_error(ctx), words), "%s", tile_error(ctx));
    tile_context_destroy(ctx);
}

/* As many of each as there may be, and one more. */
static const struct {
    const char *before, *head, *one, *tail; /* one has its number in it, or has none */
    int there, most;
    const char *words;
} counts[] = {
    {"\"kernels\": [", "", "1, ", "", 1, 4096, "'kernels' must be a list of at most 4096"},
    {"\"params\": [", "", "1, ", "", 3, 512, "'params' must be a list of at most 512"},
    {"\"shared\": 32768, ", "\"entries\": [1", ", 1", "], ", 1, 16,
     "'entries' must be a list of at most 16"},
    {"\"constexprs\": {", "", "\"c%d\": [], ", "", 5, 4096,
     "'constexprs' must be an object of at most 4096"},
};

START_TEST(counts_have_limits) {
    Session s;
    ck_assert(!setjmp(s.bail));
    session_init(&s);
    int which = _i / 2, more = _i % 2;
    const char *at = strstr(good_manifest, counts[which].before) + strlen(counts[which].before);
    Buf text = buf_new(&s.arena);
    buf_write(&text, good_manifest, (size_t)(at - good_manifest));
    buf_puts(&text, counts[which].head);
    for (int i = counts[which].there; i < counts[which].most + more; i++)
        if (strchr(counts[which].one, '%'))
            buf_printf(&text, "\"c%d\": [], ", i);
        else
            buf_puts(&text, counts[which].one);
    buf_puts(&text, counts[which].tail);
    buf_puts(&text, at);
    tile_kernel *k;
    int n;
    const char *error = read_manifest(&s, text.data, text.len, &k, &n);
    ck_assert_msg(!(error && strstr(error, counts[which].words)) == !more, "%s",
                  error ? error : "nothing is wrong"); /* what is put in may be */
    session_free(&s);
    refused_on_cpu(good_manifest, ((size_t)256 << 20) + 1,
                   "the module is larger than 256 MB, the limit");
}
END_TEST

static bool manifest_refused(const char *text, size_t len) {
    Session s;
    if (setjmp(s.bail)) return true;
    session_init(&s);
    tile_kernel *k;
    int n;
    bool refused = read_manifest(&s, text, len, &k, &n) != NULL;
    session_free(&s);
    return refused;
}

/* Every cut and every damaged byte: refused or read, in bounds, whatever it says. */
START_TEST(damaged_manifests) {
    size_t whole = sizeof good_manifest - 1;
    int refused = 0;
    for (size_t n = 0; n <= whole; n++) {
        char *text = malloc(whole);
        ck_assert_ptr_nonnull(text);
        memcpy(text, good_manifest, whole);
        refused += manifest_refused(text, n);
        if (n < whole) text[n] = (char)(text[n] ^ 0x12);
        (void)manifest_refused(text, whole);
        free(text);
    }
    ck_assert_int_ge(refused, (int)whole - 30);
    /* Deep nesting is the JSON reader's to refuse. */
    enum { DEEP = 100000 };
    char *deep = malloc(DEEP + 100);
    ck_assert_ptr_nonnull(deep);
    int head = sprintf(deep, "// tilec manifest begin\n// ");
    memset(deep + head, '[', DEEP);
    strcpy(deep + head + DEEP, "\n// tilec manifest end\n.version 7.0\n");
    refused_on_cpu(deep, strlen(deep), "damaged");
    free(deep);
    refused_on_cpu(good_manifest, whole, "this is PTX"); /* sound, but not for this device */
}
END_TEST

int main(void) {
    Suite *s = suite_create("manifest");
    TCase *t = tcase_create("manifest");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, manifest);
    tcase_add_loop_test(t, lying_manifests, 0, (int)(sizeof lies / sizeof *lies));
    tcase_add_loop_test(t, counts_have_limits, 0, 2 * (int)(sizeof counts / sizeof *counts));
    tcase_add_test(t, damaged_manifests);
    return run_suite(s, t);
}

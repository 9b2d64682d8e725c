/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_jit.c: tile_jit on the CPU device: which variant a launch gets, what is compiled again and
 * what is not, the cache on disk with its damages. */
#include "tests/check/jit_fixture.h"
#include "tests/run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void counts(int variants, int from_disk) {
    int v, d;
    tile_jit_counts(jit, &v, &d);
    ck_assert_int_eq(v, variants);
    ck_assert_int_eq(d, from_disk);
}

/* Adds one to every `stride`-th of n floats, `offset` floats into a buffer; checks that it did. */
static void run(int offset, int n, int stride) {
    enum { MOST = 256 };
    float x[MOST] = {0}, y[MOST];
    tile_ptr p;
    ck_assert_int_eq(tile_alloc(ctx, sizeof x, &p), TILE_OK);
    ck_assert_int_eq(tile_copy_to_device(ctx, p, x, sizeof x), TILE_OK);
    tile_arg args[] = {tile_pointer(p + 4 * (unsigned)offset), tile_i32(n), tile_i32(stride)};
    tile_status st = tile_jit_launch(jit, NULL, args, 3, NULL);
    ck_assert_msg(st == TILE_OK, "%s", tile_error(ctx));
    ck_assert_int_eq(tile_copy_to_host(ctx, y, p, sizeof y), TILE_OK);
    for (int i = 0; i < n; i++) x[offset + i * stride] += 1;
    ck_assert_int_eq(memcmp(x, y, sizeof x), 0);
    ck_assert_int_eq(tile_free(ctx, p), TILE_OK);
}

#define fails(call, status, words)                                                                 \
    do {                                                                                           \
        ck_assert_int_eq((call), (status));                                                        \
        ck_assert_msg(strstr(tile_error(ctx), (words)), "%s", tile_error(ctx));                    \
    } while (0)

/* ---- which variant ---- */

START_TEST(promises_come_from_arguments) {
    created(add_one, "");
    tile_arg args[] = {tile_pointer(256), tile_i32(48), tile_i32(1)};
    tile_kernel *k, *again;
    tile_kernel_param p[3];
    ck_assert_int_eq(tile_jit_kernel(jit, args, 3, &k), TILE_OK);
    for (int i = 0; i < 3; i++) tile_kernel_get_param(k, i, &p[i]);
    ck_assert_int_eq(p[0].divisible, 16);
    ck_assert_int_eq(p[1].divisible, 16);
    ck_assert(p[2].has_equals && p[2].equals == 1);
    args[0] = tile_pointer(16 * 7);
    args[1] = tile_i32(0);
    ck_assert_int_eq(tile_jit_kernel(jit, args, 3, &again), TILE_OK);
    ck_assert_ptr_eq(k, again);
    args[0] = tile_typed_pointer(TILE_FP16, 4);
    args[1] = tile_i64(7);
    args[2] = tile_i32(2);
    ck_assert_int_eq(tile_jit_kernel(jit, args, 3, &k), TILE_OK);
    for (int i = 0; i < 3; i++) tile_kernel_get_param(k, i, &p[i]);
    ck_assert_str_eq(p[0].type_text, "*fp16");
    ck_assert_int_eq(p[0].divisible, 1);
    ck_assert_str_eq(p[1].type_text, "i64");
    ck_assert_int_eq(p[1].divisible, 1);
    ck_assert(!p[2].has_equals);
    counts(2, 0);
}
END_TEST

START_TEST(launches) {
    created(add_one, "");
    run(0, 48, 1);
    run(1, 48, 1);
    run(0, 47, 1);
    run(0, 1, 16);
    run(3, 1, 1);
    run(2, 7, 3);
    counts(6, 0);
    for (int i = 0; i < 20; i++) run(4 * i, 16 * (1 + i % 3), 1); /* as the first */
    counts(6, 0);
}
END_TEST

/* The leaves of tuples and descriptors, in order, are what a launch passes and what is specialised.
 */
START_TEST(arguments_with_parts) {
    float x[32], y[8];
    tile_ptr p;
    tile_kernel *k;
    tile_kernel_param param;
    created(
        "# tile: grid = 1\n"
        "@triton.jit\n"
        "def k(t: '(i32, (fp32, None, 7))', d: 'tensordesc<fp32[8]>', y, B: tl.constexpr = 8):\n"
        "    tl.static_assert(t[1][1] is None and t[1][2] == 7)\n"
        "    tl.store(y + tl.arange(0, B), d.load([t[0]]) * t[1][0] + t[1][2])\n",
        "");
    for (int i = 0; i < 32; i++) x[i] = (float)i;
    ck_assert_int_eq(tile_alloc(ctx, sizeof x, &p), TILE_OK);
    ck_assert_int_eq(tile_copy_to_device(ctx, p, x, sizeof x), TILE_OK);
    tile_arg args[] = {tile_i32(1),
                       tile_f32(2),
                       tile_none(),
                       tile_pointer(p),
                       tile_i32(32),
                       tile_i32(1),
                       tile_typed_pointer(TILE_FP32, p)};
    ck_assert_msg(tile_jit_launch(jit, NULL, args, 7, NULL) == TILE_OK, "%s", tile_error(ctx));
    ck_assert_int_eq(tile_copy_to_host(ctx, y, p, sizeof y), TILE_OK);
    for (int i = 0; i < 8; i++) ck_assert(y[i] == (float)(i + 1) * 2 + 7);
    ck_assert_int_eq(tile_jit_kernel(jit, args, 7, &k), TILE_OK);
    tile_kernel_get_param(k, 0, &param);
    ck_assert_str_eq(param.name, "t.0");
    ck_assert(param.has_equals && param.equals == 1);
    tile_kernel_get_param(k, 4, &param);
    ck_assert_str_eq(param.name, "d.shape.0");
    ck_assert_int_eq(param.divisible, 16);
    counts(1, 0);
    args[0] = tile_i32(3);
    ck_assert_int_eq(tile_jit_launch(jit, NULL, args, 7, NULL), TILE_OK);
    counts(2, 0);
    fails(tile_jit_launch(jit, NULL, args, 5, NULL), TILE_BAD_LAUNCH, "7 arguments");
    args[5] = tile_i32(2);
    fails(tile_jit_launch(jit, NULL, args, 7, NULL), TILE_COMPILE_ERROR,
          "'d.strides.0', the last stride of a tensor descriptor, must be 1");
    ck_assert_int_eq(tile_free(ctx, p), TILE_OK);
}
END_TEST

START_TEST(do_not_specialize_is_heard) {
    created("@triton.jit(do_not_specialize=['n', 2], do_not_specialize_on_alignment=['m'])\n"
            "def k(p: '*fp32', n, s, m):\n"
            "    tl.store(p, 1.0)\n",
            "");
    tile_kernel *first, *k;
    for (int i = 0; i < 40; i++) {
        tile_arg args[] = {tile_pointer(16), tile_i32(i), tile_i32(i + 1), tile_i32(i + 2)};
        ck_assert_int_eq(tile_jit_kernel(jit, args, 4, &k), TILE_OK);
        if (i == 0) first = k;
        ck_assert_ptr_eq(k, first);
    }
    counts(1, 0);
    tile_arg args[] = {tile_pointer(16), tile_i32(5), tile_i32(5), tile_i32(1)};
    ck_assert_int_eq(tile_jit_kernel(jit, args, 4, &k), TILE_OK);
    ck_assert_ptr_ne(k, first);
}
END_TEST

START_TEST(a_typed_one_is_a_number) {
    const char *text = joined(head, "@triton.jit\n"
                                    "def k(p: '*fp32', n, m):\n"
                                    "    tl.static_assert(n.dtype == tl.int64)\n"
                                    "    tl.store(p, 1.0)\n");
    tile_compile_options o = {.source = text, .source_len = strlen(text), .signature = "n=i64"};
    ck_assert_int_eq(tile_jit_create(ctx, &o, "", &jit), TILE_OK);
    for (int i = 0; i < 6; i++) {
        tile_kernel *k;
        tile_arg args[] = {tile_pointer(16), tile_i64(i % 3), tile_i32(i / 3 + 2)};
        ck_assert_msg(tile_jit_kernel(jit, args, 3, &k) == TILE_OK, "%s", tile_error(ctx));
    }
    counts(2, 0); /* n=i64 for 1 and 2, n=i64:16 for 0 */
}
END_TEST

static const char heuristic[] = "@triton.heuristics({'EVEN': lambda args: args['n'] % 3 == 0})\n"
                                "@triton.jit\n"
                                "def k(p: '*i32', n, m, EVEN: tl.constexpr):\n"
                                "    tl.store(p, 7 if EVEN else n)\n";

static int32_t stored(int n, int m) {
    int32_t out = 0;
    tile_ptr p;
    tile_grid one = {1, 1, 1};
    tile_alloc(ctx, 4, &p);
    tile_arg args[] = {tile_pointer(p), tile_i32(n), tile_i32(m)};
    tile_status st = tile_jit_launch(jit, &one, args, 3, NULL);
    ck_assert_msg(st == TILE_OK, "%s", tile_error(ctx));
    tile_copy_to_host(ctx, &out, p, 4);
    tile_free(ctx, p);
    return out;
}

/* Values that a heuristic looks at belong to a variant; others do not. */
START_TEST(heuristics_see_values) {
    for (int pass = 0; pass < 2; pass++) {
        created(heuristic, folder);
        for (int m = 2; m < 6; m++) {
            ck_assert_int_eq(stored(3, m), 7);
            ck_assert_int_eq(stored(5, m), 5);
            ck_assert_int_eq(stored(9, m), 7);
            ck_assert_int_eq(stored(11, m), 11);
        }
        counts(4, pass ? 4 : 0);
    }
}
END_TEST

START_TEST(mistakes) {
    tile_jit *none = (tile_jit *)1;
    fails(create("@triton.jit\ndef f(:\n", "", &none), TILE_COMPILE_ERROR, "k.tl:2:");
    ck_assert_ptr_null(none);
    fails(create("x = 1\n", "", &none), TILE_COMPILE_ERROR, "no kernel");
    fails(create("import triton\n@triton.jit\ndef one(p): pass\n@triton.jit\ndef two(p): pass\n",
                 "", &none),
          TILE_COMPILE_ERROR, "several kernels");
    tile_compile_options o = {.source = add_one, .source_len = strlen(add_one), .stats = 1};
    fails(tile_jit_create(ctx, &o, "", &none), TILE_INVALID, "does not take the option stats");
    o.stats = 0;
    o.ndefines = 1;
    fails(tile_jit_create(ctx, &o, "", &none), TILE_INVALID, "defines[0] is missing");
    o.ndefines = 0;
    o.source = NULL;
    fails(tile_jit_create(ctx, &o, "", &none), TILE_INVALID, "there is no source");
    o.source = add_one;
    o.num_warps = 3;
    fails(tile_jit_create(ctx, &o, "", &none), TILE_INVALID, "num_warps");
    ck_assert_int_eq(tile_jit_create(ctx, &o, "", NULL), TILE_INVALID);
    tile_jit_destroy(NULL);

    created(add_one, "");
    tile_arg args[] = {tile_pointer(16), tile_i32(4), tile_i32(1)};
    fails(tile_jit_launch(jit, NULL, args, 2, NULL), TILE_BAD_LAUNCH,
          "kernel 'add_one' takes 3 arguments (x_ptr, n, s), not 2");
    fails(tile_jit_launch(jit, NULL, NULL, 3, NULL), TILE_BAD_LAUNCH, "not 0");
    args[1].type = (tile_type)31;
    fails(tile_jit_launch(jit, NULL, args, 3, NULL), TILE_COMPILE_ERROR, "no type");
    args[1] = tile_i32(4);
    args[2] = tile_f32(1.5f);
    for (int i = 0; i < 2; i++) /* the second time from memory */
        fails(tile_jit_launch(jit, NULL, args, 3, NULL), TILE_COMPILE_ERROR, "k.tl:");
    args[2] = tile_i32(1);
    args[0] = tile_pointer(0);
    fails(tile_jit_launch(jit, NULL, args, 3, NULL), TILE_CHECK_FAILED, "its address is 0");
    created("@triton.jit\ndef k(p, q: '*fp32'): tl.store(p, 1.0)\n", "");
    args[1] = tile_pointer(16);
    fails(tile_jit_launch(jit, NULL, args, 2, NULL), TILE_COMPILE_ERROR, "'p' has no type");
}
END_TEST

/* ---- on disk ---- */

static size_t read_whole(const char *path, char *data, size_t size) {
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(data, 1, size, f);
    fclose(f);
    return n;
}

static void write_whole(const char *path, const char *data, size_t n) {
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, n, f), n);
    fclose(f);
}

START_TEST(variants_are_found_on_disk) {
    char path[400];
    for (int pass = 0; pass < 2; pass++) {
        created(add_one, folder);
        run(0, 48, 1);
        run(1, 5, 2);
        counts(2, pass ? 2 : 0);
        ck_assert_int_eq(entries(path), 2);
    }
    tile_compile_options o = {.source = joined(head, add_one), .num_warps = 8};
    o.source_len = strlen(o.source);
    tile_jit_destroy(jit);
    ck_assert_int_eq(tile_jit_create(ctx, &o, folder, &jit), TILE_OK);
    run(0, 48, 1);
    counts(1, 0); /* other options, another entry */
    ck_assert_int_eq(entries(path), 3);
}
END_TEST

/* One whose text is gone after the call. */
static int warps_by_name(const char *text, int from_disk) {
    char options[64];
    tile_compile_options o = {.source = joined(head, add_one), .options = options, .num_warps = 4};
    tile_arg args[] = {tile_pointer(256), tile_i32(48), tile_i32(1)};
    tile_kernel *k;
    tile_kernel_info info;
    o.source_len = strlen(o.source);
    snprintf(options, sizeof options, "%s", text);
    tile_jit_destroy(jit);
    ck_assert_int_eq(tile_jit_create(ctx, &o, folder, &jit), TILE_OK);
    memset(options, '?', sizeof options - 1);
    ck_assert_int_eq(tile_jit_kernel(jit, args, 3, &k), TILE_OK);
    ck_assert_int_eq(tile_kernel_describe(k, &info), TILE_OK);
    counts(1, from_disk);
    return info.num_warps;
}

START_TEST(options_by_name_make_variants) {
    ck_assert_int_eq(warps_by_name("", 0), 4);
    ck_assert_int_eq(warps_by_name("num_warps=2", 0), 2);
    ck_assert_int_eq(warps_by_name("num_warps=8", 0), 8);
    ck_assert_int_eq(warps_by_name("num_stages=2,num_warps=8", 0), 8);
    ck_assert_int_eq(warps_by_name("num_warps=1,num_warps=8", 1), 8);
    ck_assert_int_eq(warps_by_name("num_warps=4", 1), 4); /* as the field said */
}
END_TEST

/* Stores which version it is lowered for. */
static const char versioned[] = "import triton\n"
                                "V = tl.constexpr(int(triton.__version__ == '3.9.0'))\n"
                                "@triton.jit\n"
                                "def versioned(p: '*i32'):\n"
                                "    tl.store(p, V)\n";

static int stored_by(const char *triton, const char *text, int from_disk) {
    tile_compile_options o = {.source = text, .source_len = strlen(text), .triton = triton};
    tile_jit_destroy(jit);
    jit = NULL;
    ck_assert_msg(tile_jit_create(ctx, &o, folder, &jit) == TILE_OK, "%s", tile_error(ctx));
    tile_ptr p;
    int32_t v = -1;
    ck_assert_int_eq(tile_alloc(ctx, sizeof v, &p), TILE_OK);
    tile_arg arg = tile_pointer(p);
    tile_grid grid = {1, 1, 1};
    ck_assert_msg(tile_jit_launch(jit, &grid, &arg, 1, NULL) == TILE_OK, "%s", tile_error(ctx));
    ck_assert_int_eq(tile_copy_to_host(ctx, &v, p, sizeof v), TILE_OK);
    ck_assert_int_eq(tile_free(ctx, p), TILE_OK);
    counts(1, from_disk);
    return v;
}

START_TEST(the_version_of_triton_is_part_of_the_key) {
    char text[1024], old[2048];
    snprintf(text, sizeof text, "%s%s", head, versioned);
    snprintf(old, sizeof old, "# tile: triton = 3.6\n%s", text);
    ck_assert_int_eq(stored_by(NULL, text, 0), 1);
    ck_assert_int_eq(stored_by("3.6", text, 0), 0);
    ck_assert_int_eq(stored_by("3.9", text, 0), 1);
    ck_assert_int_eq(stored_by(NULL, old, 0), 0);
    ck_assert_int_eq(stored_by("3.9", old, 0), 1);
    ck_assert_int_eq(stored_by("3.6", text, 1), 0);
    tile_compile_options o = {.source = text, .source_len = strlen(text), .triton = "3.5"};
    tile_jit *none;
    fails(tile_jit_create(ctx, &o, folder, &none), TILE_INVALID, "3.6, 3.7, 3.8 or 3.9, not '3.5'");
}
END_TEST

/* Whatever lies in an entry's place: it is as good as nothing, and the entry is written anew. */
START_TEST(damaged_entries_are_replaced) {
    static char good[1 << 16], bad[1 << 16];
    char path[400];
    created(add_one, folder);
    run(0, 48, 1);
    ck_assert_int_eq(entries(path), 1);
    size_t n = read_whole(path, good, sizeof good);
    ck_assert(n > 200 && n < sizeof good);
    for (size_t at = 0; at <= n; at += at < 64 ? 1 : n / 64) {
        for (int way = 0; way < 2; way++) {
            memcpy(bad, good, n);
            if (way) bad[at] ^= 0x20;
            if (way && at == n) break;
            write_whole(path, bad, way ? n : at);
            created(add_one, folder);
            run(0, 48, 1);
            counts(1, way == 0 && at == n);
            ck_assert_uint_eq(read_whole(path, bad, sizeof bad), n);
            ck_assert_int_eq(memcmp(bad, good, n), 0);
        }
    }
    unlink(path); /* a dangling link, a folder, a pipe, a file without permissions */
    for (int way = 0; way < 4; way++) {
        if (way == 0) ck_assert_int_eq(symlink("/nonexistent/x", path), 0);
        if (way == 1) ck_assert_int_eq(mkdir(path, 0700), 0);
        if (way == 2) ck_assert_int_eq(mkfifo(path, 0600), 0);
        if (way == 3) {
            write_whole(path, good, 10);
            chmod(path, 0);
        }
        created(add_one, folder);
        run(0, 48, 1);
        counts(1, 0);
        if (way != 1) ck_assert_uint_eq(read_whole(path, bad, sizeof bad), n);
        if (unlink(path)) rmdir(path);
    }
}
END_TEST

START_TEST(folders) {
    char path[400], deep[200];
    chmod(folder, 0777); /* anybody could put code there */
    created(add_one, folder);
    run(0, 48, 1);
    ck_assert_int_eq(entries(path), 0);
    chmod(folder, 0700);
    created(add_one, "");
    run(0, 48, 1);
    ck_assert_int_eq(entries(path), 0);
    setenv("TILEC_CACHE", folder, 1);
    created(add_one, NULL);
    run(0, 48, 1);
    ck_assert_int_eq(entries(path), 1);
    unsetenv("TILEC_CACHE");
    snprintf(deep, sizeof deep, "%s/a", folder);
    setenv("XDG_CACHE_HOME", deep, 1);
    created(add_one, NULL);
    run(0, 48, 1);
    counts(1, 0);
    created(add_one, NULL);
    run(0, 48, 1);
    counts(1, 1);
    snprintf(deep, sizeof deep, "rm -r '%s/a'", folder);
    ck_assert_int_eq(system(deep), 0);
    created(add_one, "/dev/null/x"); /* cannot be made */
    run(0, 48, 1);
    setenv("TILEC_CACHE_MB", "0", 1); /* no room for anything */
    scratch_empty(folder);
    created(add_one, folder);
    run(0, 48, 1);
    ck_assert_int_eq(entries(path), 0);
    unsetenv("TILEC_CACHE_MB");
}
END_TEST

/* ---- what the compiler says ---- */

/* A note belongs to one of the warnings, and the span of the other goes to its line's end. */
static const char loud[] = "# tile: nothing\n"
                           "@triton.autotune([triton.Config({}, num_ctas=2)], key=[])\n"
                           "@triton.jit\n"
                           "def loud(p: '*i32', n):\n"
                           "    tl.store(p, n)\n";

static const tile_compiled *said(const tile_arg *args, int nargs, tile_status want) {
    const tile_compiled *c = (const tile_compiled *)1;
    ck_assert_int_eq(tile_jit_diagnostics(jit, args, nargs, &c), want);
    return c;
}

/* A variant keeps its warnings, as data and as text, and so does its entry on disk. */
START_TEST(warnings_are_kept) {
    tile_arg args[] = {tile_pointer(16), tile_i32(5)}, other[] = {tile_pointer(16), tile_i32(1)};
    tile_compile_options o = {.source = joined(head, loud), .file_name = "k.tl"};
    o.source_len = strlen(o.source);
    o.signature = "p=*i32:16,n=i32";
    tile_compiled *once;
    ck_assert_int_eq(tile_compile(&o, &once), TILE_OK);
    const char *want = tile_compiled_text(once, TILE_PART_DIAGNOSTICS, NULL);
    ck_assert_msg(strncmp(want, "k.tl:2:", 7) == 0 && strstr(want, "num_ctas=2") &&
                      strstr(want, "note: "),
                  "%s", want);
    for (int pass = 0; pass < 2; pass++) {
        created(loud, folder);
        const tile_compiled *c = said(args, 2, TILE_OK), *d = said(other, 2, TILE_OK);
        counts(2, pass ? 2 : 0);
        const char *text = tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL);
        ck_assert_str_eq(text, want);
        ck_assert_str_eq(tile_compiled_text(d, TILE_PART_DIAGNOSTICS, NULL), want);
        ck_assert_str_eq(tile_compiled_text(c, TILE_PART_OUTPUT, NULL), "");
        const tile_diagnostic *a, *b;
        int n = tile_compiled_diagnostics(c, &a);
        ck_assert_int_eq(n, tile_compiled_diagnostics(once, &b));
        ck_assert_int_eq(n, 3);
        for (int i = 0; i < n; i++) {
            ck_assert(a[i].severity == b[i].severity && a[i].notes == b[i].notes);
            ck_assert(a[i].line == b[i].line && a[i].column == b[i].column);
            ck_assert_uint_eq(a[i].end_column, b[i].end_column);
            ck_assert_str_eq(a[i].text, b[i].text);
            ck_assert_str_eq(tile_compiled_code(c, i), tile_compiled_code(once, i));
        }
        ck_assert_ptr_eq(said(args, 2, TILE_OK), c); /* asked again, the same */
        o.signature = NULL;
        o.no_warnings = 1;
        tile_jit_destroy(jit);
        ck_assert_int_eq(tile_jit_create(ctx, &o, folder, &jit), TILE_OK);
        ck_assert_ptr_null(said(args, 2, TILE_OK));
        o.no_warnings = 0;
    }
    tile_compiled_free(once);
    o.warnings_are_errors = 1;
    tile_jit_destroy(jit);
    fails(tile_jit_create(ctx, &o, folder, &jit), TILE_COMPILE_ERROR, "k.tl:2:"); /* as it stands */
    o.source = joined(head, strchr(loud, '\n'));
    o.source_len = strlen(o.source);
    ck_assert_int_eq(tile_jit_create(ctx, &o, folder, &jit), TILE_OK);
    for (int i = 0; i < 2; i++) {
        const tile_diagnostic *d;
        ck_assert_int_eq(tile_compiled_diagnostics(said(args, 2, TILE_COMPILE_ERROR), &d), 2);
        ck_assert(d->severity == TILE_SEVERITY_ERROR && d->line == 5 && d->notes == 1);
    }
    const tile_compiled *none = NULL;
    fails(tile_jit_diagnostics(jit, args, 1, &none), TILE_BAD_LAUNCH, "takes 2 arguments");
    ck_assert_int_eq(tile_jit_diagnostics(jit, args, 2, NULL), TILE_INVALID);
    ck_assert_int_eq(tile_jit_diagnostics(NULL, args, 2, &none), TILE_INVALID);
}
END_TEST

int main(void) {
    Suite *s = suite_create("jit");
    TCase *t = tcase_create("jit");
    tcase_add_checked_fixture(t, open_cpu, close_cpu);
    tcase_set_timeout(t, 1200);
    tcase_add_test(t, promises_come_from_arguments);
    tcase_add_test(t, launches);
    tcase_add_test(t, arguments_with_parts);
    tcase_add_test(t, do_not_specialize_is_heard);
    tcase_add_test(t, a_typed_one_is_a_number);
    tcase_add_test(t, heuristics_see_values);
    tcase_add_test(t, mistakes);
    tcase_add_test(t, variants_are_found_on_disk);
    tcase_add_test(t, options_by_name_make_variants);
    tcase_add_test(t, the_version_of_triton_is_part_of_the_key);
    tcase_add_test(t, damaged_entries_are_replaced);
    tcase_add_test(t, folders);
    tcase_add_test(t, warnings_are_kept);
    return run_suite(s, t);
}

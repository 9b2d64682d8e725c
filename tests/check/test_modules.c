/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_modules.c: modules through a caller's tile_reader: what is asked of it, what it may answer,
 * and that a cached variant knows which files it was made of. */
#include "tests/run_suite.h"
#include "tests/scratch.h"
#include "tile.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char kernel[] = "import triton, triton.language as tl\n"
                             "from .helper import f\n"
                             "@triton.jit\n"
                             "def k(p: '*i32'):\n"
                             "    tl.store(p, f(tl.load(p)))\n";

/* A file system of a few texts. */
typedef struct Files {
    struct {
        const char *path, *text;
    } file[4];
    tile_status fails; /* what reading gives instead, if it is not 0 */
    bool nothing;      /* TILE_OK without a text */
    int looks, reads;
    char asked[1024];
} Files;

static tile_status read_text(void *user, const char *path, size_t limit, char **text, size_t *len) {
    Files *f = user;
    size_t n = strlen(f->asked);
    snprintf(f->asked + n, sizeof f->asked - n, "%s ", path);
    ck_assert_uint_gt(limit + !text, 0);
    for (int i = 0; i < 4 && f->file[i].path; i++) {
        if (strcmp(path, f->file[i].path)) continue;
        f->looks += !text;
        if (!text) return TILE_OK;
        f->reads++;
        *text = f->nothing ? NULL : strdup(f->file[i].text);
        *len = strlen(f->file[i].text);
        if (f->fails) free(*text);
        return f->fails;
    }
    return TILE_NOT_FOUND;
}

static const char one[] = "import triton\n@triton.jit\ndef f(x):\n    return x + 1\n";
static const char ten[] = "import triton\n@triton.jit\ndef f(x):\n    return x + 10\n";
static const char bad[] = "import triton\n\n\n@triton.jit\ndef f(x):\n    return x.nothing()\n";

static tile_compile_options options(const tile_reader *reader) {
    return (tile_compile_options){.source = kernel,
                                  .source_len = sizeof kernel - 1,
                                  .file_name = "pkg/k.py",
                                  .emit = TILE_EMIT_TIR,
                                  .reader = reader};
}

START_TEST(modules_come_from_the_reader_alone) {
    Files files = {.file = {{"pkg/helper.py", one}}};
    tile_reader reader = {read_text, &files};
    tile_compile_options o = options(&reader);
    tile_compiled *c;
    ck_assert_int_eq(tile_compile(&o, &c), TILE_OK);
    ck_assert_str_eq(tile_compiled_text(c, TILE_PART_FILES, NULL), "pkg/helper.py\n");
    ck_assert_str_eq(files.asked,
                     "pkg/__init__.py pkg/helper/__init__.py pkg/helper.py pkg/helper.py ");
    ck_assert_int_eq(files.reads, 1);
    tile_compiled_free(c);
    o.reader = NULL; /* a real pkg/helper.py would not be looked for */
    ck_assert_int_eq(tile_compile(&o, &c), TILE_COMPILE_ERROR);
    ck_assert_ptr_nonnull(strstr(tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL),
                                 "'f' comes from module '.helper', which is not read"));
    ck_assert_str_eq(tile_compiled_text(c, TILE_PART_FILES, NULL), "");
    tile_compiled_free(c);
}
END_TEST

/* Of a package whose folders have no __init__.py: the root is where a folder of the name has the
 * file in it, the innermost first, and behind those that are said. */
START_TEST(a_package_of_bare_folders) {
    static const char text[] = "import triton, triton.language as tl\n"
                               "from pkg.util.helper import f\n"
                               "@triton.jit\n"
                               "def k(p: '*i32'):\n"
                               "    tl.store(p, f(tl.load(p)))\n";
    static const struct {
        const char *file, *helper, *include; /* NULL: there is none */
        const char *found;
    } row[] = {
        {"repo/pkg/ops/k.py", "repo/pkg/util/helper.py", NULL, "repo/pkg/util/helper.py\n"},
        {"pkg/ops/k.py", "pkg/util/helper.py", NULL, "pkg/util/helper.py\n"},
        {"/pkg/ops/k.py", "/pkg/util/helper.py", NULL, "/pkg/util/helper.py\n"},
        {"pkg/pkg/ops/k.py", "pkg/util/helper.py", NULL, "pkg/util/helper.py\n"},
        {"pkg/pkg/ops/k.py", "pkg/pkg/util/helper.py", NULL, "pkg/pkg/util/helper.py\n"},
        {"pkg/ops/k.py", "pkg/util/helper.py", "mine", "mine/pkg/util/helper.py\n"},
        {"repo/other/k.py", "repo/pkg/util/helper.py", NULL, NULL},
        {"repo/pkgs/k.py", "repo/pkg/util/helper.py", NULL, NULL},
        {"pkg.py", "pkg/util/helper.py", NULL, "pkg/util/helper.py\n"}, /* of its own folder */
        {"<text>", "pkg/util/helper.py", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Files files = {.file = {{row[i].helper, one}, {"mine/pkg/util/helper.py", ten}}};
        tile_reader reader = {read_text, &files};
        tile_compile_options o = options(&reader);
        tile_compiled *c;
        o.source = text;
        o.source_len = sizeof text - 1;
        o.file_name = row[i].file;
        o.include = &row[i].include;
        o.ninclude = row[i].include != NULL;
        tile_status st = tile_compile(&o, &c);
        ck_assert_msg(st == (row[i].found ? TILE_OK : TILE_COMPILE_ERROR), "%s: %s", row[i].file,
                      tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL));
        if (row[i].found)
            ck_assert_str_eq(tile_compiled_text(c, TILE_PART_FILES, NULL), row[i].found);
        tile_compiled_free(c);
    }
}
END_TEST

/* … and where it was looked for is said. */
START_TEST(where_it_was_looked_for) {
    static const char text[] = "import triton, triton.language as tl\n"
                               "from pkg.gone import f\n"
                               "@triton.jit\n"
                               "def k(p: '*i32'):\n"
                               "    tl.store(p, f(tl.load(p)))\n";
    Files files = {.file = {{"a", one}}};
    tile_reader reader = {read_text, &files};
    tile_compile_options o = options(&reader);
    tile_compiled *c;
    o.source = text;
    o.source_len = sizeof text - 1;
    o.file_name = "repo/pkg/ops/k.py";
    ck_assert_int_eq(tile_compile(&o, &c), TILE_COMPILE_ERROR);
    ck_assert_ptr_nonnull(strstr(tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL),
                                 "it was looked for in 'repo/pkg/ops' and 'repo';"));
    tile_compiled_free(c);
}
END_TEST

START_TEST(a_reader_may_fail) {
    static const struct {
        tile_status fails;
        bool nothing;
        tile_status status;
        const char *says;
    } row[] = {{TILE_IO, false, TILE_COMPILE_ERROR, "'pkg/helper.py' cannot be read"},
               {TILE_INTERNAL, false, TILE_COMPILE_ERROR, "'pkg/helper.py' cannot be read"},
               {TILE_NOT_FOUND, false, TILE_COMPILE_ERROR, "'pkg/helper.py' cannot be read"},
               {TILE_OK, true, TILE_COMPILE_ERROR, "'pkg/helper.py' cannot be read"},
               {TILE_NO_MEMORY, false, TILE_NO_MEMORY, NULL}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Files files = {
            .file = {{"pkg/helper.py", one}}, .fails = row[i].fails, .nothing = row[i].nothing};
        tile_reader reader = {read_text, &files};
        tile_compile_options o = options(&reader);
        tile_compiled *c;
        ck_assert_int_eq(tile_compile(&o, &c), row[i].status);
        if (!row[i].says) ck_assert_ptr_null(c);
        const char *text = tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL);
        ck_assert_msg(!row[i].says || strstr(text, row[i].says), "%s", text);
        tile_compiled_free(c);
    }
}
END_TEST

/* An error in a module has the module's name and line, as text and as data. */
START_TEST(diagnostics_name_their_file) {
    Files files = {.file = {{"pkg/helper.py", bad}}};
    tile_reader reader = {read_text, &files};
    tile_compile_options o = options(&reader);
    tile_compiled *c;
    const tile_diagnostic *d;
    ck_assert_int_eq(tile_compile(&o, &c), TILE_COMPILE_ERROR);
    ck_assert_int_eq(tile_compiled_diagnostics(c, &d), 3);
    ck_assert_str_eq(d[0].file, "pkg/helper.py");
    ck_assert_uint_eq(d[0].line, 6);
    ck_assert_uint_eq(d[0].column, 14);
    ck_assert_str_eq(d[1].file, "pkg/k.py");
    ck_assert_uint_eq(d[1].line, 5);
    ck_assert_str_eq(d[2].text, "'helper' is imported here");
    ck_assert_uint_eq(d[2].line, 2);
    ck_assert_ptr_nonnull(
        strstr(tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL), "pkg/helper.py:6:14: error: "));
    tile_compiled_free(c);
}
END_TEST

/* ---- the JIT's cache ---- */

static tile_context *ctx;
static char folder[SCRATCH_SIZE];

static void open_cpu(void) {
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-modules")));
    ck_assert_int_eq(tile_context_create("cpu", &ctx), TILE_OK);
}

static void close_cpu(void) {
    tile_context_destroy(ctx);
    scratch_empty(folder);
    rmdir(folder);
}

/* What the kernel makes of 1, in a jit of its own; *from_disk: of how many variants. */
static int result(Files *files, int *from_disk) {
    tile_reader reader = {read_text, files};
    tile_compile_options o = options(&reader);
    tile_jit *jit;
    tile_ptr p;
    int32_t x = 1;
    o.emit = TILE_EMIT_PTX;
    tile_status st = tile_jit_create(ctx, &o, folder, &jit);
    ck_assert_msg(st == TILE_OK, "%s", tile_error(ctx));
    ck_assert_int_eq(tile_alloc(ctx, sizeof x, &p), TILE_OK);
    ck_assert_int_eq(tile_copy_to_device(ctx, p, &x, sizeof x), TILE_OK);
    tile_arg arg = tile_pointer(p);
    tile_grid grid = {1, 1, 1};
    st = tile_jit_launch(jit, &grid, &arg, 1, NULL);
    ck_assert_msg(st == TILE_OK, "%s", tile_error(ctx));
    ck_assert_int_eq(tile_copy_to_host(ctx, &x, p, sizeof x), TILE_OK);
    tile_jit_counts(jit, NULL, from_disk);
    tile_jit_destroy(jit);
    ck_assert_int_eq(tile_free(ctx, p), TILE_OK);
    return x;
}

START_TEST(a_cached_variant_knows_its_files) {
    Files files = {.file = {{"pkg/helper.py", one}}};
    int from_disk;
    ck_assert_int_eq(result(&files, &from_disk), 2);
    ck_assert_int_eq(from_disk, 0);
    ck_assert_int_eq(result(&files, &from_disk), 2);
    ck_assert_int_eq(from_disk, 1);
    files.file[0].text = ten; /* a module changes */
    ck_assert_int_eq(result(&files, &from_disk), 11);
    ck_assert_int_eq(from_disk, 0);
    ck_assert_int_eq(result(&files, &from_disk), 11);
    ck_assert_int_eq(from_disk, 1);
    files.file[1].path = "pkg/helper/__init__.py"; /* one is there that was not, and comes first */
    files.file[1].text = one;
    ck_assert_int_eq(result(&files, &from_disk), 2);
    ck_assert_int_eq(from_disk, 0);
    ck_assert_int_eq(result(&files, &from_disk), 2);
    ck_assert_int_eq(from_disk, 1);
    files.file[1].path = NULL;
    ck_assert_int_eq(result(&files, &from_disk), 11);
    ck_assert_int_eq(from_disk, 0);
    files.file[1].path = "pkg/__init__.py"; /* another root, though the same helper */
    files.file[1].text = "";
    ck_assert_int_eq(result(&files, &from_disk), 11);
    ck_assert_int_eq(from_disk, 0);
}
END_TEST

/* Which of two definitions is launched is known at creation, as it is when it is compiled. */
START_TEST(conditions_hold_at_creation) {
    static const char source[] = "import triton, triton.language as tl, torch\n"
                                 "from elsewhere import FAST\n"
                                 "if torch.cuda.get_device_capability()[0] >= 8 and FAST:\n"
                                 "    @triton.jit\n"
                                 "    def k(p: '*i32', n):\n"
                                 "        tl.store(p, n)\n"
                                 "else:\n"
                                 "    @triton.jit\n"
                                 "    def k(p: '*i32'):\n"
                                 "        tl.store(p, 1)\n";
    for (int fast = 0; fast < 2; fast++) {
        const char *defines[] = {fast ? "FAST=True" : "FAST=False"};
        tile_compile_options o = {
            .source = source, .source_len = sizeof source - 1, .defines = defines, .ndefines = 1};
        tile_jit *jit;
        tile_kernel *found;
        tile_status st = tile_jit_create(ctx, &o, "", &jit);
        ck_assert_msg(st == TILE_OK, "%s", tile_error(ctx));
        tile_arg args[] = {tile_pointer(256), tile_i32(5)};
        ck_assert_int_eq(tile_jit_kernel(jit, args, 1 + fast, &found), TILE_OK);
        ck_assert_int_ne(tile_jit_kernel(jit, args, 2 - fast, &found), TILE_OK);
        tile_jit_destroy(jit);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("modules");
    TCase *t = tcase_create("modules");
    tcase_add_checked_fixture(t, open_cpu, close_cpu);
    tcase_add_test(t, modules_come_from_the_reader_alone);
    tcase_add_test(t, a_reader_may_fail);
    tcase_add_test(t, a_package_of_bare_folders);
    tcase_add_test(t, where_it_was_looked_for);
    tcase_add_test(t, diagnostics_name_their_file);
    tcase_add_test(t, a_cached_variant_knows_its_files);
    tcase_add_test(t, conditions_hold_at_creation);
    return run_suite(suite, t);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_artefact_faults.c: a header with variants, and a launcher, while the n-th allocation fails:
 * the same text, or none and a word of memory. */
#include "tests/check/fault_fixture.h"
#include "tests/run_suite.h"
#include "tools/tilec_artefact.h"
#include "tools/tilec_launcher.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "import triton, triton.language as tl\n"
                             "# tile: grid = cdiv(n, B)\n"
                             "@triton.jit\n"
                             "def k(p: '*fp32', n: 'i32', B: tl.constexpr = 32):\n"
                             "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
                             "    tl.store(p + i, i.to(tl.float32), mask=i < n)\n";
static const char variants[] = "p=:16,n=:16,n >= 1024,num_warps=8;p=:16,n >= 64";

static char *first, *first_header; /* what came of it when nothing failed */
static FILE *said;

static bool names_memory(void) {
    char text[4096];
    rewind(said);
    size_t n = fread(text, 1, sizeof text - 1, said);
    text[n] = '\0';
    return strstr(text, "memory") != NULL;
}

/* Takes the text. */
static void compare(char **before, char *text) {
    if (!*before) {
        *before = text;
        return;
    }
    if (!text || strcmp(*before, text)) wrong++;
    free(text);
}

/* What the program says goes into a file, which libc allocates before anything may fail. */
static tile_status make_header(void) {
    static const Messages m = {.program = "tilec", .error = "error: "};
    ArtefactOptions a = {.messages = &m, .variants = variants, .embed = "tir"};
    a.compile = (tile_compile_options){
        .source = source, .source_len = sizeof source - 1, .file_name = "k.tl"};
    FILE *screen = stderr;
    char *text;
    size_t len;
    rewind(said);
    if (ftruncate(fileno(said), 0)) wrong++;
    stderr = said;
    tile_status st = artefact_header(&a, &text, &len);
    stderr = screen;
    if (st) return names_memory() ? TILE_NO_MEMORY : st;
    compare(&first, text);
    return TILE_OK;
}

START_TEST(headers) {
    said = tmpfile();
    ck_assert_ptr_nonnull(said);
    every_call(make_header, ALLOCATION, TILE_NO_MEMORY);
    ck_assert_ptr_nonnull(strstr(first, "k_launch"));
    free(first);
    first = NULL;
    fclose(said);
}
END_TEST

/* ---- launchers, of PTX that was made before: LLVM made it ---- */

static Header header;

static tile_status make_launcher(void) {
    char error[2][600] = {"", ""};
    size_t len;
    char *text = launcher_text(&header, "k.h", &len, error[0], sizeof error[0]);
    char *head = launcher_header(&header, &len, error[1], sizeof error[1]);
    if (text && head) {
        compare(&first, text);
        compare(&first_header, head);
        return TILE_OK;
    }
    bool told = (text || strstr(error[0], "memory")) && (head || strstr(error[1], "memory"));
    free(text);
    free(head);
    return told ? TILE_NO_MEMORY : TILE_COMPILE_ERROR;
}

START_TEST(launchers) {
    enum { IMAGES = 3 };
    static const char *const label[IMAGES] = {"n >= 1024", "n >= 64", "without promises"};
    static const char *const signature[IMAGES] = {"p=:16,n=:16", "p=:16", ""};
    tile_compiled *c[IMAGES];
    HeaderImage image[IMAGES];
    for (int i = 0; i < IMAGES; i++) {
        tile_compile_options o = {.source = source,
                                  .source_len = sizeof source - 1,
                                  .signature = signature[i],
                                  .no_promises = i == IMAGES - 1};
        ck_assert_int_eq(tile_compile(&o, &c[i]), TILE_OK);
        image[i] = (HeaderImage){.variant = i,
                                 .target = "sm_80",
                                 .when = i < IMAGES - 1 ? label[i] : NULL,
                                 .data = tile_compiled_text(c[i], TILE_PART_OUTPUT, NULL)};
        image[i].size = strlen(image[i].data);
    }
    header = (Header){
        .source = "k.tl", .label = label, .nvariants = IMAGES, .image = image, .nimages = IMAGES};
    every_call(make_launcher, ALLOCATION, TILE_NO_MEMORY);
    ck_assert_ptr_nonnull(strstr(first, "k_launch"));
    free(first);
    first = NULL;
    free(first_header);
    for (int i = 0; i < IMAGES; i++) tile_compiled_free(c[i]);
}
END_TEST

int main(void) {
    Suite *s = suite_create("artefact_faults");
    TCase *t = tcase_create("artefact_faults");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, headers);
    tcase_add_test(t, launchers);
    return run_suite(s, t);
}

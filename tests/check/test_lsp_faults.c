/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_lsp_faults.c: a source with modules, compiled, and in an editor of the language server,
 * while the n-th allocation fails: what is written is what it would have been, or somebody says
 * that there was no memory. */
#include "tests/check/fault_fixture.h"
#include "tests/run_suite.h"

#include <stdio.h>
#include <string.h>

static const char kernel[] = "import triton, triton.language as tl\n"
                             "from .shapes import rows\n"
                             "from . import numbers as nu\n"
                             "@triton.jit\n"
                             "def k(p: '*i32', n, BLOCK: tl.constexpr = 16):\n"
                             "    i = rows(BLOCK) + nu.ONE\n"
                             "    tl.store(p + i, nu.twice(i), mask=i < n)\n";

static const struct {
    const char *path, *text;
} modules[] = {
    {"pkg/__init__.py", "\n"},
    {"pkg/shapes.py", "import triton, triton.language as tl\n"
                      "from .numbers import ONE, twice\n"
                      "@triton.jit\n"
                      "def rows(BLOCK: tl.constexpr):\n"
                      "    return tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) * twice(ONE)\n"},
    {"pkg/numbers.py", "import triton, triton.language as tl\n"
                       "ONE = tl.constexpr(1)\n"
                       "@triton.jit\n"
                       "def twice(x):\n"
                       "    return x * 2\n"},
};

static tile_status read_module(void *user, const char *path, size_t limit, char **text,
                               size_t *len) {
    (void)user, (void)limit;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (strcmp(modules[i].path, path)) continue;
        if (!text) return TILE_OK;
        *text = strdup(modules[i].text);
        *len = strlen(modules[i].text);
        return *text ? TILE_OK : TILE_NO_MEMORY;
    }
    return TILE_NOT_FOUND;
}

/* What a life wrote first, when nothing failed, and what this one has written. */
static char first[1 << 16], written[1 << 16];
static size_t nfirst, nwritten;

static int keep(void *user, const char *bytes, size_t len) {
    (void)user;
    if (len >= sizeof written - nwritten) return 1;
    memcpy(written + nwritten, bytes, len);
    nwritten += len;
    written[nwritten] = '\0';
    return 0;
}

/* Another text than the first without a word of memory is wrong. */
static void compare(bool memory_is_named) {
    if (!nfirst) {
        memcpy(first, written, nwritten + 1);
        nfirst = nwritten;
    } else if (strcmp(first, written) && !memory_is_named) {
        size_t same = 0;
        while (first[same] == written[same]) same++;
        same = same < 100 ? 0 : same - 100;
        fprintf(stderr, "call %d: %.300s\ninstead of %.300s\n", fails, written + same,
                first + same);
        wrong++;
    }
}

static tile_status compile(void) {
    tile_reader reader = {read_module, NULL};
    tile_compile_options o = {.source = kernel,
                              .source_len = sizeof kernel - 1,
                              .file_name = "pkg/k.py",
                              .signature = "n=i32",
                              .emit = TILE_EMIT_TIR,
                              .reader = &reader};
    tile_compiled *c = NULL;
    size_t len;
    tile_status st = tile_compile(&o, &c);
    nwritten = 0;
    const char *text = tile_compiled_text(c, TILE_PART_OUTPUT, &len);
    if (keep(NULL, text, len)) wrong++;
    if (!st) compare(false);
    tile_compiled_free(c);
    return st;
}

START_TEST(modules_that_are_compiled) {
    nfirst = 0;
    every_call(compile, ALLOCATION, TILE_NO_MEMORY);
}
END_TEST

/* ---- an editor ---- */

#define SHAPES "file:///pkg/shapes.py"
#define KERNEL "file:///pkg/k.py"
#define HEAD "{\"jsonrpc\":\"2.0\","
#define AT(line, column)                                                                           \
    "\"params\":{\"textDocument\":{\"uri\":\"" KERNEL "\"},\"position\":{\"line\":" #line          \
    ",\"character\":" #column "}"
static const char *const messages[] = {
    HEAD "\"id\":1,\"method\":\"initialize\",\"params\":{}}",
    HEAD "\"method\":\"initialized\",\"params\":{}}",
    HEAD "\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{\"uri\":\"" SHAPES
         "\",\"version\":1,\"text\":\"import triton, triton.language as tl\\n@triton.jit\\n"
         "def rows(BLOCK: tl.constexpr):\\n    return tl.arange(0, BLOCK)\\n\"}}}",
    HEAD "\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{\"uri\":\"" KERNEL
         "\",\"version\":1,\"text\":\"import triton, triton.language as tl\\n"
         "from .shapes import rows\\n@triton.jit\\ndef k(p, n, BLOCK: tl.constexpr):\\n"
         "    i = rows(BLOCK)\\n    tl.store(p + i, i, mask=i < m)\\n\"}}}",
    HEAD "\"id\":2,\"method\":\"textDocument/hover\"," AT(4, 5) "}}",
    HEAD
    "\"method\":\"textDocument/didChange\",\"params\":{\"textDocument\":{\"uri\":\"" KERNEL
    "\",\"version\":2},\"contentChanges\":[{\"range\":{\"start\":{\"line\":5,\"character\":32},"
    "\"end\":{\"line\":5,\"character\":33}},\"text\":\"n\"}]}}",
    HEAD "\"id\":3,\"method\":\"textDocument/definition\"," AT(4, 9) "}}",
    HEAD "\"id\":4,\"method\":\"textDocument/references\"," AT(
        4, 4) ",\"context\":{\"includeDeclaration\":true}}}",
    HEAD "\"id\":5,\"method\":\"textDocument/documentHighlight\"," AT(4, 4) "}}",
    HEAD
    "\"id\":6,\"method\":\"textDocument/documentSymbol\",\"params\":{\"textDocument\":{\"uri\":"
    "\"" KERNEL "\"}}}",
    HEAD "\"id\":7,\"method\":\"textDocument/completion\"," AT(4, 9) "}}",
    HEAD "\"id\":8,\"method\":\"textDocument/signatureHelp\"," AT(5, 13) "}}",
    HEAD "\"id\":9,\"method\":\"textDocument/hover\"," AT(4, 9) "}}",
    HEAD "\"method\":\"textDocument/didClose\",\"params\":{\"textDocument\":{\"uri\":\"" SHAPES
         "\"}}}",
    HEAD "\"id\":10,\"method\":\"shutdown\"}",
    HEAD "\"method\":\"exit\"}",
};

static char sent[1 << 14];
static size_t nsent, at;

/* Comes in parts; a read that finds nothing lets the server look at what is open. */
static ptrdiff_t read_sent(void *user, char *to, size_t room, int wait) {
    static const char head[] = "Content-Length: ";
    (void)user;
    if (!wait && at && strncmp(sent + at, head, sizeof head - 1) == 0) return -1;
    size_t n = nsent - at < 700 ? nsent - at : 700;
    const char *next = n > 1 ? strstr(sent + at + 1, head) : NULL;
    if (next && (size_t)(next - (sent + at)) < n) n = (size_t)(next - (sent + at));
    if (n > room) n = room;
    memcpy(to, sent + at, n);
    at += n;
    return (ptrdiff_t)n;
}

static tile_status edit(void) {
    tile_reader reader = {read_module, NULL};
    tile_compile_options o = {.reader = &reader};
    const tile_stream stream = {read_sent, keep, NULL};
    int shut_down = 0;
    at = nwritten = 0;
    tile_status st = tile_language_server(&o, &stream, &shut_down, NULL);
    if (!st && !shut_down) wrong++;
    if (!st) compare(strstr(written, "memory") != NULL);
    return st;
}

START_TEST(a_session_of_an_editor) {
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        nsent +=
            (size_t)snprintf(sent + nsent, sizeof sent - nsent, "Content-Length: %zu\r\n\r\n%s",
                             strlen(messages[i]), messages[i]);
    nfirst = 0;
    ck_assert_uint_lt(nsent, sizeof sent);
    ck_assert_int_eq(edit(), TILE_OK);
    ck_assert_ptr_null(strstr(written, "\"error\""));
    ck_assert_ptr_nonnull(strstr(written, "'m' is not defined"));
    every_call(edit, ALLOCATION, TILE_NO_MEMORY);
}
END_TEST

int main(void) {
    Suite *s = suite_create("lsp_faults");
    TCase *t = tcase_create("lsp_faults");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, modules_that_are_compiled);
    tcase_add_test(t, a_session_of_an_editor);
    return run_suite(s, t);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_lsp.c: mutated sessions of an editor through the language server.
 *
 * An input is a session, a message a line; one opens an example, changes it, asks and ends. The
 * messages get a Content-Length that is right, mostly, so that what is behind the reader is
 * reached, and arrive in pieces of any size. Whatever comes back must be frames with JSON that are
 * answers or notifications, and the server must end with a status that tile.h names. */
#include "tests/fuzz/fuzz.h"
#include "tile.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVE, ANSWERED };

enum { SESSION_MAX = 1 << 18, HEAD_BYTES = 100, MESSAGES = 12 };

/* ---- sessions ---- */

typedef struct Editor {
    FuzzRandom *r;
    const FuzzCorpus *c;
    char *text; /* the session */
    size_t len, most;
} Editor;

static void add_message(Editor *e, json_t *message) {
    char *text = json_dumps(message, JSON_COMPACT);
    size_t n = text ? strlen(text) : 0;
    json_decref(message);
    if (text && n + 1 <= e->most - e->len) {
        memcpy(e->text + e->len, text, n);
        e->text[e->len + n] = '\n';
        e->len += n + 1;
    }
    free(text);
}

static json_t *document(int version) {
    return json_pack("{s:s, s:i}", "uri",
                     version % 3 ? "file:///kernels/k.tl" : "file:///kernels/k.tir", "version",
                     version);
}

static json_t *position(const Editor *e) {
    return json_pack("{s:i, s:i}", "line", (int)fuzz_below(e->r, 80), "character",
                     (int)fuzz_below(e->r, 70));
}

/* A text of an example, perhaps only its beginning. */
static json_t *some_text(const Editor *e) {
    const FuzzFile *file = &e->c->file[fuzz_below(e->r, (size_t)e->c->nfiles)];
    return json_stringn(file->text, fuzz_below(e->r, 2) ? file->len : fuzz_below(e->r, file->len));
}

static json_t *some_message(const Editor *e, int i) {
    static const char *const methods[] = {"textDocument/hover",
                                          "textDocument/definition",
                                          "textDocument/references",
                                          "textDocument/documentHighlight",
                                          "textDocument/completion",
                                          "textDocument/signatureHelp",
                                          "textDocument/documentSymbol",
                                          "textDocument/nothing",
                                          "shutdown",
                                          "initialize"};
    switch (fuzz_below(e->r, 8)) {
    case 0:
    case 1:
        return json_pack("{s:s, s:s, s:{s:o, s:[{s:{s:o, s:o}, s:s}]}}", "jsonrpc", "2.0", "method",
                         "textDocument/didChange", "params", "textDocument", document(1),
                         "contentChanges", "range", "start", position(e), "end", position(e),
                         "text", fuzz_below(e->r, 2) ? "tl.load(" : "");
    case 2:
        return json_pack("{s:s, s:s, s:{s:o, s:[{s:o}]}}", "jsonrpc", "2.0", "method",
                         "textDocument/didChange", "params", "textDocument", document(i),
                         "contentChanges", "text", some_text(e));
    case 3:
        return json_pack("{s:s, s:s, s:{s:i}}", "jsonrpc", "2.0", "method", "$/cancelRequest",
                         "params", "id", i + (int)fuzz_below(e->r, 3));
    default:
        return json_pack("{s:s, s:i, s:s, s:{s:o, s:o, s:{s:b}}}", "jsonrpc", "2.0", "id", i,
                         "method", methods[fuzz_below(e->r, fuzz_below(e->r, 4) ? 7 : 10)],
                         "params", "textDocument", document(1), "position", position(e), "context",
                         "includeDeclaration", (int)fuzz_below(e->r, 2));
    }
}

static size_t make(FuzzRandom *r, const FuzzCorpus *c, char *room, size_t most) {
    Editor e = {.r = r, .c = c, .text = room, .most = most};
    add_message(&e, json_pack("{s:s, s:i, s:s, s:{s:{}}}", "jsonrpc", "2.0", "id", 0, "method",
                              "initialize", "params", "capabilities"));
    for (int i = 0; i < 2; i++) {
        json_t *opened = document(i);
        json_object_set_new(opened, "text", some_text(&e));
        add_message(&e, json_pack("{s:s, s:s, s:{s:o}}", "jsonrpc", "2.0", "method",
                                  "textDocument/didOpen", "params", "textDocument", opened));
    }
    for (int i = 1; i < MESSAGES; i++) add_message(&e, some_message(&e, i));
    add_message(&e, json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", "exit"));
    return e.len;
}

/* ---- the stream ---- */

typedef struct Wire {
    FuzzRandom r;
    const char *at, *end; /* of the session */
    char head[HEAD_BYTES];
    size_t head_at, head_len;
    const char *line; /* the message behind the header; NULL: none is begun */
    size_t left;      /* of it */
    char *output;
    size_t written;
} Wire;

/* With a header that fits, mostly. */
static void begin_message(Wire *w) {
    static const char *const headers[] = {"Content-Length: %zu\r\n\r\n", "Content-Length:%zu\n\n",
                                          "content-length: %zu\r\nX: y\r\n\r\n"};
    static const char *const bad[] = {"Content-Length: %zu9\r\n\r\n",
                                      "Content-Length: -%zu\r\n\r\n", "Content-Length: %zu",
                                      "\r\n%zu\r\n"};
    const char *newline = memchr(w->at, '\n', (size_t)(w->end - w->at));
    size_t n = (size_t)((newline ? newline : w->end) - w->at), said = n;
    bool breaks = !fuzz_below(&w->r, 200);
    const char *form = breaks ? bad[fuzz_below(&w->r, 4)]
                              : headers[fuzz_below(&w->r, 8) ? 0 : fuzz_below(&w->r, 3)];
    if (breaks && !fuzz_below(&w->r, 2)) said = fuzz_below(&w->r, 2 * n + 2);
    w->line = w->at;
    w->left = n;
    w->at += n + (newline != NULL);
    w->head_at = 0;
    w->head_len = (size_t)snprintf(w->head, sizeof w->head, form, said);
}

static ptrdiff_t read_stream(void *user, char *to, size_t room, int wait) {
    Wire *w = user;
    if (!wait && !fuzz_below(&w->r, 3)) return -1;
    size_t most = fuzz_below(&w->r, 4) ? room : fuzz_below(&w->r, 100) + 1, n = 0;
    if (most > room) most = room;
    while (n < most) {
        if (w->head_at == w->head_len && !w->left) {
            if (w->at == w->end) break;
            begin_message(w);
        }
        bool head = w->head_at < w->head_len;
        const char *from = head ? w->head + w->head_at : w->line;
        size_t part = head ? w->head_len - w->head_at : w->left;
        if (part > most - n) part = most - n;
        memcpy(to + n, from, part);
        n += part;
        if (head)
            w->head_at += part;
        else
            w->line += part, w->left -= part;
    }
    return (ptrdiff_t)n;
}

static int write_stream(void *user, const char *bytes, size_t len) {
    Wire *w = user;
    char *output = realloc(w->output, w->written + len + 1);
    if (!output) return -1;
    w->output = output;
    memcpy(output + w->written, bytes, len);
    w->written += len;
    output[w->written] = '\0';
    return 0;
}

/* All that was written is frames, each with a message; how many are answers. */
static int check_output(const Wire *w) {
    int answers = 0;
    for (size_t at = 0; at < w->written;) {
        size_t length = 0;
        int head = 0;
        if (sscanf(w->output + at, "Content-Length: %zu%n", &length, &head) != 1)
            fuzz_wrong("no frame", w->output + at);
        at += (size_t)head + 4;
        if (at > w->written || length > w->written - at) fuzz_wrong("a frame is cut short", NULL);
        json_t *m = json_loadb(w->output + at, length, 0, NULL);
        bool answer = json_object_get(m, "result") || json_object_get(m, "error");
        if (!m || answer == json_is_string(json_object_get(m, "method")))
            fuzz_wrong("no message", w->output + at);
        if (answer && !json_object_get(m, "id")) fuzz_wrong("an answer to nothing", NULL);
        answers += answer;
        json_decref(m);
        at += length;
    }
    return answers;
}

static int one(const uint8_t *data, size_t n) {
    Wire w = {fuzz_choices(data, n),
              (const char *)data,
              (const char *)data + n,
              "",
              0,
              0,
              NULL,
              0,
              NULL,
              0};
    const tile_stream stream = {read_stream, write_stream, &w};
    const tile_compile_options o = {.no_perf_notes = 1};
    int shut_down;
    tile_status st = tile_language_server(&o, &stream, &shut_down, NULL);
    if (st != TILE_OK && st != TILE_IO) fuzz_wrong("a status", tile_status_text(st));
    int answers = check_output(&w);
    free(w.output);
    return answers ? ANSWERED : SERVE;
}

static const char *const corpus[] = {"examples/flash_attention.tl",
                                     "examples/streamk.tl",
                                     "tests/modules/forms/kernels.py",
                                     "examples/matmul.tl",
                                     "tests/frontend/project-heuristics.py",
                                     "examples/matmul_desc.tir",
                                     NULL};
static const char *const pieces[] = {"null",
                                     "{}",
                                     "[]",
                                     "-1",
                                     "1e9",
                                     "99999999999999999999",
                                     "\"\"",
                                     "true",
                                     "\\u0000",
                                     "\\ud800",
                                     "\xff",
                                     "\\n",
                                     "\"id\":1,",
                                     "}",
                                     "]",
                                     ",",
                                     "\"",
                                     "(((((",
                                     "@triton.jit\\n",
                                     "def k(x):\\n",
                                     "tl.",
                                     "\"line\":4294967296",
                                     "\"character\":1",
                                     "\\u2028",
                                     "\xF0\x9F\x98\x80",
                                     NULL};
static const char *const stages[] = {"served", "answered", NULL};

const FuzzTarget fuzz_target = {.name = "lsp",
                                .suffix = ".session",
                                .most = SESSION_MAX,
                                .word = "$/",
                                .corpus = corpus,
                                .pieces = pieces,
                                .stages = stages,
                                .make = make,
                                .one = one};

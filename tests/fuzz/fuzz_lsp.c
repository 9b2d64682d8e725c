/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_lsp.c: mutated sessions of an editor through the language server.
 *
 *   fuzz_lsp [--seconds=N] [--seed=S] [--alarm=N] [--one=S]
 *
 * A session opens an example, changes it, asks and ends. Some of its messages are changed: bytes
 * and words of their JSON, with a Content-Length that is right, so that what is behind the reader
 * is reached; or the headers themselves. They arrive in pieces of any size. Whatever comes back
 * must be frames with JSON that are answers or notifications, and the server must end with a status
 * that tile.h names. A sanitizer build finds the rest, and an alarm what takes N seconds of the
 * processor. A session that fails is repeated by the command that is printed. */
#include "tile.h"

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { STREAM_MAX = 1 << 18, MESSAGE_MAX = 1 << 15, MESSAGES = 12, REPORT_BYTES = 128 };

typedef struct Fuzz {
    uint64_t state;
    char *source[8];
    int nsources;
    char *stream; /* what the editor sends */
    size_t len, at;
    char *output;
    size_t written;
    long sessions, answers;
    double alarm;
} Fuzz;

static char current_report[REPORT_BYTES]; /* for the handler of signals */

static uint64_t next(Fuzz *f) {
    f->state += 0x9e3779b97f4a7c15u;
    uint64_t z = f->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(Fuzz *f, size_t n) {
    return n ? (size_t)(next(f) % n) : 0;
}

static void wrong(const char *what) {
    fprintf(stderr, "fuzz_lsp: %s: %s", what, current_report);
    exit(1);
}

/* ---- sessions ---- */

static void add_bytes(Fuzz *f, const char *bytes, size_t n) {
    if (n > STREAM_MAX - f->len) return;
    memcpy(f->stream + f->len, bytes, n);
    f->len += n;
}

static size_t replace(char *text, size_t len, size_t at, size_t gone, const char *with, size_t n) {
    if (gone > len - at) gone = len - at;
    if (len - gone + n >= MESSAGE_MAX) return len;
    memmove(text + at + n, text + at + gone, len - at - gone);
    memmove(text + at, with, n);
    return len - gone + n;
}

static size_t mutate(Fuzz *f, char *text, size_t len) {
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
                                         "\xF0\x9F\x98\x80"};
    for (size_t i = below(f, 5); i; i--) {
        size_t at = below(f, len + 1);
        const char *piece = pieces[below(f, sizeof pieces / sizeof *pieces)];
        char byte = (char)next(f);
        switch (below(f, 4)) {
        case 0: len = replace(text, len, at, 1, &byte, 1); break;
        case 1: len = replace(text, len, at, below(f, 20), "", 0); break;
        case 2: len = replace(text, len, at, below(f, 8), piece, strlen(piece)); break;
        default:
            len = replace(text, len, at, 0, text + below(f, at + 1), below(f, len - at));
            break;
        }
    }
    return len;
}

/* With headers that fit, mostly. */
static void add_message(Fuzz *f, json_t *message, bool changed) {
    static const char *const headers[] = {"Content-Length: %zu\r\n\r\n", "Content-Length:%zu\n\n",
                                          "content-length: %zu\r\nX: y\r\n\r\n"};
    static const char *const bad[] = {"Content-Length: %zu9\r\n\r\n",
                                      "Content-Length: -%zu\r\n\r\n", "Content-Length: %zu",
                                      "\r\n%zu\r\n"};
    char *text = json_dumps(message, JSON_COMPACT), *room = malloc(MESSAGE_MAX), head[100];
    json_decref(message);
    size_t n = text ? strlen(text) : 0;
    if (text && room && n < MESSAGE_MAX) {
        memcpy(room, text, n);
        if (changed) n = mutate(f, room, n);
        bool breaks = changed && !below(f, 10);
        const char *form = breaks ? bad[below(f, 4)] : headers[below(f, 8) ? 0 : below(f, 3)];
        size_t said = breaks && !below(f, 2) ? below(f, 2 * n + 2) : n;
        add_bytes(f, head, (size_t)snprintf(head, sizeof head, form, said));
        add_bytes(f, room, n);
    }
    free(text);
    free(room);
}

static json_t *document(int version) {
    return json_pack("{s:s, s:i}", "uri", version % 3 ? "file:///tmp/k.tl" : "file:///tmp/k.tir",
                     "version", version);
}

static json_t *position(Fuzz *f) {
    return json_pack("{s:i, s:i}", "line", (int)below(f, 80), "character", (int)below(f, 70));
}

/* A text of an example, perhaps only its beginning. */
static json_t *some_text(Fuzz *f) {
    const char *text = f->source[below(f, (size_t)f->nsources)];
    size_t n = strlen(text);
    return json_stringn(text, below(f, 2) ? n : below(f, n));
}

static json_t *some_message(Fuzz *f, int i) {
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
    switch (below(f, 8)) {
    case 0:
    case 1:
        return json_pack("{s:s, s:s, s:{s:o, s:[{s:{s:o, s:o}, s:s}]}}", "jsonrpc", "2.0", "method",
                         "textDocument/didChange", "params", "textDocument", document(1),
                         "contentChanges", "range", "start", position(f), "end", position(f),
                         "text", below(f, 2) ? "tl.load(" : "");
    case 2:
        return json_pack("{s:s, s:s, s:{s:o, s:[{s:o}]}}", "jsonrpc", "2.0", "method",
                         "textDocument/didChange", "params", "textDocument", document(i),
                         "contentChanges", "text", some_text(f));
    case 3:
        return json_pack("{s:s, s:s, s:{s:i}}", "jsonrpc", "2.0", "method", "$/cancelRequest",
                         "params", "id", i + (int)below(f, 3));
    default:
        return json_pack("{s:s, s:i, s:s, s:{s:o, s:o, s:{s:b}}}", "jsonrpc", "2.0", "id", i,
                         "method", methods[below(f, below(f, 4) ? 7 : 10)], "params",
                         "textDocument", document(1), "position", position(f), "context",
                         "includeDeclaration", (int)below(f, 2));
    }
}

static void make_session(Fuzz *f, uint64_t seed) {
    f->state = seed;
    f->len = f->at = f->written = 0;
    add_message(f,
                json_pack("{s:s, s:i, s:s, s:{s:{}}}", "jsonrpc", "2.0", "id", 0, "method",
                          "initialize", "params", "capabilities"),
                !below(f, 20));
    for (int i = 0; i < 2; i++) {
        json_t *opened = document(i);
        json_object_set_new(opened, "text", some_text(f));
        add_message(f,
                    json_pack("{s:s, s:s, s:{s:o}}", "jsonrpc", "2.0", "method",
                              "textDocument/didOpen", "params", "textDocument", opened),
                    !below(f, 4));
    }
    for (int i = 1; i < MESSAGES; i++) add_message(f, some_message(f, i), !below(f, 4));
    add_message(f, json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", "exit"), !below(f, 4));
}

/* ---- the stream ---- */

static ptrdiff_t read_stream(void *user, char *to, size_t room, int wait) {
    Fuzz *f = user;
    size_t left = f->len - f->at, n = below(f, 4) ? left : below(f, 100) + 1;
    if (!wait && !below(f, 3)) return -1;
    if (n > left) n = left;
    if (n > room) n = room;
    memcpy(to, f->stream + f->at, n);
    f->at += n;
    return (ptrdiff_t)n;
}

static int write_stream(void *user, const char *bytes, size_t len) {
    Fuzz *f = user;
    char *output = realloc(f->output, f->written + len + 1);
    if (!output) return -1;
    f->output = output;
    memcpy(output + f->written, bytes, len);
    f->written += len;
    output[f->written] = '\0';
    return 0;
}

/* All that was written is frames, each with a message. */
static void check_output(Fuzz *f) {
    for (size_t at = 0; at < f->written;) {
        size_t length = 0;
        int head = 0;
        if (sscanf(f->output + at, "Content-Length: %zu%n", &length, &head) != 1) wrong("no frame");
        at += (size_t)head + 4;
        if (length > f->written - at) wrong("a frame is cut short");
        json_t *m = json_loadb(f->output + at, length, 0, NULL);
        bool answer = json_object_get(m, "result") || json_object_get(m, "error");
        if (!m || answer == json_is_string(json_object_get(m, "method"))) wrong("no message");
        if (answer && !json_object_get(m, "id")) wrong("an answer to nothing");
        f->answers += answer;
        json_decref(m);
        at += length;
    }
}

static void run_seed(Fuzz *f, uint64_t seed) {
    const tile_stream stream = {read_stream, write_stream, f};
    const tile_compile_options o = {.no_perf_notes = 1};
    int shut_down;
    snprintf(current_report, sizeof current_report, "--one=0x%016llx\n", (unsigned long long)seed);
    make_session(f, seed);
    long seconds = (long)f->alarm;
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = seconds}}, NULL);
    tile_status st = tile_language_server(&o, &stream, &shut_down, NULL);
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    if (st != TILE_OK && st != TILE_IO) wrong(tile_status_text(st));
    check_output(f);
    f->sessions++;
}

/* ---- the program ---- */

static void on_signal(int number) {
    ssize_t n = write(STDERR_FILENO, current_report, strlen(current_report));
    (void)n;
    signal(number, SIG_DFL);
    raise(number);
}

/* The defaults of a sanitizer build; the handler above says which session it was. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "abort_on_error=1:detect_leaks=1:allocator_may_return_null=1";
}

static void add_sources(Fuzz *f) {
    static const char *const files[] = {
        "examples/flash_attention.tl",          "examples/streamk.tl",
        "tests/modules/forms/kernels.py",       "examples/matmul.tl",
        "tests/frontend/project-heuristics.py", "examples/matmul_desc.tir"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096], *text = malloc(MESSAGE_MAX);
        snprintf(path, sizeof path, "%s/%s", TILE_SOURCE_DIR, files[i]);
        FILE *in = fopen(path, "rb");
        size_t n = text && in ? fread(text, 1, MESSAGE_MAX - 1, in) : 0;
        if (in) fclose(in);
        if (text) text[n] = '\0';
        if (n)
            f->source[f->nsources++] = text;
        else
            free(text);
    }
}

static const char *option(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    static Fuzz f = {.alarm = 20};
    double seconds = 10;
    uint64_t seed = 1, one = 0;
    for (int i = 1; i < argc; i++) {
        const char *v;
        if ((v = option(argv[i], "--seconds="))) seconds = strtod(v, NULL);
        if ((v = option(argv[i], "--seed="))) seed = strtoull(v, NULL, 0);
        if ((v = option(argv[i], "--one="))) one = strtoull(v, NULL, 0);
        if ((v = option(argv[i], "--alarm="))) f.alarm = strtod(v, NULL);
    }
    add_sources(&f);
    f.stream = malloc(STREAM_MAX);
    if (!f.nsources || !f.stream) {
        fprintf(stderr, "fuzz_lsp: no corpus\n");
        return 3;
    }
    signal(SIGABRT, on_signal);
    signal(SIGPROF, on_signal);
    double end = now() + seconds;
    if (one) run_seed(&f, one);
    for (uint64_t i = 0; !one && now() < end; i++) run_seed(&f, (seed << 32) + i);
    for (int i = 0; i < f.nsources; i++) free(f.source[i]);
    free(f.stream);
    free(f.output);
    printf("%ld sessions, %ld answers; 1 passed, 0 failed\n", f.sessions, f.answers);
    return 0;
}

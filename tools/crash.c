/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* crash.c: a compilation that fails by a bug -> a bundle (see crash.h).
 *
 * A handler of signals may do next to nothing. So all of the bundle is text before the compiler
 * starts, but for the modules, which become text as they are read; the handler writes it under
 * another name, renames it, and lets the signal do what it would have done. */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700 /* sigaltstack */
#endif
#include "tools/crash.h"

#include "tools/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 1 << 16, PATH = 4096, SIGNALS = 5 };

typedef struct Piece {
    struct Piece *before;
    char *text;
    size_t len;
} Piece;

typedef struct Crash {
    const tile_reader *files; /* the caller's */
    tile_reader reader;
    char *head;
    size_t head_len;
    Piece *last;
    char path[PATH], temp[PATH];
    char *said, *failed; /* what standard error gets */
    char *stack;
    stack_t old_stack;
    struct sigaction old[SIGNALS];
} Crash;

static const struct {
    int number;
    const char *record; /* the bundle's last */
} signals[SIGNALS] = {
    {SIGSEGV, "message 0 7\n\nSIGSEGV\n"}, {SIGBUS, "message 0 6\n\nSIGBUS\n"},
    {SIGILL, "message 0 6\n\nSIGILL\n"},   {SIGFPE, "message 0 6\n\nSIGFPE\n"},
    {SIGABRT, "message 0 7\n\nSIGABRT\n"},
};

/* A handler gets no argument of ours, so this is the one global: what is being compiled. */
static Crash *volatile current;

/* ---- in a handler, too: nothing here allocates or prints by stdio ---- */

static bool write_all(int fd, const char *text, size_t len) {
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

static void write_bundle(const Crash *c, const char *record, size_t len) {
    int fd = open(c->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* sources are private */
    bool ok = fd >= 0 && write_all(fd, c->head, c->head_len);
    for (const Piece *p = c->last; ok && p; p = p->before) ok = write_all(fd, p->text, p->len);
    ok = ok && write_all(fd, record, len) && fsync(fd) == 0;
    if (fd >= 0) ok = close(fd) == 0 && ok;
    ok = ok && rename(c->temp, c->path) == 0;
    if (fd >= 0 && !ok) unlink(c->temp);
    const char *text = ok ? c->said : c->failed;
    write_all(STDERR_FILENO, text, strlen(text));
}

static void ignore_signals(Crash *c) {
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i].number, &c->old[i], NULL);
}

/* The second signal, of this handler or after it, finds everything as it was. */
static void on_signal(int number) {
    Crash *c = current;
    current = NULL;
    if (c) {
        ignore_signals(c);
        for (int i = 0; i < SIGNALS; i++)
            if (signals[i].number == number)
                write_bundle(c, signals[i].record, strlen(signals[i].record));
    }
    raise(number); /* once this returns */
}

/* ---- before and after ---- */

static void keep(Crash *c, const char *kind, const char *path, const char *text, size_t len) {
    Piece *p = calloc(1, sizeof *p);
    FILE *out = p ? open_memstream(&p->text, &p->len) : NULL;
    if (out) bundle_put(out, kind, path, text, len);
    if (!out || fclose(out)) {
        free(p);
        return;
    }
    p->before = c->last;
    c->last = p;
}

static tile_status read_and_keep(void *user, const char *path, size_t limit, char **text,
                                 size_t *len) {
    Crash *c = user;
    tile_status st = c->files->read(c->files->user, path, limit, text, len);
    if (!st) keep(c, text ? "file" : "there", path, text ? *text : NULL, text ? *len : 0);
    return st;
}

/* The line of standard error for one outcome. */
static char *line_of(const Messages *m, const char *before, const char *path, const char *after) {
    char *line = NULL, *text = malloc(PATH + 400);
    size_t len;
    FILE *out = text ? open_memstream(&line, &len) : NULL;
    if (text) snprintf(text, PATH + 400, "%s'%s'%s", before, path, after);
    const tile_diagnostic d = {.severity = TILE_SEVERITY_ERROR, .text = text};
    if (out && m->json) messages_write(out, code_text(E_BUG), &d);
    if (out && !m->json)
        fprintf(out, "%s: %s%s [%s]\n", m->program, m->error, text, code_text(E_BUG));
    if (out) fclose(out);
    free(text);
    return line;
}

static void end(Crash *c) {
    for (Piece *p = c->last, *before; p; p = before) {
        before = p->before;
        free(p->text);
        free(p);
    }
    free(c->head);
    free(c->said);
    free(c->failed);
    free(c->stack);
    free(c);
}

/* NULL: none is wanted, or there is no memory for one. */
static Crash *begin(const Messages *m, const tile_compile_options *o) {
    const char *folder = getenv("TILEC_CRASH_DIR");
    struct timespec now;
    if (folder && !*folder) return NULL;
    if (!folder) folder = ".";
    Crash *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    clock_gettime(CLOCK_REALTIME, &now);
    char name[80];
    snprintf(name, sizeof name, "tilec-crash-%lld.%09ld-%ld.bundle", (long long)now.tv_sec,
             now.tv_nsec, (long)getpid());
    int n = snprintf(c->path, PATH, "%s/%s", folder, name);
    int k = snprintf(c->temp, PATH, "%s/.%s.tmp", folder, name);
    c->said = line_of(m, "this is a bug in tilec: ", c->path,
                      " has the source, the modules and the options, and was sent to nobody; "
                      "'tilec --reproduce' does it again");
    c->failed = line_of(m, "this is a bug in tilec, and the bundle ", c->path,
                        " that would show it could not be written: $TILEC_CRASH_DIR says where");
    c->stack = malloc(STACK);
    FILE *out = open_memstream(&c->head, &c->head_len);
    if (out) bundle_put_options(out, o);
    if (!out || fclose(out) || !c->said || !c->failed || !c->stack || n >= PATH || k >= PATH) {
        end(c);
        return NULL;
    }
    c->files = o->reader;
    c->reader = (tile_reader){read_and_keep, c};
    return c;
}

static void watch(Crash *c) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_sp = c->stack, .ss_size = STACK}; /* the other one may be full */
    sigemptyset(&action.sa_mask);
    sigaltstack(&stack, &c->old_stack);
    current = c;
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i].number, &action, &c->old[i]);
}

static void unwatch(Crash *c) {
    ignore_signals(c);
    current = NULL;
    if (!(c->old_stack.ss_flags & SS_ONSTACK)) sigaltstack(&c->old_stack, NULL);
}

tile_status crash_compile(const Messages *m, const tile_compile_options *options,
                          tile_compiled **out) {
    Crash *c = begin(m, options);
    if (!c) return tile_compile(options, out);
    tile_compile_options o = *options;
    if (o.reader) o.reader = &c->reader;
    watch(c);
    tile_status st = tile_compile(&o, out);
    unwatch(c);
    if (st == TILE_INTERNAL) {
        char *record = NULL;
        size_t len, n;
        const char *text = tile_compiled_text(*out, TILE_PART_DIAGNOSTICS, &n);
        FILE *to = open_memstream(&record, &len);
        if (to) bundle_put(to, "message", "", text, n);
        if (to && fclose(to) == 0) write_bundle(c, record, len);
        free(record);
    }
    end(c);
    return st;
}

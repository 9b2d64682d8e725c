/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_cache.c: the JIT's cache on disk -> a list of it, with pins, and without what nobody pinned
 * (see tilec_cache.h). */
#include "tools/tilec_cache.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

typedef struct View {
    int64_t now;
    bool json;
    int n;
    uint64_t bytes;
} View;

/* "4 min": in the largest unit of which there is one. */
static const char *span_text(int64_t seconds, char text[32]) {
    static const struct {
        int64_t seconds;
        const char *name;
    } unit[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t i = 0;
    if (seconds < 0) seconds = 0; /* clocks of file systems differ */
    while (i + 1 < sizeof unit / sizeof *unit && seconds < unit[i].seconds) i++;
    snprintf(text, 32, "%" PRId64 " %s", seconds / unit[i].seconds, unit[i].name);
    return text;
}

static const char *size_text(uint64_t bytes, char text[32]) {
    if (bytes < 1u << 20)
        snprintf(text, 32, "%.1f KB", (double)bytes / (1 << 10));
    else
        snprintf(text, 32, "%.1f MB", (double)bytes / (1 << 20));
    return text;
}

/* What a source and its options say may hold anything; a terminal gets characters. */
static void put_plain(const char *before, const char *s) {
    if (!*s) return;
    fputs(before, stdout);
    for (; *s; s++) putchar((unsigned char)*s < ' ' || *s == 127 ? '?' : *s);
    putchar('\n');
}

static void see_text(View *v, const tile_jit_cached *e) {
    char size[32], span[32];
    printf("%s  %s", e->id, size_text(e->bytes, size));
    if (e->made) printf(", made %s ago", span_text(v->now - e->made, span));
    printf(", used %s ago%s\n", span_text(v->now - e->used, span), e->pinned ? ", pinned" : "");
    if (!e->usable) {
        puts("    of another version of tilec, or damaged: it is not used");
        return;
    }
    printf("    %s on %s", e->kernel, e->target);
    put_plain(", of ", *e->file ? e->file : "a source without a name");
    put_plain("    ", e->signature);
    put_plain("    ", e->options);
}

static void see_json(const View *v, const tile_jit_cached *e) {
    const struct {
        const char *key, *text;
    } field[] = {{"kernel", e->kernel},
                 {"target", e->target},
                 {"file", e->file},
                 {"signature", e->signature},
                 {"options", e->options}};
    printf("%s\n{\"id\": \"%s\", \"bytes\": %" PRIu64 ", \"used\": %" PRId64, v->n ? "," : "",
           e->id, e->bytes, e->used);
    if (e->made) printf(", \"made\": %" PRId64, e->made);
    printf(", \"pinned\": %s", e->pinned ? "true" : "false");
    for (size_t i = 0; e->usable && i < sizeof field / sizeof *field; i++) {
        printf(", \"%s\": ", field[i].key);
        messages_put_text(stdout, field[i].text);
    }
    putchar('}');
}

static void see(void *user, const tile_jit_cached *e) {
    View *v = user;
    if (v->json)
        see_json(v, e);
    else
        see_text(v, e);
    v->n++;
    v->bytes += e->bytes;
}

static tile_status list(bool json) {
    View v = {.now = (int64_t)time(NULL), .json = json};
    char size[32];
    if (json) putchar('[');
    tile_status st = tile_jit_cache_list(NULL, see, &v);
    if (st == TILE_NOT_FOUND) st = TILE_OK; /* nothing was compiled yet */
    if (json)
        puts("]");
    else if (!st)
        printf("%d variant%s, %s\n", v.n, v.n == 1 ? "" : "s", size_text(v.bytes, size));
    return st;
}

static tile_status clear(bool all) {
    int n = 0;
    uint64_t bytes = 0;
    char size[32];
    tile_status st = tile_jit_cache_clear(NULL, all, &n, &bytes);
    if (st == TILE_NOT_FOUND) st = TILE_OK;
    printf("removed %d variant%s, %s\n", n, n == 1 ? "" : "s", size_text(bytes, size));
    return st;
}

static bool begins(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

static tile_status pin(const Messages *m, const char *id, bool pinned) {
    tile_status st = tile_jit_cache_pin(NULL, id, pinned);
    if (st == TILE_NOT_FOUND || st == TILE_INVALID)
        message(m, E_COMMAND_LINE, "--cache: %s begins with '%s'",
                st == TILE_INVALID ? "more than one id" : "no id", id);
    return st;
}

tile_status cache_command(const Messages *m, const char *what) {
    tile_status st;
    if (!what || strcmp(what, "list") == 0)
        st = list(false);
    else if (strcmp(what, "json") == 0)
        st = list(true);
    else if (strcmp(what, "clear") == 0 || strcmp(what, "clear:all") == 0)
        st = clear(strchr(what, ':') != NULL);
    else if (begins(what, "pin:") || begins(what, "unpin:"))
        st = pin(m, strchr(what, ':') + 1, what[0] == 'p');
    else {
        message(m, E_COMMAND_LINE,
                "--cache is list, json, pin:ID, unpin:ID, clear or clear:all, not '%s'", what);
        return TILE_INVALID;
    }
    if (st == TILE_IO)
        message(m, R_IO, "--cache: the folder cannot be read, or changed");
    else if (st == TILE_NO_MEMORY)
        message(m, R_NO_MEMORY, "--cache: %s", tile_status_text(st));
    return st;
}

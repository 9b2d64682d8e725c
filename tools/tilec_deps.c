/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_deps.c: the file system's reader, with a list of what it read; the list as a rule for make
 * (see tilec_deps.h). */
#include "tools/tilec_deps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add(Deps *d, const char *path) {
    for (int i = 0; i < d->n; i++)
        if (strcmp(d->path[i], path) == 0) return true;
    if (d->n == d->cap) {
        int cap = d->cap ? 2 * d->cap : 16;
        char **more = realloc(d->path, (size_t)cap * sizeof *more);
        if (!more) return false;
        d->path = more;
        d->cap = cap;
    }
    d->path[d->n] = strdup(path);
    return d->path[d->n] && ++d->n;
}

static tile_status read_and_note(void *user, const char *path, size_t limit, char **text,
                                 size_t *len) {
    Deps *d = user;
    const tile_reader *files = tile_file_reader();
    tile_status st = files->read(files->user, path, limit, text, len);
    if (st == TILE_OK && text && !add(d, path)) d->incomplete = true;
    return st;
}

void deps_begin(Deps *d) {
    d->reader = (tile_reader){read_and_note, d};
}

/* A file's name as make reads it. */
static void put_name(FILE *out, const char *name) {
    for (const char *c = name; *c; c++) {
        if (*c == ' ' || *c == '\t') { /* and the backslashes before it count double */
            for (const char *b = c; b > name && b[-1] == '\\'; b--) fputc('\\', out);
            fputc('\\', out);
        }
        if (*c == '#') fputc('\\', out);
        if (*c == '$') fputc('$', out);
        fputc(*c, out);
    }
}

char *deps_rule(const Deps *d, const char *output, const char *input) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = d->incomplete ? NULL : open_memstream(&text, &size);
    if (!out) return NULL;
    put_name(out, output);
    fputs(": ", out);
    put_name(out, input);
    for (int i = 0; i < d->n; i++) {
        fputs(" \\\n  ", out);
        put_name(out, d->path[i]);
    }
    fputc('\n', out);
    bool failed = ferror(out);
    if (fclose(out) == 0 && !failed) return text;
    free(text);
    return NULL;
}

void deps_free(Deps *d) {
    for (int i = 0; i < d->n; i++) free(d->path[i]);
    free(d->path);
}

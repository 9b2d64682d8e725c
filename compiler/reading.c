/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reading.c: modules through the caller's reader, and the list of what was asked for (see
 * reading.h). */
#include "compiler/reading.h"

#include "base/file.h"
#include "frontend/syntax/ast.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { DIGEST_TEXT = 33 };

/* ---- files of the file system ---- */

static tile_status read_regular(void *user, const char *path, size_t limit, char **text,
                                size_t *len) {
    (void)user;
    struct stat st;
    FileError error;
    if (stat(path, &st)) {
        bool absent = errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG;
        return absent ? TILE_NOT_FOUND : TILE_IO;
    }
    if (!S_ISREG(st.st_mode)) return TILE_NOT_FOUND;
    if (!text) return TILE_OK;
    if (file_read(path, limit, text, len, &error)) return TILE_OK;
    return error.out_of_memory ? TILE_NO_MEMORY : TILE_IO;
}

const tile_reader *tile_file_reader(void) {
    static const tile_reader reader = {read_regular, NULL};
    return &reader;
}

/* ---- and what was asked for ---- */

/* What a question's answer is called; text NULL: nothing was read. */
static void name_answer(char out[DIGEST_TEXT], tile_status st, const char *text, size_t len) {
    if (st != TILE_OK || !text) {
        snprintf(out, DIGEST_TEXT, "%s", st == TILE_NOT_FOUND ? "-" : st == TILE_OK ? "+" : "!");
        return;
    }
    XXH128_hash_t h = XXH3_128bits(text, len);
    snprintf(out, DIGEST_TEXT, "%016llx%016llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64);
}

/* Paths with a newline, which lists could not hold, are not there. */
static tile_status ask(const tile_reader *reader, const char *path, size_t limit, char **text,
                       size_t *len) {
    if (strchr(path, '\n')) return TILE_NOT_FOUND;
    return reader->read(reader->user, path, limit, text, len);
}

static ReadResult read_module(void *user, const char *path, size_t limit, char **text,
                              size_t *len) {
    Reading *r = user;
    char answer[DIGEST_TEXT];
    tile_status st = ask(r->reader, path, limit, text, len);
    if (st == TILE_OK && text && !*text) st = TILE_IO; /* a reader that gives nothing */
    if (st != TILE_OK && text) *text = NULL;           /* whatever it left there */
    name_answer(answer, st, text ? *text : NULL, len ? *len : 0);
    buf_printf(&r->looked, "%s %s\n", answer, path);
    if (st == TILE_OK && text) buf_printf(&r->files, "%s\n", path);
    switch (st) {
    case TILE_OK: return READ_DONE;
    case TILE_NOT_FOUND: return READ_ABSENT;
    case TILE_NO_MEMORY: return READ_NO_MEMORY;
    default: return READ_FAILED;
    }
}

void reading_begin(Reading *r, Arena *a, const tile_reader *reader) {
    *r = (Reading){reader, buf_new(a), buf_new(a)};
}

SourceReader reading_source(Reading *r) {
    return (SourceReader){r->reader && r->reader->read ? read_module : NULL, r};
}

bool reading_same(const tile_reader *reader, const char *looked, size_t len) {
    const char *end = looked + len;
    bool same = true;
    while (looked < end && same) {
        const char *space = memchr(looked, ' ', (size_t)(end - looked));
        const char *stop = memchr(looked, '\n', (size_t)(end - looked));
        if (!reader || !space || !stop || space > stop) return false;
        char answer[DIGEST_TEXT], *text = NULL,
                                  *path = strndup(space + 1, (size_t)(stop - space - 1));
        bool content = space - looked == DIGEST_TEXT - 1;
        size_t n = 0;
        if (!path) return false;
        tile_status st =
            ask(reader, path, (size_t)SOURCE_LIMIT_MB << 20, content ? &text : NULL, &n);
        if (st != TILE_OK) text = NULL;
        name_answer(answer, st, text, n);
        same = strlen(answer) == (size_t)(space - looked) &&
               memcmp(answer, looked, (size_t)(space - looked)) == 0;
        free(text);
        free(path);
        looked = stop + 1;
    }
    return same;
}

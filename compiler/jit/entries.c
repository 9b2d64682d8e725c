/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* entries.c: the cache's entries -> what each was made of, for people who look after it: the keys
 * that build.c makes, read back. */
#include "compiler/fields.h"
#include "compiler/jit/cache.h"

#include <stdlib.h>
#include <string.h>

extern const char compiler_digest[]; /* of the compiler's sources: digest.c, generated */

enum { WORDS = 2000 };

/* The texts of one entry; what does not fit is left out. */
typedef struct Words {
    char kernel[WORDS], target[WORDS], signature[WORDS], file[WORDS], options[WORDS];
} Words;

typedef struct Viewer {
    void (*see)(void *user, const tile_jit_cached *entry);
    void *user;
    Words *words;
} Viewer;

static void append(char *to, const char *text, size_t n) {
    size_t had = strlen(to);
    if (n > WORDS - 1 - had) n = WORDS - 1 - had;
    memcpy(to + had, text, n);
    to[had + n] = '\0';
}

/* Fields that have a text of their own, and all others as NAME=VALUE. */
static void see_option(void *user, const char *name, const char *value, size_t n) {
    Words *w = user;
    const struct {
        const char *name;
        char *to;
    } own[] = {{"kernel", w->kernel},
               {"target", w->target},
               {"signature", w->signature},
               {"file_name", w->file}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i].name, name) == 0) {
            append(own[i].to, value, n);
            return;
        }
    if (strcmp(name, "emit") == 0) return; /* the target says it */
    if (w->options[0]) append(w->options, " ", 1);
    if (strcmp(name, "defines")) {
        append(w->options, name, strlen(name));
        append(w->options, "=", 1);
    }
    append(w->options, value, n);
}

/* The options behind the digest's line. False: they are another compiler's, which may have others.
 */
static bool read_key(CacheText key, Words *w) {
    size_t n = strlen(compiler_digest);
    *w = (Words){.kernel = ""};
    bool ours = key.data && key.len > n && memcmp(key.data, compiler_digest, n) == 0 &&
                key.data[n] == '\n' &&
                fields_read_key(key.data + n + 1, key.len - n - 1, NO_KEY, see_option, w);
    if (!ours) *w = (Words){.kernel = ""};
    return ours;
}

static void see_entry(void *user, const CacheEntry *e) {
    const Viewer *v = user;
    Words *w = v->words;
    bool usable = read_key(e->key, w);
    if (usable && !w->target[0]) append(w->target, "cpu", 3);
    const tile_jit_cached entry = {.id = e->id,
                                   .kernel = w->kernel,
                                   .target = w->target,
                                   .signature = w->signature,
                                   .file = w->file,
                                   .options = w->options,
                                   .bytes = e->bytes,
                                   .made = e->made,
                                   .used = e->used,
                                   .pinned = e->pinned,
                                   .usable = usable};
    v->see(v->user, &entry);
}

tile_status tile_jit_cache_list(const char *cache_folder,
                                void (*see)(void *user, const tile_jit_cached *entry), void *user) {
    if (!see) return TILE_INVALID;
    char *folder = cache_find(cache_folder);
    Viewer v = {see, user, folder ? malloc(sizeof *v.words) : NULL};
    tile_status st = !folder ? TILE_NOT_FOUND : !v.words ? TILE_NO_MEMORY : TILE_OK;
    if (!st && !cache_each(folder, see_entry, &v)) st = TILE_IO;
    free(v.words);
    free(folder);
    return st;
}

tile_status tile_jit_cache_pin(const char *cache_folder, const char *id, int pinned) {
    if (!id) return TILE_INVALID;
    char *folder = cache_find(cache_folder);
    int n = folder ? cache_pin(folder, id, pinned != 0) : 0;
    free(folder);
    return n < 0 ? TILE_IO : n == 0 ? TILE_NOT_FOUND : n == 1 ? TILE_OK : TILE_INVALID;
}

tile_status tile_jit_cache_clear(const char *cache_folder, int all, int *removed, uint64_t *bytes) {
    int n = 0;
    uint64_t size = 0;
    char *folder = cache_find(cache_folder);
    tile_status st = !folder                                    ? TILE_NOT_FOUND
                     : cache_clear(folder, all != 0, &n, &size) ? TILE_OK
                                                                : TILE_IO;
    free(folder);
    if (removed) *removed = n;
    if (bytes) *bytes = size;
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cache.h: compiled texts on disk, found again by what they were made from.
 *
 * A folder with one file for each entry. An entry holds its whole key and a hash of itself, so that
 * one that is torn, stale or made up is as good as none; it is written under another name and
 * renamed, so that processes that are killed, or race, leave a whole entry or nothing. A cache may
 * fail at everything: then things are compiled again, and nobody is told. */
#ifndef TILE_COMPILER_JIT_CACHE_H
#define TILE_COMPILER_JIT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CacheText {
    const char *data;
    size_t len;
} CacheText;

/* The folder to use, malloc'ed and made if need be: `wanted` if it is not NULL, else $TILEC_CACHE,
 * $XDG_CACHE_HOME/tilec, $HOME/.cache/tilec. NULL when it is "", cannot be made, or could be
 * written by another user, whose code this process would run. *limit: its size in bytes,
 * $TILEC_CACHE_MB or 512 MB. */
char *cache_open(const char *wanted, uint64_t *limit);
/* The same folder where it is there already; it is not made. */
char *cache_find(const char *wanted);
/* The text that was put under this key, malloc'ed and NUL-terminated; NULL when there is none. */
char *cache_get(const char *folder, CacheText key, size_t *len);
/* Keeps a copy, then removes the entries that were not used for longest while all of them together
 * are larger than `limit`, but none that is pinned. */
void cache_put(const char *folder, CacheText key, CacheText text, uint64_t limit);

/* ---- for those who look after it; processes may use it meanwhile ---- */

enum { CACHE_ID = 64 };
typedef struct CacheEntry {
    const char *id; /* the key's hash, in hexadecimal */
    CacheText key;  /* data NULL: the entry is torn, or none of ours */
    uint64_t bytes;
    int64_t made, used; /* seconds since 1970; made 0: the file system does not say */
    bool pinned;
} CacheEntry;

/* Shows all entries, the one that was used last first; that is no use of them. */
bool cache_each(const char *folder, void (*see)(void *user, const CacheEntry *entry), void *user);
/* Pins the entry whose id begins so, or no longer. How many begin so: nothing was done where that
 * is not 1. -1: the system refuses. */
int cache_pin(const char *folder, const char *id, bool pinned);
/* Removes all entries that are not pinned; with `all` those, too. False: some could not be. */
bool cache_clear(const char *folder, bool all, int *removed, uint64_t *bytes);

#endif

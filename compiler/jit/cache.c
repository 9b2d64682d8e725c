/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cache.c: keys and texts <-> files of a folder that many processes share (see cache.h).
 *
 * An entry is a Head, the key, the text. Its name is the key's hash; two keys of one hash take
 * turns, for the key itself is compared. The time of a file is when it was last of use, so that
 * the oldest is the one to go. An empty file NAME.pin beside it keeps it from going. */
#define _GNU_SOURCE /* statx */
#include "compiler/jit/cache.h"

#include "base/file.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    DEFAULT_LIMIT_MB = 512,
    MOST_LIMIT_MB = 1 << 20,
    ENTRY_LIMIT_MB = 256,
    FRESH_SECONDS = 60,  /* a file this young need not be marked as used */
    STALE_SECONDS = 3600 /* a draft this old was left by a process that is gone */
};

static const char magic[16] = "tilec cache 1\n";
static const char suffix[] = ".tilec", pin_suffix[] = ".pin";

typedef struct Head {
    char magic[16];
    uint64_t key_len, text_len;
    uint64_t hash[2]; /* of all that follows, seeded with the key's length */
} Head;

static void hash_of(const void *data, size_t len, uint64_t seed, uint64_t out[2]) {
    XXH128_hash_t h = XXH3_128bits_withSeed(data, len, seed);
    out[0] = h.low64;
    out[1] = h.high64;
}

/* ---- the folder ---- */

static char *joined(const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static char *choose_folder(const char *wanted) {
    const char *own = wanted ? wanted : getenv("TILEC_CACHE");
    if (own) return *own ? strdup(own) : NULL;
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base && *base == '/') return joined(base, "tilec"); /* a relative one is to be ignored */
    return home && *home == '/' ? joined(home, ".cache/tilec") : NULL;
}

/* Makes the folder and those above it that are missing, for this user alone. */
static bool make_folders(char *path) {
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = '\0';
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *at = '/';
        if (!ok) return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static uint64_t limit_of_environment(void) {
    const char *text = getenv("TILEC_CACHE_MB");
    char *end = NULL;
    unsigned long mb = text ? strtoul(text, &end, 10) : 0;
    bool good = text && *text >= '0' && *text <= '9' && !*end && mb <= MOST_LIMIT_MB;
    return (uint64_t)(good ? mb : DEFAULT_LIMIT_MB) << 20;
}

/* The folder if it is there and nobody else's; else it is freed. */
static char *trusted(char *folder) {
    struct stat st;
    if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
        !(st.st_mode & (S_IWGRP | S_IWOTH)))
        return folder;
    free(folder);
    return NULL;
}

char *cache_open(const char *wanted, uint64_t *limit) {
    *limit = limit_of_environment();
    char *folder = choose_folder(wanted);
    if (!folder) return NULL;
    make_folders(folder);
    return trusted(folder);
}

char *cache_find(const char *wanted) {
    char *folder = choose_folder(wanted);
    return folder ? trusted(folder) : NULL;
}

static char *entry_path(const char *folder, CacheText key) {
    uint64_t hash[2];
    char name[64];
    hash_of(key.data, key.len, 0, hash);
    snprintf(name, sizeof name, "%016llx%016llx%s", (unsigned long long)hash[1],
             (unsigned long long)hash[0], suffix);
    return joined(folder, name);
}

/* ---- entries ---- */

/* The bytes of a regular file of at least a Head; NULL otherwise. `use`: it is of use now. */
static char *read_entry(const char *path, bool use, size_t *len) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    char *data = NULL;
    size_t n = 0;
    if (fd < 0) return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof(Head) &&
        st.st_size <= (off_t)ENTRY_LIMIT_MB << 20)
        data = malloc((size_t)st.st_size + 1);
    while (data && n < (size_t)st.st_size) {
        ssize_t got = read(fd, data + n, (size_t)st.st_size - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    if (data && use && time(NULL) - st.st_mtime > FRESH_SECONDS) futimens(fd, NULL);
    close(fd);
    if (data) data[n] = '\0';
    *len = n;
    return data;
}

/* Is this an entry, whole? */
static bool is_whole(const char *data, size_t len, Head *head) {
    if (len < sizeof *head) return false;
    memcpy(head, data, sizeof *head);
    size_t rest = len - sizeof *head;
    uint64_t hash[2];
    if (memcmp(head->magic, magic, sizeof magic) || head->key_len > rest ||
        head->text_len != rest - head->key_len)
        return false;
    hash_of(data + sizeof *head, rest, head->key_len, hash);
    return hash[0] == head->hash[0] && hash[1] == head->hash[1];
}

/* Is this the entry of the key, whole? */
static bool check_entry(const char *data, size_t len, CacheText key, Head *head) {
    return is_whole(data, len, head) && head->key_len == key.len &&
           memcmp(data + sizeof *head, key.data, key.len) == 0;
}

char *cache_get(const char *folder, CacheText key, size_t *len) {
    char *path = folder ? entry_path(folder, key) : NULL;
    size_t size;
    char *data = path ? read_entry(path, true, &size) : NULL;
    Head head;
    free(path);
    if (!data) return NULL;
    if (!check_entry(data, size, key, &head)) {
        free(data);
        return NULL;
    }
    *len = (size_t)head.text_len;
    memmove(data, data + sizeof head + key.len, *len + 1);
    return data;
}

/* ---- making room ---- */

typedef struct Entry {
    char *path;
    uint64_t bytes;
    struct timespec used;
} Entry;

static int by_age(const void *a, const void *b) {
    const struct timespec *x = &((const Entry *)a)->used, *y = &((const Entry *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

typedef struct Listing {
    Entry *entry;
    size_t n, cap;
    uint64_t bytes;
} Listing;

/* Adds a file of the folder; what a killed process left of an entry is removed. */
static void list_file(Listing *l, const char *folder, const char *name, time_t now) {
    bool draft = name[0] == '.' && text_ends_in(name, ".tmp"), entry = text_ends_in(name, suffix);
    struct stat st;
    char *path = draft || entry ? joined(folder, name) : NULL;
    if (!path || lstat(path, &st) || !S_ISREG(st.st_mode)) {
        free(path);
        return;
    }
    if (entry && l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 256;
        Entry *grown = realloc(l->entry, cap * sizeof *grown);
        if (grown) {
            l->entry = grown;
            l->cap = cap;
        }
    }
    if (draft && now - st.st_mtime > STALE_SECONDS) unlink(path);
    if (!entry || l->n == l->cap) {
        free(path);
        return;
    }
    l->entry[l->n++] = (Entry){path, (uint64_t)st.st_size, st.st_mtim};
    l->bytes += (uint64_t)st.st_size;
}

static bool list_folder(const char *folder, Listing *l) {
    DIR *dir = opendir(folder);
    *l = (Listing){.entry = NULL};
    if (!dir) return false;
    time_t now = time(NULL);
    for (const struct dirent *d; (d = readdir(dir));) list_file(l, folder, d->d_name, now);
    closedir(dir);
    return true;
}

static void sort(Listing *l) {
    if (l->n) qsort(l->entry, l->n, sizeof *l->entry, by_age);
}

static void free_listing(Listing *l) {
    for (size_t i = 0; i < l->n; i++) free(l->entry[i].path);
    free(l->entry);
}

static char *pin_path(const char *path) {
    size_t size = strlen(path) + sizeof pin_suffix;
    char *pin = malloc(size);
    if (pin) snprintf(pin, size, "%s%s", path, pin_suffix);
    return pin;
}

/* Where that cannot be told, it is: nothing that somebody wants kept goes by mistake. */
static bool is_pinned(const char *path) {
    char *pin = pin_path(path);
    bool pinned = !pin || access(pin, F_OK) == 0;
    free(pin);
    return pinned;
}

static void make_room(const char *folder, uint64_t limit) {
    Listing l;
    if (!list_folder(folder, &l)) return;
    if (l.bytes > limit) {
        sort(&l);
        uint64_t goal = limit - limit / 8; /* so that not every entry makes the next one go */
        for (size_t i = 0; i < l.n && l.bytes > goal; i++) {
            if (is_pinned(l.entry[i].path)) continue;
            unlink(l.entry[i].path);
            l.bytes -= l.entry[i].bytes;
        }
    }
    free_listing(&l);
}

void cache_put(const char *folder, CacheText key, CacheText text, uint64_t limit) {
    size_t body = key.len + text.len, size = sizeof(Head) + body;
    if (!folder || size > limit || size > (size_t)ENTRY_LIMIT_MB << 20) return;
    char *path = entry_path(folder, key), *data = malloc(size);
    Head head = {.key_len = key.len, .text_len = text.len};
    FileError error;
    if (path && data) {
        memcpy(head.magic, magic, sizeof magic);
        memcpy(data + sizeof head, key.data, key.len);
        memcpy(data + sizeof head + key.len, text.data, text.len);
        hash_of(data + sizeof head, body, key.len, head.hash);
        memcpy(data, &head, sizeof head);
        struct stat st;
        /* file_write follows links and keeps away from what is read-only. */
        if (lstat(path, &st) == 0 && (!S_ISREG(st.st_mode) || access(path, W_OK))) unlink(path);
        if (file_write(path, data, size, &error)) make_room(folder, limit);
    }
    free(data);
    free(path);
}

/* ---- for those who look after it ---- */

static int64_t made_at(const char *path) {
    struct statx sx;
    bool known = statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &sx) == 0 &&
                 sx.stx_mask & STATX_BTIME;
    return known ? (int64_t)sx.stx_btime.tv_sec : 0;
}

/* Into id, what the entry is called: its name without the end. */
static const char *id_of(const Entry *e, char id[CACHE_ID]) {
    const char *name = file_base_name(e->path);
    snprintf(id, CACHE_ID, "%.*s", (int)(strlen(name) - strlen(suffix)), name);
    return id;
}

static void show(const Entry *e, void (*see)(void *user, const CacheEntry *entry), void *user) {
    size_t len;
    char id[CACHE_ID], *data = read_entry(e->path, false, &len);
    Head head;
    CacheEntry shown = {.id = id_of(e, id), .bytes = e->bytes, .used = (int64_t)e->used.tv_sec};
    if (!data && access(e->path, F_OK)) return; /* another process has removed it */
    if (data && is_whole(data, len, &head))
        shown.key = (CacheText){data + sizeof head, (size_t)head.key_len};
    shown.made = made_at(e->path);
    shown.pinned = is_pinned(e->path);
    see(user, &shown);
    free(data);
}

bool cache_each(const char *folder, void (*see)(void *user, const CacheEntry *entry), void *user) {
    Listing l;
    if (!list_folder(folder, &l)) return false;
    sort(&l);
    for (size_t i = l.n; i-- > 0;) show(&l.entry[i], see, user);
    free_listing(&l);
    return true;
}

int cache_pin(const char *folder, const char *id, bool pinned) {
    Listing l;
    if (!list_folder(folder, &l)) return -1;
    const Entry *found = NULL;
    int n = 0, result;
    char name[CACHE_ID];
    for (size_t i = 0; i < l.n; i++)
        if (*id && strncmp(id_of(&l.entry[i], name), id, strlen(id)) == 0) {
            found = &l.entry[i];
            n++;
        }
    result = n;
    char *pin = n == 1 ? pin_path(found->path) : NULL;
    if (pin && pinned) {
        int fd = open(pin, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0) result = -1;
        if (fd >= 0) close(fd);
        /* It may have gone before it was pinned. */
        if (fd >= 0 && access(found->path, F_OK)) {
            unlink(pin);
            result = 0;
        }
    } else if (n == 1 && (!pin || (unlink(pin) && errno != ENOENT))) {
        result = -1;
    }
    free(pin);
    free_listing(&l);
    return result;
}

/* Those of entries that are gone, too. */
static void remove_pins(const char *folder) {
    DIR *dir = opendir(folder);
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        char *path = text_ends_in(d->d_name, pin_suffix) ? joined(folder, d->d_name) : NULL;
        if (path) unlink(path);
        free(path);
    }
    if (dir) closedir(dir);
}

bool cache_clear(const char *folder, bool all, int *removed, uint64_t *bytes) {
    Listing l;
    *removed = 0;
    *bytes = 0;
    if (!list_folder(folder, &l)) return false;
    if (all) remove_pins(folder);
    bool ok = true;
    for (size_t i = 0; i < l.n; i++) {
        const Entry *e = &l.entry[i];
        if (!all && is_pinned(e->path)) continue;
        bool gone = unlink(e->path) == 0;
        if (!gone && errno != ENOENT) ok = false;
        *removed += gone;
        *bytes += gone ? e->bytes : 0;
    }
    free_listing(&l);
    return ok;
}

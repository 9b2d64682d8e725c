/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* shared.c: memory that processes of one host share: a buffer -> a handle of 128 bytes -> the same
 * memory in another process. What a GPU's driver does is cuda.c's; here are the calls, and memory
 * of the host.
 *
 * Memory of the host is a file without a name (memfd): a page that says what it is, the bytes, and
 * a byte for each of them that says whether it was ever written, so that all processes know. Its
 * size is sealed: no process can cut it short under another that uses it. A handle may come from
 * anyone. What it says is believed only where the file or the driver says the same: another file of
 * the process that made it has not the same nonce. */
#define _GNU_SOURCE /* memfd_create, the seals, O_PATH */
#include "runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

_Static_assert(sizeof(SharedHandle) == sizeof(tile_shared_handle), "a handle is these bytes");

static const char handle_magic[8] = "tileshm1", file_magic[8] = "tilemem1";

/* ---- what a program calls ---- */

tile_status tile_shared_export(tile_context *ctx, tile_ptr ptr, tile_shared_handle *out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!out) return rt_fail(ctx, TILE_INVALID, "tile_shared_export: out is NULL");
    memset(out, 0, sizeof *out);
    Buffer b;
    bool found = rt_find_buffer(ctx, ptr, 0, &b) && b.start == ptr;
    if (!found || !b.shared || b.opened)
        return rt_fail(
            ctx, TILE_INVALID, "tile_shared_export: 0x%llx is %s", (unsigned long long)ptr,
            !found     ? "not the start of a buffer"
            : b.opened ? "another process's memory: pass on the handle that it was opened with"
                       : "not of tile_alloc_shared, whose memory alone others can open");
    SharedHandle h = {.bytes = b.bytes};
    memcpy(h.magic, handle_magic, sizeof h.magic);
    st = ctx->ops->share(ctx, &b, &h);
    if (!st) memcpy(out->bytes, &h, sizeof h);
    return st;
}

/* What a handle of its kind does not use is 0. */
static bool is_handle(const SharedHandle *h) {
    SharedHandle like = {.kind = h->kind, .bytes = h->bytes};
    memcpy(like.magic, handle_magic, sizeof like.magic);
    if (h->kind == SHARED_HOST) {
        like.pid = h->pid;
        like.file = h->file;
        memcpy(like.nonce, h->nonce, sizeof like.nonce);
    } else if (h->kind == SHARED_CUDA) {
        memcpy(like.driver, h->driver, sizeof like.driver);
    } else {
        return false;
    }
    return memcmp(&like, h, sizeof like) == 0;
}

static const char *kind_name(uint32_t kind) {
    return kind == SHARED_HOST ? "the CPU device's" : "a GPU's";
}

tile_status tile_shared_open(tile_context *ctx, const void *handle, size_t size, tile_ptr *out,
                             size_t *bytes) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!out || !handle) return rt_fail(ctx, TILE_INVALID, "tile_shared_open: NULL");
    *out = 0;
    if (bytes) *bytes = 0;
    SharedHandle h;
    if (size != sizeof h)
        return rt_fail(ctx, TILE_INVALID,
                       "tile_shared_open: a handle has %zu bytes, and this has %zu", sizeof h,
                       size);
    memcpy(&h, handle, sizeof h);
    if (!is_handle(&h))
        return rt_fail(
            ctx, TILE_INVALID,
            "tile_shared_open: these bytes are no handle of this version of the library");
    if ((h.kind == SHARED_HOST) != ctx->on_host)
        return rt_fail(ctx, TILE_INVALID,
                       "tile_shared_open: the handle is of %s memory, and %s has %s",
                       kind_name(h.kind), ctx->name, ctx->on_host ? "the host's" : "its own");
    Buffer b = {0};
    st = ctx->ops->open_shared(ctx, &h, &b);
    if (st) return st;
    b.shared = b.opened = true;
    st = rt_keep(ctx, &b, out);
    if (!st && bytes) *bytes = b.bytes;
    return st;
}

/* ---- mapping ---- */

size_t host_pages(size_t bytes) {
    long page = sysconf(_SC_PAGESIZE);
    size_t unit = page > 0 ? (size_t)page : 4096;
    return bytes ? (bytes + unit - 1) / unit * unit : unit;
}

/* Reserves `guard` bytes on both sides of `size`, which become usable. */
static void *map_guarded(size_t size, size_t guard, int fd, int64_t at, size_t *map_bytes) {
    if (size > SIZE_MAX / 2 - 2 * guard) return NULL;
    *map_bytes = size + 2 * guard;
    char *map =
        mmap(NULL, *map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return NULL;
    bool usable = fd < 0 ? mprotect(map + guard, size, PROT_READ | PROT_WRITE) == 0
                         : mmap(map + guard, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                                fd, (off_t)at) != MAP_FAILED;
    if (usable) return map;
    munmap(map, *map_bytes);
    return NULL;
}

bool host_map(size_t bytes, int fd, int64_t at, Buffer *b) {
    static const size_t guards[] = {(size_t)1 << 30,
                                    (size_t)1 << 16}; /* address space may be short */
    b->map = NULL;
    for (int i = 0; i < 2 && !b->map; i++) {
        size_t guard = host_pages(guards[i]);
        b->map = map_guarded(host_pages(bytes), guard, fd, at, &b->map_bytes);
        if (b->map) b->start = (tile_ptr)(uintptr_t)b->map + guard;
    }
    return b->map != NULL;
}

/* ---- files ---- */

typedef struct SharedFile { /* its first page */
    char magic[8];
    uint64_t bytes;
    uint8_t nonce[sizeof((SharedHandle *)0)->nonce];
} SharedFile;

/* The page that says what it is, the bytes, and what was written of them. */
static size_t file_bytes(size_t bytes) {
    return host_pages(sizeof(SharedFile)) + 2 * host_pages(bytes);
}

/* The system lets a file have any size, and ends who touches more than there is memory: it is asked
 * for that much of its memory first, which it refuses where that cannot be. */
static bool memory_for(size_t bytes) {
    void *probe = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED) return false;
    munmap(probe, bytes);
    return true;
}

/* Maps the bytes and what says which are written. False: no room; nothing stays mapped. */
static bool map_file(int fd, size_t bytes, Buffer *b) {
    size_t head = host_pages(sizeof(SharedFile));
    *b = (Buffer){.bytes = bytes, .written_bytes = host_pages(bytes)};
    if (!host_map(bytes, fd, (int64_t)head, b)) return false;
    b->written = mmap(NULL, b->written_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      (off_t)(head + host_pages(bytes)));
    if (b->written != MAP_FAILED) return true;
    munmap(b->map, b->map_bytes);
    return false;
}

static bool make_file(int fd, size_t bytes) {
    SharedFile head = {.bytes = bytes};
    memcpy(head.magic, file_magic, sizeof head.magic);
    return getrandom(head.nonce, sizeof head.nonce, 0) == (ssize_t)sizeof head.nonce &&
           ftruncate(fd, (off_t)file_bytes(bytes)) == 0 &&
           pwrite(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
           fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

tile_status host_alloc_shared(tile_context *ctx, size_t bytes, Buffer *out) {
    int fd = -1;
    if (bytes <= SIZE_MAX / 8 && memory_for(file_bytes(bytes)))
        fd = memfd_create("tile_alloc_shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && make_file(fd, bytes) && map_file(fd, bytes, out)) {
        out->file = fd + 1;
        return TILE_OK;
    }
    if (fd >= 0) close(fd);
    return rt_fail(ctx, TILE_NO_MEMORY, "no memory for a shared buffer of %zu bytes%s", bytes,
                   errno == EMFILE ? ": the process has as many files open as it may (ulimit -n)"
                                   : "");
}

static bool read_head(int fd, SharedFile *head) {
    return pread(fd, head, sizeof *head, 0) == (ssize_t)sizeof *head &&
           memcmp(head->magic, file_magic, sizeof head->magic) == 0;
}

/* It stays as large as its head says. */
static bool is_whole(int fd, const SharedFile *head) {
    struct stat is;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) && head->bytes <= SIZE_MAX / 8 &&
           fstat(fd, &is) == 0 && (uint64_t)is.st_size == file_bytes((size_t)head->bytes);
}

tile_status host_share(tile_context *ctx, const Buffer *b, SharedHandle *out) {
    SharedFile head;
    if (!read_head(b->file - 1, &head))
        return rt_fail(ctx, TILE_INTERNAL, "the file of a shared buffer cannot be read");
    out->kind = SHARED_HOST;
    out->pid = getpid();
    out->file = b->file - 1;
    memcpy(out->nonce, head.nonce, sizeof head.nonce);
    return TILE_OK;
}

/* A file of another process, if it is a plain one: opening anything else might do something. */
static int open_file(int32_t pid, int32_t file) {
    char path[64];
    struct stat is;
    if (pid <= 0 || file < 0) return -1;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)file);
    int seen = open(path, O_PATH | O_CLOEXEC);
    if (seen < 0) return -1;
    int fd = -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", seen);
    if (fstat(seen, &is) == 0 && S_ISREG(is.st_mode)) fd = open(path, O_RDWR | O_CLOEXEC);
    close(seen);
    return fd;
}

tile_status host_open_shared(tile_context *ctx, const SharedHandle *handle, Buffer *out) {
    if (handle->pid == getpid())
        return rt_fail(ctx, TILE_INVALID,
                       "tile_shared_open: the memory is this process's own: use its address, in "
                       "another context after tile_context_enable_peer");
    int fd = open_file(handle->pid, handle->file);
    SharedFile head;
    bool there = fd >= 0 && read_head(fd, &head) && is_whole(fd, &head) &&
                 memcmp(head.nonce, handle->nonce, sizeof head.nonce) == 0;
    tile_status st = TILE_OK;
    if (!there)
        st =
            rt_fail(ctx, TILE_NOT_FOUND,
                    "tile_shared_open: process %d has no such memory: it has freed it or ended, or "
                    "is in another container or another user's",
                    (int)handle->pid);
    else if (head.bytes != handle->bytes)
        st = rt_fail(ctx, TILE_INVALID,
                     "tile_shared_open: the handle says %llu bytes, and the memory has %llu",
                     (unsigned long long)handle->bytes, (unsigned long long)head.bytes);
    else if (!map_file(fd, (size_t)head.bytes, out))
        st = rt_fail(ctx, TILE_NO_MEMORY, "no room for a shared buffer of %llu bytes",
                     (unsigned long long)head.bytes);
    if (fd >= 0) close(fd);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cpu.c: the CPU device: memory with known bounds, and launches through tile IR's interpreter.
 *
 * An address is an address of this process. Each buffer has a shadow with one byte per byte that
 * says whether it was ever written, and lies between stretches of address space that nobody may
 * touch, so that a stray index of a kernel does not reach another buffer and pass for right. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/patience.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void *host(tile_ptr p) {
    return (void *)(uintptr_t)p;
}

/* ---- memory ---- */

static tile_status cpu_alloc(tile_context *ctx, size_t bytes, Buffer *out) {
    Buffer b = {.bytes = bytes};
    if (bytes <= SIZE_MAX / 4 && host_map(bytes, -1, 0, &b)) {
        b.written = calloc(bytes ? bytes : 1, 1);
        if (!b.written) munmap(b.map, b.map_bytes);
    }
    if (!b.written)
        return rt_fail(ctx, TILE_NO_MEMORY, "no memory for a buffer of %zu bytes", bytes);
    *out = b;
    return TILE_OK;
}

static tile_status cpu_release(tile_context *ctx, Buffer *b) {
    (void)ctx;
    if (b->map) munmap(b->map, b->map_bytes);
    if (b->written_bytes)
        munmap(b->written, b->written_bytes);
    else
        free(b->written);
    if (b->file) close(b->file - 1);
    return TILE_OK;
}

/* In the memory of `of`, or of its peers. */
static tile_status find_in(tile_context *ctx, tile_context *of, tile_ptr p, size_t bytes,
                           Buffer *b) {
    if (peers_find_buffer(of, p, bytes, b)) return TILE_OK;
    return rt_fail(ctx, TILE_INVALID, "the %zu bytes at 0x%llx %s%s", bytes, (unsigned long long)p,
                   rt_was_freed(of, p) ? "lie in a buffer that was freed"
                                       : "do not lie in one buffer",
                   of == ctx ? "" : " of the source");
}

static tile_status find(tile_context *ctx, tile_ptr p, size_t bytes, Buffer *b) {
    return find_in(ctx, ctx, p, bytes, b);
}

static void mark_written(const Buffer *b, tile_ptr p, size_t bytes) {
    if (b->written) memset(b->written + (p - b->start), 1, bytes);
}

static tile_status cpu_copy_in(tile_context *ctx, tile_ptr to, const void *from, size_t bytes) {
    Buffer b;
    tile_status st = find(ctx, to, bytes, &b);
    if (st) return st;
    memcpy(host(to), from, bytes);
    mark_written(&b, to, bytes);
    return TILE_OK;
}

static tile_status cpu_copy_out(tile_context *ctx, void *to, tile_ptr from, size_t bytes) {
    Buffer b;
    tile_status st = find(ctx, from, bytes, &b);
    if (st) return st;
    memcpy(to, host(from), bytes);
    return TILE_OK;
}

static tile_status cpu_copy_peer(tile_context *ctx, tile_ptr to, tile_context *source,
                                 tile_ptr from, size_t bytes, void *stream) {
    (void)stream;
    Buffer a, b;
    tile_status st = find_in(ctx, source, from, bytes, &a);
    if (!st) st = find(ctx, to, bytes, &b);
    if (st) return st;
    memmove(host(to), host(from), bytes);
    /* What was not written before is not written now. */
    if (b.written && a.written)
        memmove(b.written + (to - b.start), a.written + (from - a.start), bytes);
    else
        mark_written(&b, to, bytes);
    return TILE_OK;
}

static tile_status cpu_copy_within(tile_context *ctx, tile_ptr to, tile_ptr from, size_t bytes,
                                   void *stream) {
    return cpu_copy_peer(ctx, to, ctx, from, bytes, stream);
}

/* A launch of another thread may be waiting for it. */
static tile_status cpu_write_value(tile_context *ctx, void *stream, tile_ptr to, uint32_t value) {
    (void)stream;
    Buffer b;
    tile_status st = find(ctx, to, sizeof value, &b);
    if (st) return st;
    __atomic_store_n((uint32_t *)host(to), value, __ATOMIC_RELEASE);
    mark_written(&b, to, sizeof value);
    return TILE_OK;
}

static tile_status cpu_wait_value(tile_context *ctx, void *stream, tile_ptr from, uint32_t value) {
    (void)stream;
    Buffer b;
    tile_status st = find(ctx, from, sizeof value, &b);
    uint32_t got;
    Patience p = {0};
    if (st) return st;
    while (got = __atomic_load_n((uint32_t *)host(from), __ATOMIC_ACQUIRE), got - value > INT32_MAX)
        if (!patience_nap(&p, ctx->patience_ms, NULL))
            return rt_fail(ctx, TILE_CHECK_FAILED,
                           "deadlock: tile_stream_wait_value waits for %u, and the number is %u",
                           value, got);
    return TILE_OK;
}

static tile_status cpu_fill(tile_context *ctx, tile_ptr to, unsigned char value, size_t bytes) {
    Buffer b;
    tile_status st = find(ctx, to, bytes, &b);
    if (st) return st;
    memset(host(to), value, bytes);
    mark_written(&b, to, bytes);
    return TILE_OK;
}

/* ---- modules ---- */

static tile_status cpu_load(tile_module *m, const char *text) {
    (void)text;
    if (m->ir) return TILE_OK;
    return rt_fail(m->ctx, TILE_BAD_MODULE,
                   "this is PTX, and the CPU device runs tile IR: compile with --emit=tir");
}

static void cpu_unload(tile_module *m) {
    (void)m;
}

/* ---- launching ---- */

/* What a launch's programs hand each other parts of sums in; NULL in ->start: they do not. It holds
 * anything but its mark. */
static tile_status make_workspace(tile_kernel *k, const LaunchGrid *asked, InterpLaunch *launch,
                                  Buffer *out) {
    enum { ANYTHING = 0xA5 };
    if (!asked->stream_k[STREAM_K_PLACES]) return TILE_OK;
    size_t bytes = (size_t)k->split.bytes * asked->programs.x;
    tile_status st = cpu_alloc(k->module->ctx, bytes, out);
    if (st) return st;
    memset(host(out->start), ANYTHING, bytes);
    memcpy(launch->stream_k, asked->stream_k, sizeof launch->stream_k);
    launch->workspace = out->start;
    launch->mark = 1;
    return TILE_OK;
}

/* Into the launch, what the context knows: what to check, whom to tell. */
static void take_context(tile_context *ctx, InterpLaunch *launch) {
    pthread_mutex_lock(&ctx->lock);
    launch->checks = ctx->checks;
    launch->print = ctx->print;
    launch->print_user = ctx->print_user;
    launch->progress = ctx->progress;
    launch->progress_user = ctx->progress_user;
    pthread_mutex_unlock(&ctx->lock);
}

/* Runs it with a session of its own. *message is malloc'ed text, NULL when there is none. */
static tile_status interpret(const InterpLaunch *launch, char **message) {
    Session s;
    if (setjmp(s.bail)) {
        tile_status st = s.out_of_memory ? TILE_NO_MEMORY : TILE_CHECK_FAILED;
        const Diag *d = s.diags.first;
        size_t room = d ? strlen(d->text) + CODE_TEXT + 4 : 0; /* " [C0021]" */
        if (!s.out_of_memory && d && (*message = malloc(room)))
            snprintf(*message, room, "%s [%s]", d->text, code_text(d->code));
        session_free(&s);
        return st;
    }
    session_init(&s);
    tile_status st = TILE_OK;
    if (!interp_run(&s, launch)) {
        st = TILE_CHECK_FAILED;
        Buf text = buf_new(&s.arena);
        diag_render(&s.diags, &launch->module->source, false, &text);
        while (text.len && text.data[text.len - 1] == '\n') text.data[--text.len] = '\0';
        *message = strdup(text.data);
    }
    session_free(&s);
    return st;
}

static tile_status cpu_launch(tile_kernel *k, const LaunchGrid *asked, InterpArg *arg,
                              void *stream) {
    (void)stream;
    if (asked->ask) return TILE_OK;
    tile_context *ctx = k->module->ctx;
    const tile_grid *grid = &asked->programs;
    InterpLaunch launch = {
        .module = k->module->ir,
        .func = k->func,
        .arg = arg,
        .grid = {grid->x, grid->y, grid->z},
        .work = {asked->work.x, asked->work.y, asked->work.z},
        .cluster = asked->cluster,
        .single_cta = grid->x == 1 && grid->y == 1 && grid->z == 1,
    };
    Buffer workspace = {0};
    tile_status st = make_workspace(k, asked, &launch, &workspace);
    if (st) return st;
    InterpBuffer *buffer = host_buffers(ctx, k, arg, &workspace, &launch.nbuffers);
    launch.buffer = buffer;
    launch.nfreed = RT_FREED;
    take_context(ctx, &launch);
    char *message = NULL;
    st = buffer ? interpret(&launch, &message) : TILE_NO_MEMORY;
    cpu_release(ctx, &workspace);
    if (st == TILE_NO_MEMORY)
        rt_fail(ctx, st, "kernel '%s' ran out of memory", k->name);
    else if (st)
        rt_fail(ctx, st, "%s", message ? message : "a check failed");
    free(message);
    free(buffer);
    return st;
}

static tile_status cpu_synchronize(tile_context *ctx) {
    (void)ctx;
    return TILE_OK;
}

static tile_status cpu_synchronize_stream(tile_context *ctx, void *stream) {
    (void)stream;
    return cpu_synchronize(ctx);
}

static tile_status cpu_stream_create(tile_context *ctx, void **out) {
    *out = NULL;
    return cpu_synchronize(ctx);
}

static tile_status cpu_stream_destroy(tile_context *ctx, void *stream) {
    (void)stream;
    return cpu_synchronize(ctx);
}

/* ---- events: all work is done when a call returns ---- */

static tile_status cpu_event_record(tile_event *e, void *stream) {
    (void)stream;
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t))
        return rt_fail(e->ctx, TILE_DEVICE_ERROR, "the system has no monotonic clock");
    e->ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
    return TILE_OK;
}

static tile_status cpu_event_order(tile_event *e, void *stream) {
    (void)stream;
    return cpu_synchronize(e->ctx);
}

static tile_status cpu_event_wait(tile_event *e) {
    return cpu_synchronize(e->ctx);
}

static tile_status cpu_event_done(tile_event *e, int *done) {
    *done = 1;
    return cpu_synchronize(e->ctx);
}

static tile_status cpu_event_elapsed(tile_event *start, tile_event *end, double *ms) {
    *ms = end->ms - start->ms;
    return TILE_OK;
}

static void cpu_event_close(tile_event *e) {
    (void)e;
}

static void cpu_close(tile_context *ctx) {
    (void)ctx;
}

const DeviceOps host_ops = {
    .alloc = cpu_alloc,
    .alloc_shared = host_alloc_shared,
    .share = host_share,
    .open_shared = host_open_shared,
    .enable_peer = host_enable_peer,
    .copy_peer = cpu_copy_peer,
    .release = cpu_release,
    .copy_in = cpu_copy_in,
    .copy_out = cpu_copy_out,
    .copy_within = cpu_copy_within,
    .write_value = cpu_write_value,
    .wait_value = cpu_wait_value,
    .fill = cpu_fill,
    .load = cpu_load,
    .unload = cpu_unload,
    .launch = cpu_launch,
    .synchronize = cpu_synchronize,
    .synchronize_stream = cpu_synchronize_stream,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .event_record = cpu_event_record,
    .event_order = cpu_event_order,
    .event_wait = cpu_event_wait,
    .event_done = cpu_event_done,
    .event_elapsed = cpu_event_elapsed,
    .event_close = cpu_event_close,
    .close = cpu_close,
};

tile_status cpu_open(tile_context *ctx) {
    snprintf(ctx->name, sizeof ctx->name, "CPU (interpreter)");
    ctx->target = "cpu";
    ctx->is_cpu = ctx->on_host = true;
    ctx->ops = &host_ops;
    return TILE_OK;
}

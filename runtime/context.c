/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* context.c: contexts, their errors, and the memory they answer for.
 *
 * Convention: every public call starts with rt_enter, which turns away contexts that failed to open
 * or belong to the parent of this process (a CUDA context does not survive a fork, and a lock may
 * have been held by a thread that the child does not have). */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include "runtime/runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const char *tile_version(void) {
    return TILE_VERSION;
}

const char *tile_status_text(tile_status status) {
    static const char *const text[] = {
        [TILE_OK] = "no error",
        [TILE_NO_MEMORY] = "out of memory",
        [TILE_INVALID] = "invalid use",
        [TILE_NO_DEVICE] = "no device",
        [TILE_FORKED] = "used in a forked process",
        [TILE_IO] = "cannot read the file",
        [TILE_BAD_MODULE] = "cannot load the module",
        [TILE_NOT_FOUND] = "not found",
        [TILE_BAD_LAUNCH] = "cannot launch the kernel",
        [TILE_CHECK_FAILED] = "a check failed",
        [TILE_DEVICE_ERROR] = "device error",
        [TILE_COMPILE_ERROR] = "cannot compile",
        [TILE_INTERNAL] = "internal error",
        [TILE_UNSUPPORTED] = "not supported by this machine",
    };
    size_t i = (size_t)status;
    return i < sizeof text / sizeof *text ? text[i] : "unknown status";
}

_Static_assert((int)R_INTERNAL - (int)R_NO_MEMORY == (int)TILE_INTERNAL - (int)TILE_NO_MEMORY,
               "a status has its code");

const char *tile_status_code(tile_status status) {
    bool known = status > TILE_OK && status <= TILE_INTERNAL;
    return known ? code_text((Code)((int)R_NO_MEMORY + (int)status - (int)TILE_NO_MEMORY)) : "";
}

/* ---- errors ---- */

static ErrorText *error_of_thread(tile_context *ctx) {
    pthread_t self = pthread_self();
    for (ErrorText *e = ctx->errors; e; e = e->next)
        if (pthread_equal(e->thread, self)) return e;
    return NULL;
}

tile_status rt_fail(tile_context *ctx, tile_status status, const char *fmt, ...) {
    if (rt_forked(ctx)) return status; /* the lock may never open here */
    va_list ap;
    va_start(ap, fmt);
    char *text = text_vformat(fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&ctx->lock);
    ErrorText *e = error_of_thread(ctx);
    if (!e && (e = calloc(1, sizeof *e))) {
        e->thread = pthread_self();
        e->next = ctx->errors;
        ctx->errors = e;
    }
    if (e) {
        free(e->text);
        e->text = text;
    } else {
        free(text);
        ctx->error_lost = true;
    }
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

tile_status tile_context_fail(tile_context *ctx, tile_status status, const char *text) {
    if (!ctx) return TILE_INVALID;
    return rt_fail(ctx, status, "%s", text ? text : "");
}

const char *tile_error(const tile_context *ctx) {
    if (!ctx) return "there is no context";
    if (rt_forked(ctx))
        return "the context was made before a fork; make one in the process that uses it";
    tile_context *c = (tile_context *)ctx; /* only the lock is changed */
    pthread_mutex_lock(&c->lock);
    ErrorText *e = error_of_thread(c);
    bool lost = e ? !e->text : c->error_lost;
    const char *text = lost ? "out of memory" : e ? e->text : "";
    pthread_mutex_unlock(&c->lock);
    return text;
}

/* ---- opening and closing ---- */

enum { MARK_BYTES = 4096 };

/* A page with a 1 in this process and a 0 in its children; NULL when the system has no such. */
static volatile unsigned char *mark_process(void) {
#ifdef MADV_WIPEONFORK
    void *page = mmap(NULL, MARK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return NULL;
    if (madvise(page, MARK_BYTES, MADV_WIPEONFORK) == 0) {
        *(unsigned char *)page = 1;
        return page;
    }
    munmap(page, MARK_BYTES);
#endif
    return NULL;
}

static tile_context *new_context(void) {
    tile_context *ctx = calloc(1, sizeof *ctx);
    if (!ctx) return NULL;
    if (pthread_mutex_init(&ctx->lock, NULL)) {
        free(ctx);
        return NULL;
    }
    ctx->pid = getpid();
    ctx->ours = mark_process();
    ctx->checks = TILE_CHECK_ALL;
    return ctx;
}

tile_status tile_context_create(const char *device, tile_context **out) {
    if (!out) return TILE_INVALID;
    tile_context *ctx = *out = new_context();
    if (!ctx) return TILE_NO_MEMORY;
    if (!device) device = "auto";
    if (strcmp(device, "cpu") == 0) return cpu_open(ctx);
    if (strcmp(device, "ptx") == 0) return ptx_open(ctx, NULL);
    if (strncmp(device, "ptx:", 4) == 0) return ptx_open(ctx, device + 4);
    if (strcmp(device, "cuda") == 0) return cuda_open(ctx, 0, NULL);
    if (strcmp(device, "auto") == 0) {
        tile_status st = cuda_open(ctx, 0, NULL);
        return st == TILE_NO_DEVICE ? cpu_open(ctx) : st;
    }
    if (strncmp(device, "cuda:", 5) == 0) {
        const char *digits = device + 5;
        size_t n = strspn(digits, "0123456789");
        if (n > 0 && n <= 4 && !digits[n])
            return cuda_open(ctx, (int)strtol(digits, NULL, 10), NULL);
    }
    return rt_fail(ctx, TILE_INVALID,
                   "unknown device '%.100s': use auto, cpu, ptx, ptx:TARGET, cuda or cuda:N",
                   device);
}

tile_status tile_context_from_cuda(void *cu_context, tile_context **out) {
    if (!out) return TILE_INVALID;
    tile_context *ctx = *out = new_context();
    if (!ctx) return TILE_NO_MEMORY;
    if (!cu_context) return rt_fail(ctx, TILE_INVALID, "the CUcontext is NULL");
    return cuda_open(ctx, 0, cu_context);
}

void tile_context_destroy(tile_context *ctx) {
    if (!ctx) return;
    if (!rt_forked(ctx)) {
        for (size_t i = 0; i < ctx->nbuffers; i++) ctx->ops->release(ctx, &ctx->buffer[i]);
        peers_close(ctx);
        if (ctx->ops) ctx->ops->close(ctx);
        pthread_mutex_destroy(&ctx->lock);
    }
    for (ErrorText *e = ctx->errors, *next; e; e = next) {
        next = e->next;
        free(e->text);
        free(e);
    }
    if (ctx->ours) munmap((void *)ctx->ours, MARK_BYTES);
    free(ctx->buffer);
    free(ctx->cuda);
    free(ctx);
}

const char *tile_context_device_name(const tile_context *ctx) {
    return ctx && ctx->ops ? ctx->name : "no device";
}

const char *tile_context_target(const tile_context *ctx) {
    return ctx && ctx->ops ? ctx->target : "";
}

void *tile_context_cuda(const tile_context *ctx) {
    return rt_enter(ctx) == TILE_OK ? cuda_context_of(ctx) : NULL;
}

tile_status tile_context_set_checks(tile_context *ctx, unsigned checks) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (checks & ~(unsigned)TILE_CHECK_ALL)
        return rt_fail(ctx, TILE_INVALID, "there are no checks 0x%x",
                       checks & ~(unsigned)TILE_CHECK_ALL);
    pthread_mutex_lock(&ctx->lock);
    ctx->checks = checks;
    pthread_mutex_unlock(&ctx->lock);
    return TILE_OK;
}

tile_status tile_context_set_concurrent(tile_context *ctx, int concurrent) {
    tile_status st = rt_enter(ctx);
    if (!st) atomic_store_explicit(&ctx->concurrent, concurrent != 0, memory_order_relaxed);
    return st;
}

tile_status tile_context_set_launch_graphs(tile_context *ctx, int at_most) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (at_most < 0 || at_most > TILE_MAX_LAUNCH_GRAPHS)
        return rt_fail(ctx, TILE_INVALID, "%d graphs of launches: it is 0 to %d", at_most,
                       TILE_MAX_LAUNCH_GRAPHS);
    return ctx->ops->keep_graphs ? ctx->ops->keep_graphs(ctx, at_most) : TILE_OK;
}

tile_status tile_context_set_print(tile_context *ctx, tile_print_fn print, void *user) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    pthread_mutex_lock(&ctx->lock);
    ctx->print = print;
    ctx->print_user = user;
    pthread_mutex_unlock(&ctx->lock);
    return TILE_OK;
}

tile_status tile_context_set_progress(tile_context *ctx, tile_progress_fn progress, void *user) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    pthread_mutex_lock(&ctx->lock);
    ctx->progress = progress;
    ctx->progress_user = user;
    pthread_mutex_unlock(&ctx->lock);
    return TILE_OK;
}

tile_status tile_context_set_counts(tile_context *ctx, tile_count_fn counts, void *user) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    pthread_mutex_lock(&ctx->lock);
    ctx->counts = counts;
    ctx->counts_user = user;
    pthread_mutex_unlock(&ctx->lock);
    return TILE_OK;
}

/* ---- the register of buffers ---- */

/* How many buffers start at or before p; the last of them is the one that may hold p. */
static size_t buffers_upto(const tile_context *ctx, tile_ptr p) {
    size_t lo = 0, hi = ctx->nbuffers;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (ctx->buffer[mid].start <= p)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool rt_find_buffer(tile_context *ctx, tile_ptr p, size_t bytes, Buffer *out) {
    pthread_mutex_lock(&ctx->lock);
    size_t i = buffers_upto(ctx, p);
    bool found = false;
    if (i > 0) {
        const Buffer *b = &ctx->buffer[i - 1];
        found = p - b->start <= b->bytes && bytes <= b->bytes - (p - b->start);
        if (found) *out = *b;
    }
    pthread_mutex_unlock(&ctx->lock);
    return found;
}

bool rt_was_freed(tile_context *ctx, tile_ptr p) {
    bool found = false;
    pthread_mutex_lock(&ctx->lock);
    for (int i = 0; i < RT_FREED; i++)
        found = found || p - ctx->freed[i].start < ctx->freed[i].bytes;
    pthread_mutex_unlock(&ctx->lock);
    return found;
}

/* The caller holds the lock. */
static void forget_freed(tile_context *ctx, const Buffer *b) {
    for (int i = 0; i < RT_FREED; i++) {
        Freed *f = &ctx->freed[i];
        if (f->start - b->start < b->bytes || b->start - f->start < f->bytes) f->bytes = 0;
    }
}

/* Enters b, unless it overlaps another (TILE_INVALID). An empty buffer takes its first byte. The
 * caller holds the lock. */
static tile_status add_locked(tile_context *ctx, const Buffer *b) {
    size_t i = buffers_upto(ctx, b->start), size = b->bytes ? b->bytes : 1;
    if (i > 0) {
        const Buffer *before = &ctx->buffer[i - 1];
        if (b->start - before->start < (before->bytes ? before->bytes : 1)) return TILE_INVALID;
    }
    if (i < ctx->nbuffers && ctx->buffer[i].start - b->start < size) return TILE_INVALID;
    if (ctx->nbuffers == ctx->cap) {
        size_t cap = ctx->cap ? ctx->cap * 2 : 16;
        Buffer *more = realloc(ctx->buffer, cap * sizeof *more);
        if (!more) return TILE_NO_MEMORY;
        ctx->buffer = more;
        ctx->cap = cap;
    }
    memmove(ctx->buffer + i + 1, ctx->buffer + i, (ctx->nbuffers - i) * sizeof *ctx->buffer);
    ctx->buffer[i] = *b;
    ctx->nbuffers++;
    forget_freed(ctx, b);
    return TILE_OK;
}

static tile_status add_buffer(tile_context *ctx, const Buffer *b) {
    pthread_mutex_lock(&ctx->lock);
    tile_status st = add_locked(ctx, b);
    pthread_mutex_unlock(&ctx->lock);
    return st;
}

/* Takes buffer i out. The caller holds the lock. */
static Buffer remove_locked(tile_context *ctx, size_t i) {
    Buffer b = ctx->buffer[i];
    ctx->freed[ctx->nfreed++ % RT_FREED] = (Freed){b.start, b.bytes ? b.bytes : 1};
    ctx->nbuffers--;
    memmove(ctx->buffer + i, ctx->buffer + i + 1, (ctx->nbuffers - i) * sizeof *ctx->buffer);
    return b;
}

tile_status rt_borrow(tile_context *ctx, tile_ptr start, size_t bytes, tile_ptr *key) {
    *key = 0;
    pthread_mutex_lock(&ctx->lock);
    size_t i = buffers_upto(ctx, start);
    Buffer *known = i > 0 ? &ctx->buffer[i - 1] : NULL;
    tile_status st = TILE_OK;
    if (known && start - known->start <= known->bytes &&
        bytes <= known->bytes - (start - known->start)) {
        if (known->tensors) {
            known->tensors++;
            *key = known->start;
        }
    } else {
        st = add_locked(ctx, &(Buffer){.start = start, .bytes = bytes, .tensors = 1});
        if (!st) *key = start;
    }
    pthread_mutex_unlock(&ctx->lock);
    if (st == TILE_INVALID)
        return rt_fail(ctx, st, "the tensor overlaps a buffer that is known already");
    return st ? rt_fail(ctx, st, "cannot keep track of another buffer") : st;
}

void rt_give_back(tile_context *ctx, tile_ptr key) {
    pthread_mutex_lock(&ctx->lock);
    size_t i = buffers_upto(ctx, key);
    if (i > 0 && ctx->buffer[i - 1].start == key && --ctx->buffer[i - 1].tensors == 0)
        remove_locked(ctx, i - 1);
    pthread_mutex_unlock(&ctx->lock);
}

tile_status rt_keep(tile_context *ctx, Buffer *b, tile_ptr *out) {
    tile_status st = add_buffer(ctx, b);
    if (st) {
        ctx->ops->release(ctx, b);
        return rt_fail(ctx, st, "cannot keep track of another buffer");
    }
    *out = b->start;
    return TILE_OK;
}

static tile_status allocate(tile_context *ctx, const char *function, size_t bytes, bool shared,
                            tile_ptr *out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!out) return rt_fail(ctx, TILE_INVALID, "%s: out is NULL", function);
    *out = 0;
    Buffer b = {0};
    st = (shared ? ctx->ops->alloc_shared : ctx->ops->alloc)(ctx, bytes, &b);
    if (st) return st;
    b.shared = shared;
    return rt_keep(ctx, &b, out);
}

tile_status tile_alloc(tile_context *ctx, size_t bytes, tile_ptr *out) {
    return allocate(ctx, "tile_alloc", bytes, false, out);
}

tile_status tile_alloc_shared(tile_context *ctx, size_t bytes, tile_ptr *out) {
    return allocate(ctx, "tile_alloc_shared", bytes, true, out);
}

tile_status tile_wrap(tile_context *ctx, void *host, size_t bytes, tile_ptr *out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!out || !host) return rt_fail(ctx, TILE_INVALID, "tile_wrap: NULL");
    *out = 0;
    if (!ctx->on_host)
        return rt_fail(ctx, TILE_INVALID,
                       "tile_wrap: a GPU cannot use the caller's memory; "
                       "use tile_alloc and tile_copy_to_device");
    tile_ptr start = (tile_ptr)(uintptr_t)host;
    if (bytes > UINTPTR_MAX - start)
        return rt_fail(ctx, TILE_INVALID, "tile_wrap: %zu bytes do not fit in memory", bytes);
    Buffer b = {.start = start, .bytes = bytes};
    st = add_buffer(ctx, &b);
    if (st == TILE_INVALID)
        return rt_fail(ctx, st, "tile_wrap: the memory overlaps a buffer that is known already");
    if (st) return rt_fail(ctx, st, "cannot keep track of another buffer");
    *out = start;
    return TILE_OK;
}

tile_status tile_free(tile_context *ctx, tile_ptr ptr) {
    tile_status st = rt_enter(ctx);
    if (st || ptr == 0) return st;
    Buffer b = {0};
    pthread_mutex_lock(&ctx->lock);
    size_t i = buffers_upto(ctx, ptr);
    bool found = i > 0 && ctx->buffer[i - 1].start == ptr && ctx->buffer[i - 1].tensors == 0;
    if (found) b = remove_locked(ctx, i - 1);
    pthread_mutex_unlock(&ctx->lock);
    if (!found)
        return rt_fail(ctx, TILE_INVALID, "tile_free: 0x%llx is %s", (unsigned long long)ptr,
                       rt_was_freed(ctx, ptr) ? "in a buffer that was freed already"
                                              : "not the start of a buffer");
    return ctx->ops->release(ctx, &b);
}

/* ---- copies ---- */

tile_status tile_copy_to_device(tile_context *ctx, tile_ptr to, const void *from, size_t bytes) {
    tile_status st = rt_enter(ctx);
    if (st || bytes == 0) return st;
    if (!from || !to) return rt_fail(ctx, TILE_INVALID, "tile_copy_to_device: NULL");
    return ctx->ops->copy_in(ctx, to, from, bytes);
}

tile_status tile_copy_to_host(tile_context *ctx, void *to, tile_ptr from, size_t bytes) {
    tile_status st = rt_enter(ctx);
    if (st || bytes == 0) return st;
    if (!from || !to) return rt_fail(ctx, TILE_INVALID, "tile_copy_to_host: NULL");
    return ctx->ops->copy_out(ctx, to, from, bytes);
}

tile_status tile_copy_on_device(tile_context *ctx, tile_ptr to, tile_ptr from, size_t bytes,
                                void *stream) {
    tile_status st = rt_enter(ctx);
    if (st || bytes == 0) return st;
    if (!from || !to) return rt_fail(ctx, TILE_INVALID, "tile_copy_on_device: NULL");
    return ctx->ops->copy_within(ctx, to, from, bytes, stream);
}

static tile_status enter_with_number(tile_context *ctx, const char *call, tile_ptr at) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!at || at % sizeof(uint32_t))
        return rt_fail(ctx, TILE_INVALID, "%s: an address that is a multiple of %zu is wanted",
                       call, sizeof(uint32_t));
    return TILE_OK;
}

tile_status tile_stream_write_value(tile_context *ctx, void *stream, tile_ptr to, uint32_t value) {
    tile_status st = enter_with_number(ctx, "tile_stream_write_value", to);
    return st ? st : ctx->ops->write_value(ctx, stream, to, value);
}

tile_status tile_stream_wait_value(tile_context *ctx, void *stream, tile_ptr from, uint32_t value) {
    tile_status st = enter_with_number(ctx, "tile_stream_wait_value", from);
    return st ? st : ctx->ops->wait_value(ctx, stream, from, value);
}

tile_status tile_fill(tile_context *ctx, tile_ptr to, unsigned char value, size_t bytes) {
    tile_status st = rt_enter(ctx);
    if (st || bytes == 0) return st;
    if (!to) return rt_fail(ctx, TILE_INVALID, "tile_fill: NULL");
    return ctx->ops->fill(ctx, to, value, bytes);
}

/* ---- waiting and timing ---- */

tile_status tile_synchronize(tile_context *ctx) {
    tile_status st = rt_enter(ctx);
    return st ? st : ctx->ops->synchronize(ctx);
}

tile_status tile_synchronize_stream(tile_context *ctx, void *stream) {
    tile_status st = rt_enter(ctx);
    return st ? st : ctx->ops->synchronize_stream(ctx, stream);
}

tile_status tile_stream_create(tile_context *ctx, void **out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!out) return rt_fail(ctx, TILE_INVALID, "tile_stream_create: out is NULL");
    *out = NULL;
    return ctx->ops->stream_create(ctx, out);
}

tile_status tile_stream_destroy(tile_context *ctx, void *stream) {
    tile_status st = rt_enter(ctx);
    return st || !stream ? st : ctx->ops->stream_destroy(ctx, stream);
}

tile_status tile_event_record(tile_context *ctx, void *stream, tile_event **event) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!event) return rt_fail(ctx, TILE_INVALID, "tile_event_record: event is NULL");
    if (*event && (*event)->ctx != ctx)
        return rt_fail(ctx, TILE_INVALID, "tile_event_record: the event is of another context");
    tile_event *e = *event ? *event : calloc(1, sizeof *e);
    if (!e) return rt_fail(ctx, TILE_NO_MEMORY, "no memory for an event");
    e->ctx = ctx;
    st = ctx->ops->event_record(e, stream);
    if (st && !*event)
        tile_event_destroy(e);
    else
        *event = e;
    return st;
}

tile_status tile_event_order(tile_event *event, void *stream) {
    if (!event) return TILE_INVALID;
    tile_status st = rt_enter(event->ctx);
    return st ? st : event->ctx->ops->event_order(event, stream);
}

tile_status tile_event_wait(tile_event *event) {
    if (!event) return TILE_INVALID;
    tile_status st = rt_enter(event->ctx);
    return st ? st : event->ctx->ops->event_wait(event);
}

tile_status tile_event_done(tile_event *event, int *done) {
    if (!event || !done) return TILE_INVALID;
    *done = 0;
    tile_status st = rt_enter(event->ctx);
    return st ? st : event->ctx->ops->event_done(event, done);
}

tile_status tile_event_elapsed(tile_event *start, tile_event *end, double *milliseconds) {
    if (!start || !end || !milliseconds) return TILE_INVALID;
    tile_status st = rt_enter(start->ctx);
    if (st) return st;
    if (start->ctx != end->ctx)
        return rt_fail(start->ctx, TILE_INVALID, "the events are of two contexts");
    return start->ctx->ops->event_elapsed(start, end, milliseconds);
}

void tile_event_destroy(tile_event *event) {
    if (!event) return;
    if (!rt_forked(event->ctx)) event->ctx->ops->event_close(event);
    free(event);
}

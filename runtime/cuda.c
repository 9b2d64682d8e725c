/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda.c: a GPU as a device of the runtime, through the CUDA Driver API.
 *
 * Convention: the caller's current CUDA context is left as it was. Each call pushes this context,
 * does its work and pops it, so any thread may call at any time. The driver's failures become
 * TILE_DEVICE_ERROR with the driver's own name and sentence. */
#include "ir/target.h"
#include "runtime/cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    JIT_LOG_BYTES = 8192,
    STATIC_SHARED_LIMIT = 48 * 1024,
    EARLY_DRIVER = 12030, /* CUDA 12.3 */
    GRAPH_DRIVER = 13000  /* CUDA 13.0: nobody has measured older ones */
};

/* ---- errors ---- */

static const struct {
    CuResult result;
    const char *name;
    tile_status status;
} errors[] = {
#define ERR(number, name, status) {number, name, status},
#include "runtime/cuda_errors.def"
#undef ERR
};

/* The driver's sentence; `log` is what its compiler said, "" when nothing. */
static tile_status fail_with_log(tile_context *ctx, CuResult r, const char *what, const char *log) {
    const CudaApi *api = &ctx->cuda->api;
    const char *name = NULL, *text = NULL;
    tile_status st = TILE_DEVICE_ERROR;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].result == r) {
            st = errors[i].status;
            name = errors[i].name;
        }
    if (!name && api->error_name(r, &name)) name = NULL;
    if (api->error_string(r, &text)) text = NULL;
    return rt_fail(ctx, st, "%s: %s (%s, %d)%s%s", what, text ? text : "the driver says no more",
                   name ? name : "an unknown error", r, *log ? ":\n" : "", log);
}

tile_status cuda_fail(tile_context *ctx, CuResult r, const char *what) {
    return fail_with_log(ctx, r, what, "");
}

/* ---- memory ---- */

static tile_status cuda_alloc(tile_context *ctx, size_t bytes, Buffer *out) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    CuPtr p = 0;
    char what[64];
    snprintf(what, sizeof what, "cannot allocate %zu bytes", bytes);
    r = ctx->cuda->api.mem_alloc(&p, bytes ? bytes : 1); /* the driver refuses 0 */
    *out = (Buffer){.start = p, .bytes = bytes};
    return leave(ctx, r, what);
}

static tile_status cuda_release(tile_context *ctx, Buffer *b) {
    const CudaApi *api = &ctx->cuda->api;
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return b->opened ? leave(ctx, api->ipc_close(b->start), "cannot close shared memory")
                     : leave(ctx, api->mem_free(b->start), "cannot free device memory");
}

static tile_status cuda_copy_in(tile_context *ctx, tile_ptr to, const void *from, size_t bytes) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.copy_in(to, from, bytes), "copy to the device");
}

static tile_status cuda_copy_out(tile_context *ctx, void *to, tile_ptr from, size_t bytes) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.copy_out(to, from, bytes), "copy to the host");
}

static tile_status cuda_copy_within(tile_context *ctx, tile_ptr to, tile_ptr from, size_t bytes,
                                    void *stream) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.copy_within(to, from, bytes, stream), "copy on the device");
}

static tile_status no_values(tile_context *ctx, const char *symbol, const char *what) {
    return rt_fail(ctx, TILE_UNSUPPORTED,
                   "this CUDA driver has no %s, which %s in a stream: that of CUDA 11.7 or later "
                   "has",
                   symbol, what);
}

static tile_status cuda_wait_value(tile_context *ctx, void *stream, tile_ptr from, uint32_t value) {
    enum { OR_MORE = 0, FLUSH = 1 << 30 }; /* CU_STREAM_WAIT_VALUE_GEQ, …_FLUSH */
    if (!ctx->cuda->api.wait_value)
        return no_values(ctx, "cuStreamWaitValue32_v2", "waits for numbers");
    unsigned how = ctx->cuda->flushes ? OR_MORE | FLUSH : OR_MORE;
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.wait_value(stream, from, value, how),
                 "wait for a number in a stream");
}

static tile_status cuda_write_value(tile_context *ctx, void *stream, tile_ptr to, uint32_t value) {
    enum { BEHIND_ALL = 0 }; /* CU_STREAM_WRITE_VALUE_DEFAULT */
    if (!ctx->cuda->api.write_value)
        return no_values(ctx, "cuStreamWriteValue32_v2", "writes numbers");
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.write_value(stream, to, value, BEHIND_ALL),
                 "write a number in a stream");
}

static tile_status cuda_fill(tile_context *ctx, tile_ptr to, unsigned char value, size_t bytes) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.fill(to, value, bytes), "fill on the device");
}

/* ---- many GPUs ---- */

/* A process that opens memory has the whole of what the driver cut it from, other buffers too: this
 * is as much as the driver cuts from. */
enum { SHARED_UNIT = 2 << 20 };

static tile_status cuda_alloc_shared(tile_context *ctx, size_t bytes, Buffer *out) {
    size_t whole = bytes <= SIZE_MAX - SHARED_UNIT ? (bytes + SHARED_UNIT - 1) / SHARED_UNIT : 0;
    tile_status st = cuda_alloc(ctx,
                                bytes && whole ? whole * SHARED_UNIT
                                : bytes        ? bytes
                                               : SHARED_UNIT,
                                out);
    out->bytes = bytes;
    return st;
}

static tile_status cuda_share(tile_context *ctx, const Buffer *b, SharedHandle *out) {
    CuIpcHandle handle;
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    r = ctx->cuda->api.ipc_get(&handle, b->start);
    out->kind = SHARED_CUDA;
    if (!r) memcpy(out->driver, handle.bytes, sizeof handle.bytes);
    return leave(ctx, r, "the driver gives no handle for shared memory");
}

/* The driver says how much it is. */
static tile_status cuda_open_shared(tile_context *ctx, const SharedHandle *h, Buffer *out) {
    const CudaApi *api = &ctx->cuda->api;
    CuIpcHandle handle;
    CuPtr p = 0, start = 0;
    size_t bytes = 0;
    memcpy(handle.bytes, h->driver, sizeof handle.bytes);
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    r = api->ipc_open(&p, handle, CU_IPC_LAZY_PEERS);
    if (r)
        return leave(
            ctx, r,
            r == CU_ERROR_INVALID_CONTEXT
                ? "tile_shared_open: the memory is this process's own (use its address, in "
                  "another context after tile_context_enable_peer), or gone"
                : "tile_shared_open: the driver does not open the memory");
    *out = (Buffer){.start = p, .bytes = (size_t)h->bytes, .opened = true};
    r = api->address_range(&start, &bytes, p);
    bool fits = !r && p - start <= bytes && h->bytes <= bytes - (p - start);
    if (!fits) api->ipc_close(p);
    tile_status st = leave(ctx, r, "tile_shared_open: the driver does not know the memory's size");
    return st || fits
               ? st
               : rt_fail(ctx, TILE_INVALID,
                         "tile_shared_open: the handle says %llu bytes, and the memory has %zu",
                         (unsigned long long)h->bytes, bytes);
}

static tile_status cuda_enable_peer(tile_context *ctx, tile_context *peer) {
    const CudaDevice *d = ctx->cuda, *other = peer->cuda;
    int can = 0;
    if (d->context == other->context) return TILE_OK;
    CuResult r = d->api.can_access_peer(&can, d->device, other->device);
    if (!r && !can)
        return rt_fail(
            ctx, TILE_UNSUPPORTED,
            "GPU %d (%s) cannot use the memory of GPU %d (%s): nothing connects them that "
            "it could go by; tile_copy_peer copies by the host",
            ctx->ordinal, ctx->name, peer->ordinal, peer->name);
    if (r) return cuda_fail(ctx, r, "cannot ask which GPUs reach each other");
    r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    r = d->api.enable_peer(other->context, 0);
    return leave(ctx, r == CU_ERROR_PEER_ENABLED ? CU_SUCCESS : r,
                 "cannot use the other GPU's memory");
}

static tile_status cuda_copy_peer(tile_context *ctx, tile_ptr to, tile_context *source,
                                  tile_ptr from, size_t bytes, void *stream) {
    const CudaDevice *d = ctx->cuda;
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, d->api.copy_peer(to, d->context, from, source->cuda->context, bytes, stream),
                 "copy between GPUs");
}

/* ---- modules ---- */

/* What the device must be able to do for the launches that the kernel asks for. */
static tile_status check_launch(tile_context *ctx, const tile_kernel *k) {
    const CudaDevice *d = ctx->cuda;
    bool clusters = rt_cluster_size(k) > 1;
    if ((clusters && !d->clusters) || (k->cooperative && !d->cooperative))
        return rt_fail(ctx, TILE_BAD_MODULE, "kernel '%s' %s, which this GPU (%s) cannot do",
                       k->name, clusters ? "runs in clusters" : "runs all its programs at once",
                       ctx->name);
    if ((clusters || k->cooperative) && !d->api.launch_ex)
        return rt_fail(ctx, TILE_BAD_MODULE,
                       "kernel '%s' needs cuLaunchKernelEx, which this CUDA driver is too old for",
                       k->name);
    return TILE_OK;
}

/* For the first kernel whose launches may need them. */
static void open_workspaces(tile_context *ctx) {
    CudaDevice *d = ctx->cuda;
    pthread_mutex_lock(&ctx->lock);
    if (!d->workspaces.pool) workspaces_open(&d->workspaces, &d->api, d->device);
    atomic_store(&ctx->splits, d->workspaces.pool != NULL);
    pthread_mutex_unlock(&ctx->lock);
}

static tile_status load_kernel(tile_context *ctx, CuModule cu, tile_kernel *k) {
    const CudaDevice *d = ctx->cuda;
    tile_status st = rt_check_hidden(k);
    if (st) return st;
    if (k->nmaps && !d->api.tensor_map)
        return rt_fail(
            ctx, TILE_BAD_MODULE,
            "kernel '%s' needs cuTensorMapEncodeTiled, which this CUDA driver is too old "
            "for",
            k->name);
    st = check_launch(ctx, k);
    if (st) return st;
    if (!d->clusters || !d->api.launch_ex) k->max_cluster = 0;
    if (k->shared > d->max_shared)
        return rt_fail(ctx, TILE_BAD_MODULE,
                       "kernel '%s' needs %lld bytes of shared memory, and a program may have %d "
                       "on this GPU (%s)",
                       k->name, (long long)k->shared, d->max_shared, ctx->name);
    CuResult r = d->api.module_function(&k->function, cu, k->entry);
    if (r == CU_ERROR_NOT_FOUND)
        return rt_fail(ctx, TILE_BAD_MODULE, "the PTX has no entry '%s', which its manifest names",
                       k->entry);
    if (k->shared_single_cta > d->max_shared) k->shared_single_cta = 0;
    int64_t most = k->shared_single_cta ? k->shared_single_cta : k->shared;
    int threads = 0, local = 0;
    if (!r && most > STATIC_SHARED_LIMIT)
        r = d->api.function_set_attribute(k->function, CU_FUNC_MAX_DYNAMIC_SHARED, (int)most);
    if (!r) r = d->api.function_attribute(&k->registers, CU_FUNC_NUM_REGS, k->function);
    if (!r) r = d->api.function_attribute(&local, CU_FUNC_LOCAL_BYTES, k->function);
    if (!r) r = d->api.function_attribute(&threads, CU_FUNC_MAX_THREADS_PER_BLOCK, k->function);
    if (!r && rt_cluster_size(k) > PORTABLE_CLUSTER)
        r = d->api.function_set_attribute(k->function, CU_FUNC_LARGE_CLUSTERS, 1);
    if (!r && k->num_warps * 32 <= threads)
        r = d->api.occupancy(&k->resident, k->function, k->num_warps * 32, (size_t)k->shared);
    if (r) return sort_of_mistake(cuda_fail(ctx, r, "cannot prepare the kernel"), TILE_BAD_MODULE);
    k->spill_bytes = local > 0 ? (size_t)local : 0;
    if (k->nsplit) open_workspaces(ctx);
    if (k->num_warps * 32 > threads)
        return rt_fail(ctx, TILE_BAD_MODULE,
                       "kernel '%s' wants %d threads a program, and with its %d registers a thread "
                       "this GPU runs at most %d",
                       k->name, k->num_warps * 32, k->registers, threads);
    return TILE_OK;
}

static void trim(char *log) {
    size_t n = strlen(log);
    while (n && (log[n - 1] == '\n' || log[n - 1] == ' ')) log[--n] = '\0';
}

/* The driver refused the PTX: why, as well as is known. */
static tile_status refuse_ptx(tile_context *ctx, CuResult r, const char *text, const char *log) {
    char what[160] = "the driver refuses the PTX";
    const char *version = strstr(text, "\n.version ");
    int driver = 0;
    if (r == CU_ERROR_UNSUPPORTED_PTX_VERSION && version &&
        ctx->cuda->api.driver_version(&driver) == CU_SUCCESS) {
        version += strlen("\n.version ");
        snprintf(what, sizeof what, "the PTX is of version %.*s, and the driver is of CUDA %d.%d",
                 (int)strspn(version, "0123456789."), version, driver / 1000, driver % 1000 / 10);
    }
    return sort_of_mistake(fail_with_log(ctx, r, what, log), TILE_BAD_MODULE);
}

static tile_status cuda_load(tile_module *m, const char *text) {
    tile_context *ctx = m->ctx;
    CudaDevice *d = ctx->cuda;
    if (m->ir)
        return rt_fail(ctx, TILE_BAD_MODULE,
                       "this is tile IR, which runs on the CPU device; a GPU takes PTX: compile "
                       "with --emit=ptx");
    const Target *t = target_find(m->target);
    if (t && !target_runs(t, d->sm))
        return rt_fail(ctx, TILE_BAD_MODULE, "compiled for %s, and this GPU (%s) is of sm_%d",
                       t->name, ctx->name, d->sm);
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    char *log = calloc(1, JIT_LOG_BYTES);
    int option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BYTES};
    void *value[] = {log, (void *)(uintptr_t)JIT_LOG_BYTES}; /* the ABI packs numbers so */
    r = d->api.module_load(&m->cu, text, log ? 2 : 0, option, value);
    tile_status st = TILE_OK;
    if (r) {
        m->cu = NULL;
        if (log) {
            log[JIT_LOG_BYTES - 1] = '\0';
            trim(log);
        }
        st = refuse_ptx(ctx, r, text, log ? log : "");
    }
    free(log);
    for (int i = 0; !st && i < m->nkernels; i++) {
        tile_kernel *k = &m->kernel[i];
        st = load_kernel(ctx, m->cu, k);
        if (!k->of || st != TILE_BAD_MODULE) continue;
        k->unusable = true;
        st = TILE_OK;
    }
    CuContext old;
    d->api.ctx_pop(&old);
    return st;
}

static void cuda_unload(tile_module *m) {
    if (!m->cu || enter(m->ctx)) return;
    CuContext old;
    CudaDevice *d = m->ctx->cuda;
    for (int i = 0; i < m->nkernels; i++)
        if (m->kernel[i].function) graphs_forget(&d->graphs, &d->api, m->kernel[i].function);
    d->api.module_unload(m->cu);
    d->api.ctx_pop(&old);
    m->cu = NULL;
}

/* ---- streams ---- */

static tile_status cuda_synchronize(tile_context *ctx) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.ctx_synchronize(), "the device reports");
}

static tile_status cuda_synchronize_stream(tile_context *ctx, void *stream) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.stream_synchronize(stream), "the stream reports");
}

static tile_status cuda_stream_create(tile_context *ctx, void **out) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    CuStream stream = NULL;
    r = ctx->cuda->api.stream_create(&stream, CU_STREAM_NON_BLOCKING);
    *out = stream;
    return leave(ctx, r, "cannot make a stream");
}

static tile_status cuda_stream_destroy(tile_context *ctx, void *stream) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.stream_destroy(stream), "cannot end a stream");
}

/* ---- events ---- */

static tile_status cuda_event_record(tile_event *e, void *stream) {
    tile_context *ctx = e->ctx;
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    if (!e->cu) r = ctx->cuda->api.event_create(&e->cu, 0);
    if (!r) r = ctx->cuda->api.event_record(e->cu, stream);
    return leave(ctx, r, "cannot record an event");
}

static tile_status cuda_event_order(tile_event *e, void *stream) {
    tile_context *ctx = e->ctx;
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.stream_wait(stream, e->cu, 0), "cannot wait for an event");
}

static tile_status cuda_event_wait(tile_event *e) {
    tile_context *ctx = e->ctx;
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.event_synchronize(e->cu), "waiting for an event");
}

static tile_status cuda_event_done(tile_event *e, int *done) {
    tile_context *ctx = e->ctx;
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    r = ctx->cuda->api.event_query(e->cu);
    *done = r == CU_SUCCESS;
    return leave(ctx, r == CU_ERROR_NOT_READY ? CU_SUCCESS : r, "asking about an event");
}

static tile_status cuda_event_elapsed(tile_event *start, tile_event *end, double *ms) {
    tile_context *ctx = start->ctx;
    const CudaApi *api = &ctx->cuda->api;
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    float elapsed = 0;
    r = api->event_synchronize(start->cu);
    if (!r) r = api->event_synchronize(end->cu);
    if (!r) r = api->event_elapsed(&elapsed, start->cu, end->cu);
    *ms = (double)elapsed;
    return leave(ctx, r, "waiting for an event");
}

static void cuda_event_close(tile_event *e) {
    if (!e->cu || enter(e->ctx)) return;
    CuContext old;
    e->ctx->cuda->api.event_destroy(e->cu);
    e->ctx->cuda->api.ctx_pop(&old);
}

/* ---- opening ---- */

static void cuda_close(tile_context *ctx) {
    CudaDevice *d = ctx->cuda;
    CuContext old;
    bool entered = d->context && !enter(ctx);
    graphs_close(&d->graphs, entered ? &d->api : NULL);
    if (entered) {
        workspaces_close(&d->workspaces, &d->api);
        d->api.ctx_pop(&old);
    }
    if (d->retained) d->api.primary_release(d->device);
    cuda_api_close(&d->api);
}

/* Which device, and its context. */
static tile_status choose_device(tile_context *ctx, int ordinal, void *cu_context) {
    CudaDevice *d = ctx->cuda;
    int count = 0;
    CuResult r = d->api.init(0);
    if (!r) r = d->api.device_count(&count);
    if (r == CU_ERROR_NO_DEVICE || (!r && count == 0))
        return rt_fail(ctx, TILE_NO_DEVICE, "the CUDA driver finds no GPU");
    if (r) {
        cuda_fail(ctx, r, "the CUDA driver does not start");
        return TILE_NO_DEVICE;
    }
    if (cu_context) {
        d->context = cu_context;
        r = enter(ctx);
        if (r) return cuda_fail(ctx, r, "the given CUcontext cannot be used");
        return leave(ctx, d->api.ctx_device(&d->device), "the given CUcontext has no device");
    }
    if (ordinal >= count)
        return rt_fail(ctx, TILE_NO_DEVICE, "there is no GPU %d; the driver has %d", ordinal,
                       count);
    r = d->api.device_get(&d->device, ordinal);
    if (!r) r = d->api.primary_retain(&d->context, d->device);
    if (r) return cuda_fail(ctx, r, "cannot open the GPU");
    d->retained = true;
    return TILE_OK;
}

static tile_status describe_device(tile_context *ctx) {
    CudaDevice *d = ctx->cuda;
    int major = 0, minor = 0, driver = 0;
    CuResult r = d->api.device_name(ctx->name, (int)sizeof ctx->name, d->device);
    if (!r) r = d->api.device_attribute(&major, CU_DEVICE_CAPABILITY_MAJOR, d->device);
    if (!r) r = d->api.device_attribute(&minor, CU_DEVICE_CAPABILITY_MINOR, d->device);
    if (!r) r = d->api.device_attribute(&d->max_shared, CU_DEVICE_MAX_SHARED_OPTIN, d->device);
    if (!r)
        r = d->api.device_attribute(&ctx->multiprocessors, CU_DEVICE_MULTIPROCESSORS, d->device);
    if (!r) r = d->api.device_attribute(&d->cooperative, CU_DEVICE_COOPERATIVE_LAUNCH, d->device);
    /* A driver from before clusters does not know the question. */
    if (!r && d->api.device_attribute(&d->clusters, CU_DEVICE_CLUSTER_LAUNCH, d->device))
        d->clusters = 0;
    if (!r && d->api.device_attribute(&d->flushes, CU_DEVICE_FLUSH_REMOTE_WRITES, d->device))
        d->flushes = 0;
    if (r) return cuda_fail(ctx, r, "cannot ask the GPU what it is");
    d->sm = major * 10 + minor;
    if (d->api.driver_version(&driver)) driver = 0;
    /* Older drivers do not capture such launches. */
    d->early = d->api.launch_ex && driver >= EARLY_DRIVER;
    d->takes_graphs = driver >= GRAPH_DRIVER && cuda_api_has_graphs(&d->api);
    const Target *t = target_best(d->sm);
    if (!t)
        return rt_fail(ctx, TILE_NO_DEVICE, "%s has compute capability %d.%d; 8.0 is needed",
                       ctx->name, major, minor);
    ctx->target = t->name;
    ctx->ordinal = d->device; /* the driver counts with its handles */
    return TILE_OK;
}

void *cuda_context_of(const tile_context *ctx) {
    return ctx->cuda ? ctx->cuda->context : NULL;
}

tile_status cuda_open(tile_context *ctx, int ordinal, void *cu_context) {
    static const DeviceOps ops = {
        .alloc = cuda_alloc,
        .alloc_shared = cuda_alloc_shared,
        .share = cuda_share,
        .open_shared = cuda_open_shared,
        .enable_peer = cuda_enable_peer,
        .copy_peer = cuda_copy_peer,
        .release = cuda_release,
        .copy_in = cuda_copy_in,
        .copy_out = cuda_copy_out,
        .copy_within = cuda_copy_within,
        .write_value = cuda_write_value,
        .wait_value = cuda_wait_value,
        .fill = cuda_fill,
        .load = cuda_load,
        .unload = cuda_unload,
        .launch = cuda_launch,
        .keep_graphs = cuda_keep_graphs,
        .synchronize = cuda_synchronize,
        .synchronize_stream = cuda_synchronize_stream,
        .stream_create = cuda_stream_create,
        .stream_destroy = cuda_stream_destroy,
        .event_record = cuda_event_record,
        .event_order = cuda_event_order,
        .event_wait = cuda_event_wait,
        .event_done = cuda_event_done,
        .event_elapsed = cuda_event_elapsed,
        .event_close = cuda_event_close,
        .close = cuda_close,
    };
    CudaDevice *d = ctx->cuda = calloc(1, sizeof *d);
    if (!d || !graphs_open(&d->graphs)) {
        free(d);
        ctx->cuda = NULL;
        return rt_fail(ctx, TILE_NO_MEMORY, "no memory for a context");
    }
    char why[300];
    tile_status st = TILE_OK;
    if (!cuda_api_open(&d->api, why, sizeof why)) st = rt_fail(ctx, TILE_NO_DEVICE, "%s", why);
    if (!st) st = choose_device(ctx, ordinal, cu_context);
    if (!st) st = describe_device(ctx);
    if (!st) {
        ctx->ops = &ops;
        return TILE_OK;
    }
    cuda_close(ctx);
    free(d);
    ctx->cuda = NULL;
    return st;
}

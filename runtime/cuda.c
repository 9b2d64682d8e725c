/* cuda.c: a GPU as a device of the runtime, through the CUDA Driver API.
 *
 * Convention: the caller's current CUDA context is left as it was. Each call pushes this context,
 * does its work and pops it, so any thread may call at any time. The driver's failures become
 * TILE_DEVICE_ERROR with the driver's own name and sentence. */
#include "ir/target.h"
#include "runtime/cuda_api.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JIT_LOG_BYTES = 8192, STATIC_SHARED_LIMIT = 48 * 1024 };

struct CudaDevice {
    CudaApi api;
    CuDevice device;
    CuContext context;
    bool retained; /* the primary context, which we give back */
    int sm, max_shared;
};

/* ---- errors ---- */

static tile_status cuda_fail(tile_context *ctx, CuResult r, const char *what) {
    const CudaApi *api = &ctx->cuda->api;
    const char *name = NULL, *text = NULL;
    api->error_name(r, &name);
    api->error_string(r, &text);
    tile_status st = r == CU_ERROR_OUT_OF_MEMORY ? TILE_NO_MEMORY : TILE_DEVICE_ERROR;
    return rt_fail(ctx, st, "%s: %s (%s, %d)", what, text ? text : "unknown error",
                   name ? name : "unknown", r);
}

/* Makes the context current; leave() undoes it. */
static CuResult enter(tile_context *ctx) {
    return ctx->cuda->api.ctx_push(ctx->cuda->context);
}

static tile_status leave(tile_context *ctx, CuResult r, const char *what) {
    CuContext old;
    ctx->cuda->api.ctx_pop(&old);
    return r ? cuda_fail(ctx, r, what) : TILE_OK;
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
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.mem_free(b->start), "cannot free device memory");
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

static tile_status cuda_fill(tile_context *ctx, tile_ptr to, unsigned char value, size_t bytes) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.fill(to, value, bytes), "fill on the device");
}

/* ---- modules ---- */

/* Code for sm_80 runs on every later GPU; code for an architecture with a letter only on its own.
 */
static bool target_runs(const Target *t, int sm) {
    bool only_here = t->name[strlen(t->name) - 1] == 'a';
    return only_here ? t->sm == sm : t->sm <= sm;
}

static const Target *best_target(int sm) {
    const Target *best = NULL;
    for (int i = 0; i < target_count; i++)
        if (target_runs(&target_table[i], sm) && (!best || target_table[i].sm > best->sm))
            best = &target_table[i];
    return best;
}

static tile_status load_kernel(tile_context *ctx, CuModule cu, tile_kernel *k) {
    const CudaDevice *d = ctx->cuda;
    if (k->nhidden)
        return rt_fail(ctx, TILE_BAD_MODULE,
                       "kernel '%s' has hidden parameters, which this version of the runtime "
                       "cannot make",
                       k->name);
    if (k->cluster != 1)
        return rt_fail(ctx, TILE_BAD_MODULE,
                       "kernel '%s' runs in clusters, which this version of the runtime cannot "
                       "launch",
                       k->name);
    if (k->shared > d->max_shared)
        return rt_fail(ctx, TILE_BAD_MODULE,
                       "kernel '%s' needs %lld bytes of shared memory, and a program may have %d "
                       "on this GPU (%s)",
                       k->name, (long long)k->shared, d->max_shared, ctx->name);
    CuResult r = d->api.module_function(&k->function, cu, k->entry);
    if (r == CU_ERROR_NOT_FOUND)
        return rt_fail(ctx, TILE_BAD_MODULE, "the PTX has no entry '%s', which its manifest names",
                       k->entry);
    int threads = 0, local = 0;
    if (!r && k->shared > STATIC_SHARED_LIMIT)
        r = d->api.function_set_attribute(k->function, CU_FUNC_MAX_DYNAMIC_SHARED, (int)k->shared);
    if (!r) r = d->api.function_attribute(&k->registers, CU_FUNC_NUM_REGS, k->function);
    if (!r) r = d->api.function_attribute(&local, CU_FUNC_LOCAL_BYTES, k->function);
    if (!r) r = d->api.function_attribute(&threads, CU_FUNC_MAX_THREADS_PER_BLOCK, k->function);
    if (r) return cuda_fail(ctx, r, "cannot prepare the kernel");
    k->spill_bytes = local > 0 ? (size_t)local : 0;
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
        st = log && log[0] ? rt_fail(ctx, TILE_BAD_MODULE, "the driver refuses the PTX:\n%s", log)
                           : cuda_fail(ctx, r, "the driver refuses the PTX");
        if (st == TILE_DEVICE_ERROR) st = TILE_BAD_MODULE;
    }
    free(log);
    for (int i = 0; !st && i < m->nkernels; i++) st = load_kernel(ctx, m->cu, &m->kernel[i]);
    CuContext old;
    d->api.ctx_pop(&old);
    return st;
}

static void cuda_unload(tile_module *m) {
    if (!m->cu || enter(m->ctx)) return;
    CuContext old;
    m->ctx->cuda->api.module_unload(m->cu);
    m->ctx->cuda->api.ctx_pop(&old);
    m->cu = NULL;
}

/* ---- launching ---- */

/* The argument as the kernel's parameter holds it. Little-endian, so that the low bytes are first,
 * and the driver copies as many as the parameter has. */
static uint64_t param_bits(const KernelParam *p, const InterpArg *arg) {
    if (p->depth) return arg->p;
    if (elem_info[p->elem].class_ == ELEM_F) return elem_from_double(p->elem, arg->f);
    return (uint64_t)arg->i;
}

static tile_status cuda_launch(tile_kernel *k, const tile_grid *grid, const InterpArg *arg,
                               void *stream) {
    tile_context *ctx = k->module->ctx;
    uint64_t value[RT_MAX_PARAMS];
    void *param[RT_MAX_PARAMS];
    for (int i = 0; i < k->nparams; i++) {
        value[i] = param_bits(&k->param[i], &arg[i]);
        param[i] = &value[i];
    }
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    r = ctx->cuda->api.launch(k->function, grid->x, grid->y, grid->z, (unsigned)k->num_warps * 32,
                              1, 1, (unsigned)k->shared, stream, param, NULL);
    char what[160];
    snprintf(what, sizeof what, "cannot launch '%.100s'", k->name);
    return leave(ctx, r, what);
}

static tile_status cuda_synchronize(tile_context *ctx) {
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    return leave(ctx, ctx->cuda->api.ctx_synchronize(), "the device reports");
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
    int major = 0, minor = 0;
    CuResult r = d->api.device_name(ctx->name, (int)sizeof ctx->name, d->device);
    if (!r) r = d->api.device_attribute(&major, CU_DEVICE_CAPABILITY_MAJOR, d->device);
    if (!r) r = d->api.device_attribute(&minor, CU_DEVICE_CAPABILITY_MINOR, d->device);
    if (!r) r = d->api.device_attribute(&d->max_shared, CU_DEVICE_MAX_SHARED_OPTIN, d->device);
    if (r) return cuda_fail(ctx, r, "cannot ask the GPU what it is");
    d->sm = major * 10 + minor;
    const Target *t = best_target(d->sm);
    if (!t)
        return rt_fail(ctx, TILE_NO_DEVICE, "%s has compute capability %d.%d; 8.0 is needed",
                       ctx->name, major, minor);
    ctx->target = t->name;
    return TILE_OK;
}

tile_status cuda_open(tile_context *ctx, int ordinal, void *cu_context) {
    static const DeviceOps ops = {
        .alloc = cuda_alloc,
        .release = cuda_release,
        .copy_in = cuda_copy_in,
        .copy_out = cuda_copy_out,
        .copy_within = cuda_copy_within,
        .fill = cuda_fill,
        .load = cuda_load,
        .unload = cuda_unload,
        .launch = cuda_launch,
        .synchronize = cuda_synchronize,
        .event_record = cuda_event_record,
        .event_elapsed = cuda_event_elapsed,
        .event_close = cuda_event_close,
        .close = cuda_close,
    };
    CudaDevice *d = ctx->cuda = calloc(1, sizeof *d);
    if (!d) return rt_fail(ctx, TILE_NO_MEMORY, "no memory for a context");
    char why[300];
    tile_status st = TILE_OK;
    if (!cuda_api_open(&d->api, why, sizeof why)) st = rt_fail(ctx, TILE_NO_DEVICE, "%s", why);
    if (!st) st = choose_device(ctx, ordinal, cu_context);
    if (!st) st = describe_device(ctx);
    if (!st) {
        ctx->ops = &ops;
        return TILE_OK;
    }
    if (d->api.library) cuda_close(ctx);
    free(d);
    ctx->cuda = NULL;
    return st;
}

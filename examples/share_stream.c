/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* share_stream.c: a tile kernel in the middle of other CUDA code: the context, the stream and the
 * buffers are that code's, and nothing waits in between.
 *
 *   share_stream KERNEL        KERNEL is vector_add.tl, or the .ptx that tilec made of it
 *
 * The other code here is the driver API itself, opened when the program runs, so that it builds
 * without a CUDA toolkit; with cuda.h the declarations at the top would be all that goes away. In
 * one stream: copies to the device (theirs), the sum (ours) of a buffer of theirs and one of ours,
 * a copy back (theirs). Exits with 77 where there is no GPU. */
#include "load_kernel.h"

#include <dlfcn.h>
#include <stdint.h>

enum { N = 1 << 20, SKIPPED = 77 };

/* ---- what cuda.h would declare ---- */

typedef int CUresult, CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef uint64_t CUdeviceptr;

typedef struct Driver {
    CUresult (*init)(unsigned flags);
    CUresult (*device_get)(CUdevice *device, int ordinal);
    CUresult (*retain)(CUcontext *context, CUdevice device);
    CUresult (*release)(CUdevice device);
    CUresult (*set_current)(CUcontext context);
    CUresult (*stream_create)(CUstream *stream, unsigned flags);
    CUresult (*stream_wait)(CUstream stream);
    CUresult (*stream_destroy)(CUstream stream);
    CUresult (*alloc)(CUdeviceptr *at, size_t bytes);
    CUresult (*free)(CUdeviceptr at);
    CUresult (*to_device)(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
    CUresult (*to_host)(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
} Driver;

/* The names that the driver's functions have since CUDA 3.2. */
static const char *const driver_names[] = {
    "cuInit",          "cuDeviceGet",    "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent", "cuStreamCreate", "cuStreamSynchronize",      "cuStreamDestroy_v2",
    "cuMemAlloc_v2",   "cuMemFree_v2",   "cuMemcpyHtoDAsync_v2",     "cuMemcpyDtoHAsync_v2",
};

static int open_driver(Driver *d) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    enum { NAMES = sizeof driver_names / sizeof *driver_names };
    _Static_assert(NAMES * sizeof(void *) == sizeof(Driver), "a name for each function");
    void *found[NAMES];
    for (int i = 0; library && i < NAMES; i++)
        if (!(found[i] = dlsym(library, driver_names[i]))) library = NULL;
    if (library) memcpy(d, found, sizeof found);
    return library != NULL;
}

/* ---- the work ---- */

typedef struct Work {
    Driver d;
    CUcontext context; /* theirs, like the stream and two of the buffers */
    CUstream stream;
    CUdeviceptr x, out;
    tile_context *ctx; /* ours, on their context */
    tile_module *module;
    tile_kernel *kernel;
    tile_ptr y;
} Work;

static const char *queue(Work *w, const char *file, const float *x, const float *y, float *out) {
    const Driver *d = &w->d;
    size_t bytes = N * sizeof *x;
    if (d->alloc(&w->x, bytes) || d->alloc(&w->out, bytes) || d->stream_create(&w->stream, 0))
        return "the other code failed";
    tile_status st = tile_context_from_cuda(w->context, &w->ctx);
    if (!st)
        st = load_kernel(w->ctx, file, "x_ptr=*fp32:16,y_ptr=*fp32:16,out_ptr=*fp32:16,n=i32:16",
                         &w->module, &w->kernel);
    if (!st) st = tile_alloc(w->ctx, bytes, &w->y);
    if (st) return "libtile failed";
    /* From here on everything is queued in their stream, and runs in this order. */
    if (d->to_device(w->x, x, bytes, w->stream) || d->to_device(w->y, y, bytes, w->stream))
        return "a copy to the device failed";
    tile_arg args[] = {tile_pointer(w->x), tile_pointer(w->y), tile_pointer(w->out), tile_i32(N)};
    if (tile_launch(w->kernel, NULL, args, 4, w->stream)) return "the launch failed";
    if (d->to_host(out, w->out, bytes, w->stream) || d->stream_wait(w->stream))
        return "the copy back failed";
    return NULL;
}

static void clean_up(Work *w) {
    if (w->ctx) tile_free(w->ctx, w->y);
    tile_module_unload(w->module);
    tile_context_destroy(w->ctx);
    if (w->stream) w->d.stream_destroy(w->stream);
    if (w->out) w->d.free(w->out);
    if (w->x) w->d.free(w->x);
}

int main(int argc, char **argv) {
    static float x[N], y[N], out[N];
    Work w = {.ctx = NULL};
    CUdevice device;
    if (argc != 2) {
        fprintf(stderr, "usage: share_stream KERNEL\n");
        return 2;
    }
    if (!open_driver(&w.d) || w.d.init(0) || w.d.device_get(&device, 0) ||
        w.d.retain(&w.context, device) || w.d.set_current(w.context)) {
        printf("share_stream: skipped: no GPU\n");
        return SKIPPED;
    }
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = (float)(i % 7);
    }
    const char *failure = queue(&w, argv[1], x, y, out);
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += out[i] != x[i] + y[i];
    if (failure)
        fprintf(stderr, "share_stream: %s: %s\n", failure, w.ctx ? tile_error(w.ctx) : "");
    else
        printf("share_stream: %d of %d sums wrong\n", wrong, (int)N);
    clean_up(&w);
    w.d.release(device);
    return failure || wrong ? 5 : 0;
}

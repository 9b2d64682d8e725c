/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_device.h: a GPU, as cuda.c and cuda_launch.c have it. */
#ifndef TILE_RUNTIME_CUDA_DEVICE_H
#define TILE_RUNTIME_CUDA_DEVICE_H

#include "runtime/cuda_api.h"
#include "runtime/graphs.h"
#include "runtime/runtime.h"
#include "runtime/workspace.h"

struct CudaDevice {
    CudaApi api;
    CuDevice device;
    CuContext context;
    bool retained;                             /* the primary context, which we give back */
    int sm, max_shared, clusters, cooperative; /* the last two: it can launch such kernels */
    int flushes; /* a wait in a stream can make what other GPUs wrote seen */
    bool early;  /* the driver lets kernels start before the one before is done, in graphs, too */
    bool takes_graphs; /* the driver does what graphs.c asks for, and was measured */
    Workspaces workspaces;
    LaunchGraphs graphs;
};

/* What the driver says of r, after `what`. */
tile_status cuda_fail(tile_context *ctx, CuResult r, const char *what);

/* Where a result stands for a mistake of the caller's, it is a mistake of this sort. */
static inline tile_status sort_of_mistake(tile_status st, tile_status sort) {
    return st == TILE_INVALID ? sort : st;
}

/* Makes the context current; leave() undoes it. */
static inline CuResult enter(tile_context *ctx) {
    return ctx->cuda->api.ctx_push(ctx->cuda->context);
}

static inline tile_status leave(tile_context *ctx, CuResult r, const char *what) {
    CuContext old;
    ctx->cuda->api.ctx_pop(&old);
    return r ? cuda_fail(ctx, r, what) : TILE_OK;
}

/* cuda_launch.c: of DeviceOps. */
tile_status cuda_launch(tile_kernel *k, const LaunchGrid *asked, InterpArg *arg, void *stream);
tile_status cuda_keep_graphs(tile_context *ctx, int at_most);

#endif

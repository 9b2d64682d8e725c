/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_launch.c: the programs that a launch asks for, and its arguments -> a call of the driver: as
 * a graph of one kernel (graphs.c), early, in clusters, or plainly. */
#include "runtime/cuda_device.h"

#include <stdio.h>

/* A grid of no more programs than the GPU has multiprocessors leaves each one to itself: what
 * shared memory there is beyond a program's share goes into deeper pipelines then. */
static unsigned shared_bytes(const tile_kernel *k, const tile_grid *grid) {
    tile_context *ctx = k->module->ctx;
    uint64_t most = (uint64_t)ctx->multiprocessors;
    bool single = k->shared_single_cta && (uint64_t)grid->x * grid->y <= most &&
                  (uint64_t)grid->x * grid->y * grid->z <= most &&
                  !atomic_load_explicit(&ctx->concurrent, memory_order_relaxed);
    return (unsigned)(single ? k->shared_single_cta : k->shared);
}

/* May the programs start while the kernel before in the stream ends, and wait for that themselves?
 * Where they leave multiprocessors free: programs of a larger grid come to multiprocessors as these
 * become free, and not spread over all (H100, in a graph, us, and early: products of
 * 128 2.06, 1.67; of 512 3.10, 2.71; of 1024, 128 programs, 5.63, 5.34; of 2048, 256
 * programs, 26.0, 28.0). Not where a workspace is taken in front of the launch, in the stream's
 * order. */
static bool starts_early(const tile_kernel *k, const tile_grid *grid) {
    const tile_context *ctx = k->module->ctx;
    uint64_t most = (uint64_t)ctx->multiprocessors, plane = (uint64_t)grid->x * grid->y;
    return k->dependent_launch && ctx->cuda->early && !k->nsplit && plane < most &&
           plane * grid->z < most;
}

/* The kernel says that it runs in clusters, or all at once; or this launch is of clusters, or
 * starts early. */
static CuResult launch_special(const CudaApi *api, const tile_kernel *k, const LaunchGrid *asked,
                               void **param, void *stream) {
    const tile_grid *grid = &asked->programs;
    CuLaunchAttribute attribute[3];
    CuLaunchConfig config = {.grid = {grid->x, grid->y, grid->z},
                             .block = {(unsigned)k->num_warps * 32, 1, 1},
                             .shared_bytes = shared_bytes(k, grid),
                             .stream = stream,
                             .attribute = attribute};
    if (rt_cluster_size(k) > 1)
        attribute[config.nattributes++] =
            (CuLaunchAttribute){.id = CU_LAUNCH_CLUSTER,
                                .value.cluster = {k->cluster[0], k->cluster[1], k->cluster[2]}};
    if (k->cooperative)
        attribute[config.nattributes++] =
            (CuLaunchAttribute){.id = CU_LAUNCH_COOPERATIVE, .value.cooperative = 1};
    if (asked->cluster > 1)
        attribute[config.nattributes++] =
            (CuLaunchAttribute){.id = CU_LAUNCH_CLUSTER, .value.cluster = {asked->cluster, 1, 1}};
    if (k->plain && starts_early(k, grid))
        attribute[config.nattributes++] =
            (CuLaunchAttribute){.id = CU_LAUNCH_EARLY, .value.early = 1};
    return api->launch_ex(&config, k->function, param, NULL);
}

static CuResult launch_plain(CudaDevice *d, const tile_kernel *k, const LaunchGrid *asked,
                             void **param, void *stream) {
    const tile_grid *grid = &asked->programs;
    CuKernelNode kernel = {.function = k->function,
                           .grid = {grid->x, grid->y, grid->z},
                           .block = {(unsigned)k->num_warps * 32, 1, 1},
                           .shared_bytes = shared_bytes(k, grid),
                           .params = param};
    if (graphs_launch(&d->graphs, &d->api, &kernel, stream)) return CU_SUCCESS;
    if (starts_early(k, grid)) return launch_special(&d->api, k, asked, param, stream);
    return d->api.launch(k->function, grid->x, grid->y, grid->z, kernel.block[0], 1, 1,
                         kernel.shared_bytes, stream, param, NULL);
}

static tile_status launch_failed(tile_kernel *k, CuResult r) {
    char what[160];
    snprintf(what, sizeof what, "cannot launch '%.100s'", k->name);
    return sort_of_mistake(cuda_fail(k->module->ctx, r, what), TILE_BAD_LAUNCH);
}

/* What a split launch hands parts of sums in is taken; the workspace stays 0 where nothing is. */
static CuResult take_workspace(tile_kernel *k, const LaunchGrid *asked, void *stream,
                               LaunchArgs *a) {
    CudaDevice *d = k->module->ctx->cuda;
    if (!k->nsplit || !asked->stream_k[STREAM_K_PLACES]) return CU_SUCCESS;
    return workspace_take(&d->workspaces, &d->api, (size_t)k->split.bytes * asked->programs.x,
                          stream, &a->workspace, &a->mark);
}

/* Pushing and popping the context is left out where it is current already. */
tile_status cuda_launch(tile_kernel *k, const LaunchGrid *asked, InterpArg *arg, void *stream) {
    tile_context *ctx = k->module->ctx;
    CudaDevice *d = ctx->cuda;
    LaunchArgs a;
    CuContext current = NULL;
    bool push = d->api.ctx_current(&current) != CU_SUCCESS || current != d->context;
    CuResult r = push ? enter(ctx) : CU_SUCCESS;
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    tile_status st = rt_arguments(d->api.tensor_map, k, asked, arg, &a, &r);
    bool launched = !st && !r && !asked->ask;
    CuResult taken = launched ? take_workspace(k, asked, stream, &a) : CU_SUCCESS;
    if (taken && asked->stands_in)
        st = TILE_BAD_LAUNCH; /* the kernel's own entry needs no workspace */
    else if (taken)
        r = taken;
    if (launched && !st && !r)
        r = k->plain && asked->cluster < 2 ? launch_plain(d, k, asked, a.param, stream)
                                           : launch_special(&d->api, k, asked, a.param, stream);
    if (a.workspace) {
        CuResult back = workspace_give_back(&d->api, a.workspace, stream);
        if (!r) r = back;
    }
    if (push) d->api.ctx_pop(&current);
    return r ? launch_failed(k, r) : st;
}

tile_status cuda_keep_graphs(tile_context *ctx, int at_most) {
    CudaDevice *d = ctx->cuda;
    if (!d->takes_graphs) return TILE_OK;
    CuResult r = enter(ctx);
    if (r) return cuda_fail(ctx, r, "cannot use the CUDA context");
    bool kept = graphs_keep(&d->graphs, &d->api, at_most);
    tile_status st = leave(ctx, CU_SUCCESS, "");
    return kept ? st : rt_fail(ctx, TILE_NO_MEMORY, "no memory for %d graphs", at_most);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* share.c: the grid that a launch asks for -> the programs that are launched, and how these share
 * its places out.
 *
 * Programs of a persistent kernel take places until none is left. Where that would leave some of
 * them idle in the last round, those of a kernel that can (passes/stream_k.c) share out the loops
 * of as many places as are too many for whole rounds: each of these places is one program's, which
 * does its first iterations; what is cut off goes to helpers, programs that have no such place.
 *
 * What is cut off a place is so many helpers', or a helper's share is of so many places: none
 * begins or ends within another's, so that those at one time at one iteration are many. How much is
 * cut off is what makes both end together, by a model that counts cycles of a multiprocessor: of an
 * iteration of each program that it runs, of each part of a sum that is written or added. */
#include "runtime/runtime.h"
#include "runtime/share_model.h"

enum { MOST_PLACES = 1 << 30, AT_ONCE_ON_CPU = 3 };

/* Adds that of the places beyond whole rounds, if that is known and worth it. */
static void share_iterations(const tile_kernel *k, const InterpArg *arg, int64_t all,
                             int64_t multiprocessors, int64_t at_once, LaunchGrid *g) {
    const KernelSplit *split = &k->split;
    int64_t iterations;
    Shares s;
    ExprError ignored;
    if (!split->code ||
        expr_run(split->code, split->nops, rt_value_of_slot, arg, &iterations, &ignored) != 1 ||
        !share_places(split->clocks, multiprocessors, at_once, all, iterations, g->cluster, &s))
        return;
    g->programs.x = (uint32_t)s.programs;
    g->stream_k[STREAM_K_PLACES] = (uint32_t)s.places;
    g->stream_k[STREAM_K_FIRST] = (uint32_t)s.first;
    g->stream_k[STREAM_K_SHARE] = (uint32_t)s.share;
}

/* The launch is faster in clusters, as many programs each. */
static bool wants_clusters(const tile_kernel *k, const InterpArg *arg) {
    int64_t wanted;
    ExprError ignored;
    return k->max_cluster && k->plain && k->cluster_code &&
           expr_run(k->cluster_code, k->cluster_ops, rt_value_of_slot, arg, &wanted, &ignored) ==
               1 &&
           wanted != 0;
}

bool rt_share_out(const tile_kernel *k, const InterpArg *arg, LaunchGrid *g) {
    const tile_context *ctx = k->module->ctx;
    uint64_t all = (uint64_t)g->work.x * g->work.y * g->work.z; /* below 2^63: checked before */
    uint64_t multiprocessors = ctx->is_cpu ? AT_ONCE_ON_CPU : (uint64_t)ctx->multiprocessors;
    uint64_t at_once = multiprocessors * (uint64_t)(k->resident ? k->resident : 1);
    bool splits = ctx->is_cpu || atomic_load_explicit(&ctx->splits, memory_order_relaxed);
    g->programs = g->work;
    g->cluster = 1;
    for (int i = 0; i < STREAM_K_SHARES; i++) g->stream_k[i] = 0;
    if (!k->persistent) return true;
    if ((k->persistent < 2 && g->work.y > 1) || (k->persistent < 3 && g->work.z > 1)) return false;
    if (all > MOST_PLACES) return false;
    if (all > 1 && wants_clusters(k, arg) && at_once >= (uint64_t)k->max_cluster)
        g->cluster = (uint32_t)k->max_cluster;
    at_once = ctx->is_cpu ? at_once + g->cluster - 1 : at_once;
    at_once -= at_once % g->cluster;
    uint64_t n = all < at_once ? all + (g->cluster - all % g->cluster) % g->cluster : at_once;
    g->programs = (tile_grid){(uint32_t)n, 1, 1};
    if (k->split.bytes && splits)
        share_iterations(k, arg, (int64_t)all, (int64_t)multiprocessors, (int64_t)at_once, g);
    return true;
}

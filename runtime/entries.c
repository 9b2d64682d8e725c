/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* entries.c: a kernel, a grid and arguments -> the entry of its PTX that a launch takes: the first
 * further entry that is for such a launch, else the kernel's own.
 *
 * Further entries compute the same, and mostly faster. What they ask of a launch is known only by
 * trying: conditions, numbers that fit, tensor maps that can be encoded. Who wants to know which
 * entry it is, and why it is no other, goes the same way (EntryAsk). */
#include "runtime/runtime.h"

#include <stdarg.h>
#include <stdio.h>

/* Clusters divide the grid, and a cooperative launch fits the device. */
static tile_status check_special(const tile_kernel *k, const tile_grid *grid) {
    tile_context *ctx = k->module->ctx;
    const uint32_t *c = k->cluster;
    if (grid->x % c[0] || grid->y % c[1] || grid->z % c[2])
        return rt_fail(
            ctx, TILE_BAD_LAUNCH,
            "a grid of %u x %u x %u programs does not divide into the clusters of kernel "
            "'%s', %u x %u x %u",
            grid->x, grid->y, grid->z, k->name, c[0], c[1], c[2]);
    uint64_t most = (uint64_t)ctx->multiprocessors * (uint64_t)k->resident;
    uint64_t plane = (uint64_t)grid->x * grid->y; /* at most 2^47: z's 16 bits fit too */
    if (k->cooperative && most && plane * grid->z > most)
        return rt_fail(ctx, TILE_BAD_LAUNCH,
                       "kernel '%s' runs all its programs at once: %llu, and this GPU takes %llu",
                       k->name, (unsigned long long)(plane * grid->z), (unsigned long long)most);
    return TILE_OK;
}

/* What follows the one that it is said of, to who asks and to who launches an entry by its name. */
#define FOR_OTHERS "is for other GPUs or another runtime than this"
#define SHARE_OUT "share out %d ax%s of a grid, and 2^30 places at most"
#define SHARED_OUT(e) (e)->persistent, (e)->persistent > 1 ? "es" : "is"

static bool not_for(LaunchGrid *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool not_for(LaunchGrid *g, const char *fmt, ...) {
    if (!g->ask) return false;
    va_list args;
    va_start(args, fmt);
    vsnprintf(g->ask->why, sizeof g->ask->why, fmt, args);
    va_end(args);
    return false;
}

/* A launch of k may be one of this further entry of it, and had better be: for programs of few
 * places it is not always (passes/min_places.c), unless they share out iterations. */
static bool stands_in(const tile_kernel *e, const InterpArg *arg, LaunchGrid *g) {
    int64_t number[RT_MAX_NUMBERS], least;
    if (e->unusable) return not_for(g, "it " FOR_OTHERS);
    if (e->module->ctx->is_cpu) return not_for(g, "the CPU device runs what the source says");
    if (!rt_share_out(e, arg, g)) return not_for(g, "its programs " SHARE_OUT, SHARED_OUT(e));
    if (!rt_is_for(e, arg, number, &least)) {
        if (g->ask) rt_why_not_for(e, arg, g->ask->why, sizeof g->ask->why);
        return false;
    }
    uint64_t places = (uint64_t)g->work.x * g->work.y * g->work.z;
    uint64_t each = (places + g->programs.x - 1) / g->programs.x;
    bool few = least > 1 && each < (uint64_t)least;
    if (!e->persistent || !few || g->stream_k[STREAM_K_PLACES]) return true;
    return not_for(g, "it is faster from %lld places for a program on, and here that is %llu",
                   (long long)least, (unsigned long long)each);
}

/* That e takes the launch, or why it does not. */
static void tell(const LaunchGrid *g, const tile_kernel *e, bool takes) {
    if (g->ask) g->ask->see(g->ask->user, e->name, takes ? NULL : g->ask->why);
}

/* By the first further entry that takes it; TILE_BAD_LAUNCH: there is none. */
static tile_status launch_further(tile_kernel *k, LaunchGrid *g, InterpArg *arg, void *stream) {
    tile_status st = TILE_BAD_LAUNCH;
    for (int i = 1; st == TILE_BAD_LAUNCH && i <= k->nfurther; i++) {
        g->stands_in = stands_in(k + i, arg, g);
        if (g->stands_in) st = k->module->ctx->ops->launch(k + i, g, arg, stream);
        if (!st || st == TILE_BAD_LAUNCH) tell(g, k + i, !st);
    }
    g->stands_in = false;
    return st;
}

/* By the entry itself. */
static tile_status launch_own(tile_kernel *k, LaunchGrid *g, InterpArg *arg, void *stream) {
    tile_context *ctx = k->module->ctx;
    tile_status st = k->plain ? TILE_OK : check_special(k, &g->work);
    if (st) return st;
    if (k->unusable)
        return rt_fail(ctx, TILE_BAD_LAUNCH, "'%s', an entry of kernel '%s', " FOR_OTHERS, k->name,
                       k->of->name);
    if (!rt_keeps_conditions(k, arg))
        return rt_fail(ctx, TILE_BAD_LAUNCH,
                       "'%s', an entry of kernel '%s', is for launches where %s", k->name,
                       k->of->name, k->conditions);
    if (!rt_share_out(k, arg, g))
        return rt_fail(ctx, TILE_BAD_LAUNCH,
                       "a grid of %u x %u x %u programs: those of '%s' " SHARE_OUT, g->work.x,
                       g->work.y, g->work.z, k->name, SHARED_OUT(k));
    st = ctx->ops->launch(k, g, arg, stream);
    if (!st) tell(g, k, true);
    return st;
}

tile_status rt_launch(tile_kernel *k, LaunchGrid *g, InterpArg *arg, void *stream) {
    tile_status st = launch_further(k, g, arg, stream);
    return st == TILE_BAD_LAUNCH ? launch_own(k, g, arg, stream) : st;
}

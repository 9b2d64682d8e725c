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

enum {
    MOST_PLACES = 1 << 30,
    AT_ONCE_ON_CPU = 3,
    MOST_HELPERS = 16,  /* of a place */
    MOST_TOGETHER = 4,  /* places of a helper */
    WORTH_CLOCKS = 2000 /* H200: 0.5 to 1.5 us less than the model says is gained by an item more */
};

typedef struct Problem {
    const int64_t *clocks; /* by ITERATION_CLOCKS… */
    int64_t multiprocessors;
    int64_t cut, spare, rounds; /* places; programs without one; whole rounds besides */
    int64_t iterations;
} Problem;

typedef struct Way {
    int64_t first, share; /* 0: nothing is cut off */
    int64_t helpers;
    double time; /* behind the whole rounds */
} Way;

/* Of an iteration, where so many programs are at work. */
static double iteration_of(const Problem *p, int64_t programs) {
    int64_t together = (programs + p->multiprocessors - 1) / p->multiprocessors;
    double shared = (double)(together * p->clocks[ITERATION_CLOCKS]);
    double least = (double)p->clocks[LEAST_CLOCKS];
    return shared < least ? least : shared;
}

/* Each place is cut for so many helpers, or each helper has parts of so many places. */
static Way way_of(const Problem *p, int64_t helpers_each, int64_t places_each, int64_t cut_off) {
    double part = (double)p->clocks[PART_CLOCKS], meet = (double)p->clocks[MEET_CLOCKS];
    Way w = {.first = p->iterations - cut_off,
             .share = cut_off * places_each / helpers_each,
             .helpers = (p->cut * helpers_each + places_each - 1) / places_each};
    double each = iteration_of(p, p->cut + w.helpers);
    double written = (double)w.share * each + part * (double)places_each;
    double own = (double)w.first * each + part * (double)helpers_each;
    /* With rounds between the two the parts are there long before they are wanted. */
    double met = p->rounds ? own : written + meet + part * (double)helpers_each;
    w.time = own > met ? own : met;
    if (w.time < written) w.time = written;
    return w;
}

/* The best of these: what is cut off makes helpers later and the others sooner. */
static void try_ways(const Problem *p, int64_t helpers_each, int64_t places_each, Way *best) {
    int64_t low = 1, high = p->iterations / helpers_each;
    if ((p->cut * helpers_each + places_each - 1) / places_each > p->spare || high < low) return;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (way_of(p, helpers_each, places_each, mid * helpers_each).time <=
            way_of(p, helpers_each, places_each, (mid + 1) * helpers_each).time)
            high = mid;
        else
            low = mid + 1;
    }
    Way w = way_of(p, helpers_each, places_each, low * helpers_each);
    if (w.time < best->time) *best = w;
}

static Way best_way(const Problem *p) {
    Way best = {.time = (double)p->iterations * iteration_of(p, p->cut) - WORTH_CLOCKS};
    for (int64_t k = 1; k <= MOST_HELPERS && k <= p->spare / p->cut; k++) try_ways(p, k, 1, &best);
    for (int64_t k = 2; k <= MOST_TOGETHER; k++) try_ways(p, 1, k, &best);
    return best;
}

/* Adds that of the places beyond whole rounds, if that is known and worth it. */
static void share_iterations(const tile_kernel *k, const InterpArg *arg, int64_t all,
                             int64_t multiprocessors, LaunchGrid *g) {
    const KernelSplit *split = &k->split;
    int64_t at_once = multiprocessors * (k->resident ? k->resident : 1);
    Problem p = {.clocks = split->clocks,
                 .multiprocessors = multiprocessors,
                 .cut = all % at_once,
                 .rounds = all / at_once};
    ExprError ignored;
    p.spare = at_once - p.cut;
    if (!p.cut || !split->code ||
        expr_run(split->code, split->nops, rt_value_of_slot, arg, &p.iterations, &ignored) != 1 ||
        p.iterations < 2 || p.iterations > INT32_MAX / MOST_TOGETHER / at_once)
        return;
    Way way = best_way(&p);
    if (!way.share) return;
    g->programs.x = (uint32_t)(p.rounds ? at_once : p.cut + way.helpers);
    g->stream_k[STREAM_K_PLACES] = (uint32_t)p.cut;
    g->stream_k[STREAM_K_FIRST] = (uint32_t)way.first;
    g->stream_k[STREAM_K_SHARE] = (uint32_t)way.share;
}

/* The launch is faster in clusters, as many programs each. */
static bool wants_clusters(const tile_kernel *k, const InterpArg *arg) {
    int64_t wanted;
    ExprError ignored;
    return k->max_cluster && k->plain && !k->split.bytes && k->cluster_code &&
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
        share_iterations(k, arg, (int64_t)all, (int64_t)multiprocessors, g);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* workspace.c: launches whose programs hand each other parts of sums -> memory of each of these
 * launches, in its stream's order: from a pool of the context's, so that a launch costs no call of
 * the system's and waits for nobody, on any number of streams. In a graph that is being captured
 * the two calls are nodes of it, and each run of the graph has memory of its own.
 *
 * Nobody clears it: a part is there when its flag is the launch's mark, 64 bits that are mixed from
 * a count and the time, so that what lies there from before is not taken for one. A launch clears
 * the flags that it has seen, for a graph is run again with the same mark. */
#include "runtime/workspace.h"

#include <string.h>
#include <time.h>

_Static_assert(sizeof(CuMemPoolProps) == 88, "the size of CUmemPoolProps");

void workspaces_open(Workspaces *w, const CudaApi *api, CuDevice device) {
    CuMemPoolProps props = {
        .kind = CU_MEM_PINNED, .place = CU_MEM_DEVICE, .device = device, .room = {0}};
    uint64_t all = UINT64_MAX;
    struct timespec t = {0};
    if (!api->pool_create || !api->pool_set_attribute || !api->pool_destroy || !api->pool_alloc ||
        !api->pool_free)
        return;
    clock_gettime(CLOCK_REALTIME, &t);
    w->seed = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    if (api->pool_create(&w->pool, &props)) {
        w->pool = NULL;
        return;
    }
    if (api->pool_set_attribute(w->pool, CU_POOL_KEEPS, &all)) workspaces_close(w, api);
}

void workspaces_close(Workspaces *w, const CudaApi *api) {
    if (w->pool) api->pool_destroy(w->pool);
    w->pool = NULL;
}

/* Steele, Lea, Flood 2014: splitmix64; never 0, which is what a flag is that was seen. */
static uint64_t mixed(uint64_t x) {
    x *= 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (x ^ x >> 31) | 1;
}

CuResult workspace_take(Workspaces *w, const CudaApi *api, size_t bytes, CuStream stream, CuPtr *at,
                        uint64_t *mark) {
    *mark = mixed(w->seed + atomic_fetch_add_explicit(&w->n, 1, memory_order_relaxed));
    return api->pool_alloc(at, bytes, w->pool, stream);
}

CuResult workspace_give_back(const CudaApi *api, CuPtr at, CuStream stream) {
    return api->pool_free(at, stream);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graphs.c: a kernel that is launched again and again in one stream -> a CUDA graph of that kernel,
 * which takes what differs, arguments, grid and shared memory, anew before each launch.
 *
 * The driver is quicker at that (H200, CUDA 13.0, us of the host's: 1.5 and 2.4 on two hosts, 2.9
 * where the grid differs from one launch to the next; cuLaunchKernel 3.4 and 4.3), and the GPU is
 * not: 1.40 between two such launches, 1.47 between two kernels, but 1.52 to 1.60 from one to the
 * other, and 0.6 to 0.8 from a kernel to one that starts early. So launches go as graphs where the
 * GPU waits for the host, and as ever where it is behind. That a stream is not done with the last
 * launch says nothing, for one takes several times its own time to get there: the stream is behind
 * if it is not done with what was in it some launches before.
 *
 * Each stream has graphs of its own, for two launches of one graph never run at once; a graph takes
 * the priority of the stream that it is launched in. A stream is known by its number: a handle may
 * be another stream's later. Whatever goes wrong, or is not alike for graphs (a stream that is
 * being captured, is of a green context or has attributes for its launches), is the caller's to
 * launch as ever, and to report. */
#include "runtime/graphs.h"

#include <stdlib.h>

enum {
    ASKED_FIRST = 16,   /* launches: to make a graph takes as long as 9 save */
    ASKED_EVERY = 37,   /* no round number, as loops have */
    MARKED_AHEAD = 8,   /* of the question whether the stream is behind: 20 us and more */
    MOST_LAUNCHES = 64, /* that are counted */
    WAYS = 4            /* places where one can be */
};

struct LaunchGraph {
    CuFunction function;
    uint64_t stream;
    int launches; /* 0: the place is free */
    int ask_in;   /* launches, whether the stream is behind */
    bool marked;  /* `mark` is in the stream */
    bool behind;  /* as far as is known */
    bool refused; /* there cannot be one */
    CuEvent mark;
    CuGraph graph;
    CuGraphNode node; /* its kernel */
    CuGraphExec exec; /* NULL: there is none yet */
};

_Static_assert(sizeof(CuKernelNode) == 72, "the size of CUDA_KERNEL_NODE_PARAMS_v2");

bool graphs_open(LaunchGraphs *g) {
    return pthread_mutex_init(&g->lock, NULL) == 0;
}

/* A launch of it that has not ended still does. */
static void drop(LaunchGraph *one, const CudaApi *api) {
    if (one->mark) api->event_destroy(one->mark);
    if (one->exec) api->exec_destroy(one->exec);
    if (one->graph) api->graph_destroy(one->graph);
    *one = (LaunchGraph){0};
}

/* What it is of stays known. */
static void refuse(LaunchGraph *one, const CudaApi *api) {
    LaunchGraph known = {.function = one->function,
                         .stream = one->stream,
                         .launches = one->launches,
                         .refused = true};
    drop(one, api);
    *one = known;
}

bool graphs_keep(LaunchGraphs *g, const CudaApi *api, int ngraphs) {
    pthread_mutex_lock(&g->lock);
    int had = atomic_exchange(&g->ngraphs, 0);
    for (int i = 0; i < had; i++) drop(&g->graph[i], api);
    free(g->graph);
    g->graph = ngraphs ? calloc((size_t)ngraphs, sizeof *g->graph) : NULL;
    if (g->graph) atomic_store(&g->ngraphs, ngraphs);
    pthread_mutex_unlock(&g->lock);
    return g->graph || !ngraphs;
}

void graphs_close(LaunchGraphs *g, const CudaApi *api) {
    graphs_keep(g, api, 0);
    pthread_mutex_destroy(&g->lock);
}

void graphs_forget(LaunchGraphs *g, const CudaApi *api, CuFunction function) {
    if (!atomic_load(&g->ngraphs)) return;
    pthread_mutex_lock(&g->lock);
    for (int i = 0, n = atomic_load(&g->ngraphs); i < n; i++)
        if (g->graph[i].function == function) drop(&g->graph[i], api);
    pthread_mutex_unlock(&g->lock);
}

/* Of this function and stream, which may be the first launch that it hears of. NULL: its places are
 * taken by others that are launched more often. */
static LaunchGraph *find(LaunchGraphs *g, const CudaApi *api, CuFunction function,
                         uint64_t stream) {
    int n = atomic_load_explicit(&g->ngraphs, memory_order_relaxed);
    uint64_t mixed = ((uint64_t)(uintptr_t)function >> 4 ^ stream << 20) * 0x9E3779B97F4A7C15u;
    int first = (int)((mixed >> 32) % (unsigned)n);
    LaunchGraph *least = NULL;
    for (int i = 0; i < WAYS && i < n; i++) {
        LaunchGraph *one = &g->graph[(first + i) % n];
        if (one->launches && one->function == function && one->stream == stream) return one;
        if (!least || one->launches < least->launches) least = one;
    }
    if (least->launches && --least->launches) return NULL;
    drop(least, api);
    *least = (LaunchGraph){
        .function = function, .stream = stream, .ask_in = ASKED_FIRST, .behind = true};
    return least;
}

/* The other questions here would end the capture. */
static bool is_captured(const CudaApi *api, CuStream stream) {
    int status = CU_CAPTURE_NONE;
    return api->stream_capturing(stream, &status) || status != CU_CAPTURE_NONE;
}

/* What this thread calls next would end the captures that any thread is at in other streams; with
 * *mode it would again. */
static bool spare_captures(const CudaApi *api, int *mode) {
    *mode = CU_CAPTURE_RELAXED;
    return !api->capture_mode(mode);
}

static bool set_mark(LaunchGraph *one, const CudaApi *api, CuStream stream) {
    if (!one->mark && api->event_create(&one->mark, CU_EVENT_NO_TIMING)) {
        one->mark = NULL;
        return false;
    }
    return !api->event_record(one->mark, stream);
}

static bool is_behind(LaunchGraph *one, const CudaApi *api, CuStream stream) {
    int mode;
    one->ask_in--;
    if (one->ask_in == MARKED_AHEAD) one->marked = set_mark(one, api, stream);
    if (one->ask_in) return one->behind;
    one->ask_in = ASKED_EVERY;
    if (!one->marked || !spare_captures(api, &mode)) return one->behind;
    one->behind = api->event_query(one->mark) != CU_SUCCESS;
    api->capture_mode(&mode);
    return one->behind;
}

/* Launches in this stream are like others, but for its priority. */
static bool is_ordinary(const CudaApi *api, CuStream stream) {
    CuGreenContext green = NULL;
    CuStreamAttribute window = {.room = {0}}, domain = {.room = {0}};
    return !api->stream_green(stream, &green) && !green &&
           !api->stream_attribute(stream, CU_STREAM_ACCESS_POLICY, &window) &&
           !window.access_policy.bytes &&
           !api->stream_attribute(stream, CU_STREAM_SYNC_DOMAIN, &domain) && !domain.sync_domain;
}

/* It takes memory. */
static bool make(LaunchGraph *one, const CudaApi *api, const CuKernelNode *kernel,
                 CuStream stream) {
    int mode;
    if (!is_ordinary(api, stream) || !spare_captures(api, &mode)) return false;
    if (api->graph_create(&one->graph, 0))
        one->graph = NULL;
    else if (api->graph_add_kernel(&one->node, one->graph, NULL, 0, kernel) ||
             api->graph_instantiate(&one->exec, one->graph, 0))
        one->exec = NULL;
    api->capture_mode(&mode);
    return one->exec != NULL;
}

static bool launch(LaunchGraphs *g, const CudaApi *api, const CuKernelNode *kernel,
                   CuStream stream) {
    unsigned long long id = 0;
    if (!atomic_load_explicit(&g->ngraphs, memory_order_relaxed) || is_captured(api, stream) ||
        api->stream_id(stream, &id))
        return false;
    LaunchGraph *one = find(g, api, kernel->function, id);
    if (!one) return false;
    if (one->launches < MOST_LAUNCHES) one->launches++;
    if (one->refused || is_behind(one, api, stream)) return false;
    bool ready = one->exec ? !api->graph_set_kernel(one->exec, one->node, kernel)
                           : make(one, api, kernel, stream);
    if (ready && !api->graph_launch(one->exec, stream)) return true;
    refuse(one, api);
    return false;
}

/* Another thread's launch is not waited for. */
bool graphs_launch(LaunchGraphs *g, const CudaApi *api, const CuKernelNode *kernel,
                   CuStream stream) {
    if (!atomic_load_explicit(&g->ngraphs, memory_order_relaxed) || pthread_mutex_trylock(&g->lock))
        return false;
    bool launched = launch(g, api, kernel, stream);
    pthread_mutex_unlock(&g->lock);
    return launched;
}

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
#include <string.h>

enum {
    BEFORE = 15,      /* launches: to make a graph takes as long as 9 save */
    ASKED_EVERY = 37, /* launches: is the stream behind? No round number, as loops have */
    MARKED_AHEAD = 8, /* launches before that question: 20 us and more */
    IDLE = 4096,      /* launches of others, after which a place is given up */
    STREAMS = 64,     /* at once; those beyond have no graphs */
    WAYS = 4          /* places where a stream can be */
};

typedef struct LaunchStream {
    uint64_t id; /* 0: none */
    uint64_t last;
    int ask_in;
    bool marked; /* `mark` is in the stream */
    bool behind; /* as far as is known */
    CuEvent mark;
} LaunchStream;

typedef struct LaunchGraph {
    CuFunction function;
    uint64_t stream, last;
    int launches; /* as far as BEFORE */
    bool refused; /* there cannot be one */
    CuGraph graph;
    CuGraphNode node; /* its kernel */
    CuGraphExec exec; /* NULL: there is none yet */
} LaunchGraph;

struct GraphTable {
    LaunchStream stream[STREAMS]; /* by number */
    uint64_t launches;
    int most, n, hand;  /* the graph that is looked at next, for whether it is idle */
    LaunchGraph *graph; /* n of them */
    uint16_t *place;    /* mask + 1: by function and stream, 1 + the graph's; 0: none */
    unsigned mask;
};

_Static_assert(sizeof(CuKernelNode) == 72, "the size of CUDA_KERNEL_NODE_PARAMS_v2");

/* ---- the table ---- */

bool graphs_open(LaunchGraphs *g) {
    return pthread_mutex_init(&g->lock, NULL) == 0;
}

/* What this thread calls next would end the captures that any thread is at in other streams; with
 * *mode it would again. */
static bool spare_captures(const CudaApi *api, int *mode) {
    *mode = CU_CAPTURE_RELAXED;
    return !api->capture_mode(mode);
}

/* A launch of it that has not ended still does. api NULL: the driver has let go of it already. */
static void drop(LaunchGraph *one, const CudaApi *api) {
    int mode;
    if (api && one->graph) {
        bool spared = spare_captures(api, &mode);
        if (one->exec) api->exec_destroy(one->exec);
        api->graph_destroy(one->graph);
        if (spared) api->capture_mode(&mode);
    }
    *one = (LaunchGraph){0};
}

static void drop_stream(LaunchStream *s, const CudaApi *api) {
    if (api && s->mark) api->event_destroy(s->mark);
    *s = (LaunchStream){0};
}

static void free_table(struct GraphTable *t, const CudaApi *api) {
    if (!t) return;
    for (int i = 0; i < t->n; i++) drop(&t->graph[i], api);
    for (int i = 0; i < STREAMS; i++) drop_stream(&t->stream[i], api);
    free(t->graph);
    free(t->place);
    free(t);
}

static struct GraphTable *new_table(int most) {
    struct GraphTable *t = calloc(1, sizeof *t);
    unsigned places = 2;
    if (!t) return NULL;
    while (places < 2 * (unsigned)most) places *= 2;
    t->most = most;
    t->mask = places - 1;
    t->graph = calloc((size_t)most, sizeof *t->graph);
    t->place = calloc(places, sizeof *t->place);
    if (t->graph && t->place) return t;
    free_table(t, NULL);
    return NULL;
}

bool graphs_keep(LaunchGraphs *g, const CudaApi *api, int ngraphs) {
    struct GraphTable *t = ngraphs ? new_table(ngraphs) : NULL;
    pthread_mutex_lock(&g->lock);
    free_table(atomic_exchange(&g->table, t), api);
    pthread_mutex_unlock(&g->lock);
    return t || !ngraphs;
}

void graphs_close(LaunchGraphs *g, const CudaApi *api) {
    free_table(atomic_load(&g->table), api);
    pthread_mutex_destroy(&g->lock);
}

/* Where it is, or would be. */
static unsigned place_of(const struct GraphTable *t, CuFunction function, uint64_t stream) {
    uint64_t mixed = ((uint64_t)(uintptr_t)function >> 4 ^ stream << 20) * 0x9E3779B97F4A7C15u;
    unsigned at = (unsigned)(mixed >> 32) & t->mask;
    for (; t->place[at]; at = (at + 1) & t->mask) {
        const LaunchGraph *one = &t->graph[t->place[at] - 1];
        if (one->function == function && one->stream == stream) break;
    }
    return at;
}

/* The last one comes to its place. */
static void remove_graph(struct GraphTable *t, const CudaApi *api, int i) {
    drop(&t->graph[i], api);
    t->graph[i] = t->graph[--t->n];
    memset(t->place, 0, (t->mask + 1) * sizeof *t->place);
    for (int k = 0; k < t->n; k++)
        t->place[place_of(t, t->graph[k].function, t->graph[k].stream)] = (uint16_t)(k + 1);
}

void graphs_forget(LaunchGraphs *g, const CudaApi *api, CuFunction function) {
    if (!atomic_load(&g->table)) return;
    pthread_mutex_lock(&g->lock);
    struct GraphTable *t = atomic_load(&g->table);
    for (int i = t ? t->n - 1 : -1; i >= 0; i--)
        if (t->graph[i].function == function) remove_graph(t, api, i);
    pthread_mutex_unlock(&g->lock);
}

/* Of this function and stream, which may be the first launch that it hears of. NULL: others have
 * all places. */
static LaunchGraph *find(struct GraphTable *t, const CudaApi *api, CuFunction function,
                         uint64_t stream) {
    unsigned at = place_of(t, function, stream);
    if (t->place[at]) return &t->graph[t->place[at] - 1];
    if (t->n == t->most) {
        t->hand = (t->hand + 1) % t->n;
        if (t->launches - t->graph[t->hand].last < IDLE) return NULL;
        remove_graph(t, api, t->hand);
        at = place_of(t, function, stream);
    }
    t->graph[t->n] = (LaunchGraph){.function = function, .stream = stream};
    t->place[at] = (uint16_t)++t->n;
    return &t->graph[t->n - 1];
}

/* What it is of stays known. */
static void refuse(LaunchGraph *one, const CudaApi *api) {
    LaunchGraph known = {
        .function = one->function, .stream = one->stream, .last = one->last, .refused = true};
    drop(one, api);
    *one = known;
}

/* ---- streams ---- */

/* The other questions here would end the capture. */
static bool is_captured(const CudaApi *api, CuStream stream) {
    int status = CU_CAPTURE_NONE;
    return api->stream_capturing(stream, &status) || status != CU_CAPTURE_NONE;
}

/* NULL: others have its places. */
static LaunchStream *find_stream(struct GraphTable *t, const CudaApi *api, uint64_t id) {
    LaunchStream *s = NULL;
    for (unsigned k = 0; k < WAYS; k++) {
        LaunchStream *at = &t->stream[(id + k) % STREAMS];
        if (at->id == id) {
            at->last = t->launches;
            return at;
        }
        if (!s && (!at->id || t->launches - at->last >= IDLE)) s = at;
    }
    if (!s) return NULL;
    drop_stream(s, api);
    *s = (LaunchStream){.id = id, .last = t->launches, .ask_in = BEFORE, .behind = true};
    return s;
}

static bool set_mark(LaunchStream *s, const CudaApi *api, CuStream stream) {
    if (!s->mark && api->event_create(&s->mark, CU_EVENT_NO_TIMING)) {
        s->mark = NULL;
        return false;
    }
    return !api->event_record(s->mark, stream);
}

static bool is_behind(LaunchStream *s, const CudaApi *api, CuStream stream) {
    int mode;
    s->ask_in--;
    if (s->ask_in == MARKED_AHEAD) s->marked = set_mark(s, api, stream);
    if (s->ask_in) return s->behind;
    s->ask_in = ASKED_EVERY;
    if (!s->marked || !spare_captures(api, &mode)) return s->behind;
    s->behind = api->event_query(s->mark) != CU_SUCCESS;
    api->capture_mode(&mode);
    return s->behind;
}

/* Launches in this stream are like others, but for its priority. */
static bool is_ordinary(const CudaApi *api, CuStream stream) {
    CuGreenContext green = NULL;
    CuStreamAttribute window = {.room = {0}}, domain = {.room = {0}}, map = {.room = {0}};
    return !api->stream_green(stream, &green) && !green &&
           !api->stream_attribute(stream, CU_STREAM_ACCESS_POLICY, &window) &&
           !window.access_policy.bytes &&
           !api->stream_attribute(stream, CU_STREAM_SYNC_DOMAIN, &domain) && !domain.sync_domain &&
           !api->stream_attribute(stream, CU_STREAM_SYNC_DOMAIN_MAP, &map) && !map.sync_domains[0];
}

/* ---- launches ---- */

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

static bool launch(struct GraphTable *t, const CudaApi *api, const CuKernelNode *kernel,
                   CuStream stream) {
    unsigned long long id = 0;
    if (!t || is_captured(api, stream) || api->stream_id(stream, &id) || !id) return false;
    t->launches++;
    LaunchStream *s = find_stream(t, api, id);
    bool behind = !s || is_behind(s, api, stream);
    LaunchGraph *one = s ? find(t, api, kernel->function, id) : NULL;
    if (!one) return false;
    one->last = t->launches;
    if (one->launches < BEFORE) {
        one->launches++;
        return false;
    }
    if (behind || one->refused) return false;
    bool ready = one->exec ? !api->graph_set_kernel(one->exec, one->node, kernel)
                           : make(one, api, kernel, stream);
    if (ready && !api->graph_launch(one->exec, stream)) return true;
    refuse(one, api);
    return false;
}

/* Another thread's launch is not waited for. */
bool graphs_launch(LaunchGraphs *g, const CudaApi *api, const CuKernelNode *kernel,
                   CuStream stream) {
    if (!atomic_load_explicit(&g->table, memory_order_relaxed) || pthread_mutex_trylock(&g->lock))
        return false;
    bool launched =
        launch(atomic_load_explicit(&g->table, memory_order_relaxed), api, kernel, stream);
    pthread_mutex_unlock(&g->lock);
    return launched;
}

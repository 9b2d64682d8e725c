/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_launch.c: launches, streams, graphs and events of the fake driver. Kernels do not run; their
 * parameters are read, and kept for the test to look at. A stream is what the test says it is. */
#include "tests/runtime/fake_inside.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FakeLaunch last_launch;
static atomic_long disturbed;             /* calls that end others' captures */
static _Thread_local int thread_captures; /* CU_CAPTURE_ */

FakeLaunch fake_last(void) {
    pthread_mutex_lock(&lock);
    FakeLaunch l = last_launch;
    pthread_mutex_unlock(&lock);
    return l;
}

void fake_set_stream(void *stream, FakeStream is) {
    ((Object *)stream)->is = is;
}

long fake_disturbed(void) {
    return atomic_load(&disturbed);
}

/* ---- launches ---- */

/* The map says what it was made of: address, sizes, strides, boxes, in this order. */
CuResult fake_tensor_map(void *map, int type, uint32_t rank, CuPtr address, const uint64_t *sizes,
                         const uint64_t *strides, const uint32_t *box,
                         const uint32_t *element_strides, int interleave, int swizzle,
                         int l2_promotion, int fill) {
    BEGIN_HERE();
    uint64_t at[16] = {address, (uint64_t)type | (uint64_t)swizzle << 8 | (uint64_t)rank << 16 |
                                    (uint64_t)l2_promotion << 24};
    if (rank < 1 || rank > 5 || address % 16 || (uintptr_t)map % 64 || interleave || fill ||
        swizzle < 0 || swizzle > 3 || l2_promotion < 0 || l2_promotion > 3)
        return INVALID_VALUE;
    for (uint32_t i = 0; i < rank; i++) {
        if (!sizes[i] || sizes[i] >> 32 || !box[i] || box[i] > 256 || element_strides[i] != 1 ||
            (i && strides[i - 1] % 16))
            return INVALID_VALUE;
        at[2 + i] = sizes[i];
        at[7 + i] = box[i];
        if (i) at[11 + i] = strides[i - 1];
    }
    memcpy(map, at, sizeof at);
    return CU_SUCCESS;
}

/* Reads the parameters. */
static CuResult prepare(FakeLaunch *l, CuFunction function, void **param) {
    if (!book_knows(function, FUNCTION)) return INVALID_HANDLE;
    const Object *f = (const Object *)function;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (!l->grid[0] || !l->grid[1] || !l->grid[2] || threads == 0 || threads > 1024 ||
        l->shared > (unsigned)f->dynamic_shared)
        return INVALID_VALUE;
    l->nparams = f->nparams;
    for (int i = 0; i < f->nparams; i++) memcpy(&l->param[i], param[i], f->size[i]);
    return CU_SUCCESS;
}

/* What a stream is; the driver's own are ordinary ones. */
static FakeStream kind_of(CuStream stream) {
    return (uintptr_t)stream <= 2 ? FAKE_ORDINARY : ((const Object *)stream)->is;
}

static CuResult keep(const FakeLaunch *l) {
    if (!is_stream(l->stream)) return INVALID_HANDLE;
    if (kind_of(l->stream) == FAKE_CAPTURED && ((const Object *)l->stream)->capture_ended)
        return CAPTURE_INVALIDATED;
    pthread_mutex_lock(&lock);
    last_launch = *l;
    pthread_mutex_unlock(&lock);
    return CU_SUCCESS;
}

static CuResult record(FakeLaunch *l, CuFunction function, void **param) {
    CuResult r = prepare(l, function, param);
    return r ? r : keep(l);
}

CuResult fake_launch(CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                     CuStream stream, void **params, void **extra) {
    BEGIN_HERE();
    if (extra) return INVALID_VALUE;
    FakeLaunch l = {.grid = {grid_x, grid_y, grid_z},
                    .block = {block_x, block_y, block_z},
                    .shared = shared_bytes,
                    .stream = stream};
    return record(&l, function, params);
}

CuResult fake_launch_ex(const CuLaunchConfig *config, CuFunction function, void **params,
                        void **extra) {
    BEGIN_HERE();
    if (extra) return INVALID_VALUE;
    FakeLaunch l = {.shared = config->shared_bytes, .stream = config->stream};
    memcpy(l.grid, config->grid, sizeof l.grid);
    memcpy(l.block, config->block, sizeof l.block);
    for (unsigned i = 0; i < config->nattributes; i++) {
        const CuLaunchAttribute *a = &config->attribute[i];
        if (a->id == CU_LAUNCH_COOPERATIVE)
            l.cooperative = a->value.cooperative != 0;
        else if (a->id == CU_LAUNCH_EARLY)
            l.early = a->value.early != 0;
        else if (a->id == CU_LAUNCH_CLUSTER)
            memcpy(l.cluster, a->value.cluster, sizeof l.cluster);
        else
            return INVALID_VALUE;
    }
    unsigned size = l.cluster[0] * l.cluster[1] * l.cluster[2];
    if (size > 8 && book_knows(function, FUNCTION) && !((Object *)function)->large_clusters)
        return INVALID_VALUE;
    return record(&l, function, params);
}

CuResult fake_stream_create(CuStream *stream, unsigned flags) {
    BEGIN_HERE();
    if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) return INVALID_VALUE;
    Object *o = book_add(STREAM, NULL);
    if (!o) return CU_ERROR_OUT_OF_MEMORY;
    o->number = book_number();
    *stream = (CuStream)o;
    return CU_SUCCESS;
}

CuResult fake_stream_destroy(CuStream stream) {
    CuResult r = book_begin(__func__);
    if (!fake_current()) return INVALID_CONTEXT;
    bool mine = book_take(stream, STREAM);
    return r ? r : mine ? CU_SUCCESS : INVALID_HANDLE;
}

CuResult fake_stream_synchronize(CuStream stream) {
    BEGIN_HERE();
    return is_stream(stream) ? CU_SUCCESS : INVALID_HANDLE;
}

static CuResult end_capture(CuStream stream) {
    ((Object *)stream)->capture_ended = true;
    return CAPTURE_UNSUPPORTED;
}

CuResult fake_stream_id(CuStream stream, unsigned long long *id) {
    BEGIN_HERE();
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (kind_of(stream) == FAKE_CAPTURED) return end_capture(stream);
    *id = (uintptr_t)stream == 2 ? 2 : (uintptr_t)stream < 2 ? 1 : ((Object *)stream)->number;
    return CU_SUCCESS;
}

CuResult fake_stream_capturing(CuStream stream, int *status) {
    BEGIN_HERE();
    if (!is_stream(stream)) return INVALID_HANDLE;
    *status = kind_of(stream) == FAKE_CAPTURED;
    return CU_SUCCESS;
}

CuResult fake_stream_green(CuStream stream, CuGreenContext *context) {
    BEGIN_HERE();
    if (!is_stream(stream)) return INVALID_HANDLE;
    *context = kind_of(stream) == FAKE_GREEN ? (CuGreenContext)stream : NULL;
    return CU_SUCCESS;
}

CuResult fake_stream_attribute(CuStream stream, int id, CuStreamAttribute *value) {
    BEGIN_HERE();
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (id == CU_STREAM_ACCESS_POLICY)
        value->access_policy.bytes = kind_of(stream) == FAKE_WINDOW ? 4096 : 0;
    else if (id == CU_STREAM_SYNC_DOMAIN)
        value->sync_domain = kind_of(stream) == FAKE_DOMAIN;
    else if (id == CU_STREAM_SYNC_DOMAIN_MAP)
        value->sync_domains[0] = kind_of(stream) == FAKE_DOMAIN_MAP;
    else
        return INVALID_VALUE;
    return CU_SUCCESS;
}

/* ---- graphs ---- */

/* Else the call ends what any thread captures in a stream, if one does. */
static bool spares_captures(void) {
    if (thread_captures == CU_CAPTURE_RELAXED) return true;
    atomic_fetch_add(&disturbed, 1);
    return false;
}

/* From CU_CAPTURE_RELAXED back is giving back. */
CuResult fake_capture_mode(int *mode) {
    CuResult r = book_begin(__func__);
    if (r && *mode == CU_CAPTURE_RELAXED) return r;
    if (*mode < 0 || *mode > CU_CAPTURE_RELAXED) return INVALID_VALUE;
    int old = thread_captures;
    thread_captures = *mode;
    *mode = old;
    return r;
}

CuResult fake_graph_create(CuGraph *graph, unsigned flags) {
    BEGIN_HERE();
    if (flags) return INVALID_VALUE;
    Object *o = book_add(GRAPH, NULL);
    *graph = (CuGraph)o;
    return o ? CU_SUCCESS : CU_ERROR_OUT_OF_MEMORY;
}

static CuResult node_launch(const CuKernelNode *kernel, FakeLaunch *out) {
    if (kernel->extra || kernel->kernel || kernel->context) return INVALID_VALUE;
    FakeLaunch l = {.shared = kernel->shared_bytes, .graph = true};
    memcpy(l.grid, kernel->grid, sizeof l.grid);
    memcpy(l.block, kernel->block, sizeof l.block);
    CuResult r = prepare(&l, kernel->function, kernel->params);
    if (!r) *out = l;
    return r;
}

/* A graph has one node, which is the graph. */
CuResult fake_graph_add_kernel(CuGraphNode *node, CuGraph graph, const CuGraphNode *after,
                               size_t nafter, const CuKernelNode *kernel) {
    BEGIN_HERE();
    if (!book_knows(graph, GRAPH)) return INVALID_HANDLE;
    Object *o = (Object *)graph;
    if (after || nafter || o->parent) return INVALID_VALUE;
    CuResult r = node_launch(kernel, &o->launch);
    if (r) return r;
    o->parent = (Object *)kernel->function;
    *node = (CuGraphNode)graph;
    return CU_SUCCESS;
}

CuResult fake_graph_destroy(CuGraph graph) {
    CuResult r = book_begin(__func__);
    bool mine = book_take(graph, GRAPH);
    return r ? r : mine ? CU_SUCCESS : INVALID_HANDLE;
}

/* It takes memory: not while any thread may capture. */
CuResult fake_graph_instantiate(CuGraphExec *exec, CuGraph graph, unsigned long long flags) {
    BEGIN_HERE();
    if (!book_knows(graph, GRAPH)) return INVALID_HANDLE;
    if (!spares_captures()) return CAPTURE_UNSUPPORTED;
    if (flags || !((Object *)graph)->parent) return INVALID_VALUE;
    Object *o = book_add(EXEC, (Object *)graph);
    if (!o) return CU_ERROR_OUT_OF_MEMORY;
    o->launch = ((Object *)graph)->launch;
    *exec = (CuGraphExec)o;
    return CU_SUCCESS;
}

CuResult fake_graph_set_kernel(CuGraphExec exec, CuGraphNode node, const CuKernelNode *kernel) {
    BEGIN_HERE();
    if (!book_knows(exec, EXEC) || !book_knows(node, GRAPH)) return INVALID_HANDLE;
    Object *o = (Object *)exec;
    return o->parent == (Object *)node ? node_launch(kernel, &o->launch) : INVALID_VALUE;
}

CuResult fake_graph_launch(CuGraphExec exec, CuStream stream) {
    BEGIN_HERE();
    if (!book_knows(exec, EXEC) || !is_stream(stream)) return INVALID_HANDLE;
    if (kind_of(stream) == FAKE_CAPTURED) return end_capture(stream);
    const Object *o = (const Object *)exec;
    if (!book_knows(o->parent->parent, FUNCTION) || thread_captures == CU_CAPTURE_RELAXED)
        return INVALID_VALUE;
    FakeLaunch l = o->launch;
    l.stream = stream;
    return keep(&l);
}

CuResult fake_exec_destroy(CuGraphExec exec) {
    CuResult r = book_begin(__func__);
    spares_captures();
    bool mine = book_take(exec, EXEC);
    return r ? r : mine ? CU_SUCCESS : INVALID_HANDLE;
}

/* ---- events ---- */

CuResult fake_stream_wait(CuStream stream, CuEvent event, unsigned flags) {
    BEGIN_HERE();
    if (flags) return INVALID_VALUE;
    return is_stream(stream) && book_knows(event, EVENT) ? CU_SUCCESS : INVALID_HANDLE;
}

/* An event that only says whether something is done. */
static bool is_mark(CuEvent event) {
    return book_knows(event, EVENT) && ((const Object *)event)->no_timing;
}

CuResult fake_event_create(CuEvent *event, unsigned flags) {
    BEGIN_HERE();
    if (flags & ~(unsigned)CU_EVENT_NO_TIMING) return INVALID_VALUE;
    Object *o = book_add(EVENT, NULL);
    if (!o) return CU_ERROR_OUT_OF_MEMORY;
    o->no_timing = flags != 0;
    *event = (CuEvent)o;
    return CU_SUCCESS;
}

CuResult fake_event_record(CuEvent event, CuStream stream) {
    BEGIN_HERE();
    if (!book_knows(event, EVENT) || !is_stream(stream)) return INVALID_HANDLE;
    if (is_mark(event) && kind_of(stream) == FAKE_CAPTURED) return end_capture(stream);
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    Object *o = (Object *)event;
    o->ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
    o->recorded = true;
    o->asked = false;
    o->is = kind_of(stream);
    return CU_SUCCESS;
}

CuResult fake_event_synchronize(CuEvent event) {
    BEGIN_HERE();
    return book_knows(event, EVENT) ? CU_SUCCESS : INVALID_HANDLE;
}

/* The first question comes too early; to an event without a time only in a stream that is behind.
 * The question ends captures but where the thread is careful. */
CuResult fake_event_query(CuEvent event) {
    BEGIN_HERE();
    if (!book_knows(event, EVENT)) return INVALID_HANDLE;
    Object *o = (Object *)event;
    if (o->no_timing && !spares_captures()) return CAPTURE_UNSUPPORTED;
    if (o->no_timing) return o->is == FAKE_BEHIND ? CU_ERROR_NOT_READY : CU_SUCCESS;
    bool done = o->asked;
    o->asked = true;
    return done ? CU_SUCCESS : CU_ERROR_NOT_READY;
}

CuResult fake_event_elapsed(float *ms, CuEvent start, CuEvent end) {
    BEGIN_HERE();
    if (!book_knows(start, EVENT) || !book_knows(end, EVENT)) return INVALID_HANDLE;
    const Object *a = (const Object *)start, *b = (const Object *)end;
    if (!a->recorded || !b->recorded || a->no_timing || b->no_timing) return INVALID_HANDLE;
    *ms = (float)(b->ms - a->ms);
    return CU_SUCCESS;
}

CuResult fake_event_destroy(CuEvent event) {
    CuResult r = book_begin(__func__);
    bool mine = book_take(event, EVENT);
    return r ? r : mine ? CU_SUCCESS : INVALID_HANDLE;
}

/* For tests in Python. */
extern int fake_was_graph(void);
int fake_was_graph(void) {
    return fake_last().graph;
}

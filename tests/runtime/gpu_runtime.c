/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu_runtime.c: the runtime on a real driver: launches in clusters, all at once and early, facts,
 * streams, numbers written in them, events, a CUcontext of the caller's, tensors, what the driver
 * says of bad PTX, and a kernel that faults, last, for nothing works after it. Kernels are PTX
 * written here, small enough to check by eye. Exit code 77 without a GPU. */
#include "tests/runtime/gpu_checks.h"
#include "tile_dlpack.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each program writes to out[program]: `cluster` its place in its cluster; `meet` how many programs
 * it met, after all have come (they wait for each other, so they have to run at once); `count` one
 * more than was there; `fault` to an address that is nobody's. */
static const char body_cluster[] = " mov.u32 %r2, %cluster_ctaid.x;\n"
                                   " mov.u32 %r3, %cluster_nctaid.x;\n"
                                   " mad.lo.u32 %r2, %r3, 100, %r2;\n";
static const char body_meet[] = " atom.global.add.u32 %r2, [%rd2], 1;\n"
                                " mov.u32 %r3, %nctaid.x;\n"
                                "again:\n"
                                " ld.acquire.gpu.global.u32 %r2, [%rd2];\n"
                                " setp.lt.u32 %p1, %r2, %r3;\n"
                                " @%p1 bra again;\n";
static const char body_count[] = " ld.global.u32 %r2, [%rd1];\n add.u32 %r2, %r2, 1;\n";
/* One more than what its neighbour made in the launch before, which it waits for; some take their
 * time. */
static const char body_early[] = " griddepcontrol.wait;\n griddepcontrol.launch_dependents;\n"
                                 " mov.u32 %r4, %nctaid.x;\n add.u32 %r3, %r1, 1;\n"
                                 " rem.u32 %r3, %r3, %r4;\n mad.wide.u32 %rd2, %r3, 4, %rd2;\n"
                                 " ld.volatile.global.u32 %r2, [%rd2];\n add.u32 %r2, %r2, 1;\n"
                                 " and.b32 %r3, %r1, 7;\n setp.eq.u32 %p1, %r3, 3;\n"
                                 " @%p1 nanosleep.u32 1500;\n";
/* What another stream wrote there, once a number says that it is there. */
static const char body_wait[] = "again:\n"
                                " ld.acquire.sys.global.u32 %r2, [%rd2];\n"
                                " setp.ne.u32 %p1, %r2, 7;\n"
                                " @%p1 bra again;\n"
                                " ld.global.u32 %r2, [%rd2+4];\n";
static const char body_fault[] = " mov.u64 %rd1, 8;\n mov.u32 %r2, 1;\n";

/* One kernel: k(out, counter), out[program] = %r2, by the first thread. */
static tile_status load(const char *target, const char *facts, const char *body,
                        tile_module **module, tile_kernel **kernel) {
    char text[4096];
    snprintf(text, sizeof text,
             "// tilec manifest begin\n"
             "// {\"manifest\": 1, \"target\": \"%s\", \"kernels\": [{\"name\": \"k\",\n"
             "//  \"entry\": \"k\", \"num_warps\": 1, \"num_stages\": 1, \"shared\": 0, %s\n"
             "//  \"params\": [{\"name\": \"out\", \"type\": \"*u32\"},\n"
             "//   {\"name\": \"counter\", \"type\": \"*u32\"}]}]}\n"
             "// tilec manifest end\n"
             ".version 8.0\n.target %s\n.address_size 64\n"
             ".visible .entry k(\n .param .u64 k_0,\n .param .u64 k_1\n)\n{\n"
             " .reg .pred %%p<3>;\n .reg .u32 %%r<6>;\n .reg .u64 %%rd<4>;\n"
             " mov.u32 %%r1, %%tid.x;\n setp.ne.u32 %%p2, %%r1, 0;\n @%%p2 ret;\n"
             " ld.param.u64 %%rd1, [k_0];\n ld.param.u64 %%rd2, [k_1];\n"
             " mov.u32 %%r1, %%ctaid.x;\n mad.wide.u32 %%rd1, %%r1, 4, %%rd1;\n"
             "%s st.global.u32 [%%rd1], %%r2;\n ret;\n}\n",
             target, facts, target, body);
    *module = NULL;
    tile_status st = tile_module_load(ctx, text, strlen(text), module);
    return st ? st : tile_kernel_get(*module, NULL, kernel);
}

static tile_ptr out, counter;

static tile_status start(tile_kernel *k, uint32_t programs, void *stream) {
    tile_arg args[] = {tile_pointer(out), tile_pointer(counter)};
    tile_grid grid = {programs, 1, 1};
    return tile_launch(k, &grid, args, 2, stream);
}

static void clusters(const char *target) {
    tile_module *m;
    tile_kernel *k;
    if (strcmp(target, "sm_90a") != 0) return; /* no GPU before has them */
    CHECK(load(target, "\"cluster\": [4, 1, 1],", body_cluster, &m, &k) == TILE_OK);
    uint32_t got[16];
    CHECK(start(k, 16, NULL) == TILE_OK);
    CHECK(tile_copy_to_host(ctx, got, out, sizeof got) == TILE_OK);
    for (uint32_t i = 0; i < 16; i++) CHECK(got[i] == 400 + i % 4);
    CHECK(start(k, 15, NULL) == TILE_BAD_LAUNCH);
    tile_module_unload(m);
    CHECK(load(target, "\"cluster\": [16, 1, 1],", body_cluster, &m, &k) == TILE_OK);
    CHECK(start(k, 16, NULL) == TILE_OK); /* more than every GPU takes: H100 and H200 do */
    CHECK(tile_copy_to_host(ctx, got, out, sizeof got) == TILE_OK);
    CHECK(got[15] == 1615);
    tile_module_unload(m);
}

static void cooperative(const char *target) {
    tile_module *m;
    tile_kernel *k;
    tile_kernel_info info = {0};
    CHECK(load(target, "\"cooperative\": true,", body_meet, &m, &k) == TILE_OK);
    CHECK(tile_kernel_describe(k, &info) == TILE_OK);
    CHECK(info.registers > 0 && info.spill_bytes == 0 && info.cooperative);
    CHECK(info.resident_programs > 0 && info.multiprocessors > 0);
    uint32_t all = (uint32_t)info.resident_programs * (uint32_t)info.multiprocessors, got[2];
    printf("%s: %d multiprocessors of %d programs\n", tile_context_device_name(ctx),
           info.multiprocessors, info.resident_programs);
    CHECK(tile_fill(ctx, counter, 0, 4) == TILE_OK);
    CHECK(start(k, all, NULL) == TILE_OK); /* waits for ever unless all run at once */
    CHECK(tile_copy_to_host(ctx, got, out + 4 * (tile_ptr)(all - 2), 8) == TILE_OK);
    CHECK(got[0] == all && got[1] == all);
    CHECK(start(k, all + 1, NULL) == TILE_BAD_LAUNCH);
    tile_module_unload(m);
}

typedef struct Graph { /* of the driver's calls: what records a stream's launches, and repeats them
                        */
    int (*create)(void **, unsigned), (*begin)(void *, int), (*end)(void *, void **);
    int (*instantiate)(void **, void *, unsigned long long), (*launch)(void *, void *);
    int (*synchronize)(void *), (*destroy)(void *), (*push)(void *), (*pop)(void **);
} Graph;

static bool open_graph(Graph *g) {
    const struct {
        const char *name;
        void *to;
    } entry[] = {
        {"cuStreamCreate", &g->create},      {"cuStreamBeginCapture_v2", &g->begin},
        {"cuStreamEndCapture", &g->end},     {"cuGraphInstantiateWithFlags", &g->instantiate},
        {"cuGraphLaunch", &g->launch},       {"cuStreamSynchronize", &g->synchronize},
        {"cuStreamDestroy_v2", &g->destroy}, {"cuCtxPushCurrent_v2", &g->push},
        {"cuCtxPopCurrent_v2", &g->pop}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        void *symbol = library ? dlsym(library, entry[i].name) : NULL;
        if (!symbol) return false;
        memcpy(entry[i].to, &symbol, sizeof symbol);
    }
    return true;
}

enum { EARLY_PROGRAMS = 64 };

static void step(tile_kernel *k, int n, void *stream) {
    tile_grid grid = {EARLY_PROGRAMS, 1, 1};
    for (int i = 0; i < n; i++) {
        tile_arg args[] = {tile_pointer(i % 2 ? counter : out),
                           tile_pointer(i % 2 ? out : counter)};
        if (tile_launch(k, &grid, args, 2, stream)) CHECK(!"an early launch");
    }
}

/* After n launches, an even number, that began with i at i of `counter`. */
static void check_steps(uint32_t n) {
    uint32_t got[EARLY_PROGRAMS], wrong = 0;
    CHECK(tile_copy_to_host(ctx, got, counter, sizeof got) == TILE_OK);
    for (uint32_t i = 0; i < EARLY_PROGRAMS; i++) wrong += got[i] != (i + n) % EARLY_PROGRAMS + n;
    CHECK(wrong == 0);
}

/* Kernels that start while the one before them ends: each reads what the one before wrote
 * elsewhere, and writes what the one before read; in a stream, and repeated by a graph. */
static void early(const char *target) {
    enum { STEPS = 4000, REPEATS = 3 };
    tile_module *m;
    tile_kernel *k;
    uint32_t first[EARLY_PROGRAMS];
    void *stream = NULL, *graph = NULL, *exec = NULL, *cu = tile_context_cuda(ctx);
    Graph g;
    if (strcmp(target, "sm_90a") != 0) return; /* no GPU before has them */
    for (uint32_t i = 0; i < EARLY_PROGRAMS; i++) first[i] = i;
    CHECK(load(target, "\"dependent_launch\": 1,", body_early, &m, &k) == TILE_OK);
    CHECK(tile_copy_to_device(ctx, counter, first, sizeof first) == TILE_OK);
    step(k, STEPS, NULL);
    check_steps(STEPS);
    CHECK(cu && open_graph(&g) && g.push(cu) == 0 && g.create(&stream, 1) == 0 &&
          g.begin(stream, 2) == 0);
    step(k, STEPS, stream);
    CHECK(g.end(stream, &graph) == 0 && g.instantiate(&exec, graph, 0) == 0);
    for (int i = 0; i < REPEATS; i++) CHECK(g.launch(exec, stream) == 0);
    CHECK(g.synchronize(stream) == 0);
    check_steps((1 + REPEATS) * STEPS);
    CHECK(g.destroy(stream) == 0 && g.pop(&cu) == 0);
    tile_module_unload(m);
}

/* The caller's CUcontext and stream, with the driver opened by the caller. */
static void callers_own(const char *target) {
    int (*primary)(void **, int) = NULL, (*push)(void *) = NULL, (*pop)(void **) = NULL;
    int (*stream_create)(void **, unsigned) = NULL, (*stream_destroy)(void *) = NULL;
    const struct {
        const char *name;
        void *to;
    } entry[] = {{"cuDevicePrimaryCtxRetain", &primary},
                 {"cuCtxPushCurrent_v2", &push},
                 {"cuCtxPopCurrent_v2", &pop},
                 {"cuStreamCreate", &stream_create},
                 {"cuStreamDestroy_v2", &stream_destroy}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *cu = NULL, *stream = NULL;
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        void *symbol = library ? dlsym(library, entry[i].name) : NULL;
        CHECK(symbol != NULL);
        if (!symbol) return;
        memcpy(entry[i].to, &symbol, sizeof symbol);
    }
    CHECK(primary(&cu, 0) == 0 && push(cu) == 0 && stream_create(&stream, 1) == 0);
    tile_context *first = ctx;
    CHECK(tile_context_from_cuda(cu, &ctx) == TILE_OK);
    CHECK(tile_context_cuda(ctx) == cu);
    tile_module *m;
    tile_kernel *k;
    tile_event *begin = NULL, *end = NULL;
    double ms = -1;
    int done = 0;
    uint32_t got = 0;
    CHECK(load(target, "", body_count, &m, &k) == TILE_OK);
    CHECK(tile_fill(ctx, out, 0, 4) == TILE_OK && tile_synchronize(ctx) == TILE_OK);
    CHECK(tile_event_record(ctx, stream, &begin) == TILE_OK);
    for (int i = 0; i < 1000; i++)
        if (start(k, 1, stream)) CHECK(!"a launch in the caller's stream");
    CHECK(tile_event_record(ctx, stream, &end) == TILE_OK);
    CHECK(tile_event_order(end, NULL) == TILE_OK); /* the default stream waits: so does the copy */
    CHECK(tile_copy_to_host(ctx, &got, out, 4) == TILE_OK);
    CHECK(got == 1000);
    CHECK(tile_event_wait(end) == TILE_OK && tile_event_done(end, &done) == TILE_OK && done);
    CHECK(tile_event_elapsed(begin, end, &ms) == TILE_OK && ms > 0.1 && ms < 1000);
    printf("1000 launches in %.3f ms\n", ms);
    CHECK(tile_synchronize_stream(ctx, stream) == TILE_OK);
    tile_event_destroy(begin);
    tile_event_destroy(end);
    tile_module_unload(m);
    tile_context_destroy(ctx);
    ctx = first;
    void *old = NULL;
    CHECK(stream_destroy(stream) == 0 && pop(&old) == 0 && old == cu);
}

/* Programs that fill the GPU wait for what comes in another stream, which takes none of it. */
static void waits(const char *target) {
    enum { PROGRAMS = 100000 };
    static uint32_t got[PROGRAMS];
    tile_module *m;
    tile_kernel *k;
    void *stream, *behind;
    uint32_t seen;
    CHECK(load(target, "", body_wait, &m, &k) == TILE_OK);
    CHECK(tile_stream_create(ctx, &stream) == TILE_OK);
    CHECK(tile_stream_create(ctx, &behind) == TILE_OK);
    for (uint32_t n = 0; n < 20; n++) {
        CHECK(tile_fill(ctx, counter, 0, 8) == TILE_OK);
        CHECK(tile_synchronize(ctx) == TILE_OK);
        CHECK(start(k, PROGRAMS, NULL) == TILE_OK);
        CHECK(tile_stream_wait_value(ctx, behind, counter, 6) == TILE_OK);
        CHECK(tile_copy_on_device(ctx, counter + 8, counter + 4, 4, behind) == TILE_OK);
        CHECK(tile_stream_write_value(ctx, stream, counter + 4, 1000 + n) == TILE_OK);
        CHECK(tile_stream_write_value(ctx, stream, counter, 7) == TILE_OK);
        CHECK(tile_copy_to_host(ctx, got, out, sizeof got) == TILE_OK);
        CHECK(got[0] == 1000 + n && got[PROGRAMS - 1] == 1000 + n);
        CHECK(tile_synchronize_stream(ctx, behind) == TILE_OK);
        CHECK(tile_copy_to_host(ctx, &seen, counter + 8, 4) == TILE_OK);
        CHECK(seen == 1000 + n);
    }
    CHECK(tile_stream_destroy(ctx, stream) == TILE_OK);
    CHECK(tile_stream_destroy(ctx, behind) == TILE_OK);
    tile_module_unload(m);
}

static void tensors(void) {
    int64_t shape[] = {4, 4};
    tile_tensor t = {.data = out, .type = TILE_U32, .ndim = 2, .shape = shape}, *in;
    DLManagedTensorVersioned *m;
    tile_tensor_want want = {.type = TILE_U32, .align = 256, .contiguous = 1};
    CHECK(tile_tensor_export(ctx, &t, NULL, NULL, &m) == TILE_OK);
    CHECK(m->dl_tensor.device.device_type == kDLCUDA && m->dl_tensor.device.device_id == 0);
    CHECK(tile_tensor_import(ctx, m, &want, &in) == TILE_OK);
    CHECK(in->data == out);
    tile_tensor_release(in);
}

static void refused(const char *target) {
    tile_module *m;
    tile_kernel *k;
    CHECK(load(target, "", " this is no instruction;\n", &m, &k) == TILE_BAD_MODULE);
    CHECK(strstr(tile_error(ctx), "ptxas") != NULL); /* the log of the driver's compiler */
    printf("bad PTX: %.300s\n", tile_error(ctx));
    tile_ptr p;
    CHECK(tile_alloc(ctx, (size_t)1 << 45, &p) == TILE_NO_MEMORY);
    CHECK(load(target, "", body_fault, &m, &k) == TILE_OK);
    CHECK(start(k, 1, NULL) == TILE_OK);
    CHECK(tile_synchronize(ctx) == TILE_DEVICE_ERROR);
    printf("a fault: %s\n", tile_error(ctx));
    CHECK(strstr(tile_error(ctx), "CUDA_ERROR_ILLEGAL_ADDRESS") != NULL);
    CHECK(start(k, 1, NULL) == TILE_DEVICE_ERROR);
    tile_module_unload(m);
}

int main(void) {
    int code = open_context();
    if (code) return code;
    const char *target = tile_context_target(ctx);
    CHECK(tile_alloc(ctx, 1 << 20, &out) == TILE_OK);
    CHECK(tile_alloc(ctx, 256, &counter) == TILE_OK);
    clusters(target);
    cooperative(target);
    early(target);
    callers_own(target);
    waits(target);
    tensors();
    refused(target);
    tile_context_destroy(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

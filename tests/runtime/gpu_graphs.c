/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu_graphs.c: launches that go as graphs of one kernel, on a real driver: each with its own
 * arguments and in its stream's order, when the GPU waits for the host and when it is behind; while
 * this thread or another captures, in every mode, which must not end the capture; on four threads
 * at once; and while graphs are given up that run. The kernel is PTX written here:
 * out[0] = 3 * out[0] + n, which no other order makes. Exit code 77 without a GPU. */
#include "tests/runtime/gpu_checks.h"
#include "tests/runtime/gpu_driver.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, KERNELS = 40, SLOT = 256 };

static tile_ptr memory;

/* ---- the kernel: with turns > 0 it takes its time ---- */

typedef struct Kernel {
    tile_module *module;
    tile_kernel *kernel;
} Kernel;

static bool load(Kernel *k) {
    static const char text[] =
        "// tilec manifest begin\n"
        "// {\"manifest\": 1, \"target\": \"sm_80\", \"kernels\": [{\"name\": \"k\",\n"
        "//  \"entry\": \"k\", \"num_warps\": 1, \"num_stages\": 1, \"shared\": 0,\n"
        "//  \"params\": [{\"name\": \"out\", \"type\": \"*u32\"},\n"
        "//   {\"name\": \"n\", \"type\": \"i32\"}, {\"name\": \"turns\", \"type\": \"i32\"}]}]}\n"
        "// tilec manifest end\n"
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(\n .param .u64 k_0,\n .param .u32 k_1,\n .param .u32 k_2\n)\n{\n"
        " .reg .pred %p<3>;\n .reg .u32 %r<6>;\n .reg .u64 %rd<2>;\n"
        " mov.u32 %r1, %tid.x;\n setp.ne.u32 %p1, %r1, 0;\n @%p1 ret;\n"
        " ld.param.u64 %rd1, [k_0];\n ld.param.u32 %r2, [k_1];\n ld.param.u32 %r3, [k_2];\n"
        "again:\n setp.eq.u32 %p2, %r3, 0;\n @%p2 bra done;\n nanosleep.u32 1000;\n"
        " sub.u32 %r3, %r3, 1;\n bra again;\ndone:\n"
        " ld.volatile.global.u32 %r4, [%rd1];\n mad.lo.u32 %r4, %r4, 3, %r2;\n"
        " st.volatile.global.u32 [%rd1], %r4;\n ret;\n}\n";
    *k = (Kernel){0};
    return !tile_module_load(ctx, text, strlen(text), &k->module) &&
           !tile_kernel_get(k->module, NULL, &k->kernel);
}

static bool start(const Kernel *k, int slot, int n, int turns, void *stream) {
    tile_arg args[] = {tile_pointer(memory + (tile_ptr)slot * SLOT), tile_i32(n), tile_i32(turns)};
    tile_grid one = {1, 1, 1};
    return !tile_launch(k->kernel, &one, args, 3, stream);
}

/* Launches for n = from .. to - 1, and what they make of `value`. */
static uint32_t run(const Kernel *k, int slot, int from, int to, void *stream, uint32_t value) {
    bool good = true;
    for (int n = from; n < to; n++) {
        good = start(k, slot, n, 0, stream) && good;
        value = value * 3 + (uint32_t)n;
    }
    return good ? value : ~value;
}

static uint32_t in_slot(int slot) {
    uint32_t got = 0;
    CHECK(tile_synchronize(ctx) == TILE_OK);
    CHECK(tile_copy_to_host(ctx, &got, memory + (tile_ptr)slot * SLOT, 4) == TILE_OK);
    return got;
}

static void clear(void) {
    CHECK(tile_fill(ctx, memory, 0, SLOT * KERNELS) == TILE_OK);
    CHECK(tile_synchronize(ctx) == TILE_OK);
}

/* ---- what is tried ---- */

static void orders(const Kernel *k, void *stream) {
    for (int behind = 0; behind < 2; behind++) {
        clear();
        if (behind) CHECK(start(k, 1, 0, 3000, stream));
        uint32_t want = 0;
        for (int i = 0; i < 40; i++) want = run(k, 0, i * 20, i * 20 + 20, stream, want);
        CHECK(in_slot(0) == want);
    }
    /* Given up while they run. */
    clear();
    uint32_t want = run(k, 0, 0, 100, stream, 0);
    CHECK(start(k, 1, 0, 3000, stream));
    want = run(k, 0, 100, 200, stream, want);
    CHECK(tile_context_set_launch_graphs(ctx, 0) == TILE_OK);
    want = run(k, 0, 200, 300, stream, want);
    CHECK(tile_context_set_launch_graphs(ctx, 8) == TILE_OK);
    CHECK(in_slot(0) == want);
}

typedef struct Worker {
    pthread_t thread;
    const Kernel *kernel;
    void *stream;
    int slot;
    uint32_t want;
} Worker;

static void *work(void *arg) {
    Worker *w = arg;
    w->want = run(w->kernel, w->slot, 0, 500, w->stream, 0);
    return NULL;
}

/* Also gives graphs up. */
static void *work_anew(void *arg) {
    Worker *w = arg;
    work(w);
    if (tile_context_set_launch_graphs(ctx, 1)) w->want = ~w->want;
    w->want = run(w->kernel, w->slot, 0, 100, w->stream, w->want);
    return NULL;
}

/* What is launched into the stream that is captured becomes part of it, and what into others goes
 * as ever. */
static void captures(const Kernel *k, void *captured, void *other) {
    for (int how = 0; how < 6; how++) { /* the three modes; by this thread, by another */
        Worker w = {.kernel = k, .stream = other, .slot = 2};
        void *graph = NULL, *exec = NULL;
        clear();
        CHECK(tile_context_set_launch_graphs(ctx, 8) == TILE_OK); /* they are all made anew */
        CHECK(cu.capture_begin(captured, how % 3) == 0);
        uint32_t none = run(k, 1, 0, 30, captured, 0), want = 0;
        if (how < 3)
            work_anew(&w);
        else if (pthread_create(&w.thread, NULL, work_anew, &w) == 0)
            pthread_join(w.thread, NULL);
        CHECK(run(k, 1, 30, 60, captured, none) != 0);
        CHECK(cu.capture_end(captured, &graph) == 0 && graph);
        CHECK(cu.instantiate(&exec, graph, 0) == 0);
        for (int turn = 0; turn < 2; turn++) {
            CHECK(exec && cu.launch(exec, captured) == 0);
            for (uint32_t n = 0; n < 60; n++) want = want * 3 + n;
            want = run(k, 1, 60, 80, captured, want);
        }
        CHECK(in_slot(1) == want);
        CHECK(in_slot(2) == w.want);
        if (exec) CHECK(cu.exec_destroy(exec) == 0);
        if (graph) CHECK(cu.graph_destroy(graph) == 0);
    }
}

static void threads(const Kernel *k, void *const *stream) {
    Worker w[THREADS];
    clear();
    for (int i = 0; i < THREADS; i++) {
        w[i] = (Worker){.kernel = k, .stream = stream[i], .slot = i};
        CHECK(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(w[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) CHECK(in_slot(i) == w[i].want);
}

/* A module goes, and with it a graph, while it runs. */
static void unloads(void *stream) {
    for (int i = 0; i < 5; i++) {
        Kernel k;
        clear();
        CHECK(load(&k));
        uint32_t want = run(&k, 0, 0, 60, stream, 0);
        CHECK(start(&k, 1, 0, 2000, stream));
        want = run(&k, 0, 60, 120, stream, want);
        tile_module_unload(k.module);
        CHECK(in_slot(0) == want);
    }
}

/* More than graphs are kept, by turns and one after the other. */
static void places(void) {
    static Kernel k[KERNELS];
    uint32_t want[KERNELS] = {0};
    clear();
    for (int i = 0; i < KERNELS; i++) CHECK(load(&k[i]));
    for (int turn = 0; turn < 40; turn++)
        for (int i = 0; i < KERNELS; i++) want[i] = run(&k[i], i, turn, turn + 1, NULL, want[i]);
    for (int i = 0; i < KERNELS; i++) want[i] = run(&k[i], i, 0, 80, NULL, want[i]);
    for (int i = 0; i < KERNELS; i++) {
        CHECK(in_slot(i) == want[i]);
        tile_module_unload(k[i].module);
    }
}

int main(void) {
    int code = open_context();
    if (code) return code;
    Kernel k;
    void *stream[THREADS], *old;
    CHECK(open_driver() && cu.push(tile_context_cuda(ctx)) == 0);
    CHECK(tile_alloc(ctx, SLOT * KERNELS, &memory) == TILE_OK && load(&k));
    CHECK(tile_context_set_launch_graphs(ctx, 8) == TILE_OK);
    for (int i = 0; i < THREADS; i++) CHECK(tile_stream_create(ctx, &stream[i]) == TILE_OK);
    orders(&k, stream[0]);
    orders(&k, NULL);
    captures(&k, stream[1], stream[2]);
    captures(&k, stream[1], NULL);
    threads(&k, stream);
    unloads(stream[3]);
    unloads(NULL);
    places();
    for (int i = 0; i < THREADS; i++) CHECK(tile_stream_destroy(ctx, stream[i]) == TILE_OK);
    cu.pop(&old);
    tile_context_destroy(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

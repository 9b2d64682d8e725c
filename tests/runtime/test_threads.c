/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_threads.c: many threads with one context, on the CPU device and on the fake driver: each
 * loads, allocates, launches, times, hands tensors around and makes mistakes of its own. Run under
 * ThreadSanitizer by scripts/test. Usage: test_threads [THREADS [ROUNDS]] */
#include "tests/runtime/faults.h"
#include "tests/runtime/life.h"
#include "tile_dlpack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64, N = 64 };

typedef struct Shared {
    tile_context *ctx;
    tile_kernel *kernel; /* of a module that all threads use */
    bool cpu;
    int rounds;
    atomic_ulong ended; /* programs, of all threads' launches */
} Shared;

typedef struct Worker {
    pthread_t thread;
    Shared *shared;
    int number;
    const char *problem; /* NULL: none */
    char text[300];
} Worker;

#define NEED(good)                                                                                 \
    do {                                                                                           \
        if (!(good)) return #good;                                                                 \
    } while (0)

/* A tensor of the thread's own, in and out again. */
static const char *tensor_round(Shared *s, tile_ptr y) {
    int64_t shape[] = {N};
    tile_tensor t = {.data = y, .type = TILE_FP32, .ndim = 1, .shape = shape}, *in;
    DLManagedTensorVersioned *out;
    NEED(tile_tensor_export(s->ctx, &t, NULL, NULL, &out) == TILE_OK);
    NEED(tile_tensor_import(s->ctx, out, NULL, &in) == TILE_OK);
    tile_tensor_release(in);
    if (!s->cpu) return NULL;
    float host[N] = {0}; /* memory that the device lets kernels use for a while */
    DLManagedTensorVersioned mine = {.version = {1, 0},
                                     .dl_tensor = {.data = host,
                                                   .device = {kDLCPU, 0},
                                                   .ndim = 1,
                                                   .dtype = {kDLFloat, 32, 1},
                                                   .shape = shape}};
    NEED(tile_tensor_import(s->ctx, &mine, NULL, &in) == TILE_OK);
    tile_tensor_release(in);
    return NULL;
}

static const char *module_round(Shared *s) {
    const char *text = life_module(s->cpu);
    tile_module *own;
    tile_kernel *k;
    NEED(tile_module_load(s->ctx, text, strlen(text), &own) == TILE_OK);
    NEED(tile_kernel_get(own, "copy", &k) == TILE_OK);
    tile_module_unload(own);
    return NULL;
}

/* Launches go as graphs, whose number others change meanwhile. */
static const char *graphs_round(Shared *s, int number) {
    tile_arg args[] = {tile_pointer(4096), tile_pointer(8192), tile_i32(N), tile_f32(1)};
    if (s->cpu) return NULL;
    if (number % 8 == 0) NEED(tile_context_set_launch_graphs(s->ctx, number % 3 * 4) == TILE_OK);
    for (int i = 0; i < 40; i++) NEED(tile_launch(s->kernel, NULL, args, 4, NULL) == TILE_OK);
    return NULL;
}

static const char *one_round(Worker *w, int round) {
    Shared *s = w->shared;
    float in[N], out[N];
    for (int i = 0; i < N; i++) in[i] = (float)(i + w->number * 1000 + round);
    tile_ptr x, y;
    NEED(tile_alloc(s->ctx, sizeof in, &x) == TILE_OK);
    NEED(tile_alloc(s->ctx, sizeof in, &y) == TILE_OK);
    NEED(tile_copy_to_device(s->ctx, x, in, sizeof in) == TILE_OK);
    tile_event *start = NULL, *end = NULL;
    double ms = -1;
    tile_arg args[] = {tile_pointer(x), tile_pointer(y), tile_i32(N), tile_f32(1)};
    NEED(tile_event_record(s->ctx, NULL, &start) == TILE_OK);
    NEED(tile_launch(s->kernel, NULL, args, 4, NULL) == TILE_OK);
    NEED(tile_event_record(s->ctx, NULL, &end) == TILE_OK);
    NEED(tile_event_elapsed(start, end, &ms) == TILE_OK && ms >= 0);
    tile_event_destroy(start);
    tile_event_destroy(end);
    if (!s->cpu) /* the fake driver runs no kernels */
        NEED(tile_copy_on_device(s->ctx, y, x, sizeof in, NULL) == TILE_OK);
    NEED(tile_copy_to_host(s->ctx, out, y, sizeof out) == TILE_OK);
    NEED(memcmp(in, out, sizeof in) == 0);
    /* A mistake, and its sentence, are this thread's. */
    char words[40];
    args[2] = tile_i64(w->number);
    NEED(tile_launch(s->kernel, NULL, args, 4, NULL) == TILE_BAD_LAUNCH);
    NEED(strstr(tile_error(s->ctx), "the kernel takes i32, not i64"));
    snprintf(words, sizeof words, "0x%x is not the start", w->number + 1);
    NEED(tile_free(s->ctx, (tile_ptr)w->number + 1) == TILE_INVALID);
    NEED(strstr(tile_error(s->ctx), words));
    const char *problem = tensor_round(s, y);
    if (!problem && round % 10 == w->number % 10) problem = module_round(s);
    if (!problem && round % 10 == 0) problem = graphs_round(s, w->number);
    if (problem) return problem;
    NEED(tile_free(s->ctx, x) == TILE_OK && tile_free(s->ctx, y) == TILE_OK);
    return NULL;
}

static void count_program(void *user, uint64_t ended, uint64_t programs) {
    Shared *s = user;
    if (programs == N / 8 && ended) atomic_fetch_add(&s->ended, 1);
}

static void *work(void *arg) {
    Worker *w = arg;
    for (int round = 0; round < w->shared->rounds && !w->problem; round++)
        w->problem = one_round(w, round);
    if (w->problem) snprintf(w->text, sizeof w->text, "%s", tile_error(w->shared->ctx));
    return NULL;
}

/* The number of threads that had no problem. */
static int run(const char *device, int threads, int rounds) {
    static Worker worker[MAX_THREADS];
    Shared s = {.rounds = rounds, .cpu = strcmp(device, "cpu") == 0};
    tile_module *module = NULL;
    const char *text = life_module(s.cpu);
    int good = 0, started = 0;
    if (!tile_context_create(device, &s.ctx) &&
        !tile_module_load(s.ctx, text, strlen(text), &module) &&
        !tile_kernel_get(module, "copy", &s.kernel) &&
        !tile_context_set_progress(s.ctx, count_program, &s))
        for (; started < threads; started++) {
            worker[started] = (Worker){.shared = &s, .number = started};
            if (pthread_create(&worker[started].thread, NULL, work, &worker[started])) break;
        }
    else
        printf("threads: %s: %s\n", device, tile_error(s.ctx));
    for (int i = 0; i < started; i++) {
        pthread_join(worker[i].thread, NULL);
        good += !worker[i].problem;
        if (worker[i].problem)
            printf("threads: %s, thread %d: %s: %s\n", device, i, worker[i].problem,
                   worker[i].text);
    }
    unsigned long ended = atomic_load(&s.ended);
    unsigned long expected = s.cpu ? (unsigned long)threads * (unsigned long)rounds * N / 8 : 0;
    if (good == threads && ended != expected) {
        printf("threads: %s: told of %lu programs, not of %lu\n", device, ended, expected);
        good = 0;
    }
    tile_module_unload(module);
    tile_context_destroy(s.ctx);
    return good;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 16, rounds = argc > 2 ? atoi(argv[2]) : 50;
    if (threads < 1 || threads > MAX_THREADS || rounds < 1) {
        fprintf(stderr, "usage: test_threads [1..%d [ROUNDS]]\n", MAX_THREADS);
        return 2;
    }
    const FakeCuda *fake = fault_driver();
    int passed = run("cpu", threads, rounds) + run("cuda", threads, rounds);
    bool left = fake->live() != 0;
    if (left) printf("threads: %ld things were not given back to the driver\n", fake->live());
    passed += !left;
    int failed = 2 * threads + 1 - passed;
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

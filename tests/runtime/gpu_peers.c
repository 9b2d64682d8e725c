/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu_peers.c: two GPUs on a real driver: launches of one thread into both, copies, kernels that
 * read the other's memory and wait for it, atomics of both on one place, memory of another process.
 *
 *   tile-peers-gpu [DEVICE DEVICE]      cuda:0 and cuda:1; "cpu cpu" does the same without a GPU
 *
 * The other process is forked before anything of CUDA is opened. Exit code 77 without two GPUs, or
 * where they do not reach each other. */
#include "tests/check/peer_kernels.h"
#include "tile.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 200, BYTES = PEER_N * 4, SKIPPED = 77 };

static int passed, failed;

static void check(int good, const char *what, int line, const tile_context *ctx) {
    passed += good != 0;
    failed += good == 0;
    if (!good) printf("peers: line %d: %s\n    %s\n", line, what, ctx ? tile_error(ctx) : "");
}
#define CHECK(ctx, good) check((good), #good, __LINE__, ctx)

typedef struct Gpu {
    tile_context *ctx;
    tile_module *module[2]; /* by VOLATILE */
} Gpu;

/* The kernels, compiled for its device. False: there is no such device, or no kernels. */
static int open_gpu(Gpu *g, const char *device) {
    static const char *const config[] = {"num_warps=4", "num_warps=4,VOLATILE=True"};
    tile_status st = tile_context_create(device, &g->ctx);
    for (int i = 0; i < 2 && !st; i++) {
        int on_cpu = strcmp(tile_context_target(g->ctx), "cpu") == 0;
        tile_compile_options options = {0};
        tile_compiled *compiled;
        size_t size;
        options.source = peer_source;
        options.source_len = sizeof peer_source - 1;
        options.target = on_cpu ? NULL : tile_context_target(g->ctx);
        options.emit = on_cpu ? TILE_EMIT_TIR : TILE_EMIT_PTX;
        options.config_text = config[i];
        options.no_perf_notes = 1;
        st = tile_compile(&options, &compiled);
        if (st) fputs(tile_compiled_text(compiled, TILE_PART_DIAGNOSTICS, NULL), stdout);
        const char *text = st ? NULL : tile_compiled_text(compiled, TILE_PART_OUTPUT, &size);
        if (!st) st = tile_module_load(g->ctx, text, size, &g->module[i]);
        tile_compiled_free(compiled);
    }
    if (st) printf("peers: %s: %s: %s\n", device, tile_status_text(st), tile_error(g->ctx));
    return st == TILE_OK;
}

static void close_gpu(Gpu *g) {
    for (int i = 0; i < 2; i++) tile_module_unload(g->module[i]);
    tile_context_destroy(g->ctx);
}

static tile_status run(const Gpu *g, int is_volatile, const char *name, const tile_arg *args,
                       int n) {
    static const tile_grid one = {1, 1, 1};
    tile_kernel *k;
    tile_status st = tile_kernel_get(g->module[is_volatile], name, &k);
    if (!st) st = tile_launch(k, &one, args, n, NULL);
    return st ? st : tile_synchronize(g->ctx);
}

static tile_ptr numbers(const Gpu *g, int first, int shared) {
    int x[PEER_N];
    tile_ptr at = 0;
    for (int i = 0; i < PEER_N; i++) x[i] = first + i;
    CHECK(g->ctx, (shared ? tile_alloc_shared : tile_alloc)(g->ctx, BYTES, &at) == TILE_OK);
    CHECK(g->ctx, tile_copy_to_device(g->ctx, at, x, BYTES) == TILE_OK);
    return at;
}

static int number(const Gpu *g, tile_ptr at, int i) {
    int x = -1;
    CHECK(g->ctx, tile_copy_to_host(g->ctx, &x, at + (size_t)i * 4, 4) == TILE_OK);
    return x;
}

static tile_status copy(const Gpu *g, tile_ptr to, tile_ptr from) {
    tile_arg args[] = {tile_pointer(to), tile_pointer(from), tile_i32(PEER_N)};
    return run(g, 0, "copy", args, 3);
}

/* ---- one process ---- */

static void reads(const Gpu *a, const Gpu *b) {
    tile_ptr mine = numbers(a, 0, 0), theirs = numbers(b, 1000, 0), table = 0, out = 0;
    void *stream = NULL;
    for (int i = 0; i < 20; i++) { /* one thread, both contexts by turns */
        CHECK(a->ctx, copy(a, mine, theirs) == TILE_OK);
        CHECK(b->ctx, copy(b, theirs, mine) == TILE_OK);
    }
    CHECK(a->ctx, number(a, mine, 63) == 1063 && number(b, theirs, 63) == 1063);
    tile_ptr far = numbers(b, 7, 0);
    CHECK(a->ctx, tile_stream_create(a->ctx, &stream) == TILE_OK);
    CHECK(a->ctx, tile_copy_peer(a->ctx, mine, b->ctx, far, BYTES, stream) == TILE_OK);
    CHECK(a->ctx, tile_synchronize_stream(a->ctx, stream) == TILE_OK);
    CHECK(a->ctx, number(a, mine, 1) == 8);
    CHECK(a->ctx, tile_copy_on_device(a->ctx, mine + 4, far, 4, stream) == TILE_OK);
    CHECK(a->ctx, tile_synchronize_stream(a->ctx, stream) == TILE_OK);
    CHECK(a->ctx, number(a, mine, 1) == 7);
    CHECK(a->ctx, tile_stream_destroy(a->ctx, stream) == TILE_OK);
    int64_t row[2] = {(int64_t)mine, (int64_t)theirs};
    CHECK(a->ctx, tile_alloc(a->ctx, sizeof row, &table) == TILE_OK);
    CHECK(a->ctx, tile_copy_to_device(a->ctx, table, row, sizeof row) == TILE_OK);
    CHECK(a->ctx, tile_alloc(a->ctx, 2 * BYTES, &out) == TILE_OK);
    tile_arg args[] = {tile_pointer(table), tile_pointer(out), tile_i32(2)};
    CHECK(a->ctx, run(a, 0, "gather", args, 3) == TILE_OK);
    CHECK(a->ctx, number(a, out, 63) == 70 && number(a, out, PEER_N + 5) == 1005);
}

typedef struct Side {
    const Gpu *g;
    const char *kernel;
    tile_arg args[6];
    int nargs, is_volatile;
    tile_status st;
} Side;

static void *launch(void *arg) {
    Side *s = arg;
    s->st = run(s->g, s->is_volatile, s->kernel, s->args, s->nargs);
    return NULL;
}

static void launch_both(Side *s) {
    pthread_t other;
    if (pthread_create(&other, NULL, launch, &s[1])) exit(2);
    launch(&s[0]);
    pthread_join(other, NULL);
    for (int i = 0; i < 2; i++) CHECK(s[i].g->ctx, s[i].st == TILE_OK);
}

static Side exchange_side(const Gpu *g, tile_ptr mine, tile_ptr theirs, tile_ptr sent, tile_ptr got,
                          tile_ptr out) {
    Side s = {.g = g, .kernel = "exchange", .nargs = 6};
    tile_arg args[] = {tile_pointer(mine), tile_pointer(theirs), tile_pointer(sent),
                       tile_pointer(got),  tile_pointer(out),    tile_i32(ROUNDS)};
    memcpy(s.args, args, sizeof args);
    return s;
}

static void waits(const Gpu *a, const Gpu *b, int is_volatile) {
    const Gpu *g[2] = {a, b};
    tile_ptr flag[2], sent[2] = {0}, out[2], counter = numbers(b, 0, 0);
    Side s[2];
    for (int i = 0; i < 2; i++) {
        flag[i] = numbers(g[i], 0, 0);
        CHECK(g[i]->ctx, tile_alloc(g[i]->ctx, 2 * BYTES, &sent[i]) == TILE_OK);
        out[i] = numbers(g[i], 0, 0);
    }
    for (int i = 0; i < 2; i++) {
        s[i] = exchange_side(g[i], flag[i], flag[1 - i], sent[i], sent[1 - i], out[i]);
        s[i].is_volatile = is_volatile;
    }
    launch_both(s);
    for (int i = 0; i < 2; i++) CHECK(g[i]->ctx, number(g[i], out[i], 3) == ROUNDS * 100 + 3);
    for (int i = 0; i < 2; i++) {
        s[i] = (Side){.g = g[i], .kernel = "count", .nargs = 1};
        s[i].args[0] = tile_pointer(counter);
    }
    launch_both(s);
    CHECK(b->ctx, number(b, counter, 0) == 2 * 32 * PEER_N);
}

/* ---- two processes: the first allocates, the second opens ---- */

static int receive(int socket, void *p, size_t n) {
    for (size_t got = 0; got < n;) {
        ssize_t k = read(socket, (char *)p + got, n - got);
        if (k <= 0) return 0;
        got += (size_t)k;
    }
    return 1;
}

static void tell(int socket, const void *p, size_t n) {
    if (write(socket, p, n) != (ssize_t)n) printf("peers: the other process is gone\n");
}

/* What both have: flags, and two places that each of them writes to. */
enum { FLAGS, FIRST, SECOND, MEMORIES };

static int second_process(const char *device, int socket) {
    Gpu g = {0};
    tile_ptr at[MEMORIES] = {0};
    tile_shared_handle h;
    char word = 1;
    if (!receive(socket, &word, 1) || !word) return 0; /* no two GPUs */
    if (!open_gpu(&g, device)) return 1;
    for (int i = 0; i < MEMORIES; i++) {
        size_t bytes = 0;
        CHECK(g.ctx, receive(socket, &h, sizeof h));
        CHECK(g.ctx, tile_shared_open(g.ctx, &h, sizeof h, &at[i], &bytes) == TILE_OK);
        CHECK(g.ctx, bytes == 2 * BYTES);
    }
    CHECK(g.ctx, number(&g, at[FIRST], 0) == 17);
    tile_ptr out = numbers(&g, 0, 0);
    Side s = exchange_side(&g, at[FLAGS] + BYTES, at[FLAGS], at[SECOND], at[FIRST], out);
    launch(&s);
    CHECK(g.ctx, s.st == TILE_OK);
    CHECK(g.ctx, number(&g, out, 9) == ROUNDS * 100 + 9);
    for (int i = 0; i < MEMORIES; i++) CHECK(g.ctx, tile_free(g.ctx, at[i]) == TILE_OK);
    CHECK(g.ctx, tile_free(g.ctx, at[0]) == TILE_INVALID);
    tell(socket, &word, 1); /* it may be freed */
    close_gpu(&g);
    return failed != 0;
}

static void first_process(const Gpu *g, int socket) {
    tile_ptr at[MEMORIES] = {0}, opened;
    tile_shared_handle h;
    char word = 1;
    int seventeen = 17;
    tell(socket, &word, 1);
    for (int i = 0; i < MEMORIES; i++) {
        CHECK(g->ctx, tile_alloc_shared(g->ctx, 2 * BYTES, &at[i]) == TILE_OK);
        CHECK(g->ctx, tile_fill(g->ctx, at[i], 0, 2 * BYTES) == TILE_OK);
    }
    CHECK(g->ctx, tile_copy_to_device(g->ctx, at[FIRST], &seventeen, 4) == TILE_OK);
    CHECK(g->ctx, tile_synchronize(g->ctx) == TILE_OK);
    for (int i = 0; i < MEMORIES; i++) {
        CHECK(g->ctx, tile_shared_export(g->ctx, at[i], &h) == TILE_OK);
        tell(socket, &h, sizeof h);
    }
    CHECK(g->ctx, tile_shared_open(g->ctx, &h, sizeof h, &opened, NULL) == TILE_INVALID);
    /* The other one reads what was there first: its flag comes after that. */
    tile_ptr out = numbers(g, 0, 0);
    int first = 0;
    while (!first && !tile_copy_to_host(g->ctx, &first, at[FLAGS] + BYTES, 4)) continue;
    CHECK(g->ctx, first != 0);
    Side s = exchange_side(g, at[FLAGS], at[FLAGS] + BYTES, at[FIRST], at[SECOND], out);
    launch(&s);
    CHECK(g->ctx, s.st == TILE_OK);
    CHECK(g->ctx, number(g, out, 9) == ROUNDS * 100 + 9);
    CHECK(g->ctx, receive(socket, &word, 1));
    for (int i = 0; i < MEMORIES; i++) CHECK(g->ctx, tile_free(g->ctx, at[i]) == TILE_OK);
}

int main(int argc, char **argv) {
    const char *device[] = {argc == 3 ? argv[1] : "cuda:0", argc == 3 ? argv[2] : "cuda:1"};
    int end[2], how = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, end)) return 2;
    pid_t pid = fork();
    if (pid < 0) return 2;
    close(end[pid == 0 ? 0 : 1]);
    if (pid == 0) return second_process(device[1], end[1]);
    Gpu a = {0}, b = {0};
    int there = open_gpu(&a, device[0]) && open_gpu(&b, device[1]);
    tile_status st = there ? tile_context_enable_peer(a.ctx, b.ctx) : TILE_NO_DEVICE;
    if (!st) st = tile_context_enable_peer(b.ctx, a.ctx);
    if (there && st) printf("peers: %s\n", tile_error(a.ctx));
    if (!st) {
        reads(&a, &b);
        for (int is_volatile = 0; is_volatile < 2; is_volatile++) waits(&a, &b, is_volatile);
        first_process(&a, end[0]);
    }
    close_gpu(&a);
    close_gpu(&b);
    close(end[0]);
    if (waitpid(pid, &how, 0) != pid || !WIFEXITED(how) || WEXITSTATUS(how)) failed++;
    if (st == TILE_NO_DEVICE || st == TILE_UNSUPPORTED) return SKIPPED;
    printf("%d passed, %d failed\n", passed, failed + (st != TILE_OK));
    return failed || st ? 5 : 0;
}

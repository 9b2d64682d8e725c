/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu_split.c: launches whose programs share out iterations, on a real driver: alone, on four
 * streams at once, and in a graph that is run again and again. Each has a workspace of its own.
 *
 *   tile-split-gpu SPLIT.ptx PLAIN.ptx
 *
 * examples/matmul.tl, compiled with --stream-k=auto and --single-entry. What the two compute of
 * integers is the same; of random numbers twice the same, and not the other's. Exit code 77 without
 * a GPU. */
#include "tests/runtime/gpu_checks.h"
#include "tests/runtime/gpu_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 4, TURNS = 25, HALF = 2 };

/* ---- products ---- */

typedef struct Product {
    int32_t m, n, k;
    tile_ptr a, b, c;
    size_t bytes; /* of c */
    uint16_t *want;
} Product;

static tile_status multiply(tile_kernel *kernel, const Product *p, void *stream) {
    tile_arg args[] = {tile_pointer(p->a), tile_pointer(p->b), tile_pointer(p->c), tile_i32(p->m),
                       tile_i32(p->n),     tile_i32(p->k),     tile_i32(p->k),     tile_i32(1),
                       tile_i32(p->n),     tile_i32(1),        tile_i32(p->n),     tile_i32(1)};
    return tile_launch(kernel, NULL, args, sizeof args / sizeof *args, stream);
}

/* Halves: integers of -3 to 3, or numbers between -2 and 2. */
static uint16_t half(uint32_t *seed, int integers) {
    static const uint16_t integer[] = {0xC200, 0xC000, 0xBC00, 0, 0x3C00, 0x4000, 0x4200};
    *seed = *seed * 1664525 + 1013904223;
    uint32_t r = *seed >> 8;
    return integers ? integer[r % 7] : (uint16_t)((r & 0x83FF) | (0x3400 + (r >> 16) % 4 * 0x400));
}

static tile_status fill(tile_ptr to, size_t n, uint32_t seed, int integers) {
    uint16_t *data = malloc(n * HALF);
    if (!data) return TILE_NO_MEMORY;
    for (size_t i = 0; i < n; i++) data[i] = half(&seed, integers);
    tile_status st = tile_copy_to_device(ctx, to, data, n * HALF);
    free(data);
    return st;
}

static int open_product(Product *p, uint32_t seed, int integers) {
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
    p->bytes = m * n * HALF;
    p->want = malloc(p->bytes);
    return p->want && !tile_alloc(ctx, m * k * HALF, &p->a) &&
           !tile_alloc(ctx, k * n * HALF, &p->b) && !tile_alloc(ctx, p->bytes, &p->c) &&
           !fill(p->a, m * k, seed, integers) && !fill(p->b, k * n, seed + 1, integers);
}

static void close_product(Product *p) {
    free(p->want);
    tile_free(ctx, p->a);
    tile_free(ctx, p->b);
    tile_free(ctx, p->c);
}

/* c is as it should be; it is made something else. */
static int is_right(const Product *p) {
    uint16_t *got = malloc(p->bytes);
    int right = got && !tile_copy_to_host(ctx, got, p->c, p->bytes) &&
                !memcmp(got, p->want, p->bytes) && !tile_fill(ctx, p->c, 0xFF, p->bytes) &&
                !tile_synchronize(ctx);
    free(got);
    return right;
}

/* What a kernel makes of it, as what it should be. */
static int learn(tile_kernel *kernel, const Product *p) {
    return !tile_fill(ctx, p->c, 0xFF, p->bytes) && !multiply(kernel, p, NULL) &&
           !tile_copy_to_host(ctx, p->want, p->c, p->bytes) &&
           !tile_fill(ctx, p->c, 0xFF, p->bytes) && !tile_synchronize(ctx);
}

/* ---- tests ---- */

static const Product shapes[STREAMS] = {{.m = 512, .n = 512, .k = 8192},
                                        {.m = 3072, .n = 3072, .k = 1024},
                                        {.m = 1536, .n = 1792, .k = 4096},
                                        {.m = 200, .n = 336, .k = 16000}};

static void reals(tile_kernel *split, tile_kernel *plain) {
    int other = 0;
    for (int i = 0; i < STREAMS; i++) {
        Product p = shapes[i];
        CHECK(open_product(&p, (uint32_t)i, 0) && learn(plain, &p) && !multiply(split, &p, NULL));
        other += !is_right(&p);
        CHECK(learn(split, &p));
        for (int turn = 0; turn < 3; turn++) CHECK(!multiply(split, &p, NULL) && is_right(&p));
        close_product(&p);
    }
    CHECK(other > 0); /* or nothing was shared out */
}

static void at_once(tile_kernel *split, Product *p, void **stream) {
    int good = 1;
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < STREAMS; i++) good &= !multiply(split, &p[i], stream[i]);
    for (int i = 0; i < STREAMS; i++) good &= !tile_synchronize_stream(ctx, stream[i]);
    CHECK(good);
    for (int i = 0; i < STREAMS; i++) CHECK(is_right(&p[i]));
}

/* All in one graph, one after the other; then runs of it, with other launches between. */
static void captured(tile_kernel *split, Product *p, void **stream) {
    void *graph = NULL, *exec = NULL;
    enum { RELAXED = 2 };
    int good = !cu.capture_begin(stream[0], RELAXED);
    for (int i = 0; i < STREAMS; i++) good &= !multiply(split, &p[i], stream[0]);
    good &= !cu.capture_end(stream[0], &graph) && !cu.instantiate(&exec, graph, 0);
    CHECK(good);
    for (int turn = 0; good && turn < TURNS; turn++) {
        good &= !cu.launch(exec, stream[0]);
        good &= !multiply(split, &p[turn % STREAMS], stream[0]);
    }
    CHECK(good && !tile_synchronize_stream(ctx, stream[0]));
    for (int i = 0; i < STREAMS; i++) CHECK(is_right(&p[i]));
    CHECK(good && !cu.launch(exec, stream[0]) && !tile_synchronize_stream(ctx, stream[0]));
    for (int i = 0; i < STREAMS; i++) CHECK(is_right(&p[i]));
    CHECK(!cu.exec_destroy(exec) && !cu.graph_destroy(graph));
}

static void run(tile_kernel *split, tile_kernel *plain) {
    Product p[STREAMS];
    void *stream[STREAMS], *old;
    reals(split, plain);
    CHECK(!cu.push(tile_context_cuda(ctx)));
    for (int i = 0; i < STREAMS; i++) {
        p[i] = shapes[i];
        CHECK(!cu.stream_create(&stream[i], 1));
        CHECK(open_product(&p[i], (uint32_t)i + 10, 1) && learn(plain, &p[i]));
    }
    for (int i = 0; i < STREAMS; i++) CHECK(!multiply(split, &p[i], NULL) && is_right(&p[i]));
    at_once(split, p, stream);
    captured(split, p, stream);
    for (int i = 0; i < STREAMS; i++) {
        close_product(&p[i]);
        CHECK(!cu.stream_destroy(stream[i]));
    }
    CHECK(!cu.pop(&old));
}

int main(int argc, char **argv) {
    tile_module *split = NULL, *plain = NULL;
    tile_kernel *a, *b;
    if (argc != 3) {
        fprintf(stderr, "usage: %s SPLIT.ptx PLAIN.ptx\n", argv[0]);
        return 2;
    }
    int code = open_context();
    if (code) return code;
    CHECK(open_driver());
    if (failed) return 1;
    CHECK(!tile_module_load_file(ctx, argv[1], &split) && !tile_kernel_get(split, "matmul", &a));
    CHECK(!tile_module_load_file(ctx, argv[2], &plain) && !tile_kernel_get(plain, "matmul", &b));
    if (!failed) run(a, b);
    tile_module_unload(split);
    tile_module_unload(plain);
    tile_context_destroy(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

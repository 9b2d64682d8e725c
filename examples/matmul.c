/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* matmul.c: C = A B in half precision by a tile kernel: random input, checked, timed.
 *
 *   matmul [--device=auto|cpu|cuda] KERNEL [M N K]
 *
 * KERNEL is matmul.tl, compiled here, or the .ptx or .tir that tilec made of it. */
#include "load_kernel.h"

#include <math.h>
#include <stdint.h>

enum { SAMPLES = 4096, RUNS = 50 };

typedef struct Problem {
    long m, n, k;
    uint16_t *a, *b, *c; /* fp16, row-major: [m, k], [k, n], [m, n] */
} Problem;

/* ---- half precision ---- */

static double half_to_double(uint16_t h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 31  ? (fraction ? NAN : INFINITY)
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -v : v;
}

/* i / 1024 for i in (-1024, 1024), which fp16 holds exactly. */
static uint16_t half_from_1024ths(int i) {
    unsigned sign = i < 0 ? 0x8000 : 0, v = (unsigned)(i < 0 ? -i : i), exponent = 15;
    if (v == 0) return 0;
    while (v < 1024) {
        v <<= 1;
        exponent--;
    }
    return (uint16_t)(sign | exponent << 10 | (v & 1023));
}

static uint32_t random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* ---- checking ---- */

/* One element in double precision against the kernel's, which sums in fp32 and rounds to fp16. */
static int element_wrong(const Problem *p, long row, long col) {
    double sum = 0, size = 0;
    for (long i = 0; i < p->k; i++) {
        double x = half_to_double(p->a[row * p->k + i]) * half_to_double(p->b[i * p->n + col]);
        sum += x;
        size += fabs(x);
    }
    double got = half_to_double(p->c[row * p->n + col]);
    double allowed = ldexp(fabs(sum), -10) + ldexp(size, -20) + ldexp(1, -24);
    return !(fabs(got - sum) <= allowed);
}

/* All elements of a small product, a sample of a large one. */
static long count_wrong(const Problem *p, long *checked) {
    long wrong = 0;
    uint64_t state = 7;
    *checked = p->m * p->n;
    if (*checked <= SAMPLES) {
        for (long i = 0; i < *checked; i++) wrong += element_wrong(p, i / p->n, i % p->n);
        return wrong;
    }
    *checked = SAMPLES;
    for (long i = 0; i < SAMPLES; i++)
        wrong += element_wrong(p, (long)(random_bits(&state) % (uint64_t)p->m),
                               (long)(random_bits(&state) % (uint64_t)p->n));
    return wrong;
}

/* ---- running ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median time of many launches that are queued at once; one launch on the CPU. */
static tile_status time_kernel(tile_context *ctx, tile_kernel *kernel, const tile_arg *args,
                               int nargs, double *ms) {
    tile_event *event[RUNS + 1] = {NULL};
    double time[RUNS];
    int runs = strcmp(tile_context_target(ctx), "cpu") == 0 ? 1 : RUNS;
    tile_status st = tile_event_record(ctx, NULL, &event[0]);
    for (int i = 0; !st && i < runs; i++) {
        st = tile_launch(kernel, NULL, args, nargs, NULL);
        if (!st) st = tile_event_record(ctx, NULL, &event[i + 1]);
    }
    for (int i = 0; !st && i < runs; i++) st = tile_event_elapsed(event[i], event[i + 1], &time[i]);
    for (int i = 0; i <= runs; i++) tile_event_destroy(event[i]);
    if (st) return st;
    qsort(time, (size_t)runs, sizeof *time, by_size);
    *ms = time[runs / 2];
    return TILE_OK;
}

static tile_status multiply(tile_context *ctx, const char *kernel_file, Problem *p, double *ms) {
    char signature[300];
    const char *m = promise(p->m), *n = promise(p->n), *k = promise(p->k);
    snprintf(signature, sizeof signature,
             "a_ptr=*fp16:16,b_ptr=*fp16:16,c_ptr=*fp16:16,M=i32%s,N=i32%s,K=i32%s,"
             "stride_am=i32%s,stride_ak=i32:1,stride_bk=i32%s,stride_bn=i32:1,"
             "stride_cm=i32%s,stride_cn=i32:1",
             m, n, k, k, n, n);
    size_t abytes = (size_t)(p->m * p->k) * 2, bbytes = (size_t)(p->k * p->n) * 2;
    size_t cbytes = (size_t)(p->m * p->n) * 2;
    tile_module *module = NULL;
    tile_kernel *kernel = NULL;
    tile_ptr a = 0, b = 0, c = 0;
    tile_status st = load_kernel(ctx, kernel_file, signature, &module, &kernel);
    if (!st) st = tile_alloc(ctx, abytes, &a);
    if (!st) st = tile_alloc(ctx, bbytes, &b);
    if (!st) st = tile_alloc(ctx, cbytes, &c);
    if (!st) st = tile_copy_to_device(ctx, a, p->a, abytes);
    if (!st) st = tile_copy_to_device(ctx, b, p->b, bbytes);
    if (!st) st = tile_fill(ctx, c, 0xFF, cbytes); /* NaN: an element left out would show */
    if (!st) {
        int32_t im = (int32_t)p->m, in = (int32_t)p->n, ik = (int32_t)p->k;
        tile_arg args[] = {tile_pointer(a), tile_pointer(b), tile_pointer(c), tile_i32(im),
                           tile_i32(in),    tile_i32(ik),    tile_i32(ik),    tile_i32(1),
                           tile_i32(in),    tile_i32(1),     tile_i32(in),    tile_i32(1)};
        st = tile_launch(kernel, NULL, args, 12, NULL);
        if (!st) st = time_kernel(ctx, kernel, args, 12, ms);
    }
    if (!st) st = tile_copy_to_host(ctx, p->c, c, cbytes);
    tile_free(ctx, a);
    tile_free(ctx, b);
    tile_free(ctx, c);
    tile_module_unload(module);
    return st;
}

static int run(const char *device, const char *kernel_file, Problem *p) {
    uint64_t state = 42;
    for (long i = 0; i < p->m * p->k; i++)
        p->a[i] = half_from_1024ths((int)(random_bits(&state) % 2047) - 1023);
    for (long i = 0; i < p->k * p->n; i++)
        p->b[i] = half_from_1024ths((int)(random_bits(&state) % 2047) - 1023);
    tile_context *ctx = NULL;
    double ms = 0;
    tile_status st = tile_context_create(device, &ctx);
    if (!st) st = multiply(ctx, kernel_file, p, &ms);
    if (st) {
        report(ctx, st);
        tile_context_destroy(ctx);
        return 5;
    }
    long checked, wrong = count_wrong(p, &checked);
    printf("matmul: %ldx%ldx%ld on %s: %ld of %ld elements checked are wrong; %.3f ms, "
           "%.3g TFLOPS\n",
           p->m, p->n, p->k, tile_context_device_name(ctx), wrong, checked, ms,
           2e-9 * (double)p->m * (double)p->n * (double)p->k / ms);
    tile_context_destroy(ctx);
    return wrong ? 5 : 0;
}

int main(int argc, char **argv) {
    const char *device = "auto";
    if (argc > 1 && strncmp(argv[1], "--device=", 9) == 0) {
        device = argv[1] + 9;
        argv++;
        argc--;
    }
    Problem p = {.m = 256, .n = 256, .k = 256};
    if (argc == 5) {
        p.m = strtol(argv[2], NULL, 10);
        p.n = strtol(argv[3], NULL, 10);
        p.k = strtol(argv[4], NULL, 10);
    }
    if ((argc != 2 && argc != 5) || p.m < 1 || p.n < 1 || p.k < 1 || p.m > 32768 || p.n > 32768 ||
        p.k > 32768) {
        fprintf(stderr, "usage: matmul [--device=auto|cpu|cuda] KERNEL [M N K]\n");
        return 2;
    }
    p.a = malloc((size_t)(p.m * p.k) * 2);
    p.b = malloc((size_t)(p.k * p.n) * 2);
    p.c = malloc((size_t)(p.m * p.n) * 2);
    int code = p.a && p.b && p.c ? run(device, argv[1], &p) : 5;
    free(p.a);
    free(p.b);
    free(p.c);
    return code;
}

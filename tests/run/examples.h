/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* examples.h: launches of the kernels in examples/ for the tests that compare them with references:
 * buffers and numbers are given in the order of the kernel's parameters, and kept as doubles too.
 *
 * A group of examples runs twice: first to note the variants of its kernels, so that they are
 * compiled on all cores, then in earnest. example_run says which: it is false the first time. */
#ifndef TILE_TESTS_EXAMPLES_H
#define TILE_TESTS_EXAMPLES_H

#include "tests/run/suite.h"

enum { MAX_BUFFERS = 24, MAX_ARGS = 32, NSIZES = 7 };

typedef struct Buffer {
    Array array;
    void *host;    /* what was written; of an output, what a check has room for */
    double *value; /* the same as doubles, rounded to the type */
} Buffer;

typedef struct Example {
    Suite *s;
    bool expecting;
    char name[200], defines[200];
    Source source;
    Arg arg[MAX_ARGS];
    int nargs;
    Buffer buffer[MAX_BUFFERS];
    int nbuffers;
    bool ok; /* all buffers could be made */
    uint64_t state;
} Example;

/* A case begins: examples/FILE.tl, its kernel (NULL: the only one), warps (0: the default). The
 * text says which case it is. */
__attribute__((format(printf, 5, 6))) void example_begin(Example *x, const char *file,
                                                         const char *kernel, int num_warps,
                                                         const char *format, ...);
/* "BLOCK=64 D=64" */
__attribute__((format(printf, 2, 3))) void example_define(Example *x, const char *format, ...);
/* The kernel is compiled without promises about the values, if `plain` holds, and the buffers are
 * off 16-byte boundaries. Before any parameter. */
void example_unspecialised(Example *x, bool plain);
/* The next parameter. The values lie in the example until it ends; an output is filled with NaN
 * (all bits 1) and named by the number that comes back. */
const double *example_in(Example *x, tile_type type, size_t n, Fill how);
const double *example_values(Example *x, tile_type type, size_t n, const double *values);
int example_out(Example *x, tile_type type, size_t n);
void example_zeros(Example *x, tile_type type, size_t n);
void example_int(Example *x, int64_t v);
void example_float(Example *x, double v);
/* Another kernel of the same file, on buffers of the same case: `again` passes one of them. */
void example_kernel(Example *x, const char *kernel);
void example_again(Example *x, int buffer);
/* Launches; counts a failed case if that fails. */
bool example_run(Example *x, const tile_grid *grid);
/* One case: each element is within its bound of what is wanted; bound NULL: it is `want` rounded to
 * the type, and nothing else. A NaN is wanted by a NaN. */
void example_check(Example *x, int buffer, const double *want, const double *bound);
void example_end(Example *x);
/* Whether cases that differ in their warps alone say anything: not on the CPU device. */
bool example_has_warps(const Example *x);

/* 0, 1, B-1, B, B+1, 3B+7 and a prime, in this order: the sizes around a block of B. */
void example_sizes(size_t block, size_t size[NSIZES]);
size_t next_power_of_2(size_t n);
/* Half of the last place of v in the type, and of the smallest step that it has. */
double rounding(tile_type t, double v);
/* What a sum of n numbers may be off by, relative to the sum of their sizes, in single precision.
 * A tile is spread over at least 32 lanes, each of which adds up its own; then the lanes' sums meet
 * in a tree: one number takes part in n / 32 additions and a few. */
double sum_error(size_t n);
/* What a single-precision exp(x) may be off by, relatively: x log2(e) is rounded (and the
 * constant), 2 to that is off by two last places at most. */
double exp_error(double x);

/* All cases of one example. */
typedef void ExampleCases(Example *x);
ExampleCases cases_softmax, cases_layer_norm, cases_rms_norm, cases_cross_entropy, cases_cumsum;
ExampleCases cases_dropout, cases_swiglu, cases_rotary, cases_rgb2grey_dims, cases_swizzle2d_demo;
ExampleCases cases_matmuls, cases_streamk, cases_grouped_gemm, cases_matmul_int4;
ExampleCases cases_flash_attention;

#endif

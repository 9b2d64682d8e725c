/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* suite.h: what the run tests share: options, counting, buffers with guard zones, and kernels that
 * are compiled from their source for the values they get, as Triton's JIT does.
 *
 * A test never stops the program: failures are printed, counted, and the next case runs. */
#ifndef TILE_TESTS_SUITE_H
#define TILE_TESTS_SUITE_H

#include "tests/run/bits.h"
#include "tests/run/values.h"

#include <stdio.h>

typedef enum Size { SIZE_TINY, SIZE_SMALL, SIZE_FULL } Size;

typedef struct Variant Variant;

typedef struct Suite {
    const char *root; /* the folder with examples/ and tests/run/ */
    const char *only; /* the name of a group or of a feature kernel; NULL: all */
    Size size;
    tile_context *ctx;
    bool on_cpu;
    const char *target;
    const char *ptx_folder;   /* not NULL: nothing runs; the PTX of every variant is written here */
    const char *passes;       /* on the CPU device: what runs over the tile IR first */
    const char *code;         /* not NULL: what runs lies in this folder (corpus.h) */
    Bits *bits;               /* not NULL: what launches leave is kept or compared */
    struct Soak *soak;        /* not NULL: launches are kept, to be repeated (soak.h) */
    int threads;              /* for compiling */
    Variant *variants, *last; /* the last one that was launched */
    int passed, failed;
    int group_passed, group_failed;
    unsigned char *scratch; /* of suite_scratch */
    size_t scratch_size;
} Suite;

/* Counts one case; prints the text when it failed. */
__attribute__((format(printf, 3, 4))) void suite_case(Suite *s, bool ok, const char *format, ...);
/* Prints how many of the cases since the last call passed, under the group's name. */
__attribute__((format(printf, 2, 3))) void suite_group(Suite *s, const char *format, ...);
/* Host memory for a while; ends the program when there is none. */
void *suite_alloc(size_t bytes);

/* ---- buffers on the device ---- */

/* n elements of a type, `shift` elements away from a 256-byte boundary. On a GPU, guard zones
 * before and behind it are filled and checked; on the CPU device the buffer is just as large as its
 * contents, so that the device's own check catches what lies outside. */
typedef struct Array {
    tile_type type;
    size_t n, shift, bytes;
    tile_ptr base, ptr; /* of the allocation, of element 0 */
    size_t before, total, capacity;
    unsigned char poison; /* what the guard zones hold */
    /* Of a buffer of addresses: the first buffer it leads to; of that one: the next. */
    const struct Array *leads_to, *next;
    uint32_t inexact; /* rows of inexact.def that launches had which may have written it */
} Array;

/* These return false after counting a failed case. An Array starts as {0}; array_make may be called
 * again to change it. */
bool array_make(Suite *s, Array *a, tile_type type, size_t n, size_t shift);
/* Fills the buffer and the guard zones with one byte: 0xFF is NaN for every float type. */
bool array_poison(Suite *s, Array *a, unsigned char poison);
bool array_write(Suite *s, Array *a, const void *data);
/* The contents, in memory that the next call of array_read uses again; NULL after a failure, also
 * when a guard zone has changed. */
const void *array_read(Suite *s, const Array *a, const char *name);
void array_free(Suite *s, Array *a);
/* One case: the contents are these bits. The text says which case. */
__attribute__((format(printf, 4, 5))) void array_expect(Suite *s, const Array *a, const void *want,
                                                        const char *format, ...);

/* ---- kernels ---- */

typedef struct Arg {
    tile_type type; /* of a pointer, what it points to */
    bool is_pointer;
    tile_arg value;
    Array *array; /* of a pointer; lives as long as the launch */
} Arg;
Arg give_array(Array *a);
Arg give_int(tile_type type, int64_t v);
Arg give_float(tile_type type, double v);

/* Which kernel: a source file below the root and the constexprs ("BM=64 ACTIVATION=relu"). */
typedef struct Source {
    const char *file, *defines;
    bool unspecialised; /* no promises (`:16`, `:1`) are taken from the values */
    const char *kernel; /* NULL: the only one */
    int config;         /* of its autotune configs */
    int num_warps;      /* 0: the config's or the default */
} Source;

/* Notes that launches with such arguments will come; variants_compile then compiles all of them at
 * once, on several threads. Without it, the first launch compiles. */
void variant_expect(Suite *s, const Source *source, const Arg *args, int nargs);
void variants_compile(Suite *s);
/* One case for each variant: it could be compiled. */
void variants_report(Suite *s);
/* A line for each variant: how often it was launched, how many cases failed then. */
void variants_list(const Suite *s);
void variants_free(Suite *s);
/* Launches and waits; grid NULL: the kernel's own. False, with text for a message in *why (valid
 * until the next call), when something failed. That the buffers have the bits of a file is a case
 * of its own. */
bool kernel_run(Suite *s, const Source *source, const tile_grid *grid, const Arg *args, int nargs,
                const char **why);

/* ---- the groups ---- */

void run_copy(Suite *s);
void run_rgb2grey(Suite *s);
void run_vector_add(Suite *s);
void run_matmul(Suite *s);
void run_features(Suite *s);
void run_examples(Suite *s);
void run_far(Suite *s);
bool feature_exists(const char *file);
bool example_exists(const char *name);
/* Each feature kernel on random data on two devices, their buffers compared. */
void run_diff(Suite *cpu, Suite *gpu);

#endif

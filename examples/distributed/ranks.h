/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ranks.h: what the examples of many GPUs share: a process for each GPU, started by mpirun -> a
 * context, memory that all ranks reach, kernels compiled when they are launched, times, checks.
 *
 * A program that has only failed says why and ends all ranks (MPI_Abort): an example has nobody to
 * hand an error to. */
#ifndef EXAMPLES_RANKS_H
#define EXAMPLES_RANKS_H

#include "tile.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_RANKS = 64, MAX_CONFIG = 200 };

typedef struct Ranks {
    int rank, size;
    tile_context *ctx;
    int on_gpu;
    const char *device; /* cuda, cpu or ptx:…, whatever --device=auto found */
    void *beside; /* a stream for what goes on beside the default one's kernels; NULL on the CPU */
    int late;     /* ranks, and what they send, come late: to check on the CPU who waits */
    int bench;
    const char *kernels; /* the folder of the examples' .tl files */
    const char *config;  /* tile sizes and options instead of the example's own */
    long launches;       /* numbers those of kernels that wait for flags: the same in all ranks */
} Ranks;

/* `--name=N`, a whole number of at least 1; and `--name=WORD`, where `text` is set. */
typedef struct Option {
    const char *name;
    long *value;
    const char **text;
    const char *what;
} Option;

/* Starts MPI, reads the options (and those of all examples: --device=, --kernels=, …), opens
 * the rank's device: GPU number R for rank R of the host. */
void ranks_start(Ranks *r, int *argc, char ***argv, const char *about, const Option *options,
                 int n);
/* What main returns: 0, or 1 where something is wrong. */
int ranks_end(Ranks *r, long wrong);
/* Ends all ranks, with what tile_error says or a sentence. */
void ranks_must(Ranks *r, tile_status st, const char *what);
_Noreturn void ranks_fail(const Ranks *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of what all ranks were told alike: rank 0 says it, and all end with 2. */
_Noreturn void ranks_refuse(const Ranks *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A size that has to be a multiple of another. */
void ranks_divides(const Ranks *r, const char *name, long size, long by);
/* A matrix whose elements the kernels have to be able to count. */
void ranks_counts(const Ranks *r, const char *name, long rows, long columns);
/* All work of this rank's is done, and so is that of all others. */
void ranks_meet(Ranks *r);

/* ---- memory ---- */

/* Memory of one rank, and the same of all others: rank[i] is i's, by an address of this process. */
typedef struct Symmetric {
    tile_ptr rank[MAX_RANKS];
    tile_ptr mine;
} Symmetric;

tile_ptr ranks_alloc(Ranks *r, size_t bytes);
/* All ranks call it, with the same size; contents are 0. */
Symmetric ranks_symmetric(Ranks *r, size_t bytes);
void ranks_release(Ranks *r, Symmetric *s);

/* Half precision, which holds whole numbers up to 2048 exactly. */
uint16_t half_of(double v);
double half_value(uint16_t h);
/* Scrambles a number: the same everywhere, whoever makes which part of a matrix. */
uint32_t scramble(uint64_t i);
/* `n` halves in device memory: each of(i, user) for element i of rows of `columns`, of a part of a
 * matrix of `width` columns that begins at (row, column); or numbers that fill the GPU's units, to
 * measure with, where `of` is NULL. */
typedef int ElementFn(long row, long column, const void *user);
void ranks_fill(Ranks *r, tile_ptr to, long rows, long columns, long row, long column,
                ElementFn *of, const void *user);
/* Whole numbers for exact sums. Of a column of a Weight NONZERO elements are 1 or -1: the first in
 * row first_row, the next rows / NONZERO further down. An input is -100, 0 or 100. */
enum { NONZERO = 4 };
typedef struct Weight {
    long rows; /* a multiple of NONZERO */
    uint64_t seed;
} Weight;
long first_row(const Weight *w, long column);
int weight(long row, long column, const void *of);
int input(long row, long column, const void *seed);

/* How many bytes differ between a matrix here, in device memory, and the columns from `column` on
 * of one that rank 0 has on the host, rows of `width` halves. All ranks call it, each for its own
 * columns, rank 0 with `want`. The first that differs is told. */
long ranks_compare(Ranks *r, const char *what, tile_ptr got, long rows, long column, long columns,
                   const uint16_t *want, long width);

/* ---- kernels ---- */

/* A kernel of a file below the folder of kernels, compiled for this device when it is launched.
 * signature: of parameters that say no type. config: "BM=128,num_warps=8". NULL: the source's own.
 * small: instead of config on the CPU, where --config says nothing. */
tile_jit *ranks_kernel(Ranks *r, const char *file, const char *kernel, const char *signature,
                       const char *config, const char *small);
void ranks_launch(Ranks *r, tile_jit *jit, tile_grid grid, const tile_arg *args, int nargs,
                  void *stream);

/* A copy into memory of another rank and, behind it, where there is a flag, the number of this
 * launch. */
void ranks_send(Ranks *r, tile_ptr there, tile_ptr here, size_t bytes, tile_ptr flag);

/* What each rank has, at its place in a matrix of all of them, and sends to all others piece by
 * piece; behind each piece a flag, whose number is that of the launch. */
typedef struct Share {
    Symmetric data, flags; /* flags: int32, those of a rank behind those of the one before */
    size_t total, piece;   /* bytes of a rank, and of its pieces; the last one may be smaller */
    int in_turns;          /* piece by piece to all ranks; or all pieces rank by rank */
} Share;
Share ranks_share(Ranks *r, size_t total, size_t piece, int in_turns);
void ranks_unshare(Ranks *r, Share *s);
/* A kernel that waits for flags, and beside it what sets those of the other ranks. Ranks meet
 * between two runs: what is sent is there when a run begins, and what it is written over nobody
 * reads. On the CPU, too, copies begin when the kernel has. */
typedef void WorkFn(void *user);
void ranks_beside(Ranks *r, const Share *s, WorkFn *launch, void *user);

/* What is put into the stream beside from now on comes after all that the default one has by now;
 * and the other way round. */
void ranks_fork(Ranks *r);
void ranks_join(Ranks *r);

/* ---- an example ---- */

/* Work that all ranks share, and the same work of one, which rank 0 does beside it: `all` and `one`
 * are what the functions take. */
typedef struct Trial {
    const char *name;
    void *all, *one;
    void (*open)(void *work);              /* kernels and memory */
    void (*fill)(void *work, int measure); /* whole numbers; or numbers to measure with */
    WorkFn *run; /* what is measured: everything of it is in the default stream in the end */
    int by_host; /* it waits for the GPU in between */
    void (*close)(void *work);
    /* How many elements of some rows of the result of one are not what the host makes of them. */
    long (*check)(const void *work, const uint16_t *result);
    const char *result;                /* its name */
    const tile_ptr *of_all, *of_one;   /* where it lies, once the work is open */
    long rows, column, columns, width; /* what this rank has of it: see ranks_compare */
    double flops;
} Trial;

/* Runs both, compares, says how it went (the rest of the line is `format`), and measures where
 * --bench asks for it: the medians over 20 runs (3 on the CPU device) after 4 that warm up, in
 * turns. Before the run that is compared there is one of other numbers: who reads too early finds
 * those. What is wrong on all ranks, for ranks_end. */
long ranks_try(Ranks *r, const Trial *t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

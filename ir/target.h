/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target.h: the GPUs tilec compiles for; target.def holds the facts, gpus.def what they are called.
 */
#ifndef TILE_IR_TARGET_H
#define TILE_IR_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* A column of target.def each. */
typedef struct Target {
    const char *name;         /* sm_80 */
    int sm;                   /* compute capability times 10 */
    const char *gpus;         /* some that are of this kind, for people */
    const char *processor;    /* LLVM's name of the GPU whose code this is, */
    const char *ptx_feature;  /* and of the PTX version */
    const char *processor_19; /* what LLVM 19 knows of these */
    const char *ptx_feature_19;
    const char *ptx_version; /* that ptxas wants for `name`: "7.8" */
    int64_t max_shared;      /* bytes of shared memory one program may have */
    int64_t reserved_shared; /* bytes that each program takes besides of its multiprocessor's */
    int64_t registers;       /* of 32 bits, that the programs of a multiprocessor share */
    int64_t matrix_bytes;    /* of a multiprocessor in a clock: M * N * bytes of K of a dot */
    int threads, programs;   /* that a multiprocessor holds at most */
    int multiprocessors;     /* of the largest GPU of this kind; */
    int mhz, memory_gbs;     /* its highest clock, and what its memory moves in a second */
    bool only_here;          /* its code runs on no later GPUs: the `a` of sm_90a */
    bool async_copy;         /* copies from global to shared memory behind the program's back */
    bool atomic_bf16;        /* adds a bf16 to memory; else by comparing and swapping */
    bool atomic_vectors; /* adds several floats by one instruction (red.v2, .v4, pairs of bf16) */
    bool multicast; /* one copy brings a block to all programs of a cluster, as fast as to one */
    bool dependent_launch; /* a grid may start before the one that it depends on has ended */
    bool fp8_cvt;          /* converts fp8 in hardware */
    bool stmatrix;         /* stores of matrix fragments to shared memory */
    bool wgmma;            /* matrix instructions of warpgroups */
    bool tma;              /* copies of blocks by descriptors, whose bytes mbarriers count */
} Target;

extern const Target target_table[];
extern const int target_count;
/* "native" and the names, with a space between them; and what --help says of --target. */
extern const char target_words[], target_help[];

/* That of a compilation which names none: the oldest, whose code runs on the most GPUs. */
const Target *target_default(void);
/* By its name, or that of a GPU or a generation: "sm_90a", "H100", "NVIDIA GeForce RTX 4090",
 * "ampere". NULL when there is none. */
const Target *target_find(const char *name);
/* Code for a target runs on GPUs of this compute capability: on all later ones too, unless it runs
 * `only_here`. No other fact follows from the order of capabilities: those are columns. */
bool target_runs(const Target *t, int sm);
/* The target whose code is best for GPUs of this compute capability; NULL when there is none. */
const Target *target_best(int sm);
/* Programs of so many bytes of shared memory that a multiprocessor has room for. */
int64_t target_programs(const Target *t, int64_t shared_bytes);
/* The same of so many warps whose threads have 128 registers; 1 at least. */
int64_t target_programs_with_registers(const Target *t, int64_t shared_bytes, int64_t warps);
/* Registers of 32 bits that a thread has where so many warps of so many programs share a
 * multiprocessor; none fits: of one. */
int64_t target_registers_shared(const Target *t, int64_t programs, int64_t warps);
/* That a thread may have at most in a program of so many warps, which have them by warpgroups. */
int target_thread_registers(const Target *t, int warps);
/* Why there is no such target, and which would do: a sentence. */
void target_explain(const char *name, Buf *out);

#endif

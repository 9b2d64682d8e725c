/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* read.h: the text of PTX -> its kernels' instructions, and the loops they lie in. */
#ifndef TILE_PTX_READ_H
#define TILE_PTX_READ_H

#include "base/session.h"

typedef struct PtxWord { /* a piece of the PTX's text */
    const char *text;
    int len;
} PtxWord;

typedef struct PtxInst {
    PtxWord op;    /* cp.async.cg.shared.global */
    PtxWord args;  /* what follows, up to the semicolon */
    bool guarded;  /* runs where a predicate says so */
    uint32_t line; /* of the source; 0: not known */
    int scope;     /* number of the braces that it stands in */
    int loop;      /* the innermost one that it is in; -1: none */
} PtxInst;

typedef struct PtxLoop {
    uint32_t line; /* of the jump back to its head, or of the head's test */
    int parent;    /* the loop around it, or -1; loops come in the order of their heads */
} PtxLoop;

typedef struct PtxKernel {
    PtxWord name;
    VEC(PtxInst) insts;
    VEC(PtxLoop) loops;
} PtxKernel;

typedef VEC(PtxKernel) PtxKernels;

/* The kernels of PTX that LLVM has written, in its order. */
PtxKernels ptx_read(Arena *a, const char *text, size_t len);
/* Is `word` the beginning of w, up to a dot or all of it? */
bool ptx_begins(PtxWord w, const char *word);

#endif

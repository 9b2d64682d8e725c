/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* read.h: the text of PTX -> its kernels' declarations and instructions, and the loops they lie in.
 */
#ifndef TILE_PTX_READ_H
#define TILE_PTX_READ_H

#include "base/session.h"

typedef struct PtxWord { /* a piece of the PTX's text */
    const char *text;
    int len;
} PtxWord;

typedef struct PtxInst {
    PtxWord guard; /* %p1 or !%p1: runs where that says so; empty: always */
    PtxWord op;    /* cp.async.cg.shared.global */
    PtxWord args;  /* what follows, up to the semicolon */
    uint32_t line; /* of the source; 0: not known */
    int scope;     /* number of the braces that it stands in */
    int loop;      /* the innermost one that it is in; -1: none, or not looked for */
    int back;      /* of a call whose function stands behind it, and of the ret in that: the
                    * instruction behind the call; -1: of others */
} PtxInst;

typedef struct PtxLoop {
    uint32_t line; /* of the jump back to its head, or of the head's test */
    int parent;    /* the loop around it, or -1; loops come in the order of their heads */
} PtxLoop;

typedef struct PtxLabel {
    PtxWord name;
    PtxWord targets; /* of a .branchtargets: the labels; empty: it is a place */
    int scope, inst; /* the instruction that it stands before */
} PtxLabel;

/* .reg .b32 %r<8>; .shared .align 16 .b8 x[64]; .param .u32 n: as text, which says itself what it
 * is. */
typedef struct PtxDeclaration {
    PtxWord text; /* from the directive up to the semicolon, comma or parenthesis */
    int scope;    /* of braces; -1: outside a kernel */
} PtxDeclaration;

typedef struct PtxKernel {
    PtxWord name;
    VEC(PtxInst) insts;
    VEC(PtxLoop) loops; /* once they have been looked for */
    VEC(PtxLabel) labels;
    VEC(PtxDeclaration) params;       /* its own */
    int nresults;                     /* of those, the first, of a function */
    VEC(PtxDeclaration) declarations; /* in its body */
    VEC(int) outer;                   /* by number of the braces: those around them; -1: none */
} PtxKernel;

typedef struct PtxFile {
    VEC(PtxKernel) kernels;           /* in their order */
    VEC(PtxKernel) functions;         /* those with a body */
    VEC(PtxDeclaration) declarations; /* outside them */
    PtxWord target;                   /* sm_90a */
} PtxFile;

/* What PTX holds; of anything else that is text, something. */
PtxFile ptx_read(Arena *a, const char *text, size_t len);
/* Fills k->loops, and the loop of each instruction. */
void ptx_find_loops(Arena *a, PtxKernel *k);
/* Is `word` the beginning of w, up to a dot or all of it? */
bool ptx_begins(PtxWord w, const char *word);
bool ptx_is(PtxWord w, const char *word);
/* Is it one of w's words, between dots, or some that follow each other? */
bool ptx_has_word(PtxWord w, const char *word);
/* The label's number in k->labels that a name means in these braces; -1: there is none. */
int ptx_find_label(const PtxKernel *k, int scope, PtxWord name);

#endif

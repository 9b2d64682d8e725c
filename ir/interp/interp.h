/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* interp.h: runs tile IR on the CPU, one program at a time: the definition of every operation and
 * the CPU device.
 *
 * A program is compiled to a flat list of steps over numbered tile slots, and its state is data
 * (a position and the slots), not a host stack, so a program may be suspended and another run: one
 * that spins on a lock gives way to the one that will release it, and when none can go on the run
 * ends with the places where they wait. */
#ifndef TILE_IR_INTERP_H
#define TILE_IR_INTERP_H

#include "ir/ir.h"

enum InterpCheck { /* bits; default: all */
                   /* Accesses outside the buffer their parameter points into, or outside every
                    * buffer where that is not known. Off: such loads give 0 and such stores are
                    * dropped, so the process is safe with any checks. */
                   CHECK_BOUNDS = 1,
                   /* An address that is not a multiple of the element's size; a hint (multiple_of,
                    * max_contiguous, max_constancy) that does not hold. */
                   CHECK_ALIGN = 2,
                   /* int32 arithmetic that wrapped and became part of an address. */
                   CHECK_OVERFLOW = 4,
                   /* Memory nobody wrote, or a masked-off lane without `other`, that is stored,
                    * branched on or used as an address or mask. */
                   CHECK_UNINIT = 8,
                   /* Two programs' accesses to one address, one of them a plain write, that no
                    * acquire and release put in order; shared memory read or overwritten without
                    * the barrier it needs. What this may remember is bounded: beyond INTERP_RACE_MB
                    * a run goes on without looking for races. */
                   CHECK_RACES = 16,
                   /* What no operation defines, used as in CHECK_UNINIT: an integer divided by 0 or
                    * shifted by its width or more. A histogram's value outside its bins. */
                   CHECK_UNDEFINED = 32,
                   CHECK_ALL = 63
};

typedef struct InterpBuffer {
    const char *name; /* the parameter it was passed as; NULL: unnamed */
    uint8_t *base;
    uint64_t bytes;
    uint8_t *written; /* one byte per byte of the buffer, nonzero once written; NULL: all written */
    bool foreign;     /* other launches, of other threads or processes, may write to it meanwhile */
} InterpBuffer;

enum {
    INTERP_RACE_MB = 512,      /* what race checks may remember */
    INTERP_MAX_WAITING = 4096, /* programs suspended at once: about what a large GPU holds */
    INTERP_WAITING_MB = 1024   /* and what their tiles may take */
};

typedef union InterpArg { /* by the parameter's type; ignored for is_none */
    int64_t i;            /* integers, sign- or zero-extended */
    double f;             /* floats */
    uint64_t p;           /* pointers: an address in this process */
} InterpArg;

typedef struct InterpLaunch {
    const Module *module; /* for spans */
    const Func *func;
    const InterpArg *arg; /* one for each of func->param, specialised ones too */
    InterpBuffer *buffer; /* nbuffers, and behind them nfreed that are gone: for messages */
    int nbuffers, nfreed;
    uint32_t grid[3];
    uint32_t work[3];                   /* what WORK_SIZE is; 0: the grid */
    uint32_t stream_k[STREAM_K_SHARES]; /* what STREAM_K is */
    uint64_t workspace;  /* address of a buffer, not written; 0: the launch needs none */
    uint64_t mark;       /* no two launches on one workspace have the same */
    uint32_t cluster;    /* programs along x that are one; 0: each is alone */
    bool single_cta;     /* with the shared memory of a program that has an SM to itself */
    unsigned checks;     /* CHECK_ bits */
    uint64_t max_steps;  /* per program; 0: no limit */
    uint32_t foreign_ms; /* how long it waits for others to write; 0: PATIENCE_MS */
    /* Gets what PRINT writes, line by line; NULL: it is dropped. */
    void (*print)(void *user, const char *text, size_t len);
    void *print_user;
    /* Told how many programs of the grid have ended: after each, and now and then while one runs.
     * NULL: nobody asks. */
    void (*progress)(void *user, uint64_t ended, uint64_t programs);
    void *progress_user;
} InterpLaunch;

/* Runs every program of the grid, in order. False after a diagnostic in s->diags: an error with the
 * op's span, the tensor's name, the index, the program id. The first failing access ends the run.
 * Memory comes from s->arena, about twice the function's tiles once per call: give a launch a
 * session of its own. */
bool interp_run(Session *s, const InterpLaunch *launch);

#endif

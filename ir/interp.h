/* interp.h: runs tile IR on the CPU, one program at a time: the definition of every operation and
 * the CPU device.
 *
 * A program is compiled to a flat list of steps over numbered tile slots, and its state is data
 * (a position and the slots), not a host stack, so a program may be suspended and another run. */
#ifndef TILE_IR_INTERP_H
#define TILE_IR_INTERP_H

#include "ir/ir.h"

enum InterpCheck { /* bits; default: all */
                   CHECK_BOUNDS =
                       1, /* accesses outside the buffer their parameter points into, or outside
                             every buffer where that is not known. Off: such loads give 0 and such
                             stores are dropped, so the process is safe with any checks */
                   CHECK_ALIGN = 2, /* an address that is not a multiple of the element's size */
                   CHECK_OVERFLOW =
                       4, /* int32 arithmetic that wrapped and became part of an address */
                   CHECK_UNINIT = 8, /* memory nobody wrote, or a masked-off lane without `other`,
                                        that is stored, branched on or used as an address or mask */
                   CHECK_RACES =
                       16, /* shared memory read or overwritten without the barrier it needs */
                   CHECK_ALL = 31
};

typedef struct InterpBuffer {
    const char *name; /* the parameter it was passed as; NULL: unnamed */
    uint8_t *base;
    uint64_t bytes;
    uint8_t *written; /* one byte per byte of the buffer, nonzero once written; NULL: all written */
} InterpBuffer;

typedef union InterpArg { /* by the parameter's type; ignored for is_none */
    int64_t i;            /* integers, sign- or zero-extended */
    double f;             /* floats */
    uint64_t p;           /* pointers: an address in this process */
} InterpArg;

typedef struct InterpLaunch {
    const Module *module; /* for spans */
    const Func *func;
    const InterpArg *arg; /* one for each of func->param, specialised ones too */
    InterpBuffer *buffer;
    int nbuffers;
    uint32_t grid[3];
    unsigned checks;    /* CHECK_ bits */
    uint64_t max_steps; /* per program; 0: no limit */
} InterpLaunch;

/* Runs every program of the grid, in order. False after a diagnostic in s->diags: an error with the
 * op's span, the tensor's name, the index, the program id. The first failing access ends the run.
 * Memory comes from s->arena, about twice the function's tiles once per call: give a launch a
 * session of its own. */
bool interp_run(Session *s, const InterpLaunch *launch);

#endif

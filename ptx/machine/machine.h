/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* machine.h: runs PTX on the CPU: the threads of a block in lock step by warp, every access
 * checked.
 *
 * An oracle for what the compiler emits, and for what people say of it: nothing here is taken from
 * code generation, but from the PTX ISA. Asynchronous work lands as late as it may. */
#ifndef TILE_PTX_MACHINE_H
#define TILE_PTX_MACHINE_H

#include "ptx/machine/count.h"
#include "ptx/machine/program.h"

enum PtxCheck { /* bits */
                /* Accesses outside the buffers. Off: such loads give 0 and such stores are
                 * dropped. */
                PTX_CHECK_BOUNDS = 1,
                PTX_CHECK_ALIGN = 2,
                /* Registers and memory that nobody wrote, as address, condition or what is stored
                 * to global memory. */
                PTX_CHECK_UNINIT = 4,
                /* Two threads' accesses of one address that nothing puts in order. */
                PTX_CHECK_RACES = 8,
                PTX_CHECK_ALL = 15
};

typedef struct PtxLaunch {
    const PtxProgram *program;
    const void *const *param; /* what each of the program's parameters is, its bytes */
    uint32_t grid[3], block[3], cluster[3]; /* cluster 0 or 1: none */
    uint32_t dynamic_shared;                /* bytes */
    PtxBuffer *buffer;                      /* not overlapping */
    int nbuffers;
    unsigned checks;
    PtxCount *count;     /* of each of the program's instructions, added to; NULL: nobody asks */
    uint32_t foreign_ms; /* how long it waits for others to write; 0: PATIENCE_MS */
    uint64_t max_steps;  /* instructions of warps, after which it fails; 0: no limit */
    void (*print)(void *user, const char *text, size_t len); /* vprintf; NULL: dropped */
    void *print_user;
    void (*progress)(void *user, uint64_t ended, uint64_t programs); /* NULL: nobody asks */
    void *progress_user;
} PtxLaunch;

/* Runs every block of the grid. False after a diagnostic in s->diags, with the PTX's line and the
 * source's. */
bool ptx_run(Session *s, const PtxLaunch *launch);

/* cuTensorMapEncodeTiled for this machine: 0, or the driver's number for an invalid value. */
int ptx_encode_map(void *map, int type, uint32_t rank, uint64_t address, const uint64_t *sizes,
                   const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
                   int interleave, int swizzle, int l2_promotion, int fill);

#endif

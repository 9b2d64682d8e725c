/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target.h: the GPUs tilec compiles for; target.def holds the facts. */
#ifndef TILE_IR_TARGET_H
#define TILE_IR_TARGET_H

#include <stddef.h>
#include <stdint.h>

typedef struct Target {
    const char *name;        /* sm_80; also LLVM's CPU name */
    int sm;                  /* compute capability times 10 */
    const char *ptx_feature; /* LLVM's name of the PTX version */
    int64_t max_shared;      /* bytes of shared memory one program may have */
    int64_t reserved_shared; /* bytes that each program takes besides of its multiprocessor's */
    int64_t registers;       /* of 32 bits, that the programs of a multiprocessor share */
    int async_copy;          /* copies from global to shared memory behind the program's back */
    int wgmma;               /* matrix instructions of warpgroups */
    int stmatrix;            /* stores of matrix fragments to shared memory */
    int fp8_cvt;             /* converts fp8 in hardware */
} Target;

extern const Target target_table[];
extern const int target_count;
const Target *target_find(const char *name); /* NULL when there is none of this name */

#endif

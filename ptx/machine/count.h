/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* count.h: what each instruction of a kernel has cost in a launch, exactly: it is counted, not
 * measured. */
#ifndef TILE_PTX_COUNT_H
#define TILE_PTX_COUNT_H

#include <stdint.h>

typedef struct PtxCount {
    uint64_t warps, lanes; /* that did it */
    /* Of accesses of global memory: requests of warps, the sectors of 32 bytes that they touch, the
     * bytes that lanes ask for. */
    uint64_t global, sectors, global_bytes;
    /* Of accesses of shared memory: requests of warps, the wavefronts that they take, and those
     * that they would without bank conflicts. */
    uint64_t shared, wavefronts, least_wavefronts;
} PtxCount;

#endif

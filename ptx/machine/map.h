/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* map.h: maps of tensors, 128 bytes each, which the host encodes and kernels change (PTX ISA,
 * "Tensors", "tensormap.replace"; CUDA driver API, "Tensor Map Object Management"). */
#ifndef TILE_PTX_MAP_H
#define TILE_PTX_MAP_H

#include "ptx/machine/warp.h"

enum {
    MAP_BYTES = 128,
    MAP_RANK = 5,    /* at most */
    MAP_BOX = 256,   /* elements of a dimension, at most */
    MAP_UNIT = 16,   /* of addresses, strides and rows */
    MAP_FILL_NAN = 1 /* 0: zeros */
};

typedef struct Map { /* as this machine has it: what is in the 128 bytes is the hardware's own */
    uint32_t mark;
    uint8_t rank, type, swizzle, fill; /* PtxType; bits of a row, as a logarithm - 4; MAP_FILL_… */
    uint64_t address, size[MAP_RANK];
    uint64_t stride[MAP_RANK]; /* bytes; the innermost has none */
    uint16_t box[MAP_RANK];
} Map;
_Static_assert(sizeof(Map) <= MAP_BYTES, "a map is of 128 bytes");

static inline uint32_t map_element_bytes(const Map *m) {
    return ptx_type[m->type].bits / 8u;
}

/* What is wrong with it, as in "this is …"; NULL: nothing. A kernel may write what it likes where a
 * map is. */
const char *map_fault(const Map *m);

#endif

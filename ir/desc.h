/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* desc.h: a descriptor's block -> the boxes that the copy engine moves (TMA).
 *
 * The engine writes a box row by row, its chunks of 16 bytes swizzled by address bits. A block
 * whose rows are longer than a box's is several, side by side in memory and one behind the other in
 * the buffer. */
#ifndef TILE_IR_DESC_H
#define TILE_IR_DESC_H

#include "ir/layout.h"
#include "ir/type.h"

typedef struct DescBox {
    int swizzle;                 /* bytes of a row that is swizzled: 32, 64, 128; 0: none */
    int boxes;                   /* of a block, along the last dimension */
    uint8_t log2[TILE_MAX_RANK]; /* elements along each dimension */
} DescBox;

enum { DESC_MAX_RANK = 5, DESC_BOX_MAX = 256, DESC_ALIGN = 16 };

/* The boxes of a block of this type in a buffer that lies so. NULL, or why there are none. */
const char *desc_boxes(Type t, const Layout *l, DescBox *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scratch.h: shared memory that an operation uses within itself; the places of rings.
 *
 * Some operations let threads meet in shared memory without a buffer that the IR would show: a scan
 * that crosses warps, a gather, a histogram, a move too large for one trip. Such an op has an
 * attribute `offset` for the place of its bytes, which passes/place.c sets; it writes, waits, and
 * reads, and the last thing it does there is to read. */
#ifndef TILE_IR_SCRATCH_H
#define TILE_IR_SCRATCH_H

#include "ir/ir.h"

enum { SCRATCH_ALIGN = 16 };
/* Bytes that op needs, once it has layouts; 0: none. */
int64_t scratch_bytes(const Op *op);
/* Where operand i of a scan has its part, from the op's offset on. */
int64_t scratch_scan_part(const Op *op, int i);
/* The place of one total in a scan's part: a map from registers, lanes and warps, the warps that
 * walk the axis lowest. What walks the axis below the first such warp shares a place. */
Layout scratch_scan_slots(const Op *op);

/* Of a RING_ALLOC: the bytes from one slot to the next, all of them (alone: where the program is
 * alone), and the ring between whose slots this one's lie, or itself. */
int64_t ring_stride(const Op *ring);
int64_t ring_bytes(const Op *ring, bool alone);
const Value *ring_first(const Op *ring);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scratch.h: shared memory that an operation uses within itself; the bytes of buffers.
 *
 * Some operations let threads meet in shared memory without a buffer that the IR would show: a scan
 * that crosses warps. Such an op has an attribute `offset` for the place of its bytes, which
 * passes/place.c sets; it writes, waits, and reads, and the last thing it does there is to read. */
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

/* Of a BUFFER_ALLOC: how many slices it has, 1 for what is one buffer (alone: where the program has
 * its multiprocessor to itself), and the bytes from one to the next. */
int buffer_slices(const Op *alloc, bool alone);
int64_t buffer_stride(const Op *alloc);
/* From the begin of the first slice to the end of the last. */
int64_t buffer_bytes(const Op *alloc, bool alone);
/* The BUFFER_ALLOC that a buffer, or a slice of one, comes from. */
const Op *buffer_alloc(const Value *v);

#endif

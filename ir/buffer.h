/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* buffer.h: the bytes of shared buffers and of their slices. */
#ifndef TILE_IR_BUFFER_H
#define TILE_IR_BUFFER_H

#include "ir/ir.h"

/* Of a BUFFER_ALLOC: how many slices it has, 1 for what is one buffer, and the bytes from one to
 * the next. */
int buffer_slices(const Op *alloc);
int64_t buffer_stride(const Op *alloc);
/* Of one slice: up to the last element that matters, where it is known how they lie. */
int64_t buffer_slice_bytes(const Op *alloc);
/* Of a buffer that is packed: offsets are in parts of 2^low elements, as the layout has them, which
 * begin `by` elements apart. */
typedef struct Packing {
    int low;
    int64_t by; /* 0: it is not packed */
} Packing;
Packing buffer_packing(const Op *alloc);
static inline int64_t buffer_packed(Packing p, int64_t offset) {
    return p.by ? (offset >> p.low) * p.by + (offset & (((int64_t)1 << p.low) - 1)) : offset;
}
/* Which of a tile's registers, `first` on, the threads of so many warps store if an op's LIVE says
 * what matters: none in any thread, or in some those of elements that do not matter, too. */
typedef enum Liveness { LIVE_NONE, LIVE_ALL, LIVE_SOME } Liveness;
Liveness live_registers(const Op *store, int first, int n, int warps);
/* A shared_store leaves out all that does not matter: what is packed has no room for it. Known once
 * its tile has a layout. */
bool stores_what_matters(const Func *f, const Op *store);
/* From the begin of the first slice to the end of the last. */
int64_t buffer_bytes(const Op *alloc);
/* The BUFFER_ALLOC that a buffer, or a slice of one, comes from, through loops and branches, too;
 * NULL: from none. */
const Op *buffer_alloc(const Value *v);
/* Each warp stores into and loads from a part of its own, which layouts of their tiles say. */
bool buffer_is_of_warps(const Op *alloc);
/* The op names the bytes of a buffer, or of a slice, with dimensions permuted or in another layout.
 */
bool buffer_is_view(const Op *op);
/* What a view is of, through views of views; or v itself. */
const Value *buffer_of_view(const Value *v);

#endif

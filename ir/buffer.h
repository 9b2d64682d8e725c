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
/* From the begin of the first slice to the end of the last. */
int64_t buffer_bytes(const Op *alloc);
/* The BUFFER_ALLOC that a buffer, or a slice of one, comes from, through loops and branches, too;
 * NULL: from none. */
const Op *buffer_alloc(const Value *v);
/* The op names the bytes of a buffer, or of a slice, with dimensions permuted or in another layout.
 */
bool buffer_is_view(const Op *op);
/* What a view is of, through views of views; or v itself. */
const Value *buffer_of_view(const Value *v);

#endif

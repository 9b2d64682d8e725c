/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_buffers.h: layouts of buffers and descriptors that were there before the layout pass. */
#ifndef TILE_PASSES_LAYOUT_BUFFERS_H
#define TILE_PASSES_LAYOUT_BUFFERS_H

#include "passes/layout_choice.h"
#include "passes/pass.h"

/* Operand i of the dot, whose instruction is chosen, is a buffer: it lies as the instruction reads
 * it, elements that follow each other in memory where they come from, if that is one way. */
void layout_buffer_of_dot(PassCtx *ctx, const AxisTable *axis, const Op *dot, int i);
/* All slices lie as their buffers, descriptors' blocks as the buffers they are copied to; what no
 * dot reads lies for the tiles that are stored and loaded. */
void layout_settle_buffers(PassCtx *ctx);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* desc.h: descriptors: a block of their tensor -> a tile of pointers and a mask, or the boxes that
 * the copy engine moves (TMA).
 *
 * The engine writes a box row by row, its chunks of 16 bytes swizzled by address bits. A block
 * whose rows are longer than a box's is several, side by side in memory and one behind the other in
 * the buffer. */
#ifndef TILE_IR_DESC_H
#define TILE_IR_DESC_H

#include "ir/ir.h"

typedef struct DescBox {
    int swizzle;            /* bytes of a row that is swizzled: 32, 64, 128; 0: none */
    int boxes;              /* of a block, along the last dimension */
    int dim[TILE_MAX_RANK]; /* elements along each dimension */
    int64_t bytes;          /* from one box in the buffer to the next */
} DescBox;

enum { DESC_MAX_RANK = 5, DESC_BOX_MAX = 256, DESC_ALIGN = 16 };
/* Elements that the copy engine knows of in front of a tensor that goes on there along a dimension:
 * by a second map, of a tensor that begins so much earlier. */
enum { DESC_FRONT = 1 << 24 };
/* The size of a tensor whose end along a dimension nobody knows; a multiple of 16: rows may be
 * stored. */
enum { DESC_UNBOUNDED = INT32_MAX - DESC_FRONT - 15 };

/* How many elements along a dimension matter of what is of this type, by LIVE of the op. */
int64_t desc_live(const Op *op, Type t, int dim);
bool desc_is_live(const Op *op, Type t, int64_t element);
/* The first so many of a block's elements along each dimension alone matter; in the op's LIVE. */
void desc_set_live(Session *s, Op *op, Type t, const int64_t *live);
/* Of a MAKE_DESC: bytes that a block's copy brings. */
int64_t desc_live_bytes(const Op *desc);
/* How a buffer lies for the boxes of a block of a MAKE_DESC: swizzled, if they can be. False: no
 * boxes make the block. */
bool desc_layout(const Op *desc, Layout *out);
/* The boxes of its block in a buffer that lies so. NULL, or why there are none. */
const char *desc_boxes(const Op *desc, const Layout *l, DescBox *out);

/* What a MAKE_DESC says of a dimension. */
Value *desc_size(const Op *desc, int dim);
Value *desc_stride(const Op *desc, int dim);
/* Indices below 0 are of its tensor, too, along some dimension, or this: what lies there in memory.
 */
bool desc_has_front(const Op *desc);
bool desc_goes_on(const Op *desc, int dim);
/* The copy engine stores by this descriptor. Of a row it stores whole 16 bytes, beyond the tensor's
 * last column, too (seen on an H100: 3 elements of fp32 beyond the 33rd); what it loads there is 0.
 */
bool desc_is_stored(const Op *desc);
#define DESC_STORED_ROWS "rows that are stored must be a multiple of 16 bytes long"
/* Of an access by a descriptor: the operand that its indices begin with, which are its last; and
 * whether it is the copy engine's, to or from a buffer. */
int desc_first_index(const Op *access);
bool desc_moves_buffer(const Op *access);
/* Which of the block's dimensions each of the buffer's is, by the op's ORDER; before these the
 * block's that the buffer lacks, of one element. False: it is no such order. */
bool desc_order(const Op *access, uint8_t order[TILE_MAX_RANK]);
/* The tile that an access at these indices moves: the block, or as many rows as index 0 numbers. */
Type desc_tile(Type desc, Value *const *index);
/* A bit for each dimension along which the block may leave the tensor. */
uint32_t desc_checked_dims(const Op *access);
/* The tile's pointers, and where the tensor is; *mask is NULL where no dimension is checked. */
void desc_pointers(Builder *b, const Op *desc, Value *const *index, uint32_t checked, Value **p,
                   Value **mask);
/* What a tile holds where the tensor is not. */
Value *desc_padding(Builder *b, const Op *desc, Type tile);
/* verify_desc.c: what is wrong with an op of descriptors; NULL: nothing. In the arena. */
const char *desc_verify(Session *s, const Func *f, const Op *op);

#endif

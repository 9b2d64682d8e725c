/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* desc.c: which boxes a block's layout is made of (see desc.h). */
#include "ir/desc.h"

#include <string.h>

enum { LINE = 7, CHUNK = 4 }; /* log2 of the bytes that swizzling repeats within, and moves */

/* Rows of 2^row elements, all rows of a box, then box after box; chunks of rows of 32 bytes or more
 * swizzled by the line's number. */
static Layout boxes_layout(Type t, int row, int elem, bool swizzled) {
    Layout l = layout_new(t);
    int cols = t.log2[t.rank - 1], all = type_log2_numel(t), span = row + elem;
    for (int i = 0; i < row; i++) layout_push(&l, IN_OFFSET, (uint32_t)1 << i);
    for (int i = cols; i < all; i++) layout_push(&l, IN_OFFSET, (uint32_t)1 << i);
    for (int i = row; i < cols; i++) layout_push(&l, IN_OFFSET, (uint32_t)1 << i);
    for (int i = 0; swizzled && i < span - CHUNK; i++) {
        int at = row + LINE - span + i; /* the offset's bit */
        if (at < row + all - cols) l.basis[IN_OFFSET][at] ^= (uint32_t)1 << (CHUNK - elem + i);
    }
    return l;
}

static int elem_log2(Type t) {
    int elem = 0;
    while (1 << elem < type_elem_bytes(t)) elem++;
    return elem;
}

/* Whether boxes with rows of 2^row elements may be swizzled. The engine swizzles by bits of the
 * address, which are the row's where a block begins at a multiple of 1024 bytes, as large buffers
 * do, and a box at one of what the pattern repeats after. */
static bool swizzle_fits(Type t, int row) {
    enum { ALIGN = 10 };
    int elem = elem_log2(t), span = row + elem, cols = t.log2[t.rank - 1];
    int block = type_log2_numel(t) + elem, box = block - (cols - row);
    if (span <= CHUNK || span > LINE || block < ALIGN) return false;
    return box >= LINE + span - CHUNK;
}

int64_t desc_live(const Op *op, Type t, int dim) {
    const Attr *live = ir_attr(op, AT_LIVE);
    return live && dim < live->ndims && live->dims[dim] ? live->dims[dim] : type_dim(t, dim);
}

bool desc_is_live(const Op *op, Type t, int64_t element) {
    for (int d = 0; d < t.rank; d++)
        if ((element >> type_dim_shift(t, d) & (type_dim(t, d) - 1)) >= desc_live(op, t, d))
            return false;
    return true;
}

void desc_set_live(Session *s, Op *op, Type t, const int64_t *live) {
    int dims[TILE_MAX_RANK];
    bool all = true;
    for (int d = 0; d < t.rank; d++) {
        bool whole = live[d] >= type_dim(t, d) || live[d] > UINT8_MAX;
        dims[d] = whole ? 0 : (int)live[d];
        all &= whole;
    }
    if (!all) ir_set_dims(s, op, AT_LIVE, dims, t.rank);
}

int64_t desc_live_bytes(const Op *desc) {
    Type t = desc->result[0]->type;
    int64_t bytes = type_elem_bytes(t);
    for (int d = 0; d < t.rank; d++) bytes *= desc_live(desc, t, d);
    return bytes;
}

/* The boxes, rows of 2^row elements, that the engine moves for a block; false: none are so. What
 * does not matter of a row is left out by the box. */
static bool boxes_fit(const Op *desc, int row, bool swizzled) {
    Type t = desc->result[0]->type;
    for (int d = 0; d + 1 < t.rank; d++)
        if (desc_live(desc, t, d) > DESC_BOX_MAX) return false;
    if (row + elem_log2(t) < CHUNK || 1 << row > DESC_BOX_MAX) return false;
    if (desc_live(desc, t, t.rank - 1) & (((int64_t)1 << row) - 1)) return false;
    return !swizzled || swizzle_fits(t, row);
}

bool desc_layout(const Op *desc, Layout *out) {
    Type t = type_in_space(desc->result[0]->type, SPACE_REGISTER);
    for (int swizzled = 1; swizzled >= 0; swizzled--)
        for (int row = t.log2[t.rank - 1]; row >= 0; row--) {
            if (!boxes_fit(desc, row, swizzled)) continue;
            *out = boxes_layout(t, row, elem_log2(t), swizzled);
            return true;
        }
    return false;
}

const char *desc_boxes(const Op *desc, const Layout *l, DescBox *out) {
    Type t = desc->result[0]->type;
    int cols = t.log2[t.rank - 1], elem = elem_log2(t);
    *out = (DescBox){0};
    for (int d = 0; d < t.rank; d++) out->dim[d] = (int)desc_live(desc, t, d);
    for (int d = 0; d + 1 < t.rank; d++)
        if (out->dim[d] > DESC_BOX_MAX) return "has more than 256 rows";
    if (1 << (cols + elem) < DESC_ALIGN) return "has rows of less than 16 bytes";
    for (int swizzled = 1; swizzled >= 0; swizzled--)
        for (int row = cols; row >= 0; row--) {
            if (!boxes_fit(desc, row, swizzled)) continue;
            Layout want = boxes_layout(type_in_space(t, SPACE_REGISTER), row, elem, swizzled);
            if (!layout_equal(&want, l)) continue;
            out->swizzle = swizzled ? 1 << (row + elem) : 0;
            out->boxes = out->dim[t.rank - 1] >> row;
            out->bytes = type_bytes(t) >> (cols - row);
            out->dim[t.rank - 1] = 1 << row;
            return NULL;
        }
    return "lies in its buffer otherwise than the copy engine writes it, as what else uses that "
           "wants";
}

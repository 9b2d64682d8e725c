/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* desc.c: which boxes a block's layout is made of (see desc.h). */
#include "ir/desc.h"

#include <string.h>

enum { LINE = 7, CHUNK = 4 }; /* log2 of the bytes that swizzling repeats within, and moves */

/* Rows of 2^row elements, all rows of a box, then box after box; chunks of rows of 32 bytes or more
 * swizzled by the line's number. */
static Layout boxes_layout(Type t, int row, int elem_log2, bool swizzled) {
    Layout l = layout_new(t);
    int cols = t.log2[t.rank - 1], all = type_log2_numel(t), span = row + elem_log2;
    for (int i = 0; i < row; i++) layout_push(&l, IN_OFFSET, (uint32_t)1 << i);
    for (int i = cols; i < all; i++) layout_push(&l, IN_OFFSET, (uint32_t)1 << i);
    for (int i = row; i < cols; i++) layout_push(&l, IN_OFFSET, (uint32_t)1 << i);
    for (int i = 0; swizzled && i < span - CHUNK; i++) {
        int at = row + LINE - span + i; /* the offset's bit */
        if (at < row + all - cols) l.basis[IN_OFFSET][at] ^= (uint32_t)1 << (CHUNK - elem_log2 + i);
    }
    return l;
}

const char *desc_boxes(Type t, const Layout *l, DescBox *out) {
    int cols = t.log2[t.rank - 1], elem = 0;
    while (1 << elem < type_elem_bytes(t)) elem++;
    *out = (DescBox){0};
    memcpy(out->log2, t.log2, sizeof out->log2);
    for (int d = 0; d + 1 < t.rank; d++)
        if (type_dim(t, d) > DESC_BOX_MAX) return "has more than 256 rows";
    if (1 << (cols + elem) < DESC_ALIGN) return "has rows of less than 16 bytes";
    for (int swizzled = 1; swizzled >= 0; swizzled--)
        for (int row = cols; row >= 0; row--) {
            int span = row + elem;
            if (span < CHUNK || 1 << row > DESC_BOX_MAX) continue;
            if (swizzled && (span <= CHUNK || span > LINE)) continue;
            Layout want = boxes_layout(type_in_space(t, SPACE_REGISTER), row, elem, swizzled);
            if (!layout_equal(&want, l)) continue;
            out->swizzle = swizzled ? 1 << span : 0;
            out->boxes = 1 << (cols - row);
            out->log2[t.rank - 1] = (uint8_t)row;
            return NULL;
        }
    return "lies in its buffer as no box does";
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* npy.h: NumPy's .npy files, in and out.
 *
 * Read are versions 1 to 3, little-endian, in C order, of bool, integers and floats; one-byte
 * elements have no byte order. A header may lie about anything, so every number in it is checked
 * against the file. Failures come back as a sentence. */
#ifndef TILE_TOOLS_NPY_H
#define TILE_TOOLS_NPY_H

#include "base/file.h"
#include "ir/type.h"

enum { NPY_MAX_RANK = 32 };
#define NPY_BEGINS "\x93NUMPY" /* how every file does */

typedef struct NpyArray {
    Elem elem;
    int rank;
    size_t dim[NPY_MAX_RANK];
    const char *data; /* count * size of elem bytes */
    size_t bytes;
} NpyArray;

/* Describes the file in text[0..len); data points into it. */
bool npy_parse(const char *text, size_t len, NpyArray *out, FileError *error);
/* Elements of dim[0..rank); false when they do not fit a size_t, as bytes of `size` each. */
bool npy_bytes(const size_t *dim, int rank, size_t size, size_t *bytes);
/* The whole file as one malloc'ed text; NULL when memory runs out. The element types that NumPy
 * does not know are written as unsigned integers of their size. */
char *npy_format(const NpyArray *a, size_t *len);

#endif

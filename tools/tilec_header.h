/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_header.h: compiled kernels -> a C header that a program includes to launch them. */
#ifndef TILE_TOOLS_TILEC_HEADER_H
#define TILE_TOOLS_TILEC_HEADER_H

#include <stddef.h>

/* One module: the kernels of a variant, for a device. Its manifest is in its text. */
typedef struct HeaderImage {
    int variant;
    const char *target; /* "sm_80", "cpu" */
    const char *when;   /* the variant's conditions, or NULL */
    const char *data;   /* several may point to one text, which is then written once */
    size_t size;
} HeaderImage;

typedef struct Header {
    const char *source; /* the kernels' file, as the header names it; its stem names functions */
    const char *const *label; /* of each variant, as --variants had it */
    int nvariants;
    const HeaderImage *image; /* in the order of their variants */
    int nimages;
} Header;

/* The text, malloc'ed; NULL with what is wrong in error[]. */
char *header_text(const Header *h, size_t *len, char *error, size_t error_size);
/* Whether the module's kernels take any arguments of their types: no promise is in its manifest. */
int header_is_general(const char *data, size_t size);

#endif

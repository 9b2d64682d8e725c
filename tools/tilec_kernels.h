/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_kernels.h: the kernels of several modules, as C sees them; for headers and launchers. */
#ifndef TILE_TOOLS_TILEC_KERNELS_H
#define TILE_TOOLS_TILEC_KERNELS_H

#include "base/expr.h"
#include "tools/tilec_header.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { C_NAME = 256 };

typedef struct Writer {
    const Header *h;
    FILE *out;
    json_t **manifest; /* of each image */
    json_t *kernels;   /* of the last image: the most general variant */
    char prefix[C_NAME], upper[C_NAME];
    char *error;
    size_t error_size;
} Writer;

/* Reads the manifests and, if all variants have the same kernels, writes: the text, malloc'ed; NULL
 * with what is wrong in error[]. */
char *writer_text(const Header *h, void (*write)(Writer *w, void *ctx), void *ctx, size_t *len,
                  char *error, size_t error_size);
/* The kernel of this name in an image; NULL. */
const json_t *writer_kernel(const Writer *w, int image, const char *name);
/* The type that any image has for a parameter that another was compiled for None in. */
const char *writer_type(const Writer *w, const char *kernel, size_t param);
/* The first image that has the same text: theirs is one array. */
int writer_first(const Header *h, int image);
const char *json_text(const json_t *o, const char *key); /* "" where there is none */

/* A name in an expression of a kernel (its JSON is ctx): a parameter is the slot of its number. */
ExprName writer_name(void *ctx, const char *name, size_t len, int64_t *value);
/* Into a comment: which variant is which; what a kernel takes. Then an array of bytes. */
void writer_variants(const Writer *w);
void writer_signature(const Writer *w, const json_t *kernel);
void writer_bytes(const Writer *w, const char *name, const char *data, size_t size);

/* Text as a name of C; then one that no keyword or header takes. */
void c_identifier(const char *text, size_t n, char out[C_NAME]);
void c_parameter(const char *name, char out[C_NAME]);
/* As a string of C, and inside a comment. */
void c_string(FILE *out, const char *s, size_t n);
void c_comment(FILE *out, const char *s);

/* How a type of parameters is called in C; tile.h's maker(type, cast name) makes a tile_arg. */
typedef struct CType {
    const char *tile, *c, *maker, *type, *cast;
    int bytes, map;     /* of an element; how tensor maps call it (CUtensorMapDataType) */
    const char *memory; /* what a pointer to it points to in C; void where C has no such type */
} CType;
const CType *c_type(const char *tile); /* NULL: a pointer */

#endif

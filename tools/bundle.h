/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bundle.h: one compilation as one file: all that tile_compile was given, so that it can be done
 * again elsewhere.
 *
 *   tilec bundle 1
 *   KIND LENGTH LENGTH     of a name and of data, which are the next two lines
 *
 * The kinds: version; text, number, item: an option by its name, an item of a list being one of
 * several; source; file: a module that was read; there: one that was looked for and is there;
 * message: what went wrong, which is the last. */
#ifndef TILE_TOOLS_BUNDLE_H
#define TILE_TOOLS_BUNDLE_H

#include "tile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define BUNDLE_MAGIC "tilec bundle 1\n"

void bundle_put(FILE *out, const char *kind, const char *name, const char *data, size_t len);
/* The magic, the version, the options and the source. */
void bundle_put_options(FILE *out, const tile_compile_options *o);

enum { BUNDLE_LISTS = 8, BUNDLE_WHY = 600 };
typedef struct Bundle {
    tile_compile_options options; /* its reader has the modules of the bundle */
    const char *version, *message;
    /* ---- its own ---- */
    char *text;
    struct BundleRecord *record;
    int n;
    tile_reader reader;
    const char **list[BUNDLE_LISTS];
} Bundle;

/* TILE_IO: the file cannot be read; TILE_INVALID: it is no bundle, or not whole. bundle_free. */
tile_status bundle_read(Bundle *b, const char *path, char why[BUNDLE_WHY]);
void bundle_free(Bundle *b);

#endif

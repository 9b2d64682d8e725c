/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_deps.h: which files a compilation read -> a rule for make, as compilers write with -MD. */
#ifndef TILE_TOOLS_TILEC_DEPS_H
#define TILE_TOOLS_TILEC_DEPS_H

#include "tile.h"

#include <stdbool.h>
#include <stddef.h>

/* The modules that one input's compilations read. Zero-initialise; deps_free. */
typedef struct Deps {
    tile_reader reader; /* for the compiler, after deps_begin */
    char **path;
    int n, cap;
    bool incomplete; /* memory ran out */
} Deps;

void deps_begin(Deps *d);
/* "OUTPUT: INPUT MODULE…\n", malloc'ed; NULL: no memory. */
char *deps_rule(const Deps *d, const char *output, const char *input);
void deps_free(Deps *d);

#endif

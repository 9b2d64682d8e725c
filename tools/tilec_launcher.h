/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_launcher.h: compiled kernels -> a C file and its header that launch them by the CUDA driver
 * alone. */
#ifndef TILE_TOOLS_TILEC_LAUNCHER_H
#define TILE_TOOLS_TILEC_LAUNCHER_H

#include "tools/tilec_kernels.h"

/* Both texts are malloc'ed; NULL with what is wrong in error[]. `header`: the name of the header's
 * file, which the other includes. */
char *launcher_text(const Header *h, const char *header, size_t *len, char *error, size_t size);
char *launcher_header(const Header *h, size_t *len, char *error, size_t size);

/* tilec_tables.c: what the launcher's core (launcher_core.h) knows of the kernels, as tables. */
typedef struct LauncherNeeds {
    int codes, entries, params; /* the last: the most of a kernel */
    bool maps, split, floats;
} LauncherNeeds;
LauncherNeeds launcher_needs(const Writer *w);
void launcher_tables(Writer *w);
/* The number of the kernel's first parameter among those of all kernels: what is said of it. */
int launcher_first_text(const Writer *w, const json_t *kernel);
/* Kernel number k of the last image, in this one. */
const json_t *launcher_kernel(const Writer *w, int image, size_t k);

#endif

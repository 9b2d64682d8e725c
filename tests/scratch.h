/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scratch.h: a name -> a template for mkdtemp or mkstemp, in the folder for temporary files. */
#ifndef TILE_TESTS_SCRATCH_H
#define TILE_TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

enum { SCRATCH_SIZE = 100 }; /* where TMPDIR is longer, the X are cut off, and mkdtemp fails */

static inline char *scratch(char path[SCRATCH_SIZE], const char *name) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, SCRATCH_SIZE, "%s/%s-XXXXXX", folder && *folder ? folder : "/tmp", name);
    return path;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scratch.h: a name -> a template for mkdtemp or mkstemp, in the folder for temporary files; and
 * such a folder emptied. */
#ifndef TILE_TESTS_SCRATCH_H
#define TILE_TESTS_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SCRATCH_SIZE = 100 }; /* where TMPDIR is longer, the X are cut off, and mkdtemp fails */

static inline char *scratch(char path[SCRATCH_SIZE], const char *name) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, SCRATCH_SIZE, "%s/%s-XXXXXX", folder && *folder ? folder : "/tmp", name);
    return path;
}

/* Files and empty folders in it. */
static inline void scratch_empty(const char *folder) {
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (unlink(path)) rmdir(path);
    }
    if (d) closedir(d);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* manual.h: what a program says about itself, as --help, as a manual page and as what bash and zsh
 * need to complete its command line: four views of one description, so that none can go stale. */
#ifndef TILE_TOOLS_MANUAL_H
#define TILE_TOOLS_MANUAL_H

#include "tools/options.h"

#include <stdbool.h>

/* The values that an option takes, where they can be listed. */
typedef struct OptionWords {
    int id;
    const char *words; /* separated by spaces */
} OptionWords;

/* In the texts an empty line ends a paragraph, and lines that begin with a space stay as they are.
 */
typedef struct Manual {
    const char *name;     /* of the program */
    const char *summary;  /* "compiles kernels": the program's name goes before it */
    const char *synopsis; /* what follows the name: "[options] FILE…" */
    const char *about;    /* before the options; ends in a newline */
    const OptionRow *row;
    int nrows;
    const OptionWords *words;
    int nwords;
    void (*more)(FILE *out); /* writes what comes after the options */
    const char *suffixes;    /* of the files it reads, "tl py", for completion */
    const char *see_also;    /* another program with a manual page */
} Manual;

/* Writes one view: "help", "man", "bash" or "zsh". False when there is no such view, or no memory
 * for it. */
bool manual_print(FILE *out, const Manual *m, const char *view);

#endif

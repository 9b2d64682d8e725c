/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_args.h: tilerun's command line, read. */
#ifndef TILE_TOOLS_TILERUN_ARGS_H
#define TILE_TOOLS_TILERUN_ARGS_H

#include "tools/messages.h"
#include "tools/response.h"
#include "tools/tilerun_values.h"

enum ExitCode { EXIT_DONE, EXIT_SOURCE, EXIT_USAGE, EXIT_FILES, EXIT_BUG, EXIT_RUN };

typedef struct Save {
    const char *text; /* "NAME=FILE.npy", as given */
    const char *file;
    int value; /* which */
} Save;

typedef struct Expect {
    const char *text; /* "NAME=FILE.npy[:TOLERANCE]", as given */
    char *file;
    int value; /* which */
    bool given;
    double tolerance;
} Expect;

typedef struct RunOptions {
    Messages messages;
    const char *file, *device, *grid, *space, *tuning;
    bool forecast;                /* --config=auto */
    int most;                     /* --most; 0: all */
    tile_compile_options compile; /* as far as the command line says */
    char *options;                /* those of kernels, for compile.options */
    const char **define;          /* compile.defines */
    const char **include;         /* compile.include */
    RunValue *value;
    int nvalues;
    Save *save;
    int nsaves;
    Expect *expect;
    int nexpects;
    unsigned checks;
    bool checks_given, bench, json, counts, tune, retune;
    uint64_t seed;
} RunOptions;

/* The words @FILE of the command line become those of the files. */
bool run_words(Words *w, int argc, char **argv);
/* Reads the command line. Returns -1 to go on, else the exit code, after printing help or what is
 * wrong. */
int run_options_read(RunOptions *o, const Messages *m, int argc, char **argv);
void run_options_free(RunOptions *o);

#endif

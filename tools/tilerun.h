/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun.h: one run of tilerun, shared by its parts.
 *
 *   tilerun.c         the steps: device, file, compile, buffers, launch, save
 *   tilerun_tune.c    which config is the fastest: measured now, or known from a file
 *   tilerun_report.c  what is said about the launch: times, rates, comparisons, as text or JSON
 *   tilerun_compare.c  two runs beside each other
 *   tilerun_duration.c  a time as text
 *   tilerun_progress.c  what is shown of one that takes long
 *
 * A step returns -1 to go on, else the exit code, after it has said what is wrong. */
#ifndef TILE_TOOLS_TILERUN_H
#define TILE_TOOLS_TILERUN_H

#include "tools/tilerun_args.h"
#include "tools/tilerun_progress.h"

struct json_t;

typedef enum FileKind { FILE_SOURCE, FILE_TIR, FILE_PTX } FileKind;

typedef struct Run {
    RunOptions o;
    tile_context *ctx;
    bool on_cpu, on_machine; /* which runs PTX on the CPU */
    bool compared;           /* beside another */
    FileKind kind;
    char *text; /* of the file */
    size_t len;
    tile_compiled *compiled;
    tile_module *module;
    tile_kernel *kernel;
    tile_kernel_info info;
    tile_arg *arg;
    Progress progress;
    char *tuned;           /* the config that tuning chose; NULL: none */
    struct json_t *report; /* what --json prints at the end; NULL without it */
} Run;

/* Says "tilerun: text" and returns the code. */
int complain(const Messages *m, int code, const char *text);
/* A failed call on the context: prints its sentence. -1 when st is TILE_OK. */
int failed(const Run *r, tile_status st);

int exit_code(tile_status st);
/* A clock, in seconds. */
double run_seconds(void);
enum { DURATION_TEXT = 24 };
/* "13.63 ms": four digits, in the unit that suits them; us, ms or s. Returns text. */
const char *duration_text(double ms, char text[DURATION_TEXT]);
/* Finds the values of the kernel's parameters among those of the command line. */
int run_bind(const Run *r, tile_kernel *kernel, const tile_kernel_info *info, tile_arg *arg);

/* Chooses the config by measuring, from a tuning file or by forecast, for what `compile` says. */
int tune_config(Run *r, const tile_compile_options *compile);

/* Starts the report of --json. */
int report_begin(Run *r);
int report_launch(Run *r, const tile_grid *grid);
/* --counts: of the next launch. */
int report_counts(Run *r);
int report_counted(Run *r);
/* --bench: runs the kernel many times. */
int report_bench(Run *r, const tile_grid *grid);
/* --expect: every comparison is reported; exit code 5 when one is beyond its tolerance. */
int report_expected(Run *r);
/* Prints the report. */
int report_end(Run *r);

/* --compare: the words of two command lines. */
typedef struct Pair {
    bool two, all;
    int argc[2];
    char **argv[2];
} Pair;
/* What stands before --compare is both sides', what follows the second's alone: a file right behind
 * it is instead of the first's. */
int pair_read(const Messages *m, Pair *pair, int argc, char **argv);
void pair_free(Pair *pair);
/* Times and rates of both, and what differs in what the compiler made of them. */
int report_both(const Run *a, const Run *b, bool json, bool all);

#endif

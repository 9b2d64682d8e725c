/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_tuned.h: variants of a header -> the configs that were tuned for them. */
#ifndef TILE_TOOLS_TILEC_TUNED_H
#define TILE_TOOLS_TILEC_TUNED_H

#include "tools/messages.h"
#include "tools/tilec_variants.h"

typedef struct TunedRequest {
    const Messages *messages;
    const tile_compile_options *base;
    const tile_tuning *tuning; /* NULL: no --tuning */
    const char *file;          /* its name, for messages */
    const char *const *target;
    int ntargets;
    int cpu;   /* the CPU device is wanted, too */
    int quiet; /* say what is wrong alone */
} TunedRequest;

/* Fills config_for of the variants that choose no config themselves, and puts in the place of one
 * that is `tuned` a variant for each size in the file. Prints on stderr what was chosen, and what
 * is wrong. */
tile_status tuned_variants(const TunedRequest *r, Variants *v);
/* Sets the config of one compilation, which stays as it is when there is something wrong with the
 * source: that is better told by the compilation. */
tile_status tuned_config(const Messages *m, const tile_tuning *tuning, const char *file,
                         tile_compile_options *o);

#endif

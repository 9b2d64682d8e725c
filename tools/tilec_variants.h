/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_variants.h: the value of --variants, "M=:16,M >= 1024,config=3; config=1", taken apart. */
#ifndef TILE_TOOLS_TILEC_VARIANTS_H
#define TILE_TOOLS_TILEC_VARIANTS_H

#include "tile.h"

enum { VARIANT_TARGETS = 16, MAX_VARIANTS = 64 };

/* What one variant has over the command line's own options. All texts are malloc'ed. */
typedef struct Variant {
    char *text;      /* as it was written */
    char *signature; /* its entries behind those of --signature; NULL: neither has any */
    char *when;      /* its conditions; NULL: none */
    char *options;   /* of kernels, behind those of the command line; NULL: neither has any */
    int config;      /* -1: not given */
    int tuned;       /* a variant for each size that was tuned: tilec_tuned.h */
    int exact;       /* it has a condition that does not always hold, as `M ~ 4096` does */
    const char *config_for[VARIANT_TARGETS + 1]; /* for each target, then for the CPU device: the
                                                  * config that was tuned there; NULL: not tuned */
} Variant;

typedef struct Variants {
    Variant *at;
    int n;
    char error[300];
} Variants;

/* False with v->error filled. `list` may be NULL: one variant, which has nothing over the options.
 * Either way variants_free. */
int variants_read(Variants *v, const char *list, const tile_compile_options *base);
void variants_free(Variants *v);
/* The options of a variant: a copy of *base with what the variant has put in; target: an index of
 * config_for. */
tile_compile_options variant_options(const Variant *v, const tile_compile_options *base,
                                     int target);
/* Appends a copy of *v that also holds for `when` and is called `text`. False with the error
 * filled. */
int variants_add(Variants *to, const Variant *v, const char *when, const char *text);

#endif

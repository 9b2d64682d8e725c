/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile_options.h: the options of options.def on a command line. A program's table of OptionRows
 * has them where it expands options.def; their ids are here, and what they set. */
#ifndef TILE_TOOLS_COMPILE_OPTIONS_H
#define TILE_TOOLS_COMPILE_OPTIONS_H

#include "ir/options.h"
#include "ir/target.h" /* whose names options.def has */
#include "ir/triton.h" /* and whose versions */
#include "tile.h"

/* Behind all ids that a program has itself. */
typedef enum CompileOptionId {
    COMPILE_OPTION_IDS = 1000,
#define OPTION(kind, name, ...) OPT_##name,
#define KERNEL_OPTION(home, name, ...) OPT_##name,
#include "ir/options.def"
} CompileOptionId;

/* Sets the field, or adds to o->options, whose text is *options, malloc'ed. False with the reason
 * in `why`: the value is none for this option, or there is no memory. Lists, `config` and `target`
 * mean more than a field on a command line: they are the program's to take. */
bool compile_option_take(tile_compile_options *o, char **options, int id, const char *value,
                         char why[OPTION_WHY]);
/* Appends "NAME=VALUE" to a list of options, malloc'ed or NULL. False: no memory. */
bool compile_options_add(char **options, const char *item, size_t len);
/* Whether both ask for the same of the same source. */
bool compile_options_same(const tile_compile_options *a, const tile_compile_options *b);

#endif

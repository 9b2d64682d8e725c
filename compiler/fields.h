/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fields.h: tile_compile_options by the rows of options.def. */
#ifndef TILE_COMPILER_FIELDS_H
#define TILE_COMPILER_FIELDS_H

#include "ir/options.h"
#include "tile.h"

/* The options of kernels. False with the reason in `why` when a value will not
 * do. */
bool fields_options(const tile_compile_options *o, OptionValues *values, char why[OPTION_WHY]);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile.h: tile_compile for the other files of compiler/. */
#ifndef TILE_COMPILER_COMPILE_H
#define TILE_COMPILER_COMPILE_H

#include "compiler/reading.h"
#include "frontend/lower/lower.h"
#include "ir/target.h"
#include "tile.h"

#include <stdbool.h>

/* tile_compile, which also notes in value_asked[i] what the outcome depends on of
 * options->values[i]: VALUE_ASKED, SIZE_ASKED, both or nothing. The array has room for each of them
 * and begins all 0, or is NULL. */
tile_status compile_noting(const tile_compile_options *options, uint8_t *value_asked,
                           tile_compiled **out);
/* What lowering is told; of the options of kernels nothing yet. */
LowerOptions compile_lower_options(const tile_compile_options *o, const Target *target,
                                   Reading *reading);
/* Those of kernels, of options that were checked. */
OptionValues compile_kernel_options(const tile_compile_options *o);
/* The report that it keeps; NULL: none. */
struct Report;
const struct Report *compiled_report(const tile_compiled *c);
/* Of each of its diagnostics. */
const Code *compiled_codes(const tile_compiled *c);
/* What it asked its reader, as reading.h lists it. */
const char *compiled_looked(const tile_compiled *c, size_t *size);
/* What an earlier compilation of this source said, as a result that has no output. NULL when memory
 * runs out. */
tile_compiled *compiled_recall(const tile_compile_options *options, const tile_diagnostic *said,
                               const Code *code, int n);

#endif

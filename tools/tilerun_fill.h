/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_fill.h: the contents of a buffer that the command line describes. */
#ifndef TILE_TOOLS_TILERUN_FILL_H
#define TILE_TOOLS_TILERUN_FILL_H

#include "tools/tilerun_values.h"

/* Writes every element of v->data as v->fill says; v->array has the size. */
void fill_elements(RunValue *v, uint64_t seed);

#endif

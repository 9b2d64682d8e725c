/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* drawing.h: the layouts of a module as comment lines a person can read. */
#ifndef TILE_COMPILER_REPORT_DRAWING_H
#define TILE_COMPILER_REPORT_DRAWING_H

#include "ir/ir.h"

/* Appends, for every kernel, each layout its text names @L0, @L1 …, drawn over the first tile that
 * has it. All lines are `//` comments, so the module's text still parses with them behind it. */
void draw_layouts(const Module *m, Buf *out);

#endif

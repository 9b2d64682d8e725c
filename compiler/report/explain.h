/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* explain.h: what stands behind one instruction of PTX. */
#ifndef TILE_COMPILER_REPORT_EXPLAIN_H
#define TILE_COMPILER_REPORT_EXPLAIN_H

#include "base/text.h"
#include "ptx/read.h"

/* What an instruction does: a sentence; NULL: no row of explain.def fits. */
const char *explain_instruction(PtxWord op);
/* Of the first instruction from a line on, of PTX with lines `//~`, which count, too. False: there
 * is none in that kernel. */
bool explain_line(const char *ptx, size_t len, uint32_t line, Buf *out);

#endif

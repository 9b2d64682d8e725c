/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stats.h: what the code of each kernel and of each loop is made of, as text or JSON (tilec
 * --stats). */
#ifndef TILE_COMPILER_REPORT_STATS_H
#define TILE_COMPILER_REPORT_STATS_H

#include "ir/ir.h"

/* Of the kernels of m, after all passes, and of their PTX with line directives; `entry` are the
 * kernels' names there. */
void stats_write(const Module *m, const char *const *entry, const Buf *ptx, bool json, Buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* manifest.h: what a launcher has to know about compiled kernels, as JSON (design.md section 9). */
#ifndef TILE_COMPILER_MANIFEST_H
#define TILE_COMPILER_MANIFEST_H

#include "ir/ir.h"

/* Appends the manifest of every kernel of m as JSON text ending in a newline. `target` is "cpu" for
 * tile IR that the interpreter runs. `entry` has the name of each kernel in the code, where that
 * may differ from the source's (PTX takes no é); NULL: they are the same. Fields are only ever
 * added to the format. False after a diagnostic: a constexpr read from a .tir whose value is not
 * JSON. */
bool manifest_write(const Module *m, const char *target, const char *const *entry, Buf *out);
/* The same between comment lines ("// …"), as .ptx and .tir carry it at their head. */
bool manifest_write_comment(const Module *m, const char *target, const char *const *entry,
                            Buf *out);

#endif

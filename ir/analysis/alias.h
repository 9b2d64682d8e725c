/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* alias.h: alias analysis: which memory a pointer, or a tile of them, points into. */
#ifndef TILE_IR_ANALYSIS_ALIAS_H
#define TILE_IR_ANALYSIS_ALIAS_H

#include "ir/ir.h"

/* What v is made from by one step that stays in the memory it points into: an offset added, another
 * shape or layout (through shared memory, too), what a loop begins with when its iterations stay
 * there too. NULL: v comes from elsewhere. Repeated, it ends at the underlying object or where none
 * is known. */
const Value *alias_step(const Value *v);
/* The parameter, or workspace, that v points into; NULL: not known. Two parameters are taken to
 * point to different memory, as in Triton. */
const Value *alias_underlying_object(const Value *v);
/* Whether f only reads the memory that its parameter p points into, if it looks there at all. Where
 * it is not known what some operation writes, it reads nothing only. */
bool alias_only_reads(const Func *f, const Value *p);
/* How the programs of a launch hand each other parts of sums, and nothing else. */
bool alias_is_of_workspace(const Op *op);
/* May what `read` reads of global memory be read before op is done, which stands before it? Not
 * where op may write there, nor where others may have written before it: an atomic may be how
 * programs wait for each other. */
bool alias_may_pass(const Op *read, const Op *op);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_choice.h: which layout an anchor asks for: memory accesses, dots, tiles in shared memory.
 */
#ifndef TILE_PASSES_LAYOUT_CHOICE_H
#define TILE_PASSES_LAYOUT_CHOICE_H

#include "ir/analysis/axis.h"
#include "ir/ir.h"
#include "ir/mma.h"
#include "ir/target.h"
#include "passes/pass.h"

typedef struct Access { /* how a tile of pointers would best be accessed */
    int dim;            /* dimension to walk with vectors */
    int vec;            /* log2 elements at once */
} Access;

/* What axis analysis allows for this load or store. */
Access choose_access(const AxisTable *axis, const Op *op);
/* Threads side by side along the access's dimension, 2^vec elements each. */
Layout choose_access_layout(Type t, Access a, int num_warps);
/* The same of the elements that each warp has by `held`: then only its own threads give each other
 * some. False: they would be side by side in shorter rows. */
bool choose_access_within_warps(Type t, Access a, const Layout *held, Layout *out);
/* For a tile nobody has wishes about. */
Layout choose_default_layout(Type t, int num_warps);
/* Is a store of a tile held as l about as good as one held as its access asks? */
bool store_layout_is_good(const Layout *l, Type t, Access a);

/* At least, does it write whole sectors, by so many bytes a lane or more? */
bool store_layout_fills_sectors(const Layout *l, Type t, Access a, int least);

typedef struct DotChoice {
    const WgmmaInfo *wgmma; /* NULL: not on warpgroups */
    const MmaInfo *mma;     /* NULL: multiply-add on the ordinary units */
    int wm, wn;             /* log2 of warps (wgmma: warpgroups) along M and N */
    Layout acc;
    const char *why; /* the GPU has better instructions, and these are not for this dot; or NULL */
} DotChoice;
DotChoice choose_dot(const Op *dot, int num_warps, const Target *target);
/* Registers that a thread has at least for a wgmma of so many columns. */
int64_t wgmma_registers(int64_t columns);
/* Rows of type t that warpgroups' instructions compute if the first so many are wanted: where each
 * warpgroup has 64 of its own, those that have none of them may be left out. */
int64_t wgmma_rows(const DotChoice *d, Type t, int64_t wanted);
/* A dot's operand (0 or 1) in shared memory, when its tile comes in registers held as `from`. */
Layout choose_operand_shared(const Op *dot, int operand, const Layout *from);
/* The dot's instruction takes the operand along K alone, and `from` holds it along the other
 * dimension. */
bool dot_transposes(const Op *dot, int operand, const Layout *from);
/* Such an operand in registers: held as `read` when it comes, in words of the other dimension, and
 * as `write`, the same elements of each thread in another order, when it goes on, in vectors along
 * K. The lanes are those with the least bank conflicts on both sides. False: it is too small for
 * that. */
bool choose_transposing(Type t, int k_dim, int num_warps, Layout *read, Layout *write);
/* Shared memory for moving a tile from one layout to another: least bank conflicts on both sides.
 */
Layout choose_move_shared(Type t, const Layout *from, const Layout *to);

/* Marks the values, by id, that dots in b take, through arithmetic or as they are. */
void mark_dot_inputs(const Block *b, uint8_t *marks);
/* The pass schedule will copy the load, which dots take, through shared memory, if it can. */
bool will_be_copied(const PassCtx *ctx, const Op *load);
/* The layout in which a load that dots take is copied ahead; false: it will not be, or gains
 * nothing by another than l, in which its users work. */
bool choose_copied(const PassCtx *ctx, const AxisTable *axis, const Op *load, const Layout *l,
                   Layout *own);
/* The buffer that v was copied to for an earlier dot of this block, if it lies there as l. */
Value *copy_for_dot_before(const Value *v, const Block *block, const Layout *l);

#endif

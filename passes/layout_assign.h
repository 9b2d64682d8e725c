/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_assign.h: what the files of the pass `layout` share: a function's values, the classes that
 * they form, and the versions in which they are held. */
#ifndef TILE_PASSES_LAYOUT_ASSIGN_H
#define TILE_PASSES_LAYOUT_ASSIGN_H

#include "ir/analysis/axis.h"
#include "passes/layout_choice.h"
#include "passes/pass.h"

typedef struct Version { /* a value as held in one layout */
    struct Version *next;
    const Layout *layout;
    Value *value;
} Version;

typedef struct Class { /* of values that share a layout; at the root's id */
    uint32_t parent;
    const Layout *layout; /* once decided */
    int rank;             /* of the anchor that decided: 0 none, 1 memory, 2 dot */
    Access access;        /* memory anchors so far: the widest, as bounded by the others */
    int bytes;            /* element bytes of the widest-traffic access, to choose among dims */
    bool is_stored;       /* any of it, and */
    Access stored;        /* the widest store of it */
    Op *reduce;           /* the first whose result is in the class */
    const Op *deepest_load,
        *deepest_reduce; /* in the most loops: of memory anchors, of reductions */
    const Op *repeat; /* what spreads the loads of the class, which are no more than it; or NULL */
} Class;

typedef struct Assign {
    PassCtx *ctx;
    Session *s;
    Func *f;
    AxisTable axis;
    uint32_t n; /* values with ids below this were there before */
    Class *class_;
    uint8_t *remat_depth;  /* by id: 0: not rematerialisable, else 1 + depth of the expression */
    uint8_t *repeat_depth; /* by id: 0: no broadcast, else 1 + changes of shape behind it */
    uint8_t *for_dots;     /* by id: dots take it, through arithmetic or as it is */
    Version **version;
    VEC(Value *) original; /* by id less n: of what version that one is; NULL: of none */
    const Op **spread;     /* by id: what spreads the value, once that was looked for */
    bool *spread_known;
} Assign;

/* layout_class.c: puts every tile into a class, and notes what memory and dots want of it. */
void layout_make_classes(Assign *a);
Class *layout_class_of(Assign *a, const Value *v);
/* The layout of a value's class; decided now if nothing decided before: by a reduction, whose
 * result lies as its operand does but for the axis, else as `otherwise`. */
const Layout *class_layout(Assign *a, const Value *v, const Layout *otherwise);

/* The layout in which operand i of a layout-changing op must be for its result to be held as l. */
const Layout *operand_layout(Assign *a, const Op *op, int i, const Layout *l);
/* The layout of a reduction's result. */
const Layout *reduced_layout(Assign *a, const Op *reduce);

#endif

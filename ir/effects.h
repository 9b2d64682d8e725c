/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* effects.h: what an operation does besides giving its results: the column `effects` of ops.def.
 *
 * The column speaks of operands: this one names what is read, that one what is written. In which
 * space follows from the operand's type: a pointer names global memory, a buffer shared memory, a
 * value of numbers nothing. Purity and every question of order are answered from here. */
#ifndef TILE_IR_EFFECTS_H
#define TILE_IR_EFFECTS_H

#include "ir/ir.h"

/* As the table has them: a bit for each operand that is read and written, and these. */
#define OP_READS(operand) (1u << (operand))
#define OP_WRITES(operand) (1u << ((operand) + OP_EFFECT_OPERANDS))
enum { OP_EFFECT_OPERANDS = 4 }; /* operands with effects come first */

/* As an op in a program has them. */
typedef enum Effect {
    EFFECT_NONE = 0,
    EFFECT_READS_GLOBAL = 1 << 8,
    EFFECT_WRITES_GLOBAL = 1 << 9,
    EFFECT_READS_SHARED = 1 << 10,
    EFFECT_WRITES_SHARED = 1 << 11,
    EFFECT_UNIQUE = 1 << 12,   /* the result is one of its own: neither merged nor moved */
    EFFECT_ORDERS = 1 << 13,   /* what lies before it against what follows */
    EFFECT_OUTPUT = 1 << 14,   /* is seen from outside */
    EFFECT_PROMISES = 1 << 15, /* what may hold only where it stands */
    EFFECT_ENDLESS = 1 << 16,  /* may not end */
    EFFECT_ENDS = 1 << 17,     /* the kernel */

    EFFECT_GLOBAL = EFFECT_READS_GLOBAL | EFFECT_WRITES_GLOBAL,
    EFFECT_READS = EFFECT_READS_GLOBAL | EFFECT_READS_SHARED,
    EFFECT_WRITES = EFFECT_WRITES_GLOBAL | EFFECT_WRITES_SHARED,
    EFFECT_ANY = EFFECT_READS | EFFECT_WRITES | EFFECT_ORDERS | EFFECT_OUTPUT,
    /* An op with any of these stays although nobody uses its results. */
    EFFECT_KEEPS = EFFECT_WRITES | EFFECT_ORDERS | EFFECT_OUTPUT | EFFECT_ENDLESS | EFFECT_ENDS
} Effect;

/* What the op itself does, without its regions. Its attributes count: inline assembly that is
 * promised to be pure does nothing, a relaxed atomic orders nothing, a volatile load is output, an
 * opaque hint is one of its own. */
unsigned ir_effects(const Op *op);
/* What it does to what operand i names. */
unsigned ir_operand_effects(const Op *op, int i);
/* The mask of an access to global memory: which elements of operand 0 it is made for; NULL: all. */
Value *ir_access_mask(const Op *op);
/* Neither the op nor what its regions hold does anything: its results are the same wherever it
 * stands. */
bool ir_is_pure(const Op *op);
/* Element by element, and nothing else: what may be worked out, cut and repeated freely. */
static inline bool op_is_pure_elementwise(const Op *op) {
    return (op_traits(op) & TRAIT_E) && op_info[op->code].effects == EFFECT_NONE;
}
/* One step that no other program's comes between, made once for each element. */
static inline bool op_is_atomic(const Op *op) {
    return op->code == OP_ATOMIC || op->code == OP_ATOMIC_CAS || op->code == OP_ATOMIC_LOAD ||
           op->code == OP_ATOMIC_STORE || op->code == OP_ATOMIC_POLL;
}
/* What it does is in an order with what other programs do. */
static inline bool op_orders(const Op *op) {
    return op->code == OP_GRID_WAIT || (op_is_atomic(op) && (ir_effects(op) & EFFECT_ORDERS));
}
/* Behind it what others have written may be seen that was not before: no read of global memory may
 * be made earlier. One that only tells others (release) keeps what is before it there. */
static inline bool op_acquires(const Op *op) {
    return op_orders(op) &&
           !(op_is_atomic(op) && ir_attr_int(op, AT_SEM, SEM_ACQ_REL) == SEM_RELEASE);
}
/* … that reads and writes. */
static inline bool op_is_atomic_update(const Op *op) {
    return op->code == OP_ATOMIC || op->code == OP_ATOMIC_CAS;
}

#endif

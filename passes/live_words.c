/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* live_words.c: a block -> the registers that its tiles take at once (see live_words.h). */
#include "passes/live_words.h"
#include "passes/schedule.h"

int64_t bytes_held(const Value *v) {
    Type t = v->type;
    if (!t.rank || t.depth || !v->layout || t.space != SPACE_REGISTER) return 0;
    return (int64_t)type_elem_bytes(v->type) << v->layout->bits[IN_REG];
}

/* What a value is of, that repeats it or has it in another shape, which takes no registers. */
static const Value *repeated(const Value *v) {
    while (op_is(v, OP_BROADCAST) || op_is(v, OP_RESHAPE) || op_is(v, OP_SPLAT))
        v = v->def->operand[0].value;
    return v;
}

/* Registers of a thread for a tile of floats, or a sum. Masks and addresses are made where they are
 * used. */
static int64_t words_of(const Value *v) {
    bool sum = op_is(v, OP_DOT) || op_is(v, OP_DOT_WAIT);
    if ((!type_is_float(v->type) && !sum) || op_is(v, OP_CONST)) return 0;
    return (bytes_held(v) + 3) / 4;
}

typedef struct Live {
    uint8_t *is;
    int64_t words, most;
} Live;

static void set_live(Live *l, const Value *v, bool is) {
    if (l->is[v->id] == is) return;
    l->is[v->id] = is;
    l->words += is ? words_of(v) : -words_of(v);
}

/* Until it is waited for, maybe in the next turn, a dot reads its first operand. What a wait is for
 * besides its first operand is that sum before, in the same registers. */
static void use_all(Live *l, const Op *op) {
    int n = op->code == OP_DOT_WAIT ? 1 : op->noperands;
    for (int i = 0; i < n; i++) {
        const Value *v = op->operand[i].value;
        bool reads = op->code == OP_DOT_WAIT || op->code == OP_YIELD;
        set_live(l, repeated(v), true);
        if (reads && v->def && op_is_async_dot(v->def)) set_live(l, v->def->operand[0].value, true);
    }
}

/* What the dots of the turn before still read where a turn begins. */
static int64_t words_before(const Block *b) {
    int64_t words = 0;
    for (int i = 0; i < b->last->noperands; i++) {
        const Value *v = b->last->operand[i].value;
        if (v->def && op_is_async_dot(v->def)) words += words_of(v->def->operand[0].value);
    }
    return words;
}

/* The first op that waits for all dots; NULL: none does. */
static const Op *first_wait(const Block *b) {
    for (const Op *op = b->first; op; op = op->next)
        if (op->code == OP_DOT_WAIT && !ir_attr_int(op, AT_PENDING, 0)) return op;
    return NULL;
}

/* Those of l are live behind the block; what is live at most at once, in l->most. What is used of
 * outside stays live, as the loop comes back to it. */
static void walk_live(Live *l, const Block *b) {
    const Op *first = first_wait(b);
    int64_t before = first ? 0 : words_before(b);
    for (const Op *op = b->last; op; op = op->prev) {
        bool repeats = op->nresults == 1 && repeated(op->result[0]) != op->result[0];
        if (op == first) before = words_before(b);
        for (int i = 0; i < op->nresults && !repeats; i++) set_live(l, op->result[i], false);
        if (!repeats) use_all(l, op);
        for (int r = 0; r < op->nregions; r++) walk_live(l, op->region[r]);
        if (l->words + before > l->most) l->most = l->words + before;
    }
    for (int i = 0; i < b->nargs; i++) set_live(l, b->args[i], false);
}

int64_t live_words(Session *s, const Func *f, const Block *b) {
    Live l = {.is = arena_alloc(&s->arena, f->nvalues)};
    /* Twice: what is used of outside is live from the block's end, too, if it is a loop's. */
    for (int k = 0; k < 2; k++) walk_live(&l, b);
    return l.most;
}

int64_t sum_words(const Block *b) {
    int64_t words = 0;
    for (const Op *op = b->first; op; op = op->next) {
        if (op->code == OP_DOT) words += (bytes_held(op->result[0]) + 3) / 4;
        for (int i = 0; op->code == OP_IF && i < op->nregions; i++)
            words += sum_words(op->region[i]);
    }
    return words;
}

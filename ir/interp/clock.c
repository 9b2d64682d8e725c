/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* clock.c: vector clocks: by program of the grid, a number; 0 where nothing is known.
 *
 * Convention: a clock never changes once made: setting and joining give another, and share all that
 * stays the same; so remembering one costs nothing, and equal parts are found equal at once.
 * A tree of 16 branches a level; the lowest level holds the numbers. Every tree of a run has as
 * many levels as its grid needs. */
#include "ir/interp/machine.h"

#include <string.h>

enum { BITS = 4, BRANCHES = 1 << BITS };

struct Clock {
    union {
        Clock *child[BRANCHES];
        uint32_t value[BRANCHES];
    } u;
};

static size_t node_bytes(int level) { /* level 0: numbers */
    return level ? sizeof(Clock *) * BRANCHES : sizeof(uint32_t) * BRANCHES;
}

static unsigned branch(uint32_t program, int level) {
    return program >> (level * BITS) & (BRANCHES - 1);
}

uint32_t clock_get(const Clock *c, int levels, uint32_t program) {
    for (int level = levels - 1; c && level > 0; level--) c = c->u.child[branch(program, level)];
    return c ? c->u.value[branch(program, 0)] : 0;
}

static Clock *copy_node(Arena *a, const Clock *c, int level) {
    Clock *to = arena_alloc(a, node_bytes(level));
    if (c) memcpy(to, c, node_bytes(level));
    return to;
}

Clock *clock_set(Arena *a, Clock *c, int levels, uint32_t program, uint32_t value) {
    Clock *top = copy_node(a, c, levels - 1), *at = top;
    for (int level = levels - 1; level > 0; level--) {
        Clock **child = &at->u.child[branch(program, level)];
        *child = copy_node(a, *child, level - 1);
        at = *child;
    }
    at->u.value[branch(program, 0)] = value;
    return top;
}

/* Recursion is as deep as the tree, which is CLOCK_MAX_LEVELS at most. */
static Clock *join(Arena *a, Clock *x, Clock *y, int level) {
    if (!x || x == y) return y;
    if (!y) return x;
    Clock joined;
    bool is_x = true, is_y = true;
    for (int i = 0; i < BRANCHES; i++)
        if (level) {
            Clock *p = x->u.child[i], *q = y->u.child[i];
            joined.u.child[i] = join(a, p, q, level - 1);
            is_x &= joined.u.child[i] == p;
            is_y &= joined.u.child[i] == q;
        } else {
            uint32_t p = x->u.value[i], q = y->u.value[i];
            joined.u.value[i] = p > q ? p : q;
            is_x &= p >= q;
            is_y &= q >= p;
        }
    return is_x ? x : is_y ? y : copy_node(a, &joined, level);
}

Clock *clock_join(Arena *a, Clock *x, Clock *y, int levels) {
    return join(a, x, y, levels - 1);
}

static bool all(const Clock *c, int level, uint32_t base, ClockFn *fn, void *ctx) {
    for (uint32_t i = 0; c && i < BRANCHES; i++) {
        uint32_t program = base << BITS | i;
        if (level ? !all(c->u.child[i], level - 1, program, fn, ctx)
                  : c->u.value[i] && !fn(ctx, program, c->u.value[i]))
            return false;
    }
    return true;
}

bool clock_all(const Clock *c, int levels, ClockFn *fn, void *ctx) {
    return all(c, levels - 1, 0, fn, ctx);
}

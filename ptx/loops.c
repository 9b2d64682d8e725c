/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loops.c: the flow graph of a kernel -> its loops, and the innermost one of each instruction.
 *
 * As in any flow graph: an edge to a block that dominates its source closes a loop, and what
 * reaches the source without passing the head is its body. */
#include "ptx/flow.h"

typedef struct Loops {
    Arena *a;
    PtxKernel *k;
    PtxFlow flow;
    int *dominator; /* of each block, the closest; -1: none */
} Loops;

static int common_dominator(const Loops *g, int a, int b) {
    while (a != b) {
        bool a_is_later = g->flow.block[a].order > g->flow.block[b].order;
        if (a_is_later)
            a = g->dominator[a];
        else
            b = g->dominator[b];
    }
    return a;
}

/* The iteration of Cooper, Harvey and Kennedy, pushed along edges instead of pulled. */
static void find_dominators(Loops *g) {
    g->dominator[0] = 0;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < g->flow.nordered; i++) {
            int b = g->flow.by_order[i];
            for (int e = 0; e < g->flow.block[b].nnext; e++) {
                int to = g->flow.block[b].next[e];
                if (!to) continue;
                int have = g->dominator[to];
                int now = have < 0 ? b : common_dominator(g, have, b);
                if (now == have) continue;
                g->dominator[to] = now;
                again = true;
            }
        }
    }
}

static bool dominates(const Loops *g, int a, int b) {
    while (g->flow.block[b].order > g->flow.block[a].order) b = g->dominator[b];
    return a == b;
}

/* Marks what reaches `from` without passing what is marked already. */
static void mark_body(const Loops *g, uint8_t *body, int from) {
    body[from] = 1;
    for (bool again = true; again;) {
        again = false;
        for (int i = g->flow.nordered - 1; i >= 0; i--) {
            int b = g->flow.by_order[i];
            for (int e = 0; e < g->flow.block[b].nnext && !body[b]; e++) {
                int to = g->flow.block[b].next[e];
                if (!body[to]) continue;
                /* Only ways that lead to the source count, not those into the head. */
                if (body[to] == 1) body[b] = again = 1;
            }
        }
    }
}

enum { IN_BODY = 1, IS_HEAD = 2 };

/* The blocks that some way leads back to from what they dominate. Most are none, and a body is as
 * large as all of them. */
static uint8_t *find_heads(const Loops *g) {
    uint8_t *is_head = arena_alloc(g->a, (size_t)g->flow.nblocks);
    for (int i = 0; i < g->flow.nordered; i++) {
        int b = g->flow.by_order[i];
        for (int e = 0; e < g->flow.block[b].nnext; e++) {
            int to = g->flow.block[b].next[e];
            if (dominates(g, to, b)) is_head[to] = 1;
        }
    }
    return is_head;
}

static bool leads_to(const PtxBlock *b, int block) {
    for (int e = 0; e < b->nnext; e++)
        if (b->next[e] == block) return true;
    return false;
}

/* The loop with this head. Heads come in order, and the head of an inner loop
 * behind that of an outer one: what is marked last is innermost. */
static void find_loop(Loops *g, int head, uint8_t **bodies) {
    PtxLoop loop = {0, -1};
    uint8_t *body = arena_alloc(g->a, (size_t)g->flow.nblocks);
    body[head] = IS_HEAD;
    for (int i = 0; i < g->flow.nordered; i++) {
        int b = g->flow.by_order[i];
        const PtxBlock *x = &g->flow.block[b];
        if (!leads_to(x, head) || !dominates(g, head, b)) continue;
        /* Where the way back is none, the head's test is what the loop's own line is about. */
        const PtxInst *last = &g->k->insts.at[x->end - 1];
        if (!ptx_begins(last->op, "bra")) last = &g->k->insts.at[g->flow.block[head].end - 1];
        if (!loop.line) loop.line = last->line;
        if (b != head) mark_body(g, body, b);
    }
    int number = g->k->loops.n;
    for (int i = number - 1; i >= 0 && loop.parent < 0; i--)
        if (bodies[i][head]) loop.parent = i;
    bodies[number] = body;
    vec_push(g->a, &g->k->loops, loop);
    for (int b = 0; b < g->flow.nblocks; b++)
        for (int i = g->flow.block[b].begin; body[b] && i < g->flow.block[b].end; i++)
            g->k->insts.at[i].loop = number;
}

void ptx_find_loops(Arena *a, PtxKernel *k) {
    Loops g = {.a = a, .k = k, .flow = ptx_flow(a, k)};
    if (!k->insts.n) return;
    g.dominator = arena_array(a, (size_t)g.flow.nblocks, sizeof *g.dominator);
    for (int b = 0; b < g.flow.nblocks; b++) g.dominator[b] = -1;
    find_dominators(&g);
    uint8_t **bodies = arena_array(a, (size_t)g.flow.nblocks, sizeof *bodies);
    const uint8_t *is_head = find_heads(&g);
    for (int i = 0; i < g.flow.nordered; i++)
        if (is_head[g.flow.by_order[i]]) find_loop(&g, g.flow.by_order[i], bodies);
}

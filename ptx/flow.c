/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* flow.c: instructions of a kernel -> blocks, by their jumps and labels, and an order of them. */
#include "ptx/flow.h"

#include <ctype.h>
#include <string.h>

typedef struct Graph {
    Arena *a;
    const PtxKernel *k;
    VEC(PtxBlock) blocks;
    int *block_of; /* by instruction */
    int *by_order, nordered;
} Graph;

static bool is_jump(const PtxInst *i) {
    return ptx_begins(i->op, "bra") || ptx_begins(i->op, "brx");
}

static bool ends_here(const PtxInst *i) {
    return ptx_begins(i->op, "ret") || ptx_begins(i->op, "exit") || ptx_begins(i->op, "trap");
}

/* The next name of a list with commas. */
static PtxWord next_name(PtxWord *list) {
    while (list->len && (isspace((unsigned char)list->text[0]) || list->text[0] == ','))
        list->text++, list->len--;
    int n = 0;
    while (n < list->len && list->text[n] != ',' && !isspace((unsigned char)list->text[n])) n++;
    PtxWord name = {list->text, n};
    list->text += n;
    list->len -= n;
    return name;
}

static void lead_to(Graph *g, int block, int scope, PtxWord name, int *cap) {
    PtxBlock *b = &g->blocks.at[block];
    int label = ptx_find_label(g->k, scope, name);
    int inst = label < 0 ? g->k->insts.n : g->k->labels.at[label].inst;
    if (inst == g->k->insts.n) return; /* the kernel's end, or nowhere */
    if (b->nnext == *cap) b->next = vec_grow(g->a, b->next, b->nnext, cap, sizeof *b->next);
    b->next[b->nnext++] = g->block_of[inst];
}

/* Where a jump goes: to its label, or to any of its table's. */
static void follow_jump(Graph *g, int block, const PtxInst *jump, int *cap) {
    PtxWord args = jump->args, name = next_name(&args);
    if (ptx_begins(jump->op, "brx")) {
        name = next_name(&args);
        int table = ptx_find_label(g->k, jump->scope, name);
        if (table < 0) return;
        PtxWord list = g->k->labels.at[table].targets;
        while ((name = next_name(&list)).len)
            lead_to(g, block, g->k->labels.at[table].scope, name, cap);
        return;
    }
    lead_to(g, block, jump->scope, name, cap);
}

static void make_blocks(Graph *g) {
    int n = g->k->insts.n;
    uint8_t *leads = arena_alloc(g->a, (size_t)n + 1);
    g->block_of = arena_array(g->a, (size_t)n + 1, sizeof *g->block_of);
    for (int i = 0; i < g->k->labels.n; i++) leads[g->k->labels.at[i].inst] = 1;
    for (int i = 0; i < n; i++) {
        const PtxInst *x = &g->k->insts.at[i];
        if (is_jump(x) || ends_here(x)) leads[i + 1] = 1;
    }
    for (int i = 0; i < n; i++) {
        if (i == 0 || leads[i]) {
            PtxBlock b = {.begin = i, .order = -1};
            vec_push(g->a, &g->blocks, b);
        }
        g->block_of[i] = g->blocks.n - 1;
        g->blocks.at[g->block_of[i]].end = i + 1;
    }
    for (int b = 0; b < g->blocks.n; b++) {
        enum { USUAL = 2 };
        PtxBlock *x = &g->blocks.at[b];
        const PtxInst *last = &g->k->insts.at[x->end - 1];
        bool leaves = (is_jump(last) || ends_here(last)) && !last->guard.len;
        int cap = USUAL;
        x->next = arena_array(g->a, USUAL, sizeof *x->next);
        if (!leaves && b + 1 < g->blocks.n) x->next[x->nnext++] = b + 1;
        if (is_jump(last)) follow_jump(g, b, last, &cap);
    }
}

/* Blocks in reverse postorder from the first. */
static void order_blocks(Graph *g) {
    int n = g->blocks.n, top = 0, left = n;
    int *stack = arena_array(g->a, (size_t)n, sizeof *stack);
    int *followed = arena_array(g->a, (size_t)n, sizeof *followed); /* ways out, + 1 */
    int *found = arena_array(g->a, (size_t)n, sizeof *found);
    stack[top++] = 0;
    followed[0] = 1;
    while (top) {
        int b = stack[top - 1];
        const PtxBlock *x = &g->blocks.at[b];
        if (followed[b] > x->nnext) {
            found[--left] = b;
            top--;
            continue;
        }
        int next = x->next[followed[b]++ - 1];
        if (followed[next]) continue;
        followed[next] = 1;
        stack[top++] = next;
    }
    g->by_order = found + left;
    g->nordered = n - left;
    for (int i = 0; i < g->nordered; i++) g->blocks.at[g->by_order[i]].order = i;
}

PtxFlow ptx_flow(Arena *a, const PtxKernel *k) {
    Graph g = {.a = a, .k = k};
    if (!k->insts.n) return (PtxFlow){0};
    make_blocks(&g);
    order_blocks(&g);
    return (PtxFlow){g.blocks.at, g.blocks.n, g.by_order, g.nordered};
}

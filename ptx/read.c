/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* read.c: PTX as LLVM writes it, inline assembly included -> instructions and loops.
 *
 * Statements end in `;` and may span lines; braces nest, and labels belong to the braces that they
 * stand in. Loops are found as in any flow graph: an edge to a block that dominates its source
 * closes one, and what reaches the source without passing the head is its body. */
#include "ptx/read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
    Arena *a;
    const char *at, *end;
    PtxKernel *k;
    uint32_t line;
} Reader;

bool ptx_begins(PtxWord w, const char *word) {
    int n = (int)strlen(word);
    return w.len >= n && memcmp(w.text, word, (size_t)n) == 0 && (w.len == n || w.text[n] == '.');
}

bool ptx_is(PtxWord w, const char *word) {
    return w.len == (int)strlen(word) && memcmp(w.text, word, (size_t)w.len) == 0;
}

bool ptx_has_word(PtxWord w, const char *word) {
    for (const char *p = w.text, *end = p + w.len; p < end; p++)
        if ((p == w.text || p[-1] == '.') && ptx_begins((PtxWord){p, (int)(end - p)}, word))
            return true;
    return false;
}

/* ---- statements ---- */

static void skip_to(Reader *r, char c) {
    while (r->at < r->end && *r->at != c) r->at++;
    if (r->at < r->end) r->at++;
}

static void skip_space(Reader *r) {
    for (;;) {
        while (r->at < r->end && isspace((unsigned char)*r->at)) r->at++;
        if (r->end - r->at < 2 || r->at[0] != '/' || r->at[1] != '/') return;
        skip_to(r, '\n');
    }
}

static PtxWord read_word(Reader *r) {
    const char *start = r->at;
    while (r->at < r->end && !isspace((unsigned char)*r->at) && !strchr(";{}(,", *r->at)) {
        if (*r->at == ':' && (r->at + 1 == r->end || r->at[1] != ':')) break;
        r->at += *r->at == ':' ? 2 : 1; /* shared::cta */
        if (r->at > r->end) r->at = r->end;
    }
    return (PtxWord){start, (int)(r->at - start)};
}

static PtxWord read_rest(Reader *r) {
    skip_space(r);
    const char *start = r->at;
    skip_to(r, ';');
    const char *stop = r->at > start && r->at[-1] == ';' ? r->at - 1 : r->at;
    while (stop > start && isspace((unsigned char)stop[-1])) stop--;
    return (PtxWord){start, (int)(stop - start)};
}

static void read_line(Reader *r) {
    const char *p = r->at;
    skip_to(r, '\n');
    uint32_t number[2] = {0, 0}; /* file and line */
    for (int i = 0; i < 2; i++) {
        while (p < r->at && !isdigit((unsigned char)*p)) p++;
        for (; p < r->at && isdigit((unsigned char)*p); p++)
            number[i] = number[i] * 10 + (uint32_t)(*p - '0');
    }
    if (number[1]) r->line = number[1];
}

static PtxWord until_here(PtxWord begin, PtxWord rest) {
    return (PtxWord){begin.text, (int)(rest.text + rest.len - begin.text)};
}

static bool declares(PtxWord w) {
    return ptx_is(w, ".reg") || ptx_is(w, ".shared") || ptx_is(w, ".local") ||
           ptx_is(w, ".param") || ptx_is(w, ".global") || ptx_is(w, ".const");
}

static void read_directive(Reader *r, int scope) {
    PtxWord word = read_word(r);
    if (ptx_is(word, ".loc")) {
        read_line(r);
    } else {
        PtxDeclaration d = {until_here(word, read_rest(r)), scope};
        if (declares(word)) vec_push(r->a, &r->k->declarations, d);
    }
}

static void read_label(Reader *r, PtxWord name, int scope) {
    PtxLabel l = {name, {NULL, 0}, scope, r->k->insts.n};
    r->at++;
    skip_space(r);
    if (r->at < r->end && *r->at == '.') {
        const char *before = r->at;
        if (ptx_is(read_word(r), ".branchtargets"))
            l.targets = read_rest(r);
        else
            r->at = before;
    }
    vec_push(r->a, &r->k->labels, l);
}

/* What is between the braces of a kernel, from behind the first to behind the last. */
static void read_body(Reader *r) {
    int scope = 0;
    vec_push(r->a, &r->k->outer, -1);
    while (scope >= 0) {
        skip_space(r);
        if (r->at == r->end) return;
        char c = *r->at;
        if (c == '{') {
            vec_push(r->a, &r->k->outer, scope);
            scope = r->k->outer.n - 1;
            r->at++;
        } else if (c == '}') {
            scope = r->k->outer.at[scope];
            r->at++;
        } else if (c == ';' || c == ',' || c == '(') {
            r->at++;
        } else if (c == '.') {
            read_directive(r, scope);
        } else {
            PtxInst i = {.line = r->line, .scope = scope, .loop = -1};
            if (c == '@') {
                r->at++;
                i.guard = read_word(r);
                skip_space(r);
            }
            i.op = read_word(r);
            if (r->at < r->end && *r->at == ':') {
                read_label(r, i.op, scope);
                continue;
            }
            i.args = read_rest(r);
            vec_push(r->a, &r->k->insts, i);
        }
    }
}

int ptx_find_label(const PtxKernel *k, int scope, PtxWord name) {
    for (; scope >= 0; scope = k->outer.at[scope])
        for (int i = 0; i < k->labels.n; i++) {
            const PtxLabel *l = &k->labels.at[i];
            if (l->scope == scope && l->name.len == name.len &&
                memcmp(l->name.text, name.text, (size_t)name.len) == 0)
                return i;
        }
    return -1;
}

/* ---- the flow graph ---- */

typedef struct Block {
    int begin, end;       /* instructions */
    int next[2];          /* -1: none */
    int order, dominator; /* place in reverse postorder, -1: not reached; the closest dominator */
} Block;

typedef struct Graph {
    Arena *a;
    PtxKernel *k;
    VEC(Block) blocks;
    int *by_order, nordered;
} Graph;

static bool is_jump(const PtxInst *i) {
    return ptx_begins(i->op, "bra");
}

static bool ends_here(const PtxInst *i) {
    return ptx_begins(i->op, "ret") || ptx_begins(i->op, "exit") || ptx_begins(i->op, "trap");
}

/* Where a jump goes: the instruction, or -1. */
static int target_of(const PtxKernel *k, const PtxInst *jump) {
    int label = ptx_find_label(k, jump->scope, jump->args);
    return label < 0 ? -1 : k->labels.at[label].inst;
}

static void make_blocks(Graph *g) {
    int n = g->k->insts.n;
    uint8_t *leads = arena_alloc(g->a, (size_t)n + 1);
    int *block_of = arena_array(g->a, (size_t)n + 1, sizeof *block_of);
    for (int i = 0; i < g->k->labels.n; i++) leads[g->k->labels.at[i].inst] = 1;
    for (int i = 0; i < n; i++) {
        const PtxInst *x = &g->k->insts.at[i];
        if (is_jump(x) || ends_here(x)) leads[i + 1] = 1;
    }
    for (int i = 0; i < n; i++) {
        if (i == 0 || leads[i]) {
            Block b = {.begin = i, .next = {-1, -1}, .order = -1, .dominator = -1};
            vec_push(g->a, &g->blocks, b);
        }
        block_of[i] = g->blocks.n - 1;
        g->blocks.at[block_of[i]].end = i + 1;
    }
    for (int b = 0; b < g->blocks.n; b++) {
        Block *x = &g->blocks.at[b];
        const PtxInst *last = &g->k->insts.at[x->end - 1];
        bool leaves = (is_jump(last) || ends_here(last)) && !last->guard.len;
        if (!leaves && b + 1 < g->blocks.n) x->next[0] = b + 1;
        int to = is_jump(last) ? target_of(g->k, last) : -1;
        if (to >= 0 && to < n) x->next[1] = block_of[to];
    }
}

/* Blocks in reverse postorder from the first. */
static void order_blocks(Graph *g) {
    int n = g->blocks.n, top = 0, left = n;
    int *stack = arena_array(g->a, (size_t)n, sizeof *stack);
    uint8_t *state = arena_alloc(g->a, (size_t)n); /* how many ways out have been followed, + 1 */
    int *found = arena_array(g->a, (size_t)n, sizeof *found);
    stack[top++] = 0;
    state[0] = 1;
    while (top) {
        int b = stack[top - 1];
        if (state[b] == 3) {
            found[--left] = b;
            top--;
            continue;
        }
        int next = g->blocks.at[b].next[state[b]++ - 1];
        if (next < 0 || state[next]) continue;
        state[next] = 1;
        stack[top++] = next;
    }
    g->by_order = found + left;
    g->nordered = n - left;
    for (int i = 0; i < g->nordered; i++) g->blocks.at[g->by_order[i]].order = i;
}

static int common_dominator(const Graph *g, int a, int b) {
    while (a != b) {
        bool a_is_later = g->blocks.at[a].order > g->blocks.at[b].order;
        if (a_is_later)
            a = g->blocks.at[a].dominator;
        else
            b = g->blocks.at[b].dominator;
    }
    return a;
}

/* The iteration of Cooper, Harvey and Kennedy, pushed along edges instead of pulled. */
static void find_dominators(Graph *g) {
    g->blocks.at[0].dominator = 0;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < g->nordered; i++) {
            int b = g->by_order[i];
            for (int e = 0; e < 2; e++) {
                int to = g->blocks.at[b].next[e];
                if (to <= 0) continue;
                int have = g->blocks.at[to].dominator;
                int now = have < 0 ? b : common_dominator(g, have, b);
                if (now == have) continue;
                g->blocks.at[to].dominator = now;
                again = true;
            }
        }
    }
}

static bool dominates(const Graph *g, int a, int b) {
    while (g->blocks.at[b].order > g->blocks.at[a].order) b = g->blocks.at[b].dominator;
    return a == b;
}

/* Marks what reaches `from` without passing what is marked already. */
static void mark_body(const Graph *g, uint8_t *body, int from) {
    body[from] = 1;
    for (bool again = true; again;) {
        again = false;
        for (int i = g->nordered - 1; i >= 0; i--) {
            int b = g->by_order[i];
            for (int e = 0; e < 2 && !body[b]; e++) {
                int to = g->blocks.at[b].next[e];
                if (to < 0 || !body[to]) continue;
                /* Only ways that lead to the source count, not those into the head. */
                if (body[to] == 1) body[b] = again = 1;
            }
        }
    }
}

enum { IN_BODY = 1, IS_HEAD = 2 };

/* The blocks that some way leads back to from what they dominate. Most are none, and a body is as
 * large as all of them. */
static uint8_t *find_heads(const Graph *g) {
    uint8_t *is_head = arena_alloc(g->a, (size_t)g->blocks.n);
    for (int i = 0; i < g->nordered; i++) {
        int b = g->by_order[i];
        for (int e = 0; e < 2; e++) {
            int to = g->blocks.at[b].next[e];
            if (to >= 0 && dominates(g, to, b)) is_head[to] = 1;
        }
    }
    return is_head;
}

/* The loop with this head. Heads come in order, and the head of an inner loop
 * behind that of an outer one: what is marked last is innermost. */
static void find_loop(Graph *g, int head, uint8_t **bodies) {
    PtxLoop loop = {0, -1};
    uint8_t *body = arena_alloc(g->a, (size_t)g->blocks.n);
    body[head] = IS_HEAD;
    for (int i = 0; i < g->nordered; i++) {
        int b = g->by_order[i];
        const Block *x = &g->blocks.at[b];
        if ((x->next[0] != head && x->next[1] != head) || !dominates(g, head, b)) continue;
        /* Where the way back is none, the head's test is what the loop's own line is about. */
        const PtxInst *last = &g->k->insts.at[x->end - 1];
        if (!is_jump(last)) last = &g->k->insts.at[g->blocks.at[head].end - 1];
        if (!loop.line) loop.line = last->line;
        if (b != head) mark_body(g, body, b);
    }
    int number = g->k->loops.n;
    for (int i = number - 1; i >= 0 && loop.parent < 0; i--)
        if (bodies[i][head]) loop.parent = i;
    bodies[number] = body;
    vec_push(g->a, &g->k->loops, loop);
    for (int b = 0; b < g->blocks.n; b++)
        for (int i = g->blocks.at[b].begin; body[b] && i < g->blocks.at[b].end; i++)
            g->k->insts.at[i].loop = number;
}

void ptx_find_loops(Arena *a, PtxKernel *k) {
    Graph g = {.a = a, .k = k};
    if (!k->insts.n) return;
    make_blocks(&g);
    order_blocks(&g);
    find_dominators(&g);
    uint8_t **bodies = arena_array(g.a, (size_t)g.blocks.n, sizeof *bodies);
    const uint8_t *is_head = find_heads(&g);
    for (int i = 0; i < g.nordered; i++)
        if (is_head[g.by_order[i]]) find_loop(&g, g.by_order[i], bodies);
}

/* What is between the parentheses: declarations with commas between them. */
static void read_params(Reader *r) {
    skip_space(r);
    if (r->at == r->end || *r->at != '(') return;
    while (r->at < r->end && *r->at != ')') {
        r->at++;
        skip_space(r);
        const char *begin = r->at;
        while (r->at < r->end && *r->at != ',' && *r->at != ')') r->at++;
        const char *stop = r->at;
        while (stop > begin && isspace((unsigned char)stop[-1])) stop--;
        PtxDeclaration d = {{begin, (int)(stop - begin)}, -1};
        if (d.text.len) vec_push(r->a, &r->k->params, d);
    }
    if (r->at < r->end) r->at++;
}

static void read_kernel(Reader *r, PtxFile *file) {
    PtxKernel k = {.name = {NULL, 0}};
    skip_space(r);
    k.name = read_word(r);
    *r = (Reader){.a = r->a, .at = r->at, .end = r->end, .k = &k};
    read_params(r);
    skip_to(r, '{');
    read_body(r);
    vec_push(r->a, &file->kernels, k);
}

PtxFile ptx_read(Arena *a, const char *text, size_t len) {
    PtxFile file = {0};
    Reader r = {.a = a, .at = text, .end = text + len};
    while (r.at < r.end) {
        skip_space(&r);
        PtxWord word = read_word(&r);
        if (!word.len && r.at < r.end) r.at++;
        if (ptx_is(word, ".entry")) {
            read_kernel(&r, &file);
        } else if (ptx_is(word, ".target")) {
            skip_space(&r);
            file.target = read_word(&r);
        } else if (ptx_is(word, ".shared") || ptx_is(word, ".global") || ptx_is(word, ".const")) {
            PtxDeclaration d = {until_here(word, read_rest(&r)), -1};
            vec_push(a, &file.declarations, d);
        }
    }
    return file;
}

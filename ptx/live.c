/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* live.c: what a kernel's instructions read and write -> the registers alive before each.
 *
 * Two walks over the blocks: forwards, what may have been written; backwards, what of that may
 * still be read. Sets have only registers that live from one block to another; most do not. */
#include "ptx/flow.h"
#include "ptx/live.h"

#include <ctype.h>
#include <string.h>

typedef struct Declared { /* %r<8>: registers from `first` on, or one of this name */
    PtxWord name;
    int count; /* 0: its name has no number */
    int first, next;
} Declared;

typedef struct Used { /* by an instruction, in the list of all that are: written ones first */
    int first, nwritten, nread;
    bool kills; /* what was there before */
} Used;

typedef struct Live {
    Arena *a;
    const PtxKernel *k;
    PtxFlow flow;
    VEC(Declared) declared;
    int *of_scope;      /* the first declared in these braces; -1: none */
    VEC(uint8_t) width; /* by register: of 32 bits; 0: a predicate */
    VEC(int) list;
    Used *used;        /* by instruction */
    int *slot;         /* by register: its bit in sets; -1: it lives in one block */
    VEC(int) crossing; /* by bit: the register */
    int *first_write;  /* by register: in the block that is looked at; as good as none before it */
    size_t words;      /* of a set */
} Live;

typedef struct Sets {           /* of a block, at its begin and its end */
    uint64_t *has_in, *has_out; /* written perhaps */
    uint64_t *alive_in, *alive_out;
    uint64_t *reads, *kills; /* what it reads of before it; what it overwrites */
} Sets;

/* ---- names ---- */

static bool in_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* From *at on; moves it behind the name. */
static PtxWord take_name(const char **at, const char *end) {
    const char *begin = *at;
    while (*at < end && in_name(**at)) (*at)++;
    return (PtxWord){begin, (int)(*at - begin)};
}

static int take_number(const char **at, const char *end) {
    enum { MOST = 1 << 20 };
    int n = 0;
    for (; *at < end && isdigit((unsigned char)**at); (*at)++)
        n = n < MOST ? n * 10 + (**at - '0') : n;
    return n;
}

static bool is_registers(PtxWord w) {
    static const char word[] = ".reg";
    int n = (int)sizeof word - 1;
    return w.len > n && !memcmp(w.text, word, (size_t)n) && isspace((unsigned char)w.text[n]);
}

/* .reg .b32 %r<8>, %x */
static void declare(Live *l, const PtxDeclaration *d) {
    const char *at = d->text.text, *end = at + d->text.len;
    int bits = 0;
    while (at < end && !in_name(*at)) at++;
    take_name(&at, end); /* reg */
    for (; at < end && *at != '%' && (isspace((unsigned char)*at) || *at == '.'); at++) {
    }
    PtxWord type = take_name(&at, end);
    for (const char *t = type.text; t < type.text + type.len; t++)
        if (isdigit((unsigned char)*t)) {
            bits = take_number(&t, type.text + type.len);
            break;
        }
    uint8_t width = (uint8_t)((bits + 31) / 32);
    while (at < end) {
        while (at < end && !in_name(*at)) at++;
        Declared one = {.name = take_name(&at, end), .first = l->width.n};
        if (!one.name.len) return;
        if (at < end && *at == '<') {
            at++;
            one.count = take_number(&at, end);
        }
        one.next = l->of_scope[d->scope];
        l->of_scope[d->scope] = l->declared.n;
        vec_push(l->a, &l->declared, one);
        for (int i = 0; i < (one.count ? one.count : 1); i++) vec_push(l->a, &l->width, width);
    }
}

static int find_in(const Live *l, int scope, PtxWord name) {
    for (int i = l->of_scope[scope]; i >= 0; i = l->declared.at[i].next) {
        const Declared *d = &l->declared.at[i];
        if (name.len < d->name.len || memcmp(name.text, d->name.text, (size_t)d->name.len) != 0)
            continue;
        const char *at = name.text + d->name.len, *end = name.text + name.len;
        if (!d->count && at == end) return d->first;
        if (!d->count || at == end) continue;
        int number = take_number(&at, end);
        if (at == end && number < d->count) return d->first + number;
    }
    return -1;
}

/* -1: it names no register. */
static int find_register(const Live *l, int scope, PtxWord name) {
    for (; scope >= 0; scope = l->k->outer.at[scope]) {
        int r = find_in(l, scope, name);
        if (r >= 0) return r;
    }
    return -1;
}

/* ---- what instructions read and write ---- */

/* The next operand of the list, up to a comma outside all brackets. */
static PtxWord next_operand(PtxWord *list) {
    int depth = 0, n = 0;
    for (; n < list->len; n++) {
        char c = list->text[n];
        if (c == ',' && !depth) break;
        depth += (c == '[' || c == '{' || c == '(') - (c == ']' || c == '}' || c == ')');
    }
    PtxWord one = {list->text, n};
    int skip = n < list->len ? n + 1 : n;
    list->text += skip;
    list->len -= skip;
    while (one.len && isspace((unsigned char)one.text[0])) one.text++, one.len--;
    while (one.len && isspace((unsigned char)one.text[one.len - 1])) one.len--;
    return one;
}

/* Every register in the operand, how many. %tid.x and the like is none. */
static int add_registers(Live *l, int scope, PtxWord operand) {
    if (!operand.len) return 0; /* there is no guard */
    const char *at = operand.text, *end = at + operand.len;
    int n = l->list.n;
    while (at < end) {
        if (!in_name(*at)) {
            at++;
            continue;
        }
        PtxWord name = take_name(&at, end);
        bool is_part = at < end && *at == '.';
        while (at < end && (*at == '.' || in_name(*at))) at++;
        if (is_part || isdigit((unsigned char)name.text[0])) continue;
        int r = find_register(l, scope, name);
        if (r >= 0) vec_push(l->a, &l->list, r);
    }
    return l->list.n - n;
}

/* The first operand is what an instruction writes, unless it is an address; of these it is not. */
static bool writes(PtxWord op) {
    static const char *const none[] = {"bar",  "barrier",   "bra",         "brx",
                                       "call", "nanosleep", "stackrestore"};
    if (ptx_begins(op, "bar.red") || ptx_begins(op, "barrier.red") ||
        ptx_begins(op, "barrier.cta.red"))
        return true;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (ptx_begins(op, none[i])) return false;
    return true;
}

static bool is_product(PtxWord op) {
    return ptx_begins(op, "wgmma.mma_async");
}

/* d, a, b, adds: the sums are read, too, unless it says that it does not add. */
static bool adds_up(const PtxInst *i) {
    PtxWord args = i->args, adds = {0};
    for (int n = 0; n < 4; n++) adds = next_operand(&args);
    return !ptx_is(adds, "0");
}

typedef struct Going { /* a product whose factor is registers */
    int inst, group;
} Going;

typedef struct Groups {
    VEC(Going) going;
    int committed;
} Groups;

static void add_factor(Live *l, int inst) {
    const PtxInst *i = &l->k->insts.at[inst];
    PtxWord args = i->args;
    next_operand(&args);
    add_registers(l, i->scope, next_operand(&args));
}

/* What has been read then of factors in registers. */
static void wait_for_groups(Live *l, Groups *g, const PtxInst *wait) {
    const char *at = wait->args.text;
    int left = take_number(&at, at + wait->args.len), kept = 0;
    for (int i = 0; i < g->going.n; i++) {
        Going one = g->going.at[i];
        if (one.group < g->committed - left)
            add_factor(l, one.inst);
        else
            g->going.at[kept++] = one;
    }
    g->going.n = kept;
}

static void follow_groups(Live *l, Groups *g, int inst) {
    const PtxInst *i = &l->k->insts.at[inst];
    if (is_product(i->op)) {
        PtxWord args = i->args;
        next_operand(&args);
        Going one = {inst, g->committed};
        if (next_operand(&args).text[0] == '{') vec_push(l->a, &g->going, one);
    } else if (ptx_begins(i->op, "wgmma.commit_group")) {
        g->committed++;
    } else if (ptx_begins(i->op, "wgmma.wait_group")) {
        wait_for_groups(l, g, i);
    }
}

static void read_insts(Live *l) {
    Groups groups = {0};
    l->used = arena_array(l->a, (size_t)l->k->insts.n, sizeof *l->used);
    for (int n = 0; n < l->k->insts.n; n++) {
        const PtxInst *i = &l->k->insts.at[n];
        PtxWord args = i->args, first = next_operand(&args);
        Used u = {.first = l->list.n, .kills = !i->guard.len};
        if (first.len && first.text[0] != '[' && writes(i->op))
            u.nwritten = add_registers(l, i->scope, first);
        if (!u.nwritten || (is_product(i->op) && adds_up(i))) add_registers(l, i->scope, first);
        add_registers(l, i->scope, args);
        add_registers(l, i->scope, i->guard);
        follow_groups(l, &groups, n);
        u.nread = l->list.n - u.first - u.nwritten;
        l->used[n] = u;
    }
}

/* ---- sets ---- */

static bool has(const uint64_t *set, int bit) {
    return bit >= 0 && (set[bit / 64] >> (bit % 64) & 1);
}

static void put(uint64_t *set, int bit) {
    set[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static const int *written(const Live *l, int inst) {
    return l->list.at + l->used[inst].first;
}

static const int *read(const Live *l, int inst) {
    return l->list.at + l->used[inst].first + l->used[inst].nwritten;
}

/* What a block reads before it has overwritten it comes from another. */
static void find_crossing(Live *l) {
    int n = l->width.n;
    int *killed_in = arena_array(l->a, (size_t)n + 1, sizeof *killed_in); /* block + 1 */
    l->slot = arena_array(l->a, (size_t)n + 1, sizeof *l->slot);
    l->first_write = arena_array(l->a, (size_t)n + 1, sizeof *l->first_write);
    for (int r = 0; r < n; r++) l->slot[r] = -1;
    for (int b = 0; b < l->flow.nblocks; b++)
        for (int i = l->flow.block[b].begin; i < l->flow.block[b].end; i++) {
            for (int j = 0; j < l->used[i].nread; j++) {
                int r = read(l, i)[j];
                if (l->slot[r] >= 0 || killed_in[r] == b + 1) continue;
                l->slot[r] = l->crossing.n;
                vec_push(l->a, &l->crossing, r);
            }
            for (int j = 0; l->used[i].kills && j < l->used[i].nwritten; j++)
                killed_in[written(l, i)[j]] = b + 1;
        }
    l->words = (size_t)(l->crossing.n + 63) / 64;
}

static Sets sets_of(Live *l, const PtxBlock *b) {
    uint64_t *room = arena_array(l->a, 6 * l->words + 1, sizeof *room);
    Sets s = {room,
              room + l->words,
              room + 2 * l->words,
              room + 3 * l->words,
              room + 4 * l->words,
              room + 5 * l->words};
    for (int i = b->begin; i < b->end; i++) {
        for (int j = 0; j < l->used[i].nread; j++) {
            int bit = l->slot[read(l, i)[j]];
            if (bit >= 0 && !has(s.kills, bit)) put(s.reads, bit);
        }
        for (int j = 0; j < l->used[i].nwritten; j++) {
            int bit = l->slot[written(l, i)[j]];
            if (bit < 0) continue;
            put(s.has_out, bit);
            if (l->used[i].kills) put(s.kills, bit);
        }
    }
    return s;
}

/* Both grow until they do not any more: as many times as loops lie in each other, and two more. */
static void find_written(const Live *l, Sets *sets) {
    for (bool again = true; again;) {
        again = false;
        for (int o = 0; o < l->flow.nordered; o++) {
            int b = l->flow.by_order[o];
            for (size_t w = 0; w < l->words; w++) sets[b].has_out[w] |= sets[b].has_in[w];
            for (int e = 0; e < l->flow.block[b].nnext; e++) {
                uint64_t *to = sets[l->flow.block[b].next[e]].has_in;
                for (size_t w = 0; w < l->words; w++) {
                    again |= (sets[b].has_out[w] & ~to[w]) != 0;
                    to[w] |= sets[b].has_out[w];
                }
            }
        }
    }
}

static void find_alive(const Live *l, Sets *sets) {
    for (bool again = true; again;) {
        again = false;
        for (int o = l->flow.nordered - 1; o >= 0; o--) {
            int b = l->flow.by_order[o];
            Sets *s = &sets[b];
            for (int e = 0; e < l->flow.block[b].nnext; e++) {
                const uint64_t *to = sets[l->flow.block[b].next[e]].alive_in;
                for (size_t w = 0; w < l->words; w++) s->alive_out[w] |= to[w] & s->has_out[w];
            }
            for (size_t w = 0; w < l->words; w++) {
                uint64_t in = (s->reads[w] | (s->alive_out[w] & ~s->kills[w])) & s->has_in[w];
                again |= in != s->alive_in[w];
                s->alive_in[w] = in;
            }
        }
    }
}

/* ---- by instruction ---- */

typedef struct Now {   /* behind the instruction, going up */
    uint8_t *is_alive; /* by register */
    int alive, preds;
} Now;

static void set_alive(const Live *l, Now *now, int r, bool alive) {
    if (now->is_alive[r] == alive) return;
    int by = alive ? 1 : -1;
    now->is_alive[r] = alive;
    now->alive += by * l->width.at[r];
    now->preds += l->width.at[r] ? 0 : by;
}

static void set_all(const Live *l, Now *now, const uint64_t *set, bool alive) {
    for (size_t w = 0; w < l->words; w++)
        for (uint64_t left = set[w]; left; left &= left - 1)
            set_alive(l, now, l->crossing.at[w * 64 + (size_t)__builtin_ctzll(left)], alive);
}

static void count_block(Live *l, const PtxBlock *b, const Sets *s, Now *now, PtxLive *out) {
    for (int i = b->end - 1; i >= b->begin; i--)
        for (int j = 0; j < l->used[i].nwritten; j++) l->first_write[written(l, i)[j]] = i;
    set_all(l, now, s->alive_out, true);
    for (int i = b->end - 1; i >= b->begin; i--) {
        const Used *u = &l->used[i];
        for (int j = 0; j < u->nwritten; j++) {
            int r = written(l, i)[j];
            bool held = l->first_write[r] < i || has(s->has_in, l->slot[r]);
            if (u->kills || !held) set_alive(l, now, r, false);
        }
        for (int j = 0; j < u->nread; j++) {
            int r = read(l, i)[j], first = l->first_write[r];
            bool here = first >= b->begin && first < i;
            if (here || has(s->has_in, l->slot[r])) set_alive(l, now, r, true);
        }
        out->alive[i] = now->alive;
        out->preds[i] = now->preds;
    }
    set_all(l, now, s->alive_in, false);
}

PtxLive ptx_live(Arena *a, const PtxKernel *k) {
    Live l = {.a = a, .k = k, .flow = ptx_flow(a, k)};
    size_t n = (size_t)k->insts.n;
    PtxLive out = {.where = -1};
    out.alive = arena_array(a, n + 1, sizeof *out.alive);
    out.preds = arena_array(a, n + 1, sizeof *out.preds);
    if (!n) return out;
    l.of_scope = arena_array(a, (size_t)k->outer.n + 1, sizeof *l.of_scope);
    for (int i = 0; i < k->outer.n; i++) l.of_scope[i] = -1;
    for (int i = 0; i < k->declarations.n; i++)
        if (is_registers(k->declarations.at[i].text)) declare(&l, &k->declarations.at[i]);
    read_insts(&l);
    find_crossing(&l);
    Sets *sets = arena_array(a, (size_t)l.flow.nblocks, sizeof *sets);
    for (int b = 0; b < l.flow.nblocks; b++) sets[b] = sets_of(&l, &l.flow.block[b]);
    find_written(&l, sets);
    find_alive(&l, sets);
    Now now = {.is_alive = arena_alloc(a, (size_t)l.width.n + 1)};
    for (int r = 0; r < l.width.n; r++) l.first_write[r] = -1;
    for (int o = 0; o < l.flow.nordered; o++) {
        int b = l.flow.by_order[o];
        count_block(&l, &l.flow.block[b], &sets[b], &now, &out);
    }
    for (int i = 0; i < k->insts.n; i++)
        if (out.alive[i] > out.at_most || out.where < 0) {
            out.at_most = out.alive[i];
            out.where = i;
        }
    return out;
}

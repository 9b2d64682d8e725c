/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mix.c: instructions of PTX -> how many of which kind, by the rows of mix.def. */
#include "compiler/report/mix.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- what an instruction is ---- */

typedef enum Detail { NOTHING, WIDTH, COPIED } Detail;

static const struct {
    const char *head, *part, *group, *name;
    Detail detail;
} rows[] = {
#define MIX(head, part, group, name, detail) {head, part, group, name, detail},
#include "compiler/report/mix.def"
#undef MIX
};

/* In the order in which they are shown. */
static const char *const groups[] = {"global",  "shared",   "async",   "matrix",
                                     "barrier", "exchange", "integer", "float",
                                     "convert", "local",    "other"};
enum { GROUPS = sizeof groups / sizeof *groups };

/* The number at p, which digits end. */
static int number_at(const char *p, const char *end) {
    int n = 0;
    for (; p < end && isdigit((unsigned char)*p); p++) n = n * 10 + *p - '0';
    return n;
}

/* Bytes of one access: 16 of ld.global.v4.b32. */
int mix_access_bytes(PtxWord op) {
    const char *end = op.text + op.len, *digits = end;
    while (digits > op.text && isdigit((unsigned char)digits[-1])) digits--;
    int vec = ptx_has_word(op, "v2")   ? 2
              : ptx_has_word(op, "v4") ? 4
              : ptx_has_word(op, "v8") ? 8
                                       : 1;
    int packed = end - op.text > 2 && memcmp(end - 2, "x2", 2) == 0 ? 2 : 1;
    if (packed == 2) { /* f16x2 */
        digits = end - 2;
        while (digits > op.text && isdigit((unsigned char)digits[-1])) digits--;
    }
    return number_at(digits, end) * vec * packed / 8;
}

/* Bytes of cp.async.cg.shared.global [a], [b], 16, %r1. */
int mix_copied_bytes(PtxWord args) {
    const char *end = args.text + args.len;
    int brackets = 0;
    for (const char *p = args.text; p < end; p++) {
        if (*p == ']') brackets++;
        if (brackets == 2 && isdigit((unsigned char)*p)) return number_at(p, end);
    }
    return 0;
}

static bool is_float(PtxWord op) {
    static const char *const types[] = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "tf32"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (ptx_has_word(op, types[i])) return true;
    return false;
}

const char *mix_kind(const PtxInst *x, Buf *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!ptx_begins(x->op, rows[i].head) ||
            (*rows[i].part && !ptx_has_word(x->op, rows[i].part)))
            continue;
        if (rows[i].name) {
            buf_puts(name, rows[i].name);
        } else { /* wgmma.fence of wgmma.fence.sync.aligned: up to the first word that says how */
            int n = x->op.len;
            for (int k = 1; k < x->op.len && n == x->op.len; k++)
                if (ptx_begins((PtxWord){x->op.text + k, x->op.len - k}, ".sync")) n = k;
            buf_write(name, x->op.text, (size_t)n);
        }
        if (rows[i].detail == WIDTH) buf_printf(name, ".%d", mix_access_bytes(x->op));
        if (rows[i].detail == COPIED) buf_printf(name, ".%d", mix_copied_bytes(x->args));
        if (rows[i].detail == WIDTH && x->guard.len) buf_puts(name, " masked");
        return rows[i].group;
    }
    bool real = is_float(x->op), divides = ptx_begins(x->op, "div") || ptx_begins(x->op, "rem");
    buf_puts(name, real ? "float" : "integer");
    if (divides) buf_puts(name, ".div");
    if (real && ptx_begins(x->op, "fma")) buf_puts(name, ".fma");
    return real ? "float" : "integer";
}

/* ---- counting ---- */

static int by_group_and_name(const void *a, const void *b) {
    const MixCount *x = a, *y = b;
    return x->group != y->group ? x->group - y->group : strcmp(x->name, y->name);
}

static void add(Session *s, Mix *mix, const PtxInst *x) {
    Buf text = buf_new(&s->arena);
    const char *group = mix_kind(x, &text), *name = intern(&s->names, text.data, text.len);
    for (int i = 0; i < mix->n; i++)
        if (mix->at[i].name == name) {
            mix->at[i].n++;
            return;
        }
    MixCount c = {0, name, 1};
    while (c.group < GROUPS - 1 && strcmp(groups[c.group], group)) c.group++;
    vec_push(&s->arena, mix, c);
}

const char *mix_group(const MixCount *c) {
    return groups[c->group];
}

Mix mix_of(Session *s, const PtxKernel *k, MixWanted *wanted, const void *user) {
    Mix mix = {0};
    for (int i = 0; i < k->insts.n; i++)
        if (wanted(&k->insts.at[i], user)) add(s, &mix, &k->insts.at[i]);
    if (mix.n) qsort(mix.at, (size_t)mix.n, sizeof *mix.at, by_group_and_name);
    return mix;
}

static bool is_in_loop(const PtxInst *x, const void *user) {
    const int *loop = user;
    return *loop < 0 || x->loop == *loop;
}

Mix mix_of_loop(Session *s, const PtxKernel *k, int loop) {
    return mix_of(s, k, is_in_loop, &loop);
}

int mix_count(const Mix *mix, const char *name) {
    int n = 0;
    size_t len = strlen(name);
    for (int i = 0; i < mix->n; i++)
        if (strncmp(mix->at[i].name, name, len) == 0 &&
            (mix->at[i].name[len] == '\0' || strchr(". ", mix->at[i].name[len])))
            n += mix->at[i].n;
    return n;
}

void mix_facts(Session *s, const Mix *mix, Fact *in) {
    Fact *group = NULL;
    for (int i = 0; i < mix->n; i++) {
        const char *name = mix_group(&mix->at[i]);
        if (!group || strcmp(group->name, name)) group = fact_group(&s->arena, in, name);
        fact_number(&s->arena, group, mix->at[i].name, mix->at[i].n);
    }
}

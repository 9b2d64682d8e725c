/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stats.c: kernels and their PTX -> how many instructions of which kind each loop has.
 *
 *     kernel matmul: 4 warps, 24576 bytes of shared memory
 *       all of it
 *         global    ld.global.16 masked             4
 *       loop at line 40: 3 stages of 8192 bytes
 *         async     cp.async.16                     4
 *
 * A loop's numbers leave out the loops inside it. What an instruction is counted as says mix.def;
 * the pipeline's facts come from tile IR, whose loops are matched with the PTX's by their line. */
#include "compiler/report/stats.h"
#include "ir/roles.h"

#include "ptx/read.h"

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

/* The groups in the order in which they are printed. */
static const char *const groups[] = {"global",  "shared",   "async",   "matrix",
                                     "barrier", "exchange", "integer", "float",
                                     "convert", "local",    "other"};
enum { GROUPS = sizeof groups / sizeof *groups };

static bool has_word(PtxWord op, const char *word) {
    for (const char *p = op.text, *end = p + op.len; p < end; p++)
        if ((p == op.text || p[-1] == '.') && ptx_begins((PtxWord){p, (int)(end - p)}, word))
            return true;
    return false;
}

/* The number at p, which digits end. */
static int number_at(const char *p, const char *end) {
    int n = 0;
    for (; p < end && isdigit((unsigned char)*p); p++) n = n * 10 + *p - '0';
    return n;
}

/* Bytes of one access: 16 of ld.global.v4.b32. */
static int access_bytes(PtxWord op) {
    const char *end = op.text + op.len, *digits = end;
    while (digits > op.text && isdigit((unsigned char)digits[-1])) digits--;
    int vec = has_word(op, "v2") ? 2 : has_word(op, "v4") ? 4 : has_word(op, "v8") ? 8 : 1;
    int packed = end - op.text > 2 && memcmp(end - 2, "x2", 2) == 0 ? 2 : 1;
    if (packed == 2) { /* f16x2 */
        digits = end - 2;
        while (digits > op.text && isdigit((unsigned char)digits[-1])) digits--;
    }
    return number_at(digits, end) * vec * packed / 8;
}

/* Bytes of cp.async.cg.shared.global [a], [b], 16, %r1. */
static int copied_bytes(PtxWord args) {
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
        if (has_word(op, types[i])) return true;
    return false;
}

static const char *group_of(const PtxInst *x, Buf *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!ptx_begins(x->op, rows[i].head) || (*rows[i].part && !has_word(x->op, rows[i].part)))
            continue;
        if (rows[i].name) {
            buf_puts(name, rows[i].name);
        } else { /* wgmma.fence of wgmma.fence.sync.aligned: up to the first word that says how */
            int n = x->op.len;
            for (int k = 1; k < x->op.len && n == x->op.len; k++)
                if (ptx_begins((PtxWord){x->op.text + k, x->op.len - k}, ".sync")) n = k;
            buf_write(name, x->op.text, (size_t)n);
        }
        if (rows[i].detail == WIDTH) buf_printf(name, ".%d", access_bytes(x->op));
        if (rows[i].detail == COPIED) buf_printf(name, ".%d", copied_bytes(x->args));
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

typedef struct Count {
    int group;
    const char *name; /* one for each text */
    int n;
} Count;

typedef VEC(Count) Counts;

static int by_group_and_name(const void *a, const void *b) {
    const Count *x = a, *y = b;
    return x->group != y->group ? x->group - y->group : strcmp(x->name, y->name);
}

static void add(Session *s, Counts *counts, const PtxInst *x) {
    Buf text = buf_new(&s->arena);
    const char *group = group_of(x, &text), *name = intern(&s->names, text.data, text.len);
    for (int i = 0; i < counts->n; i++)
        if (counts->at[i].name == name) {
            counts->at[i].n++;
            return;
        }
    Count c = {0, name, 1};
    while (c.group < GROUPS - 1 && strcmp(groups[c.group], group)) c.group++;
    vec_push(&s->arena, counts, c);
}

/* loop -1: the whole kernel. */
static void print_counts(Session *s, const PtxKernel *k, int loop, Buf *out) {
    Counts counts = {0};
    for (int i = 0; i < k->insts.n; i++)
        if (loop < 0 || k->insts.at[i].loop == loop) add(s, &counts, &k->insts.at[i]);
    if (counts.n) qsort(counts.at, (size_t)counts.n, sizeof *counts.at, by_group_and_name);
    for (int i = 0; i < counts.n; i++)
        buf_printf(out, "    %-9s %-24s %6d\n", groups[counts.at[i].group], counts.at[i].name,
                   counts.at[i].n);
}

/* ---- pipelines ---- */

typedef struct Stages { /* of a loop of tile IR */
    uint32_t line;
    int slices;
    int64_t bytes; /* of a slice of each buffer */
    bool told;
} Stages;

typedef VEC(Stages) StagesList;

typedef VEC(const Op *) Allocs;

/* The buffers of several slices that a turn copies to, maybe in one of two ways. */
static void add_copies(Session *s, const Block *b, Stages *found, Allocs *buffers) {
    for (const Op *x = b->first; x; x = x->next) {
        int64_t number; /* the same in each turn: a copy before an inner loop */
        bool copies = op_is_async_copy(x) || x->code == OP_MBAR_DESC_LOAD, counted = false;
        for (int i = 0; x->code == OP_IF && i < x->nregions; i++)
            add_copies(s, x->region[i], found, buffers);
        if (!copies || !op_is(x->operand[1].value, OP_BUFFER_SLICE)) continue;
        const Op *slice = x->operand[1].value->def, *alloc = slice->operand[0].value->def;
        if (ir_int_constant(slice->operand[1].value, &number)) continue;
        for (int i = 0; i < buffers->n; i++) counted |= buffers->at[i] == alloc;
        if (counted || !alloc) continue;
        vec_push(&s->arena, buffers, alloc);
        Type t = alloc->result[0]->type;
        found->slices = t.slices;
        found->bytes += type_bytes(t);
    }
}

/* Collects the loops that copy ahead. */
static void find_stages(Session *s, const Block *b, StagesList *list) {
    for (const Op *op = b->first; op; op = op->next) {
        for (int i = 0; i < op->nregions; i++) find_stages(s, op->region[i], list);
        if (op->code != OP_FOR && op->code != OP_WHILE) continue;
        Stages found = {.line = source_line_number(&s->source, op->span.line)};
        Allocs buffers = {0};
        add_copies(s, op->region[op->nregions - 1], &found, &buffers);
        if (found.slices) vec_push(&s->arena, list, found);
    }
}

static void print_loop(const PtxLoop *loop, int number, StagesList *list, Buf *out) {
    if (loop->line)
        buf_printf(out, "  loop at line %u", loop->line);
    else
        buf_printf(out, "  loop %d", number + 1);
    for (int i = 0; i < list->n; i++) {
        Stages *st = &list->at[i];
        if (st->told || st->line != loop->line) continue;
        buf_printf(out, ": %d stages of %lld bytes", st->slices, (long long)st->bytes);
        st->told = true;
        break;
    }
    buf_putc(out, '\n');
}

void stats_write(const Module *m, const char *const *entry, const Buf *ptx, Buf *out) {
    Session *s = m->session;
    PtxFile file = ptx_read(&s->arena, ptx->data, ptx->len);
    for (int i = 0; i < file.kernels.n; i++) ptx_find_loops(&s->arena, &file.kernels.at[i]);
    int n = 0;
    for (const Func *f = m->funcs; f; f = f->next, n++) {
        const PtxKernel *k = NULL;
        for (int i = 0; i < file.kernels.n; i++) {
            PtxWord name = file.kernels.at[i].name;
            if (strlen(entry[n]) == (size_t)name.len &&
                !memcmp(entry[n], name.text, (size_t)name.len))
                k = &file.kernels.at[i];
        }
        if (!k) continue;
        StagesList list = {0};
        find_stages(s, f->body, &list);
        int warps = warps_of_program(f);
        buf_printf(out, "kernel %s: %d warp%s, %lld bytes of shared memory\n", entry[n], warps,
                   warps == 1 ? "" : "s", (long long)(f->shared_bytes > 0 ? f->shared_bytes : 0));
        buf_puts(out, "  all of it\n");
        print_counts(s, k, -1, out);
        for (int i = 0; i < k->loops.n; i++) {
            print_loop(&k->loops.at[i], i, &list, out);
            print_counts(s, k, i, out);
        }
    }
}

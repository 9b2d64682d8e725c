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
#include "compiler/report/mix.h"
#include "ir/roles.h"

#include "ptx/read.h"

#include <string.h>

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

/* loop -1: the whole kernel. */
static void print_counts(Session *s, const PtxKernel *k, int loop, Buf *out) {
    Mix mix = mix_of_loop(s, k, loop);
    for (int i = 0; i < mix.n; i++)
        buf_printf(out, "    %-9s %-24s %6d\n", mix_group(&mix.at[i]), mix.at[i].name, mix.at[i].n);
}

/* That of the loop which nobody has been told of yet; NULL: it has none. */
static const Stages *next_stages(const PtxLoop *loop, StagesList *list) {
    for (int i = 0; i < list->n; i++) {
        Stages *st = &list->at[i];
        if (st->told || st->line != loop->line) continue;
        st->told = true;
        return st;
    }
    return NULL;
}

static void print_loop(const PtxLoop *loop, int number, StagesList *list, Buf *out) {
    if (loop->line)
        buf_printf(out, "  loop at line %u", loop->line);
    else
        buf_printf(out, "  loop %d", number + 1);
    const Stages *st = next_stages(loop, list);
    if (st) buf_printf(out, ": %d stages of %lld bytes", st->slices, (long long)st->bytes);
    buf_putc(out, '\n');
}

/* The same numbers as facts. */
static void put_kernel(Session *s, const PtxKernel *k, Fact *in, StagesList *list) {
    Mix mix = mix_of_loop(s, k, -1);
    mix_facts(s, &mix, fact_group(&s->arena, in, "instructions"));
    Fact *loops = fact_list(&s->arena, in, "loops");
    for (int i = 0; i < k->loops.n; i++) {
        const PtxLoop *loop = &k->loops.at[i];
        const Stages *st = next_stages(loop, list);
        Fact *f = fact_item(&s->arena, loops, "loop %d", i + 1);
        if (loop->line) fact_number(&s->arena, f, "line", loop->line);
        if (st) {
            fact_number(&s->arena, f, "stages", st->slices);
            fact_number(&s->arena, f, "stage_bytes", st->bytes);
        }
        mix = mix_of_loop(s, k, i);
        mix_facts(s, &mix, fact_group(&s->arena, f, "by_kind"));
    }
}

void stats_write(const Module *m, const char *const *entry, const Buf *ptx, bool json, Buf *out) {
    Session *s = m->session;
    PtxFile file = ptx_read(&s->arena, ptx->data, ptx->len);
    for (int i = 0; i < file.kernels.n; i++) ptx_find_loops(&s->arena, &file.kernels.at[i]);
    Fact *root = fact_group(&s->arena, NULL, NULL),
         *kernels = fact_list(&s->arena, root, "kernels");
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
        if (json) {
            Fact *in = fact_item(&s->arena, kernels, "%s", entry[n]);
            fact_number(&s->arena, in, "warps", warps);
            fact_number(&s->arena, in, "shared_bytes", f->shared_bytes > 0 ? f->shared_bytes : 0);
            put_kernel(s, k, in, &list);
            continue;
        }
        buf_printf(out, "kernel %s: %d warp%s, %lld bytes of shared memory\n", entry[n], warps,
                   warps == 1 ? "" : "s", (long long)(f->shared_bytes > 0 ? f->shared_bytes : 0));
        buf_puts(out, "  all of it\n");
        print_counts(s, k, -1, out);
        for (int i = 0; i < k->loops.n; i++) {
            print_loop(&k->loops.at[i], i, &list, out);
            print_counts(s, k, i, out);
        }
    }
    if (!json) return;
    facts_write_json(root, out);
    buf_putc(out, '\n');
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report.h: what the compiler made of a module, as facts: of tile IR after all passes and of its
 * PTX, whose instructions say which op they are of.
 *
 * Nothing is estimated where it can be counted. What tile IR says of a loop is held against the
 * PTX's loop, which is found by the op that jumps back. */
#ifndef TILE_COMPILER_REPORT_REPORT_H
#define TILE_COMPILER_REPORT_REPORT_H

#include "compiler/report/facts.h"
#include "compiler/report/listing.h"
#include "ir/analysis/axis.h"
#include "ir/ir.h"
#include "ir/target.h"
#include "ptx/read.h"
#include "tile.h"

typedef struct ReportKernel {
    const Func *f;
    const PtxKernel *ptx; /* with its loops */
    const char *entry;
    tile_assembled code; /* of the machine, where it is known */
    Fact *facts;
} ReportKernel;

typedef struct Report {
    Session *s;
    const Module *m;
    const Target *target;
    Buf listing;       /* the tile IR, whose lines ops and PTX name */
    VEC(Op *) op;      /* by line of the listing, which count from 1; NULL: no op begins there */
    const char *ptx;   /* what the compilation gives out, with the manifest */
    ListingLines line; /* for each line of it: the line of the listing that it is of; 0: of none */
    const tile_assembler *assembler; /* or NULL */
    VEC(ReportKernel) kernels;
    Fact *root;
} Report;

/* `lined`: the PTX with directives that count lines of r->listing. Fills in all but s, m, target,
 * listing, assembler; *out gets the PTX without the directives, behind what is there. */
void report_make(Report *r, const char *const *entry, const Buf *lined, Buf *out);
void report_write_text(const Report *r, Buf *out);
void report_write_json(const Report *r, Buf *out);
/* page.c: as one page for a browser, which needs nothing else. */
void report_write_html(const Report *r, Buf *out);
/* Two reports beside each other: what is not the same, and why; in JSON a list. */
void report_compare_text(const Report *a, const Report *b, bool all, Buf *out);
void report_compare_json(const Report *a, const Report *b, Buf *out);
/* The PTX with lines `//~` above each run of instructions: the source's line and the op that it is
 * of, and which pass made that. Without them it is the PTX as it was. */
void report_annotate(const Report *r, const Buf *ptx, Buf *out);
/* The place of an op in its source, "matmul.tl:43"; "" when none is known. */
const char *report_source_place(const Report *r, Span span);
/* The pass that made it; "lowering". */
const char *report_pass(const Op *op);

/* ---- what the parts of it add to a kernel's facts ---- */
/* report_loops.c: loops, with their pipelines, dots and instructions. */
void report_loops(Report *r, ReportKernel *k);
/* report_memory.c: accesses of global memory; shared memory, its buffers and accesses. */
void report_accesses(Report *r, ReportKernel *k);
void report_shared_memory(Report *r, ReportKernel *k);

/* "line 43", or "no line". */
const char *report_line(const Report *r, Span span);
/* The tile that an op is listed for, and what it is to the op; NULL: for none. */
const Value *report_tile(const Op *op, const char **what);
/* The name of the parameter that it points into; NULL: of none, or that is not known. */
const char *report_param(const Func *f, const Value *pointer);
/* A buffer as the source calls what it holds; else by what the copy engine brings, or what it is.
 */
const char *report_buffer(const Report *r, const Func *f, const Op *alloc);
/* The loop's number in the kernel's PTX; -1: none jumps back for that op. */
int report_ptx_loop(const ReportKernel *k, const Op *loop);
/* The `perf:` note on the op's place whose text begins so; NULL: there is none. */
const char *report_note(const Report *r, Span span, const char *begin);
/* The loop around op, of tile IR; NULL: none. */
const Op *report_loop_around(const Op *op);

#endif

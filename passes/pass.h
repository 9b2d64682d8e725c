/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pass.h: passes over tile IR, and the driver that runs them in order.
 *
 * A pass is one function in one file with one row in passes.def; the row gives its name, place in
 * the pipeline, what it does, and from which optimisation level it runs. */
#ifndef TILE_PASSES_PASS_H
#define TILE_PASSES_PASS_H

#include "ir/ir.h"

typedef struct Target Target;

typedef struct PassCtx {
    Session *s;
    Module *module;
    Func *f;
    const Target *target; /* ir/target.h: hardware facts; never NULL */
    bool changed;         /* the pass sets it */
    bool warn_triton;     /* say where Triton would need more of the source */
} PassCtx;

enum { PASS_NAMED = 2 };
typedef struct PassInfo {
    const char *name;
    void (*run)(PassCtx *ctx);
    const char *doc;
    int level; /* runs from -O this on: 0 always (needed for code generation), 1 optimisation,
                  PASS_NAMED: only where it is named */
} PassInfo;
extern const PassInfo pass_table[];
extern const int pass_count;

#define PASS(name, level, doc) void pass_##name(PassCtx *ctx);
#define NAMED_PASS(name, doc) PASS(name, PASS_NAMED, doc)
#include "passes/passes.def"
#undef PASS

typedef struct PassTiming {
    const char *name;
    double ms;
} PassTiming;

typedef struct PassOptions {
    const char *passes;  /* comma-separated names to run instead of the pipeline; NULL: pipeline */
    const char *without; /* of the pipeline, passes to leave out, by name; NULL: none */
    const char *dump_after;  /* a pass name or "all"; NULL: none */
    const char *stop_before; /* leave out this pass and the rest (for --emit=layout and the like) */
    int level;               /* 0 or 1 */
    bool verify_each;
    bool warn_triton;
    const Target *target;
    Buf *dump;          /* where dumps go: `// after fold` and the module's text */
    PassTiming *timing; /* pass_count (or number of names) entries, or NULL */
    int ntimings;       /* filled in */
} PassOptions;

/* Runs passes over every function. False after a diagnostic: an unknown pass name, or, with
 * verify_each, a pass that left the IR unsound (reported as a bug in tilec). */
bool passes_run(Session *s, Module *m, PassOptions *options);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernels.c: a module of tile IR -> its text read back, its passes, a run of each kernel. */
#include "tests/fuzz/kernels.h"

#include "ir/interp/interp.h"
#include "ir/target.h"
#include "passes/pass.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum {
    BUFFER_BYTES = 4096,
    STEPS = 2000,    /* of a program */
    ELEMENTS = 20000 /* that a kernel's operations have in all: what is run is small */
};

static void verify(Session *s, const Func *f, const char *after) {
    Span where;
    const char *why = ir_verify(s, f, &where);
    if (why) fuzz_wrong(after, why);
}

static void read_back(Session *s, const Module *m) {
    Buf once = buf_new(&s->arena), twice = buf_new(&s->arena);
    ir_print(m, &once);
    Module *again = ir_parse(s, once.data, once.len);
    if (!again)
        fuzz_wrong("printed tile IR does not parse", s->diags.last ? s->diags.last->text : 0);
    ir_print(again, &twice);
    if (strcmp(once.data, twice.data) != 0) fuzz_wrong("tile IR changes when read back", NULL);
}

/* Runs two programs; what a kernel does wrong there is a diagnostic. */
static void execute(Session *s, const Module *m, const Func *f) {
    InterpArg *arg = arena_array(&s->arena, (size_t)f->nparams + 1, sizeof *arg);
    InterpBuffer *buffer = arena_array(&s->arena, (size_t)f->nparams + 1, sizeof *buffer);
    InterpLaunch launch = {.module = m,
                           .func = f,
                           .arg = arg,
                           .buffer = buffer,
                           .grid = {2, 1, 1},
                           .checks = CHECK_ALL,
                           .max_steps = STEPS};
    for (int i = 0; i < f->nparams; i++) {
        const Param *p = &f->param[i];
        if (p->is_none) continue;
        if (p->type.depth) {
            uint8_t *bytes = arena_alloc(&s->arena, BUFFER_BYTES);
            buffer[launch.nbuffers++] =
                (InterpBuffer){.name = p->name, .base = bytes, .bytes = BUFFER_BYTES};
            arg[i].p = (uint64_t)(uintptr_t)bytes;
        } else if (type_is_float(p->type)) {
            arg[i].f = 1.5;
        } else {
            arg[i].i = p->is_one ? 1 : p->divisible > 1 ? 16 : 3;
        }
    }
    interp_run(s, &launch);
}

static void add_numel(Op *op, void *total) {
    for (int i = 0; i < op->nresults; i++) *(int64_t *)total += type_numel(op->result[i]->type);
}

static int at(int stage, volatile int *reached) {
    fuzz_stage(stage);
    return *reached = stage;
}

int fuzz_module(Session *s, Module *m, KernelStages stages, volatile int *reached) {
    PassOptions passes = {.passes = "fold,cse,dce,licm,combine,fold,dce",
                          .level = 1,
                          .verify_each = true,
                          .target = &target_table[0]};
    at(stages.check, reached);
    for (const Func *f = m->funcs; f; f = f->next) verify(s, f, "the tile IR is not sound");
    read_back(s, m);
    at(stages.optimise, reached);
    if (!passes_run(s, m, &passes)) fuzz_wrong("a pass", s->diags.last ? s->diags.last->text : 0);
    for (const Func *f = m->funcs; f; f = f->next) {
        int64_t total = 0;
        ir_walk(f->body, add_numel, &total);
        if (total > ELEMENTS) continue;
        at(stages.run, reached);
        execute(s, m, f);
    }
    return *reached;
}

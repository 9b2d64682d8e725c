/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_tir.c: mutated tile IR through its reader, the verifier, the passes and the interpreter.
 *
 * An input is refused with a message, or is a module whose functions are sound or not; sound ones
 * pass what kernels.h asks of them. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/kernels.h"

enum { READ, VERIFY, CHECK, OPTIMISE, RUN };

static int one(const uint8_t *data, size_t n) {
    Session s;
    volatile int reached = READ;
    if (setjmp(s.bail)) {
        session_free(&s);
        return reached;
    }
    session_init(&s);
    s.arena.limit = (size_t)512 << 20;
    s.source = (Source){.name = "input.tir", .text = (const char *)data, .len = n};
    fuzz_choices(data, n);
    Module *m = ir_parse(&s, (const char *)data, n);
    if (!m && !s.diags.errors) fuzz_wrong("no module and no error", NULL);
    if (m && s.diags.errors) fuzz_wrong("a module and an error", s.diags.first->text);
    bool sound = m != NULL;
    if (m) fuzz_stage(reached = VERIFY);
    for (const Func *f = m ? m->funcs : NULL; f; f = f->next) {
        Span where;
        sound = !ir_verify(&s, f, &where) && sound;
    }
    if (sound && m->funcs) fuzz_module(&s, m, (KernelStages){CHECK, OPTIMISE, RUN}, &reached);
    session_free(&s);
    return reached;
}

static const char *const corpus[] = {"tests/passes/*.tir",  "tests/layout/*.tir",
                                     "tests/codegen/*.tir", "tests/run/checks/*.tir",
                                     "examples/*.tir",      NULL};
static const char *const pieces[] = {
    "i1",      "i8",      "i32",       "i64",       "u8",     "u64",       "f8e4m3",
    "f16",     "bf16",    "f32",       "f64",       "*f16",   "**i8",      "[1]",
    "[16]",    "[16,16]", "[1,64]",    "[0]",       "[3]",    "[1048576]", "->",
    "{",       "}",       "yield",     "condition", "for",    "while",     "if",
    "return",  "reduce",  "scan",      "map",       "load",   "store",     "dot",
    "trans",   "reshape", "broadcast", "splat",     "arange", "select",    "cast",
    "axis=",   "axis=-1", "order=1,0", "start=0",   "end=16", "\"tl\"",    "%x",
    "%0",      "@f",      "\"s",       "\\xff",     "//",     "nan",       "inf",
    "-0x1p-3", "line 1",  "pure",      "func @f(",  "none",   "one",       "divisible 16",
    NULL};
static const char *const stages[] = {"read", "verified", "checked", "optimised", "run", NULL};

const FuzzTarget fuzz_target = {.name = "tir",
                                .suffix = ".tir",
                                .most = 1 << 17,
                                .word = "%@.",
                                .corpus = corpus,
                                .pieces = pieces,
                                .stages = stages,
                                .one = one};

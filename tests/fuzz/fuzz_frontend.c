/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_frontend.c: mutated kernels through the front end, the passes and the interpreter.
 *
 * Whatever comes of an input must be diagnostics, each of them with its place, or tile IR that
 * passes what kernels.h asks of it. */
#include "frontend/lower/lower.h"
#include "ir/triton.h"
#include "tests/fuzz/compiling.h"
#include "tests/fuzz/kernels.h"

#include <stdlib.h>
#include <string.h>

enum { READ, LOWER, CHECK, OPTIMISE, RUN };

/* It is about the file as a whole, or about what was given beside it. */
static bool has_no_place(const Diag *d) {
    return strncmp(d->text, "there is no kernel", 18) == 0 || strncmp(d->text, "-D ", 3) == 0 ||
           strstr(d->text, "signature") || strncmp(d->text, "the file has", 12) == 0;
}

static int one(const uint8_t *data, size_t n) {
    Session s;
    volatile int reached = READ;
    if (setjmp(s.bail)) {
        session_free(&s);
        return reached;
    }
    session_init(&s);
    s.arena.limit = (size_t)512 << 20;
    s.source = (Source){.name = "input.tl", .text = (const char *)data, .len = n};
    FuzzRandom r = fuzz_choices(data, n);
    fuzz_stage(READ);
    AstFile *file = ast_parse(&s);
    Buf tree = buf_new(&s.arena), text = buf_new(&s.arena);
    ast_print(file, &tree);
    FuzzKernel kernel = fuzz_kernel_of(&r, &s, file);
    LowerOptions options = {.kernel = kernel.kernel,
                            .signature = kernel.signature,
                            .define = kernel.define,
                            .ndefines = kernel.ndefines};
    if (fuzz_below(&r, 2))
        options.triton = TRITON_OLDEST + (int)fuzz_below(&r, TRITON_NEWEST - TRITON_OLDEST + 1);
    options.warn_triton = fuzz_below(&r, 2);
    fuzz_stage(LOWER);
    if (!s.diags.errors) reached = LOWER;
    Module *m = s.diags.errors ? NULL : lower_file(&s, file, &options);
    diag_render(&s.diags, &s.source, false, &text);
    for (const Diag *d = s.diags.first; d; d = d->next)
        if (d->code == E_BUG) fuzz_wrong("an internal error", text.data);
    for (const Diag *d = s.diags.first; d; d = d->next)
        if (d->severity != DIAG_NOTE && !d->span.line && !has_no_place(d))
            fuzz_wrong("a message without a place", d->text);
    if (!m && !s.diags.errors) fuzz_wrong("no kernel and no error", NULL);
    if (m && m->funcs && !s.diags.errors)
        fuzz_module(&s, m, (KernelStages){CHECK, OPTIMISE, RUN}, &reached);
    session_free(&s);
    return reached;
}

static const char *const corpus[] = {"tests/frontend/*.tl", "tests/frontend/*.py",
                                     "tests/run/*.tl",      "tests/conformance/rules/*.tl",
                                     "examples/*.tl",       NULL};
static const char *const pieces[] = {"break",
                                     "continue",
                                     "return",
                                     "while True:",
                                     "tl.constexpr",
                                     "lambda x: x",
                                     "()",
                                     "(1, (2, 3))",
                                     "None",
                                     "True",
                                     "[:, None]",
                                     ".to(tl.float16)",
                                     "not ",
                                     " if ",
                                     " else ",
                                     "*",
                                     "**",
                                     "[x for x in (1, 2)]",
                                     "@triton.jit\n",
                                     NULL};
static const char *const stages[] = {"read", "lowered", "checked", "optimised", "run", NULL};

const FuzzTarget fuzz_target = {.name = "frontend",
                                .suffix = ".tl",
                                .most = 1 << 18,
                                .word = "",
                                .corpus = corpus,
                                .pieces = pieces,
                                .stages = stages,
                                .one = one};

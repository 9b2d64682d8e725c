/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_frontend.c: mutated kernels through the front end, the passes and the interpreter.
 *
 * Whatever comes of an input must be diagnostics, each of them with its place, or tile IR that
 * passes what kernels.h asks of it. */
#include "frontend/lower/lower.h"
#include "ir/triton.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/kernels.h"

#include <stdlib.h>
#include <string.h>

enum { READ, LOWER, CHECK, OPTIMISE, RUN };

/* Types and values for what no annotation gives. A file with several functions has one of them
 * chosen as the kernel, or all that can be. */
static void fill_options(FuzzRandom *r, Session *s, const AstFile *file, LowerOptions *o) {
    static const char *const values[] = {"16", "16", "32", "1", "True", "'relu'", "tl.float16"};
    Buf signature = buf_new(&s->arena);
    VEC(const char *) defines = {0};
    o->triton = fuzz_below(r, 2)
                    ? 0
                    : TRITON_OLDEST + (int)fuzz_below(r, TRITON_NEWEST - TRITON_OLDEST + 1);
    o->warn_triton = fuzz_below(r, 2);
    if (!file->nfuncs || fuzz_below(r, 4) == 0) return;
    const AstFunc *kernel = file->func[fuzz_below(r, (size_t)file->nfuncs)];
    o->kernel = kernel->name;
    for (int k = 0; k < kernel->nparams; k++) {
        const AstParam *p = &kernel->param[k];
        if (p->annotation && p->annotation->kind == EXPR_STRING) continue;
        if (p->annotation) {
            if (!p->default_)
                vec_push(&s->arena, &defines,
                         arena_printf(&s->arena, "%s=%s", p->name, values[fuzz_below(r, 7)]));
            continue;
        }
        bool pointer = strstr(p->name, "ptr") || strlen(p->name) == 1;
        buf_printf(&signature, "%s%s=%s", signature.len ? "," : "", p->name,
                   pointer ? "*fp32" : "i32");
    }
    o->signature = signature.len ? signature.data : NULL;
    o->define = defines.at;
    o->ndefines = defines.n;
}

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
    LowerOptions options = {.config = 0};
    fill_options(&r, &s, file, &options);
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

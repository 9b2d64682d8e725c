/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compiling.c: options -> a compilation whose status, diagnostics and output agree. */
#include "tests/fuzz/compiling.h"

#include <string.h>

FuzzKernel fuzz_kernel_of(FuzzRandom *r, Session *s, const AstFile *file) {
    static const char *const values[] = {"16", "16", "32", "1", "True", "'relu'", "tl.float16"};
    Buf signature = buf_new(&s->arena);
    VEC(const char *) defines = {0};
    if (!file->nfuncs || fuzz_below(r, 4) == 0) return (FuzzKernel){NULL, NULL, NULL, 0};
    const AstFunc *kernel = file->func[fuzz_below(r, (size_t)file->nfuncs)];
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
    return (FuzzKernel){kernel->name, signature.len ? signature.data : NULL, defines.at, defines.n};
}

bool fuzz_kernel(FuzzRandom *r, Session *s, const char *text, size_t len, FuzzKernel *out) {
    if (setjmp(s->bail)) return false;
    session_init(s);
    s->arena.limit = (size_t)256 << 20;
    s->source = (Source){.name = "input.tl", .text = text, .len = len};
    const AstFile *file = ast_parse(s);
    *out = fuzz_kernel_of(r, s, file);
    return file->nfuncs > 0;
}

static void check_diagnostic(const tile_compiled *c, const tile_diagnostic *d, int i) {
    const char *code = tile_compiled_code(c, i);
    if (!d->text || !*d->text) fuzz_wrong("a diagnostic without text", code);
    if (strcmp(code, "E0001") == 0) fuzz_wrong("an internal error", d->text);
    if (d->severity != TILE_SEVERITY_NOTE && !*code) fuzz_wrong("no code", d->text);
    bool nowhere = !d->line && !d->column && !d->end_column;
    bool somewhere = d->line && d->column && d->end_column > d->column;
    if (d->file ? !somewhere : !nowhere) fuzz_wrong("half a place", d->text);
}

tile_status fuzz_compile(const tile_compile_options *o, tile_compiled **out) {
    tile_status st = tile_compile(o, out);
    const tile_diagnostic *d;
    size_t len;
    if (st == TILE_NO_MEMORY) return st;
    if (st != TILE_OK && st != TILE_INVALID && st != TILE_COMPILE_ERROR)
        fuzz_wrong("a status of tile_compile", tile_status_text(st));
    int n = tile_compiled_diagnostics(*out, &d), errors = 0;
    for (int i = 0; i < n; i++) {
        check_diagnostic(*out, &d[i], i);
        errors += d[i].severity == TILE_SEVERITY_ERROR;
    }
    if ((st != TILE_OK) != (errors > 0))
        fuzz_wrong("the status and the diagnostics differ", tile_status_text(st));
    const char *text = tile_compiled_text(*out, TILE_PART_OUTPUT, &len);
    if (strlen(text) != len) fuzz_wrong("a NUL in the output", NULL);
    if (st != TILE_OK && len) fuzz_wrong("an output after an error", text);
    return st;
}

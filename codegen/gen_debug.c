/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_debug.c: ops -> LLVM line tables, so that PTX and profilers name the source's lines (-g), and
 * reports know which op an instruction is of. */
#include "codegen/gen.h"

#include <string.h>

static LLVMMetadataRef file_of(Gen *g, const Source *source) {
    const char *name = source_shown_name(g->o->source, source);
    return LLVMDIBuilderCreateFile(g->di, name, strlen(name), "", 0);
}

/* Code of another source than the kernel's stands in a block that says so. */
static LLVMMetadataRef scope_of(Gen *g, const Source *source) {
    if (source == g->o->source) return g->di_func;
    if (source != g->di_source) {
        g->di_source = source;
        g->di_scope = LLVMDIBuilderCreateLexicalBlockFile(g->di, g->di_func, file_of(g, source), 0);
    }
    return g->di_scope;
}

void gen_debug_begin(Gen *g) {
    if (!g->o->lines) return;
    /* LLVM's C API does not name the kind that clang calls directives only (.loc and .file without
     * DWARF): the others write `.target …, debug`, and ptxas then optimises less. */
    const LLVMDWARFEmissionKind directives_only = (LLVMDWARFEmissionKind)3;
    const char *producer = "tilec";
    g->di = LLVMCreateDIBuilder(g->mod);
    g->di_file = file_of(g, g->o->source);
    LLVMDIBuilderCreateCompileUnit(g->di, LLVMDWARFSourceLanguagePython, g->di_file, producer,
                                   strlen(producer), 1, "", 0, 0, "", 0, directives_only, 0, 0, 0,
                                   "", 0, "", 0);
    LLVMValueRef version = LLVMConstInt(g->i32, LLVMDebugMetadataVersion(), 0);
    LLVMAddModuleFlag(g->mod, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18,
                      LLVMValueAsMetadata(version));
}

static void set_line(Gen *g, unsigned line, unsigned column, LLVMMetadataRef scope) {
    LLVMMetadataRef place = LLVMDIBuilderCreateDebugLocation(g->c, line, column, scope, NULL);
    LLVMSetCurrentDebugLocation2(g->b, place);
}

static void set_place(Gen *g, Span span) {
    if (!span.line) return;
    const Source *source = source_at(g->o->source, span.line);
    set_line(g, source_line_number(g->o->source, span.line), span.col, scope_of(g, source));
}

void gen_debug_func(Gen *g) {
    if (!g->di) return;
    unsigned line = g->o->lines == LINES_IR ? g->f->listed : g->f->span.line;
    if (!line) line = 1;
    LLVMMetadataRef type =
        LLVMDIBuilderCreateSubroutineType(g->di, g->di_file, NULL, 0, LLVMDIFlagZero);
    g->di_func =
        LLVMDIBuilderCreateFunction(g->di, g->di_file, g->f->name, strlen(g->f->name), "", 0,
                                    g->di_file, line, type, 0, 1, line, LLVMDIFlagZero, 1);
    LLVMSetSubprogram(g->func, g->di_func);
    g->di_source = NULL;
    if (g->o->lines == LINES_IR)
        set_line(g, line, 1, g->di_func);
    else
        set_place(g, (Span){line, 1, 2});
    LLVMSetCurrentDebugLocation2(g->entry, LLVMGetCurrentDebugLocation2(g->b));
}

void gen_debug_at(Gen *g, const Op *op) {
    if (!g->di_func) return;
    if (g->o->lines == LINES_IR)
        set_line(g, op->listed, 1, g->di_func);
    else
        set_place(g, op->span);
}

void gen_debug_end(Gen *g) {
    if (!g->di) return;
    LLVMDIBuilderFinalize(g->di);
    LLVMDisposeDIBuilder(g->di);
    g->di = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_debug.c: spans -> LLVM line tables (-g), so that PTX and profilers name the source's lines.
 */
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
    if (!g->o->line_info) return;
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

void gen_debug_func(Gen *g) {
    if (!g->di) return;
    unsigned line = g->f->span.line ? g->f->span.line : 1;
    LLVMMetadataRef type =
        LLVMDIBuilderCreateSubroutineType(g->di, g->di_file, NULL, 0, LLVMDIFlagZero);
    g->di_func =
        LLVMDIBuilderCreateFunction(g->di, g->di_file, g->f->name, strlen(g->f->name), "", 0,
                                    g->di_file, line, type, 0, 1, line, LLVMDIFlagZero, 1);
    LLVMSetSubprogram(g->func, g->di_func);
    g->di_source = NULL;
    gen_debug_at(g, (Span){line, 1, 2});
    LLVMSetCurrentDebugLocation2(g->entry, LLVMGetCurrentDebugLocation2(g->b));
}

void gen_debug_at(Gen *g, Span span) {
    if (!g->di_func || !span.line) return;
    const Source *source = source_at(g->o->source, span.line);
    unsigned line = source_line_number(g->o->source, span.line);
    LLVMSetCurrentDebugLocation2(
        g->b, LLVMDIBuilderCreateDebugLocation(g->c, line, span.col, scope_of(g, source), NULL));
}

void gen_debug_end(Gen *g) {
    if (!g->di) return;
    LLVMDIBuilderFinalize(g->di);
    LLVMDisposeDIBuilder(g->di);
    g->di = NULL;
}

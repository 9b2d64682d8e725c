/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_debug.c: spans -> LLVM line tables (-g), so that PTX and profilers name the source's lines.
 */
#include "codegen/gen.h"

#include <string.h>

void gen_debug_begin(Gen *g) {
    if (!g->o->line_info) return;
    /* LLVM's C API does not name the kind that clang calls directives only (.loc and .file without
     * DWARF): the others write `.target …, debug`, and ptxas then optimises less. */
    const LLVMDWARFEmissionKind directives_only = (LLVMDWARFEmissionKind)3;
    const char *name = g->o->file_name ? g->o->file_name : "kernel.tl", *producer = "tilec";
    g->di = LLVMCreateDIBuilder(g->mod);
    g->di_file = LLVMDIBuilderCreateFile(g->di, name, strlen(name), "", 0);
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
    gen_debug_at(g, (Span){line, 1, 2});
    LLVMSetCurrentDebugLocation2(g->entry, LLVMGetCurrentDebugLocation2(g->b));
}

void gen_debug_at(Gen *g, Span span) {
    if (!g->di_func || !span.line) return;
    LLVMSetCurrentDebugLocation2(
        g->b, LLVMDIBuilderCreateDebugLocation(g->c, span.line, span.col, g->di_func, NULL));
}

void gen_debug_end(Gen *g) {
    if (!g->di) return;
    LLVMDIBuilderFinalize(g->di);
    LLVMDisposeDIBuilder(g->di);
    g->di = NULL;
}

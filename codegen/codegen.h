/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* codegen.h: tile IR with layouts -> LLVM IR -> PTX. The only folder that knows LLVM. */
#ifndef TILE_CODEGEN_CODEGEN_H
#define TILE_CODEGEN_CODEGEN_H

#include "ir/ir.h"
#include "ir/target.h"

/* What the line directives of the PTX count: nothing, then there are none; lines of the sources
 * (-g); or those of the tile IR (Op.listed). The code is the same. */
typedef enum CodegenLines { LINES_NONE, LINES_SOURCE, LINES_IR } CodegenLines;

typedef struct CodegenOptions {
    const Target *target;
    int level; /* 0 or 1 */
    CodegenLines lines;
    bool debug;           /* device_assert is checked */
    const Source *source; /* for line info and assertions: the names of files */
} CodegenOptions;

/* Emits every function of the module. Fills *llvm and/or *ptx (NULL: not wanted). The PTX has no
 * manifest yet. False after a diagnostic. */
bool codegen_module(Session *s, const Module *m, const CodegenOptions *o, Buf *llvm, Buf *ptx);
/* The name a kernel has in the PTX: names that PTX keeps for itself, and characters that it does
 * not allow in one, are written otherwise. */
const char *codegen_entry_name(Session *s, const char *name);
const char *codegen_llvm_version(void);

#endif

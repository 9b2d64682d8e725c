/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* analysis.h: one text of a document -> what is wrong with it, its symbols, and the layouts of its
 * values.
 *
 * It is the compilation up to layouts, kept: syntax tree, index of symbols and tile IR live in the
 * analysis's session until it is freed. Parameters that a launch would give types and constexprs
 * that it would give values have likely ones; a mistake that depends on them is a warning, found by
 * looking once more with nothing assumed. */
#ifndef TILE_COMPILER_LSP_ANALYSIS_H
#define TILE_COMPILER_LSP_ANALYSIS_H

#include "compiler/lsp/position.h"
#include "compiler/reading.h"
#include "frontend/lower/lower.h"
#include "frontend/lower/symbols.h"
#include "tile.h"

typedef enum FindingSeverity {
    FOUND_ERROR = 1,
    FOUND_WARNING,
    FOUND_INFORMATION,
    FOUND_HINT
} FindingSeverity;

typedef struct Related {
    Span span; /* line 0: the finding's */
    const char *text;
} Related;

typedef struct Finding { /* a diagnostic as editors show it */
    FindingSeverity severity;
    Span span; /* in the document */
    const char *text;
    const Related *related;
    int nrelated;
} Finding;

typedef struct Analysis {
    Session s; /* s.source is the document, with the text it had */
    char *text;
    Lines lines;   /* of it */
    AstFile *file; /* NULL: of tile IR, or none */
    bool broken;   /* it has a syntax error */
    LowerOptions options;
    SymbolIndex symbols;
    bool has_symbols; /* the index is whole */
    Module *module;   /* with layouts where has_layouts; or NULL */
    bool has_layouts;
    Reading reading;
    VEC(Finding) findings;
    bool starved;      /* memory ran out: findings says so */
    size_t first_used; /* bytes of the arena, when it was made */
} Analysis;

/* NULL: no memory at all. The name is a path or, in "<>", no file's. */
Analysis *analysis_make(const tile_compile_options *o, const tile_reader *reader, const char *name,
                        const char *text, size_t len);
void analysis_free(Analysis *a);
/* The file was read for it, or looked for. */
bool analysis_asked_for(const Analysis *a, const char *path);
/* The value that an operation at `made` gave, or that has this name, as it is with layouts; of the
 * type. NULL: there is none. */
const Value *analysis_value(const Analysis *a, const Seen *seen, const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* symbols.h: what the names of a source mean, and what their values were, place by place: for
 * editors.
 *
 * Two walks fill the index. Lowering, where options.symbols is set, notes at each name and operator
 * what it gave there: as often as a function is inlined, up to SEEN_LIMIT different ones. Then the
 * syntax tree alone says which names are one variable, also in functions that no kernel calls.
 * Imports and members of modules are resolved when asked for, by the same lookup that kernels use.
 *
 * With an index, lowering goes on where a launch would settle something: parameters without types
 * and constexprs without values have some that are likely, and the index says which. */
#ifndef TILE_FRONTEND_LOWER_SYMBOLS_H
#define TILE_FRONTEND_LOWER_SYMBOLS_H

#include "frontend/lower/object.h"

enum { SEEN_LIMIT = 3, HANDED_ON_LIMIT = 16 };

struct Lower;
struct SourceModule;

typedef enum SymbolKind {
    SYMBOL_VARIABLE,
    SYMBOL_PARAMETER,
    SYMBOL_FUNCTION,
    SYMBOL_CLASS,
    SYMBOL_GLOBAL,
    SYMBOL_IMPORT
} SymbolKind;

/* Names of one function, lambda or comprehension. */
typedef struct Room {
    const struct Room *outer; /* NULL: the top level is around it */
    const AstFunc *func;      /* that it is of, or in */
} Room;

typedef struct Symbol {
    const char *name;
    SymbolKind kind;
    const Room *room; /* NULL: top level */
    Span span;        /* of the name where it is first given a value; at top level, where last */
    Span latest;      /* the same, of what was walked so far */
    const AstFunc *func;
    const AstParam *param;
    const AstGlobal *global;
    const AstClass *class_;
    const AstImport *import;
} Symbol;

typedef struct Seen {
    const char *what; /* "float32[64, 64]", "128" */
    Type type;        /* of a value */
    bool is_value;
    Span made; /* of the operation that made it; line 0: none did */
} Seen;

typedef struct Occurrence {
    Span span;        /* a name, or an operator */
    const char *name; /* NULL: an operator */
    Symbol *symbol;   /* NULL: an operator, an attribute or a keyword */
    const Expr *of;   /* an attribute's object; a keyword's callee */
    bool is_keyword;  /* name=value in a call */
    bool writes;
    bool reached;    /* a function's name, where it is defined: its body was looked at */
    bool settled;    /* see symbols_settle */
    Span definition; /* where the value here comes from; line 0: not known */
    Obj object;      /* a function, builtin, module, class or dtype; OBJ_POISON: none */
    Seen seen[SEEN_LIMIT];
    int nseen;
    bool more; /* than SEEN_LIMIT */
} Occurrence;

/* What was taken for granted of a parameter. */
typedef struct Assumption {
    Span span;
    const char *name, *what; /* "*fp32", "64" */
    const AstFunc *func;
    bool is_type;
} Assumption;

typedef struct SymbolIndex {
    bool unknown; /* assume nothing: what depends on it is silent, and what is wrong is wrong */
    struct Lower *lower;
    VEC(Occurrence *) all; /* by place, once symbols_walk has been called */
    VEC(Symbol *) symbols;
    VEC(Assumption) assumed;
    Occurrence **place; /* hash table; cplaces is 0 or a power of two */
    size_t cplaces;
    Symbol **named; /* hash table by room and name */
    size_t cnamed;
    const AstFunc *guessed; /* whose parameters this is about: see guess.c */
    const struct Guess *guess;
} SymbolIndex;

/* Goes through the first file's syntax tree; once, after lowering. */
void symbols_walk(SymbolIndex *x, const AstFile *file);
/* Finds out what o refers to, in other files too: fills in definition and object. */
void symbols_settle(SymbolIndex *x, Occurrence *o);
/* The occurrence at a place, or that ends there; of several the shortest. NULL: none. */
Occurrence *symbols_at(const SymbolIndex *x, uint32_t line, uint32_t col);

/* Members of what a dotted path names at top level ("tl", "tl.math", a module that is read); of any
 * other path those of a tensor. signature: NULL, or parameters as Python writes them. */
typedef enum MemberKind { MEMBER_FUNCTION, MEMBER_DTYPE, MEMBER_MODULE, MEMBER_VALUE } MemberKind;
typedef void (*MemberFn)(void *ctx, MemberKind kind, const char *name, const char *signature);
void symbols_members(SymbolIndex *x, const char *path, MemberFn fn, void *ctx);
/* What the path names: a function, a builtin or a module; poison: none of them. */
Obj symbols_object(SymbolIndex *x, const char *path);
/* "tl.load", and "pointer, mask=None"; NULL in *params: it is not supported, *why says why. */
const char *symbols_builtin(SymbolIndex *x, const Builtin *row, const char **params,
                            const char **why);
/* A module's file, for a module that is read; NULL: of Triton's and Python's. */
const char *symbols_module_file(Obj module);
const char *symbols_module_name(Obj module);

#endif

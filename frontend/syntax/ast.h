/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ast.h: a kernel file as written: the syntax tree between parser and lowering.
 *
 * Only what can matter to a kernel is kept: functions with decorators, imports and simple
 * top-level assignments. Names are interned (equal pointers, equal names). All nodes live in the
 * session's arena. The tree says nothing of types; lower.c gives it meaning. */
#ifndef TILE_FRONTEND_SYNTAX_AST_H
#define TILE_FRONTEND_SYNTAX_AST_H

#include "base/session.h"

typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef struct AstFunc AstFunc;
typedef struct AstImport AstImport;

typedef enum ExprKind {
    EXPR_NAME,    /* .name */
    EXPR_INT,     /* .integer; digits beyond 64 bits are an error of the lexer */
    EXPR_FLOAT,   /* .number */
    EXPR_STRING,  /* .string, .string_len: decoded, adjacent literals joined */
    EXPR_FSTRING, /* .item[]: strings and expressions in turn */
    EXPR_TRUE,
    EXPR_FALSE,
    EXPR_NONE,
    EXPR_ELLIPSIS,
    EXPR_TUPLE,
    EXPR_LIST,      /* .item[] */
    EXPR_SET,       /* .item[] */
    EXPR_DICT,      /* .item[]: key, value, key, value …; for `**x` the key is EXPR_STARRED */
    EXPR_UNARY,     /* .op, .left: - + ~ not */
    EXPR_BINARY,    /* .op, .left, .right: + - * / // % ** @ & | ^ << >> */
    EXPR_BOOL,      /* .op (and, or), .left, .right */
    EXPR_COMPARE,   /* .left, then .compare_op[i] with .item[i]; more than one: a chain */
    EXPR_TERNARY,   /* .left if .cond else .right */
    EXPR_CALL,      /* .left called with .item[] positional (EXPR_STARRED allowed), .keyword[] */
    EXPR_ATTRIBUTE, /* .left . name */
    EXPR_SUBSCRIPT, /* .left [ .right ]; several indices are an EXPR_TUPLE */
    EXPR_SLICE,     /* .left : .right : .cond, each may be NULL */
    EXPR_STARRED,   /* * .left */
    EXPR_LAMBDA,    /* .lambda: parameters and a one-expression body in .left */
    EXPR_LISTCOMP,  /* [.left for .right (target) in .cond if .item[0] if .item[1] …]; generator
                       too. With a second `for`, .left is the LISTCOMP of the later clauses, its
                       .is_inner_for set: what it yields goes straight into the outer list */
    EXPR_WALRUS,    /* .name := .left */
} ExprKind;

typedef enum Operator { /* order: see operator_text[] */
                        OPR_ADD,
                        OPR_SUB,
                        OPR_MUL,
                        OPR_DIV,
                        OPR_FLOORDIV,
                        OPR_MOD,
                        OPR_POW,
                        OPR_MATMUL,
                        OPR_AND,
                        OPR_OR,
                        OPR_XOR,
                        OPR_SHL,
                        OPR_SHR, /* bitwise */
                        OPR_NEG,
                        OPR_POS,
                        OPR_INVERT,
                        OPR_NOT, /* unary */
                        OPR_LOGICAL_AND,
                        OPR_LOGICAL_OR,
                        OPR_EQ,
                        OPR_NE,
                        OPR_LT,
                        OPR_LE,
                        OPR_GT,
                        OPR_GE,
                        OPR_IS,
                        OPR_IS_NOT,
                        OPR_IN,
                        OPR_NOT_IN,
                        OPERATORS
} Operator;
extern const char *const operator_text[OPERATORS]; /* "+", "//", "not in" … */

typedef struct Keyword {
    const char *name; /* NULL for **expr */
    Expr *value;
    Span span;
} Keyword;

typedef struct AstParam {
    const char *name;
    Expr *annotation;           /* NULL when there is none */
    Expr *default_;             /* NULL when there is none */
    bool is_star, is_star_star; /* *args, **kwargs */
    bool keyword_only;          /* after a bare * or *args */
    Span span;
} AstParam;

struct Expr {
    ExprKind kind;
    Span span;    /* the whole expression */
    Span op_span; /* the operator, the attribute's name: where a caret is best */
    Operator op;
    const char *name;
    const char *string;
    size_t string_len;
    int64_t integer;     /* value; as unsigned when integer_is_u64 */
    bool integer_is_u64; /* does not fit int64 */
    double number;
    Expr *left, *right, *cond;
    Expr **item;
    int nitems;
    Keyword *keyword;
    int nkeywords;
    Operator *compare_op; /* nitems of them */
    AstParam *lambda_param;
    int nlambda_params;
    bool is_inner_for;        /* EXPR_LISTCOMP */
    bool is_set, is_dict;     /* EXPR_LISTCOMP in braces; of a dict, .left is a tuple: key, value */
    bool is_parenthesised;    /* stands in brackets of its own */
    bool is_repr, has_format; /* a field of an f-string, as !r or {x=} have it; {x:>8} */
    /* Whoever walks the tree recurses `height` deep at most, and that is at most CHAIN_LIMIT;
     * `nesting` counts brackets and right operands only, and is at most NESTING_LIMIT. */
    uint16_t height, nesting;
};

typedef enum StmtKind {
    STMT_EXPR,      /* .value */
    STMT_ASSIGN,    /* .target[] = .value; more than one target: a = b = value */
    STMT_AUGASSIGN, /* .target[0] .op= .value */
    STMT_ANNASSIGN, /* .target[0]: .annotation = .value (may be NULL) */
    STMT_IF,        /* .value, .body, .orelse (elif is an IF alone in orelse) */
    STMT_FOR,       /* for .target[0] in .value: .body; else is unsupported */
    STMT_WHILE,     /* while .value: .body */
    STMT_RETURN,    /* .value may be NULL */
    STMT_ASSERT,    /* assert .value, .message (may be NULL) */
    STMT_RAISE,     /* .value may be NULL; what stands behind `from` is not kept */
    STMT_TRY,       /* .body, .orelse, .last (`finally`); the handlers are not kept */
    STMT_PASS,
    STMT_BREAK,
    STMT_CONTINUE,
    STMT_DEF,         /* .func: a nested function */
    STMT_IMPORT,      /* .import[]: in a function */
    STMT_UNSUPPORTED, /* .name says which construct: "try", "with", "class", "import", "del" … */
} StmtKind;

typedef struct StmtList {
    Stmt **at;
    int n;
} StmtList;

struct Stmt {
    StmtKind kind;
    Span span; /* the statement's first line; for compound ones the header */
    Operator op;
    const char *name;
    Expr **target;
    int ntargets;
    Expr *value, *annotation, *message;
    StmtList body, orelse, last;
    AstFunc *func;
    AstImport *import;
    int nimports;
    uint16_t height; /* blocks and elifs below this one; at most NESTING_LIMIT */
};

/* The top-level block around a definition, and those around it: it is one if all of them run. */
typedef enum GuardKind {
    GUARD_IF,     /* .condition is as .wanted; NULL: it cannot be read */
    GUARD_TRY,    /* the block of a `try`, to its end: nothing in it fails */
    GUARD_EXCEPT, /* the block of an `except`, or `else`: something in .tried fails, as .wanted */
    GUARD_LOOP    /* a `for` or `while`, or blocks nested too deep to tell */
} GuardKind;
typedef struct Guard {
    struct Guard *outer;
    GuardKind kind;
    const Expr *condition;
    bool wanted;
    struct Guard *tried;
    int nexcepts; /* of a GUARD_TRY */
    struct {
        int from, to;
    } imports, globals; /* in the block, as numbers in the file's lists */
    Span span;          /* the condition, or the keyword */
    int order;          /* see AstFile */
    uint8_t state;      /* for lower/top.c: what is known of it */
} Guard;

/* A comment line `# tile: key = text`. */
typedef struct Directive {
    const char *key, *text; /* key NULL: there is no `=` */
    Span span;
    uint32_t offset;  /* of the comment in the source */
    bool of_function; /* it stands directly above one, or its decorators */
} Directive;

struct AstFunc {
    const char *name;
    Guard *guard; /* NULL: it is always defined */
    int order;    /* see AstFile */
    Span span;    /* its name in the def line */
    AstParam *param;
    int nparams;
    StmtList body;
    const char *docstring; /* NULL when there is none; already removed from body */
    Expr **decorator;      /* outermost first */
    int ndecorators;
    Directive *directive; /* directly above the decorators or the def */
    int ndirectives;
    const struct AstFile *file; /* that it stands in */
    bool broken;                /* under a `jit` decorator, and does not parse */
    bool in_class;              /* a class's function */
    uint16_t height;            /* as Stmt.height */
};

typedef struct AstField { /* name: annotation = value; or name = value, without annotation */
    const char *name;
    Expr *annotation, *value; /* NULL when there is none */
    Span span;
} AstField;

/* A class at top level: its name and, if it has bases or is an aggregate, its fields; an
 * aggregate's functions, too. All else in it is left out. */
typedef struct AstClass {
    const char *name;
    Guard *guard;
    int order;
    Span span; /* its name */
    Expr **base;
    int nbases;
    Expr **decorator; /* outermost first */
    int ndecorators;
    bool is_aggregate; /* one of them says so */
    AstField *field;
    int nfields;
    AstFunc **func;
    int nfuncs;
    const struct AstFile *file; /* that it stands in */
} AstClass;

struct AstImport {      /* one bound name */
    const char *module; /* dotted: "triton.language" */
    const char *member; /* from module import member, "*" for all; NULL for `import module` */
    const char *as; /* the name it is bound to ("*" with member "*"); `import a.b` binds a to a */
    Span span;
    Guard *guard;
    int order;
};

typedef struct AstGlobal { /* NAME = value, NAME: annotation = value at top level */
    const char *name;
    Expr *annotation, *value; /* value NULL: assigned in a way that is not read */
    Span span;
    Guard *guard;
    int order;
} AstGlobal;

/* `order` numbers functions, classes, imports, globals and guards as they stand in the file. */
/* A jit function inside a function or a class, which make it when they run: none of the file's. */
typedef struct AstInner {
    const char *name, *in; /* in: which, without what that stands in itself */
    Span span, in_span;
} AstInner;

typedef struct AstFile {
    AstFunc **func; /* every top-level def that parses, decorated or not, in order */
    int nfuncs;
    AstImport *import;
    int nimports;
    AstGlobal *global;
    int nglobals;
    AstClass **class_; /* those whose first line parses */
    int nclasses;
    AstInner *inner;
    int ninner;
    struct SourceModule *module; /* for lower/modules.c: the module whose text it is */
    Directive *directive;        /* all of the file */
    int ndirectives;
} AstFile;

enum {
    SOURCE_LIMIT_MB = 8, /* larger sources are refused */
    NESTING_LIMIT = 200, /* nested brackets, operators and blocks */
    CHAIN_LIMIT = 1000,  /* operators in a row: a + b + c …, a.b().c() … */
    PARAM_LIMIT = 1000,  /* parameters of one function */
};

/* Parses s->source. Adds diagnostics; the file holds what could be parsed (never NULL). A top-level
 * function that is not under a decorator whose last name is `jit` is parsed on trial: when it does
 * not parse it is left out without a word, as all other top-level code is. */
AstFile *ast_parse(Session *s);
/* The tree as indented text, one node a line, for --emit=ast. */
void ast_print(const AstFile *file, Buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parser.h: what the grammar's actions build the tree with.
 *
 * A parse covers one unit: a function with its decorators, an import, or an assignment, given as a
 * stretch of the token array. Actions only build nodes and check what no grammar can say; names and
 * types are lower.c's. */
#ifndef TILE_FRONTEND_SYNTAX_PARSER_H
#define TILE_FRONTEND_SYNTAX_PARSER_H

#include "frontend/syntax/token.h"

typedef struct ExprVec {
    VEC(Expr *);
    bool trailing_comma;
} ExprVec;

typedef struct StmtVec {
    VEC(Stmt *);
    uint16_t height;
} StmtVec;

typedef struct Arg {
    Expr *value;
    const char *name; /* NULL for **value */
    bool is_keyword;
    Span span;
} Arg;

typedef struct ArgVec {
    ExprVec positional;
    VEC(Keyword);
    uint16_t height, nesting;
} ArgVec;

typedef struct ParamVec {
    VEC(AstParam);
} ParamVec;

typedef struct CompFor { /* one `for target in iter if …` of a comprehension */
    Expr *target, *iter;
    ExprVec conditions;
} CompFor;

typedef struct CompVec {
    VEC(CompFor);
} CompVec;

typedef struct Elif {
    Expr *condition;
    StmtVec *body;
    Span span;
} Elif;

typedef struct ElifVec {
    VEC(Elif);
} ElifVec;

typedef struct Directives {
    VEC(Directive);
} Directives;

typedef struct Parser {
    Session *s;
    const Token *token;
    int at, end;         /* tokens[at..end) are still to be handed to the grammar */
    int start;           /* the TOK_START_… to hand over first; 0 when that is done */
    int def;             /* statements are looked at for what no kernel can hold behind this */
    int last;            /* index of the token handed over last */
    int statement;       /* index of the token which began the current statement */
    bool statement_next; /* the next token begins a statement */
    bool newline_owed;   /* a skipped compound statement took its NEWLINE with it */
    bool has_yield;      /* somewhere in the file: `yield` or `await` */
    int complained;      /* the statement that had its error already; -1: none */
    bool failed;
    bool said_too_deep;
    AstFunc *func; /* results of the unit */
    Stmt *stmt;
    VEC(AstImport) imports;
} Parser;

/* Parses tokens[from..to) as one unit that begins with TOK_START_…, a function's `def` being at
 * `def`; false when it does not parse. */
bool parser_unit(Parser *p, int start, int from, int def, int to);
/* The index of the NEWLINE that ends the logical line. */
int token_line_end(const Token *token, int at, int end);
/* The index behind the block that begins at `at`, `at` itself when none does. */
int token_skip_block(const Token *token, int at, int end);
/* The function with decorators at `from` and its `def` at `def`; errors are told only if it is
 * under `jit`. NULL when it does not parse. */
AstFunc *parser_function(Parser *p, int from, int def, int behind);
/* The class with decorators at `from` and `class` at `at` (class.c). NULL when its first line does
 * not parse. */
AstClass *parser_class(Parser *p, int from, int at, int behind);

/* One of the grammar's stacks: the address of the pointer to it, and the bytes in use. */
typedef struct StackPart {
    void *at;
    ptrdiff_t bytes;
} StackPart;
/* Moves full stacks of *size entries to larger ones; false, with an error, at the limit. */
bool parser_grow_stacks(Parser *p, Span at, const StackPart *part, int nparts, ptrdiff_t *size);
/* Adds an error; the unit has failed. */
void parser_error(Parser *p, Code code, Span span, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The grammar is stuck on the token p->last: says so once a statement, in words for a newcomer
 * (syntax.c). `expected` are token kinds, `name` gives their display names. */
void syntax_error(Parser *p, int unexpected, Span span, const int *expected, int nexpected,
                  const char *(*name)(int kind));
/* An error token was met. */
void syntax_lex_error(Parser *p, const Token *token);
/* `suite` has no statements: the line that ends at `newline` should be followed by a block. */
void syntax_missing_block(Parser *p, Span newline);
/* Says that a limit is exceeded, once a unit. */
void syntax_too_deep(Parser *p, Span span, const char *what, int limit);

/* Expressions (ast.c). `span` covers the whole, `op` the operator or the attribute's name. */
Expr *expr_leaf(Parser *p, ExprKind kind, Span span);
Expr *expr_name(Parser *p, const Token *token);
Expr *expr_number(Parser *p, const Token *token);
/* One string literal; an f-string's text has kind FSTRING_TEXT. */
Expr *expr_string(Parser *p, const Token *token);
Expr *expr_label(Parser *p, const Token *token);
Expr *expr_join_strings(Parser *p, const ExprVec *parts, Span span);
Expr *expr_unary(Parser *p, Operator op, Span op_span, Expr *x, Span span);
Expr *expr_binary(Parser *p, ExprKind kind, Operator op, Span op_span, Expr *a, Expr *b, Span span);
Expr *expr_compare(Parser *p, Expr *left, Operator op, Span op_span, Expr *right, Span span);
Expr *expr_ternary(Parser *p, Expr *then, Expr *cond, Expr *otherwise, Span span);
Expr *expr_items(Parser *p, ExprKind kind, const ExprVec *items, Span span);
Expr *expr_testlist(Parser *p, const ExprVec *items, Span span); /* a tuple, or its only item */
Expr *expr_attribute(Parser *p, Expr *x, const Token *name, Span span);
Expr *expr_call(Parser *p, Expr *callee, const ArgVec *args, Span span);
Expr *expr_subscript(Parser *p, Expr *x, Expr *index, Span span);
Expr *expr_slice(Parser *p, Expr *from, Expr *to, Expr *step, Span span);
Expr *expr_starred(Parser *p, Expr *x, Span span);
Expr *expr_lambda(Parser *p, const ParamVec *params, Expr *body, Span span);
Expr *expr_comprehension(Parser *p, Expr *item, const CompVec *clauses, Span span);
Expr *expr_walrus(Parser *p, const Token *name, Expr *value, Span span);
Expr *expr_parenthesised(Parser *p, Expr *x); /* one bracket deeper */
Expr *expr_field(Parser *p, Expr *x, const Token *close, bool labelled);
void args_add(Parser *p, ArgVec *args, const Arg *arg);

/* Statements and functions (ast.c). */
Stmt *stmt_new(Parser *p, StmtKind kind, Span span);
void stmt_target(Parser *p, Stmt *s, Expr *target); /* checks that it can be assigned to */
void stmt_block(Parser *p, Stmt *s, StmtList *block, const StmtVec *body);
Stmt *stmt_def(Parser *p, Span def, AstFunc *func); /* func NULL: it did not parse */
Stmt *stmt_if(Parser *p, const Elif *first, const ElifVec *elifs, const StmtVec *orelse);
Stmt *stmt_import(Parser *p, Span span); /* of what import_…() have added */
void stmts_add(Parser *p, StmtVec *list, Stmt *s);
void stmts_add_all(Parser *p, StmtVec *list, const StmtVec *more);
AstFunc *func_new(Parser *p, const Token *name, const ParamVec *params);
void func_body(AstFunc *f, const StmtVec *body);
void params_finish(Parser *p, const ParamVec *from, AstParam **param, int *nparams);
/* `from M import …`: the members first, "*" when `member` is NULL, then their module. */
void import_add(Parser *p, const Token *member, const Token *as, Span span);
void import_from(Parser *p, const char *module);
void import_module(Parser *p, const char *module, const Token *as, Span span);
const char *token_name(Parser *p, const Token *token); /* interned */

/* `# tile: key = text` (directive.c). All of the file, in order. */
void directives_read(Session *s, const TokenList *comments, Directives *out);
/* Gives f those that stand directly above the line that holds `offset`. */
void directives_of(Session *s, Directives *all, AstFunc *f, uint32_t offset);

#endif

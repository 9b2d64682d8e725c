/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expr.h: integer expressions in text: the size of a grid, the shape of a buffer.
 *
 * `cdiv(M, BM) * cdiv(N, BN), batch`: numbers, names, + - * // / % and parentheses, cdiv, min, max.
 * 64-bit numbers that may not overflow. Division is Python's: // and % round down; / is allowed
 * where it leaves no remainder. The text becomes postfix code, which can be kept and run again with
 * other values of its names: a launch does no work on text. */
#ifndef TILE_BASE_EXPR_H
#define TILE_BASE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ExprName {
    EXPR_UNKNOWN,
    EXPR_NOT_INTEGER,
    EXPR_KNOWN, /* its value is given */
    EXPR_SLOT   /* its value comes when the code runs; given is its number */
} ExprName;

/* The value of a name, or its slot. */
typedef ExprName (*ExprLookup)(void *ctx, const char *name, size_t len, int64_t *value);

typedef struct ExprError {
    size_t at;     /* offset in the text */
    bool of_value; /* the text can be read; with these values it has no result */
    char text[160];
} ExprError;

enum { EXPR_MAX_DEPTH = 64, EXPR_MAX_OPS = 512 };

/* One step of postfix code. */
typedef struct ExprOp {
    uint32_t kind, at; /* `at`: the offset in the text, for messages */
    int64_t value;     /* a constant, or the number of a slot */
} ExprOp;

/* Compiles the expressions in text, separated by commas and at most max, into op[0..max_ops). The
 * number of steps, or -1 with *err filled. */
int expr_compile(const char *text, size_t len, ExprLookup lookup, void *ctx, ExprOp *op,
                 int max_ops, int max, ExprError *err);
/* The text can be read, whatever its names are: at most max expressions, or conditions where max is
 * 0. False with *err filled. */
bool expr_check(const char *text, int max, ExprError *err);
/* Runs them: the values go to out[0..max), their number is returned, or -1 with *err filled. slot:
 * the value of a slot; NULL when the code has none. */
int expr_run(const ExprOp *op, int nops, int64_t (*slot)(const void *ctx, int64_t number),
             const void *ctx, int64_t *out, ExprError *err);

/* What a step does, for who writes the code down in another language. */
typedef enum ExprStep {
    STEP_PUSH, /* a constant */
    STEP_PUSH_SLOT,
    STEP_UNARY, /* the operator has a name: "neg" */
    STEP_BINARY,
    STEP_ENDS /* of an expression; of a condition's right side the name is the sign: "<=", else ""
               */
} ExprStep;
ExprStep expr_step(const ExprOp *op, const char **name);

/* Evaluates the expressions in text, separated by commas, into out[0..max). Their number, or -1
 * with *err filled. */
int expr_eval_list(const char *text, size_t len, ExprLookup lookup, void *ctx, int64_t *out,
                   int max, ExprError *err);
/* The same for exactly one. */
bool expr_eval(const char *text, size_t len, ExprLookup lookup, void *ctx, int64_t *out,
               ExprError *err);

/* Conditions, separated by commas: two expressions with < <= > >= == != or ~ between them. `M ~
 * 4096` says of a size what it was chosen for: it always holds, and tells how far away the size is.
 */
typedef struct ExprVerdict {
    bool holds; /* all of them */
    int first;  /* from 0, of those that do not: its number, and its two sides */
    int64_t left, right;
    bool has_sizes;   /* there is a ~ */
    double doublings; /* between the sizes left and right of each ~, summed up */
} ExprVerdict;

/* Compiles conditions into op[0..max_ops). The number of steps, or -1 with *err filled. */
int expr_compile_conditions(const char *text, size_t len, ExprLookup lookup, void *ctx, ExprOp *op,
                            int max_ops, ExprError *err);
/* Runs them. False with *err filled when one has no value. */
bool expr_test(const ExprOp *op, int nops, int64_t (*slot)(const void *ctx, int64_t number),
               const void *ctx, ExprVerdict *out, ExprError *err);
/* Both. */
bool expr_judge(const char *text, size_t len, ExprLookup lookup, void *ctx, ExprVerdict *out,
                ExprError *err);
/* How many doublings lie between two sizes; one below 0 counts as 0. */
double expr_doublings(double x, double y);

#endif

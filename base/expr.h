/* expr.h: integer expressions in text: the size of a grid, the shape of a buffer.
 *
 * `cdiv(M, BM) * cdiv(N, BN), batch`: numbers, names, + - * // / % and parentheses, cdiv, min, max.
 * Evaluated straight from the text, with 64-bit numbers that may not overflow. Division is
 * Python's:
 * // and % round down; / is allowed where it leaves no remainder. */
#ifndef TILE_BASE_EXPR_H
#define TILE_BASE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ExprName { EXPR_UNKNOWN, EXPR_NOT_INTEGER, EXPR_KNOWN } ExprName;

/* The value of a name. */
typedef ExprName (*ExprLookup)(void *ctx, const char *name, size_t len, int64_t *value);

typedef struct ExprError {
    size_t at;     /* offset in the text */
    bool of_value; /* the text can be read; with these values it has no result */
    char text[160];
} ExprError;

enum { EXPR_MAX_DEPTH = 64 };

/* Evaluates the expressions in text, separated by commas, into out[0..max). Their number, or -1
 * with *err filled. */
int expr_eval_list(const char *text, size_t len, ExprLookup lookup, void *ctx, int64_t *out,
                   int max, ExprError *err);
/* The same for exactly one. */
bool expr_eval(const char *text, size_t len, ExprLookup lookup, void *ctx, int64_t *out,
               ExprError *err);
/* Conditions, separated by commas: two expressions with < <= > >= == or != between them. *holds:
 * all of them do. False with *err filled when one cannot be read or has no value. */
bool expr_holds(const char *text, size_t len, ExprLookup lookup, void *ctx, bool *holds,
                ExprError *err);

#endif

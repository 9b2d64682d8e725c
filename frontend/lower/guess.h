/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* guess.h: what the parameters of a function that says nothing of them could be. */
#ifndef TILE_FRONTEND_LOWER_GUESS_H
#define TILE_FRONTEND_LOWER_GUESS_H

#include "frontend/lower/internal.h"

enum { GUESS_CALLS = 3, GUESS_WORK = 200000 }; /* calls within each other; expressions looked at */

typedef struct Guess Guess;

/* What the names of the function are used for. */
const Guess *guess_roles(Lower *l, const AstFunc *f);
/* "*fp32", "i32": a type that goes with it. */
const char *guess_type(const Guess *g, const AstParam *p);
/* The function of this file that is called by its name; NULL: none. */
const AstFunc *guess_called(const Lower *l, const Expr *call, int *work);

#endif

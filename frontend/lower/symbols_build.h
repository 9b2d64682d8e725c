/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* symbols_build.h: the index of symbols for those who fill it in (see symbols.h). */
#ifndef TILE_FRONTEND_LOWER_SYMBOLS_BUILD_H
#define TILE_FRONTEND_LOWER_SYMBOLS_BUILD_H

#include "frontend/lower/symbols.h"

/* The occurrence at a place, new if there is none. With a name, it is as long as that. */
Occurrence *symbols_place(SymbolIndex *x, Span span, const char *name);

#endif

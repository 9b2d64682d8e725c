/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* live_words.h: how many registers of a thread hold tiles. */
#ifndef TILE_PASSES_LIVE_WORDS_H
#define TILE_PASSES_LIVE_WORDS_H

#include "ir/ir.h"

/* Bytes that a thread has of v; of addresses none, which are made of few registers where they are
 * used. */
int64_t bytes_held(const Value *v);
/* Registers of 32 bits for tiles of numbers that a turn of the loop, or a role, whose block b is
 * has at once, the most of these; with what it uses of outside. */
int64_t live_words(Session *s, const Func *f, const Block *b);

/* Registers of a thread for the sums of the dots in b, without loops inside it. */
int64_t sum_words(const Block *b);

#endif

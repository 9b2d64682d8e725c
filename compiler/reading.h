/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reading.h: the caller's tile_reader -> what the front end reads modules through, with a list of
 * what it asked for.
 *
 * The list is what a cached result depends on besides its key: files that were read, with a digest,
 * and files that were not there, which would have won over others. */
#ifndef TILE_COMPILER_READING_H
#define TILE_COMPILER_READING_H

#include "base/text.h"
#include "frontend/host/search.h"
#include "tile.h"

typedef struct Reading {
    const tile_reader *reader; /* NULL: nothing is read */
    Buf files;                 /* that were read, a path a line */
    Buf looked; /* a line for each question: a digest, "+" (it is there) or "-", its path */
} Reading;

void reading_begin(Reading *r, Arena *a, const tile_reader *reader);
/* What the front end is given; r must outlive it. */
SourceReader reading_source(Reading *r);
/* Every question of such a list has the same answer today. */
bool reading_same(const tile_reader *reader, const char *looked, size_t len);

#endif

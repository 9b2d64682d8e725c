/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* listing.h: PTX with LLVM's line directives -> PTX to read next to its source, or without them. */
#ifndef TILE_COMPILER_REPORT_LISTING_H
#define TILE_COMPILER_REPORT_LISTING_H

#include "base/session.h"

/* The PTX with each line of the sources as a comment above what was made from it; lines of those
 * behind the first with the file's name. */
void listing_annotate(const Source *first, const Buf *ptx, Buf *out);
/* The PTX as it is without line info: no directives, no labels that only these use. */
void listing_strip(const Buf *ptx, Buf *out);
typedef VEC(uint32_t) ListingLines;
/* Of each line of that, appended: the line that the last directive before it in its kernel says; 0:
 * none, or one that says it is of several. */
void listing_lines(const Buf *ptx, Arena *a, ListingLines *lines);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* listing.h: PTX with LLVM's line directives -> PTX to read next to its source, or without them. */
#ifndef TILE_COMPILER_REPORT_LISTING_H
#define TILE_COMPILER_REPORT_LISTING_H

#include "base/session.h"

/* The line of a `.loc` directive at the head of text[0..n); 0 when there is none or no line in it.
 */
uint32_t listing_loc(const char *text, size_t n);
/* The PTX with each line of the source as a comment above what was made from it. */
void listing_annotate(const Source *source, const Buf *ptx, Buf *out);
/* The PTX as it is without line info: no directives, no labels that only these use. */
void listing_strip(const Buf *ptx, Buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* position.h: places of the compiler, lines and bytes from 1, <-> positions of LSP, lines and
 * UTF-16 units from 0; paths <-> URIs.
 *
 * A line ends in "\n" or "\r\n", as the compiler has it. Positions behind a line's end are its end,
 * those behind the text are the text's end, and one between the halves of a surrogate pair is
 * before the character. */
#ifndef TILE_COMPILER_LSP_POSITION_H
#define TILE_COMPILER_LSP_POSITION_H

#include "base/diag.h"

#include <jansson.h>

typedef struct Position {
    size_t line, character;
} Position;

/* The bytes before a position. */
size_t position_offset(const char *text, size_t len, Position at);
/* The byte, from 1, in its line of a position; *line from 1. */
void position_place(const char *text, size_t len, Position at, uint32_t *line, uint32_t *col);
/* UTF-16 units of the first n bytes of a line. */
size_t position_units(const char *line, size_t n);

/* Where the lines of a first source begin, so that an answer with many places takes no longer for a
 * long text; of those behind it lines are looked for. */
typedef struct Lines {
    const Source *first;
    size_t *start; /* malloc'ed */
    uint32_t n;
} Lines;
bool lines_make(Lines *l, const Source *first); /* false: no memory */
/* As source_line(). */
const char *lines_at(const Lines *l, uint32_t line, size_t *len);

/* {"start": …, "end": …} of a span in whichever source it lies; where that has no text: bytes. */
json_t *range_json(const Lines *l, Span span);
json_t *position_json(size_t line, size_t character);
/* {"uri": …, "range": …} */
json_t *location_json(const Lines *l, Span span);

/* Any bytes as a string of JSON: what is no UTF-8 becomes U+FFFD. */
json_t *text_json(const char *s, size_t n);

/* "file:///a/b%20c.tl" -> "/a/b c.tl", malloc'ed; of what is no file of this machine, "<URI>".
 * NULL: no memory. */
char *uri_path(const char *uri);
/* "/a/b c.tl" -> its URI, malloc'ed; a relative path is taken from the working directory, and what
 * is no path, "untitled:1", as it is. NULL: no memory. */
char *path_uri(const char *path);

#endif

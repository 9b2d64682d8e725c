/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* diag.h: places in source files, and what is to be said about them.
 *
 * A compilation may read several sources. Their lines are numbered through, one source behind the
 * other, so that a place says by itself which of them it is in.
 *
 * Nothing in the library prints. Errors are collected in a Diags, in order, and whoever called
 * renders them: `file:line:col: error: text [E0201]`, the source line, a caret span, then the
 * notes. */
#ifndef TILE_BASE_DIAG_H
#define TILE_BASE_DIAG_H

#include "base/codes.h"
#include "base/text.h"

/* A stretch of one source line. Lines and columns count from 1; columns are bytes. Lines of the
 * sources behind the first go on where those before end: source_at() tells them apart. */
typedef struct Span {
    uint32_t line; /* 0: no place known */
    uint16_t col;
    uint16_t end; /* one past the last column; SPAN_TO_LINE_END: the rest of the line */
} Span;
enum { SPAN_TO_LINE_END = UINT16_MAX };
Span span_join(Span first, Span last); /* from the start of one to the end of the other */

typedef struct Source {
    const char *name; /* as shown in messages */
    const char *text; /* NULL when only places are known, not the text */
    size_t len;
    uint32_t before;     /* lines of the sources before it */
    struct Source *next; /* the source behind it, or NULL */
} Source;
/* The source behind `first`, or `first` itself, that has the line. */
const Source *source_at(const Source *first, uint32_t line);
/* The line's number in its own source; 0 of 0. */
uint32_t source_line_number(const Source *first, uint32_t line);
/* The line without its newline; NULL when there is none. */
const char *source_line(const Source *first, uint32_t line, size_t *len);
/* What it is called in outputs: the first by its base name, so that they do not say where it was
 * compiled; those behind it as they were found. */
const char *source_shown_name(const Source *first, const Source *source);
/* The lines that are numbered when another source comes behind `last`. */
uint32_t source_lines_up_to(const Source *last);

typedef struct Diag {
    struct Diag *next;
    Severity severity; /* the code's, or an error's where warnings are errors */
    Code code;
    Span span; /* a note without a place of its own has line 0 */
    const char *text;
} Diag;

typedef struct Diags {
    Arena *arena;
    Diag *first, *last;
    int errors, warnings;
    bool warnings_are_errors;
    bool no_warnings, no_perfs; /* drop these, each with the notes behind it: nobody asked */
    bool dropping;              /* the last one, so its notes too */
    bool muted;                 /* drop everything: for work that is tried and may be undone */
} Diags;

enum { DIAG_MAX_ERRORS = 50 }; /* errors beyond these are counted and not kept */

/* CODE_NONE is a note on what was added before it. */
void diag(Diags *d, Code code, Span span, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* What was said in another compilation, once more. */
void diag_again(Diags *d, Severity severity, Code code, Span span, const char *text);
/* The text with the code behind it, where it has one to show. */
void diag_sentence(const Diag *x, Buf *out);
/* `first`: the source, with those behind it; NULL: none is known. */
void diag_render(const Diags *d, const Source *first, bool color, Buf *out);

#endif

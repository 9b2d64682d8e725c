/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* codes.h: the kinds of messages, out of codes.def: E0201 and the like.
 *
 * Whatever adds a diagnostic names its kind, and the kind says how severe it is: a message without
 * a code does not compile. */
#ifndef TILE_BASE_CODES_H
#define TILE_BASE_CODES_H

#include <stddef.h>

typedef enum Severity { DIAG_ERROR, DIAG_WARNING, DIAG_PERF, DIAG_NOTE } Severity;

typedef enum Code {
    CODE_NONE, /* a note on what was said before it */
#define CODE(letter, number, NAME, title) letter##_##NAME,
#include "base/codes.def"
    CODES
} Code;

enum { CODE_TEXT = 5 }; /* characters of "E0201" */

/* "E0201"; "" of CODE_NONE, and of what is no code. */
const char *code_text(Code code);
/* What is wrong, in a few words. */
const char *code_title(Code code);
Severity code_severity(Code code);
/* The code that the n characters are; CODE_NONE: they are none. */
Code code_find(const char *text, size_t n);
/* Of a rendered message: the code at the end of its first line that has one. */
Code code_in_text(const char *text);

#endif

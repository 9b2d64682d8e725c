/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* messages.h: what the programs have to say, as sentences for people or as JSON for programs.
 *
 * JSON is one object a line: a line is whole as soon as it is there, and what several processes of
 * a build say on one stream still falls into objects. docs/command-line.md says what is in one. */
#ifndef TILE_TOOLS_MESSAGES_H
#define TILE_TOOLS_MESSAGES_H

#include "base/codes.h"
#include "tile.h"

#include <stdbool.h>
#include <stdio.h>

/* Who speaks, and in which form. */
typedef struct Messages {
    const char *program;
    const char *error; /* what stands before a mistake: "error: ", or nothing */
    bool json;
} Messages;

/* Whether the words of a command line ask for JSON: known before they are read, so that a mistake
 * in them is said in the form that they ask for. */
bool messages_json(int argc, char *const *argv);
/* --diagnostics=FORM: false when there is no such form. */
bool messages_form(Messages *m, const char *form);
/* One sentence without a place, on standard error: "tilec: error: text [E0002]". */
void message(const Messages *m, Code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The kind of a mistake that a call of the libraries reports by its status alone. */
Code message_code(tile_status status);
/* What the compiler said, on standard error. NULL: nothing. */
void messages_compiled(const Messages *m, const tile_compiled *compiled);
/* The diagnostic, of this code, and its notes as one line of JSON, with its newline. */
void messages_write(FILE *out, const char *code, const tile_diagnostic *diagnostic);
/* Any text as JSON has it, between quotes; all of it is UTF-8 that a terminal shows. */
void messages_put_text(FILE *out, const char *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options.h: a command line into a stream of options, by one table that is also the help text.
 *
 * A program states its options once, as rows; parsing, the text of --help and the suggestions in
 * error messages all read that table. Accepted are --name=V, --name V, -xV, -x V, -MD (a long name
 * that begins with its only dash; its value is the next word), flags, and `--`,
 * after which everything is positional. `-` alone is positional too (standard input). Parsing
 * allocates nothing and prints nothing. */
#ifndef TILE_TOOLS_OPTIONS_H
#define TILE_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

/* A row without long and short name is a heading of the help text. */
typedef struct OptionRow {
    const char *long_name; /* without two dashes, or with the one it has; NULL: only a short one */
    char short_name;       /* 0: only a long one */
    const char *arg;       /* how help calls the value; NULL: a flag; [=KIND]: it may be left out,
                            * and is attached where it is not */
    const char *help;      /* a sentence; '\n' starts another line, lined up under the first */
    int id;                /* what option_next returns; greater than 0 */
} OptionRow;

enum { OPTION_END = 0, OPTION_POSITIONAL = -1, OPTION_ERROR = -2 };

typedef struct OptionParser {
    const OptionRow *row;
    int nrows;
    char *const *argv; /* as main got them; strings are pointed into, not copied */
    int argc, next;
    int only_positional;
    const char *value; /* of the option or the positional argument just returned */
    char error[512];   /* after OPTION_ERROR: one line of text without a newline */
} OptionParser;

OptionParser option_parser(const OptionRow *row, int nrows, int argc, char *const *argv);
/* The next option's id with p->value set (NULL for a flag), or OPTION_POSITIONAL with p->value,
 * OPTION_END, or OPTION_ERROR with p->error. */
int option_next(OptionParser *p);
/* Whether the word is an option whose value is the next word. */
bool option_wants_value(const OptionRow *row, int nrows, const char *word);
/* Prints the rows as help text, in the table's order. */
void option_print_help(FILE *out, const OptionRow *row, int nrows);
/* What stands before the long name: "--" or "". */
const char *option_dashes(const OptionRow *row);
bool option_is_optional(const OptionRow *row);
/* And before its value: "=" or " ", or nothing where `arg` has it. */
const char *option_equals(const OptionRow *row);
/* A whole decimal number in [least, most], the only text there is. 0 on success, else -1. */
int option_number(const char *text, long least, long most, long *out);
/* Whether messages get colours: `when` is auto (standard error is a terminal that has them, and
 * NO_COLOR is not set), always or never; -1 when it is none of them. */
int option_color(const char *when);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* response.h: a command line with words @FILE -> one with the words of those files in their place.
 *
 * Command lines that a build system makes may be longer than the system allows. A file has words as
 * gcc's response files have them: white space is between words, '…' and "…" hold it together, and a
 * backslash takes the character behind it as it is, inside of quotes too. What is the value of the
 * option before it (--variants @FILE) is no such word, nor is what stands behind `--`. */
#ifndef TILE_TOOLS_RESPONSE_H
#define TILE_TOOLS_RESPONSE_H

#include "tools/options.h"

#include <stddef.h>

typedef struct Words {
    int argc;
    char **argv; /* ends in NULL */
    /* ---- its own ---- */
    char **text; /* what the words of the files are in */
    int ntexts, cap, cap_texts;
    size_t bytes;
    char error[700]; /* what is wrong: a sentence */
    bool unread;     /* that was a file that cannot be read */
} Words;

/* Words of the command line itself are pointed to. False: w->error says why not. words_free. */
bool words_expand(Words *w, const OptionRow *row, int nrows, int argc, char **argv);
void words_free(Words *w);

#endif

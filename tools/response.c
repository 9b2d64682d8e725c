/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* response.c: words @FILE of a command line -> the words in those files (see response.h).
 *
 * Files may name files. One that names itself ends at a depth that no build needs, and one that is
 * named many times at a size that no build needs: both limits are of the whole command line. */
#include "tools/response.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16, MOST_BYTES = 8 << 20, MOST_WORDS = 1 << 20, MOST_FILES = 4096 };

typedef struct Reading {
    Words *w;
    const OptionRow *row;
    int nrows;
    bool value;   /* the next word is an option's */
    bool literal; /* behind `--` */
} Reading;

static bool fail(Words *w, const char *text, const char *file) {
    snprintf(w->error, sizeof w->error, "@%.500s: %s", file, text);
    return false;
}

static bool grow(void *array, int *cap, int n, size_t size) {
    if (n < *cap) return true;
    int more = *cap ? *cap * 2 : 64;
    void *to, *from;
    memcpy(&from, array, sizeof from);
    if (!(to = realloc(from, (size_t)more * size))) return false;
    memcpy(array, &to, sizeof to);
    *cap = more;
    return true;
}

static bool add_word(Words *w, char *word, const char *file) {
    if (w->argc == MOST_WORDS) return fail(w, "that is more than a million words", file);
    if (!grow(&w->argv, &w->cap, w->argc + 1, sizeof *w->argv))
        return fail(w, "out of memory", file);
    w->argv[w->argc++] = word;
    w->argv[w->argc] = NULL;
    return true;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Cuts the next word out of the text, over what it was written as: it gets no longer. NULL: there
 * is none, *open says whether for want of a quote. */
static char *next_word(char **at, bool *open) {
    char *from = *at, quote = 0;
    while (is_space(*from)) from++;
    if (!*from) return NULL;
    char *word = from, *to = from;
    for (; *from && (quote || !is_space(*from)); from++) {
        if (*from == '\\' && from[1])
            *to++ = *++from;
        else if (*from == quote)
            quote = 0;
        else if (!quote && (*from == '"' || *from == '\''))
            quote = *from;
        else
            *to++ = *from;
    }
    *at = from + (*from != 0);
    *to = 0;
    *open = quote != 0;
    return *open ? NULL : word;
}

static bool take_word(Reading *r, char *word, const char *file, int depth);

static bool take_file(Reading *r, const char *file, int depth) {
    Words *w = r->w;
    FileError error;
    char *text;
    size_t len;
    if (!*file) return fail(w, "names no file", file);
    if (depth == MOST_DEPTH)
        return fail(w, "16 files name each other, which would go on for ever", file);
    if (!file_read(file, MOST_BYTES - w->bytes, &text, &len, &error)) {
        if (error.too_large) return fail(w, "such files are larger than 8 MB together", file);
        w->unread = !error.out_of_memory;
        snprintf(w->error, sizeof w->error, "%s", error.text);
        return false;
    }
    w->bytes += len;
    if (w->ntexts == MOST_FILES) {
        free(text);
        return fail(w, "that is file number 4097", file);
    }
    if (!grow(&w->text, &w->cap_texts, w->ntexts, sizeof *w->text)) {
        free(text);
        return fail(w, "out of memory", file);
    }
    w->text[w->ntexts++] = text;
    if (strlen(text) != len) return fail(w, "has a NUL in it, so it is no text", file);
    bool open = false;
    for (char *word; (word = next_word(&text, &open));)
        if (!take_word(r, word, file, depth + 1)) return false;
    return open ? fail(w, "a quote is not closed", file) : true;
}

static bool take_word(Reading *r, char *word, const char *file, int depth) {
    bool plain = r->value || r->literal;
    if (!plain && word[0] == '@') return take_file(r, word + 1, depth);
    r->literal = r->literal || (!plain && strcmp(word, "--") == 0);
    r->value = !plain && option_wants_value(r->row, r->nrows, word);
    return add_word(r->w, word, file);
}

bool words_expand(Words *w, const OptionRow *row, int nrows, int argc, char **argv) {
    Reading r = {.w = w, .row = row, .nrows = nrows};
    *w = (Words){.argc = 0};
    bool ok = argc == 0 || add_word(w, argv[0], "");
    for (int i = 1; ok && i < argc; i++) ok = take_word(&r, argv[i], "", 0);
    return ok;
}

void words_free(Words *w) {
    for (int i = 0; i < w->ntexts; i++) free(w->text[i]);
    free(w->text);
    free(w->argv);
}

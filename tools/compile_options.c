/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile_options.c: options.def expanded for command lines: an id and its text -> a field (see
 * compile_options.h). */
#include "tools/compile_options.h"

#include "tools/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum RowKind { KIND_TEXT, KIND_LIST, KIND_INT, KIND_FLAG, KIND_WORD, KIND_EMIT } RowKind;

/* A field; those that no command line has are here to be compared. */
typedef struct Row {
    RowKind kind;
    int id;
    size_t offset, count; /* in tile_compile_options; the latter of a list's number */
    char letter;
    const char *long_name, *words;
} Row;

static const Row rows[] = {
#define AT(name) offsetof(tile_compile_options, name)
#define COUNT_TEXT(name) 0
#define COUNT_LIST(name) AT(n##name)
#define COUNT_INT(name) 0
#define COUNT_FLAG(name) 0
#define COUNT_WORD(name) 0
#define COUNT_EMIT(name) 0
#define HOME_FIELD(name) FIELD(INT, name, 0)
#define HOME_NAMED(name)
#define FIELD(is, field, traits)                                                                   \
    {.kind = KIND_##is, .offset = AT(field), .count = COUNT_##is(field)},
#define OPTION(is, field, traits, programs, letter_, long_name_, arg, words_, ...)                 \
    {.kind = KIND_##is,                                                                            \
     .id = OPT_##field,                                                                            \
     .offset = AT(field),                                                                          \
     .count = COUNT_##is(field),                                                                   \
     .letter = letter_,                                                                            \
     .long_name = long_name_,                                                                      \
     .words = words_},
#define KERNEL_OPTION(home, name, ...) HOME_##home(name)
#include "ir/options.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct {
    int id;
    KernelOption option;
    const char *long_name, *arg;
} kernel_rows[] = {
#define KERNEL_OPTION(home, name, attribute, least, most, absent, traits, long_name, arg, help)    \
    {OPT_##name, OPTION_##name, long_name, arg},
#include "ir/options.def"
};

/* ---- taking one ---- */

/* Sets the number of the word. */
static bool take_word(const Row *r, const char *value, int *out, char why[OPTION_WHY]) {
    char shown[80] = "";
    size_t n = strlen(value), used = 0;
    int which = 0;
    for (const char *w = r->words; *w; which++) {
        size_t len = strcspn(w, " ");
        if (len == n && memcmp(w, value, n) == 0) return *out = which, true;
        used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%s%.*s", which ? " or " : "",
                                 r->letter ? (const char[]){'-', r->letter, 0} : "", (int)len, w);
        w += len + (w[len] == ' ');
    }
    if (r->letter)
        snprintf(why, OPTION_WHY, "-%c is %s, not -%c%.60s", r->letter, shown, r->letter, value);
    else
        snprintf(why, OPTION_WHY, "--%s is %s, not '%.60s'", r->long_name, shown, value);
    return false;
}

bool compile_options_add(char **options, const char *item, size_t len) {
    size_t had = *options ? strlen(*options) : 0;
    char *grown = realloc(*options, had + len + 2);
    if (!grown) return false;
    if (had) grown[had++] = ',';
    memcpy(grown + had, item, len);
    grown[had + len] = '\0';
    *options = grown;
    return true;
}

static bool take_kernel_option(tile_compile_options *o, char **options, int row, const char *value,
                               char why[OPTION_WHY]) {
    const OptionInfo *info = &option_info[kernel_rows[row].option];
    const char *arg = kernel_rows[row].arg, *digits = arg ? value : "1";
    bool words = arg && strchr(arg, '|');
    char item[64];
    long v = words ? option_word(kernel_rows[row].option, digits, strlen(digits)) : 0;
    if (words && !v) {
        snprintf(why, OPTION_WHY, "--%s is %s, not '%.60s'", kernel_rows[row].long_name, arg,
                 digits);
        return false;
    }
    if (!words && option_number(digits, (long)info->rule.least, 1000000, &v)) {
        snprintf(why, OPTION_WHY, "--%s takes a whole number from %ld on, not '%.60s'",
                 kernel_rows[row].long_name, (long)info->rule.least, digits);
        return false;
    }
    int n = snprintf(item, sizeof item, "%s=%ld", info->name, v);
    snprintf(why, OPTION_WHY, "out of memory");
    if (!compile_options_add(options, item, (size_t)n)) return false;
    o->options = *options;
    return true;
}

bool compile_option_take(tile_compile_options *o, char **options, int id, const char *value,
                         char why[OPTION_WHY]) {
    for (int i = 0; i < OPTIONS; i++)
        if (kernel_rows[i].id == id) return take_kernel_option(o, options, i, value, why);
    for (int i = 0; i < ROWS; i++) {
        const Row *r = &rows[i];
        char *field = (char *)o + r->offset;
        int number = 1;
        if (r->id != id) continue;
        if (r->kind == KIND_WORD && value && !take_word(r, value, &number, why)) return false;
        if (r->kind == KIND_TEXT)
            memcpy(field, &value, sizeof value);
        else
            memcpy(field, &number, sizeof number);
        return true;
    }
    return false;
}

/* ---- comparing ---- */

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int number_at(const tile_compile_options *o, size_t offset) {
    int v;
    memcpy(&v, (const char *)o + offset, sizeof v);
    return v;
}

static const char *const *pointer_at(const tile_compile_options *o, size_t offset) {
    const char *const *p;
    memcpy(&p, (const char *)o + offset, sizeof p);
    return p;
}

bool compile_options_same(const tile_compile_options *a, const tile_compile_options *b) {
    for (int i = 0; i < ROWS; i++) {
        const Row *r = &rows[i];
        bool same = true;
        if (r->kind == KIND_TEXT) {
            const char *x, *y;
            memcpy(&x, (const char *)a + r->offset, sizeof x);
            memcpy(&y, (const char *)b + r->offset, sizeof y);
            same = same_text(x, y);
        } else if (r->kind == KIND_LIST) {
            int n = number_at(a, r->count);
            same = n == number_at(b, r->count);
            for (int t = 0; same && t < n; t++)
                same = same_text(pointer_at(a, r->offset)[t], pointer_at(b, r->offset)[t]);
        } else {
            same = number_at(a, r->offset) == number_at(b, r->offset);
        }
        if (!same) return false;
    }
    return true;
}

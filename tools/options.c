/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options.c: walks argv by the option table and prints the table as help (see options.h). */
#include "tools/options.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NAMES = 64, HELP_COLUMN = 26 };

OptionParser option_parser(const OptionRow *row, int nrows, int argc, char *const *argv) {
    return (OptionParser){.row = row, .nrows = nrows, .argv = argv, .argc = argc, .next = 1};
}

static int fail(OptionParser *p, const char *before, const char *name, size_t n,
                const char *after) {
    snprintf(p->error, sizeof p->error, "%s%.*s%s", before, (int)(n > 120 ? 120 : n), name, after);
    return OPTION_ERROR;
}

static int unknown_long(OptionParser *p, const char *name, size_t n) {
    const char *names[MAX_NAMES];
    size_t count = 0;
    for (int i = 0; i < p->nrows && count < MAX_NAMES; i++)
        if (p->row[i].long_name) names[count++] = p->row[i].long_name;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(n > 60 ? 60 : n), name);
    const char *near = nearest_name(word, names, count);
    char after[128] = "";
    if (near) snprintf(after, sizeof after, "; did you mean --%s?", near);
    return fail(p, "unknown option --", name, n, after);
}

const char *option_dashes(const OptionRow *row) {
    return row->long_name && row->long_name[0] == '-' ? "" : "--";
}

bool option_is_optional(const OptionRow *row) {
    return row->arg && row->arg[0] == '[';
}

const char *option_equals(const OptionRow *row) {
    if (option_is_optional(row)) return "";
    return row->long_name && row->long_name[0] != '-' ? "=" : " ";
}

/* `attached` is the text after '=' or behind the letter, NULL when there is none. */
static int take(OptionParser *p, const OptionRow *row, const char *attached) {
    p->value = NULL;
    const char *shown = row->long_name;
    char letter[2] = {row->short_name, 0};
    if (!shown) shown = letter;
    const char *dashes = row->long_name ? option_dashes(row) : "-";
    char before[8];
    snprintf(before, sizeof before, "%s", dashes);
    if (!row->arg) {
        if (attached) return fail(p, before, shown, strlen(shown), " takes no value");
        return row->id;
    }
    if (attached) {
        p->value = attached;
        return row->id;
    }
    if (option_is_optional(row)) return row->id;
    if (p->next >= p->argc) {
        char after[128];
        snprintf(after, sizeof after, " needs a value (%s)", row->arg);
        return fail(p, before, shown, strlen(shown), after);
    }
    p->value = p->argv[p->next++];
    return row->id;
}

int option_next(OptionParser *p) {
    if (p->next >= p->argc) return OPTION_END;
    const char *a = p->argv[p->next++];
    p->value = a;
    if (p->only_positional || a[0] != '-' || a[1] == 0) return OPTION_POSITIONAL;
    if (strcmp(a, "--") == 0) {
        p->only_positional = 1;
        return option_next(p);
    }
    if (a[1] == '-') {
        const char *name = a + 2, *equals = strchr(name, '=');
        size_t n = equals ? (size_t)(equals - name) : strlen(name);
        for (int i = 0; i < p->nrows; i++) {
            const char *l = p->row[i].long_name;
            if (l && strlen(l) == n && memcmp(l, name, n) == 0)
                return take(p, &p->row[i], equals ? equals + 1 : NULL);
        }
        return unknown_long(p, name, n);
    }
    for (int i = 0; i < p->nrows; i++)
        if (p->row[i].long_name && strcmp(p->row[i].long_name, a) == 0)
            return take(p, &p->row[i], NULL);
    for (int i = 0; i < p->nrows; i++)
        if (p->row[i].short_name && p->row[i].short_name == a[1])
            return take(p, &p->row[i], a[2] ? a + 2 : NULL);
    return fail(p, "unknown option ", a, strlen(a), "");
}

bool option_wants_value(const OptionRow *row, int nrows, const char *word) {
    for (int i = 0; i < nrows && word[0] == '-'; i++) {
        const char *name = row[i].long_name, *dashes = option_dashes(&row[i]);
        size_t n = strlen(dashes);
        bool is_long = name && strncmp(word, dashes, n) == 0 && strcmp(word + n, name) == 0;
        bool is_short = row[i].short_name && word[1] == row[i].short_name && !word[2];
        if (is_long || is_short) return row[i].arg && !option_is_optional(&row[i]);
    }
    return false;
}

static void print_wrapped(FILE *out, int column, const char *text) {
    if (column >= HELP_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    for (; *text; text++) {
        fputc(*text, out);
        if (*text == '\n') fprintf(out, "%*s", HELP_COLUMN, "");
    }
    fputc('\n', out);
}

void option_print_help(FILE *out, const OptionRow *row, int nrows) {
    for (int i = 0; i < nrows; i++) {
        const OptionRow *r = &row[i];
        if (!r->long_name && !r->short_name) {
            fprintf(out, "%s%s\n", i ? "\n" : "", r->help);
            continue;
        }
        int column = fprintf(out, "  ");
        if (r->short_name) column += fprintf(out, "-%c", r->short_name);
        if (r->short_name && r->long_name) column += fprintf(out, ", ");
        if (r->long_name) column += fprintf(out, "%s%s", option_dashes(r), r->long_name);
        if (r->arg) column += fprintf(out, "%s%s", option_equals(r), r->arg);
        print_wrapped(out, column, r->help);
    }
}

int option_number(const char *text, long least, long most, long *out) {
    char *end;
    if (!isdigit((unsigned char)text[*text == '-'])) return -1; /* strtol takes " +4", too */
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < least || v > most) return -1;
    *out = v;
    return 0;
}

int option_color(const char *when) {
    const char *term = getenv("TERM"), *none = getenv("NO_COLOR");
    if (strcmp(when, "always") == 0) return 1;
    if (strcmp(when, "never") == 0) return 0;
    if (strcmp(when, "auto") != 0) return -1;
    return isatty(STDERR_FILENO) && !(none && *none) && term && strcmp(term, "dumb") != 0;
}

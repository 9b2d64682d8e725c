/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_explain.c: "E0201" -> its page, out of the files of tools/explain/ (see tilec_explain.h).
 *
 * The files are in the program one behind the other. A page begins with a line that is its code,
 * and goes on to the next such line; tests/explain.py compiles its examples. */
#include "tools/tilec_explain.h"

#include "base/text.h"
#include "tools/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

extern const char explain_pages[];

/* The n characters are a code and nothing else. */
static Code code_of_line(const char *line, size_t n) {
    return n == CODE_TEXT ? code_find(line, n) : CODE_NONE;
}

static size_t line_length(const char *line) {
    return strcspn(line, "\n");
}

static const char *next_line(const char *line) {
    line += line_length(line);
    return line + (*line == '\n');
}

/* The text of the page behind its first line; NULL: there is none. */
static const char *find_page(Code code, size_t *len) {
    const char *line = explain_pages;
    while (*line && code_of_line(line, line_length(line)) != code) line = next_line(line);
    if (!*line) return NULL;
    const char *start = next_line(line), *end = start;
    while (*end && !code_of_line(end, line_length(end))) end = next_line(end);
    while (end > start && end[-1] == '\n') end--;
    *len = (size_t)(end - start);
    return start;
}

static bool print_all(void) {
    bool ok = true;
    for (int i = CODE_NONE + 1; i < CODES; i++)
        ok = printf("%s  %s\n", code_text((Code)i), code_title((Code)i)) > 0 && ok;
    return ok;
}

/* The nearest by letters; else, of its kind and its hundred, by number: E0299 is near E0213. */
static const char *near_code(const char *word) {
    const char *names[CODES];
    for (int i = 0; i < CODES; i++) names[i] = i ? code_text((Code)i) : NULL;
    const char *near = nearest_name(word, names, CODES);
    long wanted, least = 100;
    if (near || !*word || option_number(word + 1, 0, 9999, &wanted)) return near;
    for (int i = CODE_NONE + 1; i < CODES; i++) {
        long away = labs(strtol(names[i] + 1, NULL, 10) - wanted);
        if (names[i][0] != *word || away >= least) continue;
        least = away;
        near = names[i];
    }
    return near;
}

tile_status explain_command(const Messages *m, const char *what) {
    char word[CODE_TEXT + 4];
    size_t n = 0, len = 0;
    if (strcmp(what, "all") == 0) return print_all() ? TILE_OK : TILE_IO;
    /* As it stands in a message, or in small letters. */
    for (const char *c = what; *c && n < sizeof word - 1; c++)
        if (*c != '[' && *c != ']') word[n++] = (char)toupper((unsigned char)*c);
    word[n] = '\0';
    Code code = code_find(word, n);
    const char *page = code ? find_page(code, &len) : NULL;
    if (page) {
        bool ok = printf("%s: %s\n\n%.*s\n", code_text(code), code_title(code), (int)len, page) > 0;
        return ok ? TILE_OK : TILE_IO;
    }
    const char *near = near_code(word);
    message(m, E_COMMAND_LINE, "--explain: there is no code '%.80s'%s%s%s", what,
            near ? "; did you mean " : "", near ? near : "",
            near ? "?" : "; --explain=all lists them");
    return TILE_INVALID;
}

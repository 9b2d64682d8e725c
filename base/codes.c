/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* codes.c: the table of codes, and how a code is found by its text (see codes.h). */
#include "base/codes.h"

#include <string.h>

static const struct {
    char text[CODE_TEXT + 1];
    const char *title;
} info[CODES] = {
    [CODE_NONE] = {"", ""},
#define CODE(letter, number, NAME, title) [letter##_##NAME] = {#letter #number, title},
#include "base/codes.def"
};

static size_t known(Code code) {
    size_t i = (size_t)code;
    return i < CODES ? i : CODE_NONE;
}

const char *code_text(Code code) {
    return info[known(code)].text;
}

const char *code_title(Code code) {
    return info[known(code)].title;
}

Severity code_severity(Code code) {
    switch (*code_text(code)) {
    case 'W': return DIAG_WARNING;
    case 'P': return DIAG_PERF;
    case 'N':
    case '\0': return DIAG_NOTE;
    default: return DIAG_ERROR;
    }
}

Code code_find(const char *text, size_t n) {
    for (int i = CODE_NONE + 1; n == CODE_TEXT && i < CODES; i++)
        if (memcmp(info[i].text, text, n) == 0) return (Code)i;
    return CODE_NONE;
}

Code code_in_text(const char *text) {
    enum { ROOM = CODE_TEXT + 3 }; /* " [E0201]" */
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        const char *end = line + n;
        if (n > ROOM && end[-ROOM] == ' ' && end[1 - ROOM] == '[' && end[-1] == ']') {
            Code code = code_find(end + 2 - ROOM, CODE_TEXT);
            if (code) return code;
        }
        line = *end ? end + 1 : end;
    }
    return CODE_NONE;
}

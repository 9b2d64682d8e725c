/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* messages.c: diagnostics -> sentences or lines of JSON on standard error (see messages.h). */
#include "tools/messages.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char option[] = "--diagnostics";

bool messages_json(int argc, char *const *argv) {
    const char *form = NULL;
    size_t n = sizeof option - 1;
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (strncmp(argv[i], option, n)) continue;
        if (argv[i][n] == '=') form = argv[i] + n + 1;
        if (!argv[i][n] && i + 1 < argc) form = argv[i + 1];
    }
    return form && strcmp(form, "json") == 0;
}

bool messages_form(Messages *m, const char *form) {
    m->json = strcmp(form, "json") == 0;
    return m->json || strcmp(form, "text") == 0;
}

/* Names of files may be any bytes; JSON is UTF-8, and a terminal acts on control characters. */
void messages_put_text(FILE *out, const char *s) {
    size_t n = strlen(s), whole = utf8_valid_prefix(s, n);
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (i == whole) {
            fputs("\\ufffd", out);
            whole = i + 1 + utf8_valid_prefix(s + i + 1, n - i - 1);
        } else if (c == '\n') {
            fputs("\\n", out);
        } else if (c == '"' || c == '\\') {
            fprintf(out, "\\%c", c);
        } else if (c == 0xC2 && (unsigned char)s[i + 1] < 0xA0) {
            fprintf(out, "\\u%04x", (unsigned char)s[++i]);
        } else if (c < 32 || c == 127) {
            fprintf(out, "\\u%04x", c);
        } else {
            fputc(c, out);
        }
    }
    fputc('"', out);
}

static void put_one(FILE *out, const char *code, const tile_diagnostic *d) {
    static const char *const word[] = {"error", "warning", "perf", "note"};
    fprintf(out, "{\"severity\": \"%s\"", word[d->severity]);
    if (*code) fprintf(out, ", \"code\": \"%s\"", code);
    fputs(", \"text\": ", out);
    messages_put_text(out, d->text);
    if (!d->file) return;
    fputs(", \"file\": ", out);
    messages_put_text(out, d->file);
    fprintf(out, ", \"line\": %u, \"column\": %u, \"end_column\": %u", d->line, d->column,
            d->end_column);
}

void messages_write(FILE *out, const char *code, const tile_diagnostic *d) {
    put_one(out, code, d);
    fputs(", \"notes\": [", out);
    for (int i = 1; i <= d->notes; i++) {
        if (i > 1) fputs(", ", out);
        put_one(out, "", &d[i]);
        fputc('}', out);
    }
    fputs("]}\n", out);
}

/* All of a line in one write, so that no other process's words come between. */
static void say(const char *code, const tile_diagnostic *d) {
    char *line = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&line, &len);
    if (!out) return;
    messages_write(out, code, d);
    if (fclose(out) == 0) fwrite(line, 1, len, stderr);
    free(line);
}

/* Names of files and words of @FILE may hold what a terminal acts on, or no text at all. */
static void make_harmless(char *s) {
    size_t n = strlen(s);
    for (size_t i = 0, whole = utf8_valid_prefix(s, n); i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool control = (c < 32 && c != '\n') || c == 127;
        if (i < whole && c == 0xC2 && (unsigned char)s[i + 1] < 0xA0) /* controls beyond ASCII */
            s[i] = s[i + 1] = '?';
        else if (control || i == whole)
            s[i] = '?';
        if (i == whole) whole = i + 1 + utf8_valid_prefix(s + i + 1, n - i - 1);
    }
}

void message(const Messages *m, Code code, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    char *text = text_vformat(format, ap);
    va_end(ap);
    tile_diagnostic d = {.severity = (tile_severity)code_severity(code),
                         .text = text ? text : "out of memory"};
    const char *word = code_text(code);
    bool error = d.severity == TILE_SEVERITY_ERROR;
    bool told = code_in_text(d.text) == code; /* a rendered message has it inside */
    if (text && !m->json) make_harmless(text);
    if (m->json)
        say(word, &d);
    else if (error && told)
        fprintf(stderr, "%s: %s%s\n", m->program, m->error, d.text);
    else if (error)
        fprintf(stderr, "%s: %s%s [%s]\n", m->program, m->error, d.text, word);
    else
        fprintf(stderr, "%s: %s\n", m->program, d.text);
    free(text);
}

Code message_code(tile_status status) {
    if (status == TILE_INVALID) return E_COMMAND_LINE;
    if (status == TILE_INTERNAL) return E_BUG;
    const char *text = tile_status_code(status);
    return code_find(text, strlen(text));
}

void messages_compiled(const Messages *m, const tile_compiled *compiled) {
    if (!m->json) {
        fputs(tile_compiled_text(compiled, TILE_PART_DIAGNOSTICS, NULL), stderr);
        return;
    }
    const tile_diagnostic *d;
    int n = tile_compiled_diagnostics(compiled, &d);
    for (int i = 0; i < n; i += 1 + d[i].notes) say(tile_compiled_code(compiled, i), &d[i]);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_report.c: two files and their options -> one report of what differs; a place in PTX -> what
 * stands behind it (see tilec_report.h). */
#include "tools/tilec_report.h"

#include "base/text.h"
#include "base/file.h"
#include "tools/crash.h"
#include "tools/tilec_deps.h"
#include "tools/tilec_ptxas.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_LIMIT_MB = 8, PTX_LIMIT_MB = 256, PATH_TEXT = 4096 };

static tile_status complain(const Messages *m, tile_status st, const char *text) {
    message(m, message_code(st), "%s", text);
    return st;
}

static tile_status unread(const Messages *m, const FileError *error) {
    message(m, error->too_large ? E_SOURCE_LIMIT : R_IO, "%s", error->text);
    return error->too_large ? TILE_COMPILE_ERROR : TILE_IO;
}

bool report_has_news(const tile_compiled *c) {
    const tile_diagnostic *d;
    for (int i = tile_compiled_diagnostics(c, &d); i > 0; i--, d++)
        if (d->severity == TILE_SEVERITY_ERROR || d->severity == TILE_SEVERITY_WARNING) return true;
    return false;
}

static tile_status compile_file(const Messages *m, const char *path, tile_compile_options o,
                                tile_compiled **out) {
    FileError error;
    char *text;
    Deps deps = {.n = 0};
    *out = NULL;
    if (!file_read(path, (size_t)INPUT_LIMIT_MB << 20, &text, &o.source_len, &error))
        return unread(m, &error);
    deps_begin(&deps);
    o.reader = &deps.reader;
    o.source = text;
    o.file_name = path;
    o.input_is_tir = text_ends_in(path, ".tir");
    tile_status st = crash_compile(m, &o, out);
    if (st == TILE_NO_MEMORY) complain(m, st, "the compilation needs too much memory");
    if (report_has_news(*out)) messages_compiled(m, *out);
    deps_free(&deps);
    free(text);
    return st;
}

tile_status report_compare_files(const Messages *m, const tile_compile_options option[2],
                                 const char *const path[2], tile_report_format format, bool all,
                                 char **text, size_t *len) {
    tile_compiled *side[2] = {NULL, NULL};
    tile_status st = TILE_OK;
    *text = NULL;
    for (int i = 0; i < 2 && !st; i++) {
        tile_compile_options o = option[i];
        o.report = 1;
        o.assembler = ptxas_assembler();
        o.no_perf_notes = 0; /* they are reasons */
        st = compile_file(m, path[i], o, &side[i]);
    }
    if (!st) st = tile_report_compare(side[0], side[1], format, all, text, len);
    for (int i = 0; i < 2; i++) tile_compiled_free(side[i]);
    return st;
}

/* ---- one instruction ---- */

static const char *next_line(const char *p) {
    const char *end = strchr(p, '\n');
    return end ? end + 1 : p + strlen(p);
}

static bool is_note(const char *line) {
    return strncmp(line, "//~", 3) == 0;
}

static bool has_notes(const char *ptx) {
    return is_note(ptx) || strstr(ptx, "\n//~");
}

/* The line of the annotated PTX that is line `line` of the plain one; 0: they are not the same,
 * *differs says from where on. */
static uint32_t line_with_notes(const char *plain, const char *noted, uint32_t line,
                                uint32_t *differs) {
    uint32_t at = 1, n = 1, found = 0;
    *differs = 0;
    while (*plain || *noted) {
        while (is_note(noted)) noted = next_line(noted), n++;
        const char *p = next_line(plain), *q = next_line(noted);
        if (p - plain != q - noted || memcmp(plain, noted, (size_t)(p - plain))) {
            *differs = at;
            return 0;
        }
        if (at == line) found = n;
        plain = p, noted = q;
        at++, n++;
    }
    return found;
}

static tile_status explain_with_source(const Messages *m, const char *file, char *ptx,
                                       uint32_t *line, const tile_compile_options *option,
                                       const char *path, char **noted) {
    tile_compiled *c;
    tile_compile_options o = *option;
    char why[PATH_TEXT + 200];
    uint32_t differs;
    o.annotate = 1;
    o.report = 0;
    tile_status st = compile_file(m, path, o, &c);
    *noted = st ? NULL : strdup(tile_compiled_text(c, TILE_PART_OUTPUT, NULL));
    tile_compiled_free(c);
    if (st) return st;
    if (!*noted) return complain(m, TILE_NO_MEMORY, "out of memory");
    *line = line_with_notes(ptx, *noted, *line, &differs);
    if (!differs) return TILE_OK;
    snprintf(why, sizeof why,
             "'%s' is not what '%s' becomes with these options: it differs from line %u on", file,
             path, differs);
    return complain(m, TILE_COMPILE_ERROR, why);
}

tile_status report_explain_place(const Messages *m, const char *place,
                                 const tile_compile_options *option, const char *path, char **text,
                                 size_t *len) {
    const char *colon = strrchr(place, ':');
    char file[PATH_TEXT], why[PATH_TEXT + 200];
    unsigned long asked =
        colon && isdigit((unsigned char)colon[1]) ? strtoul(colon + 1, NULL, 10) : 0;
    FileError error;
    size_t size;
    char *ptx, *noted = NULL;
    *text = NULL;
    if (!asked || asked > UINT32_MAX || (size_t)(colon - place) >= sizeof file)
        return complain(m, TILE_INVALID, "--explain-ptx takes FILE.ptx:LINE");
    snprintf(file, sizeof file, "%.*s", (int)(colon - place), place);
    if (!file_read(file, (size_t)PTX_LIMIT_MB << 20, &ptx, &size, &error)) return unread(m, &error);
    uint32_t line = (uint32_t)asked;
    tile_status st = TILE_OK;
    if (has_notes(ptx)) {
        noted = ptx;
    } else if (path) {
        st = explain_with_source(m, file, ptx, &line, option, path, &noted);
    } else {
        snprintf(why, sizeof why,
                 "'%s' has no lines //~: name the source that it is of, too, with the options that "
                 "it was compiled with, or write it with --annotate",
                 file);
        st = complain(m, TILE_INVALID, why);
    }
    if (!st) st = tile_report_explain(noted, strlen(noted), line, text, len);
    if (st == TILE_NOT_FOUND) {
        snprintf(why, sizeof why, "there is no instruction in line %lu of '%s'", asked, file);
        complain(m, st, why);
    }
    if (noted != ptx) free(noted);
    free(ptx);
    return st;
}

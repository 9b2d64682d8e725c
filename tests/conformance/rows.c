/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rows.c: reads triton/index.csv: text to rows.
 *
 * Convention: fields are separated by commas; one that holds a comma or a quote stands in quotes,
 * a quote within it doubled. A row with an error has no result: those that Triton's compiler breaks
 * down on (a RuntimeError, not a CompilationError) or has no conversion for (integers and fp8) may
 * be refused or given a meaning. */
#include "tests/conformance/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASE, EXPR, X, Y, RESULT, N, X_AT, Y_AT, OUT_AT, ERROR, FIELDS };

/* The whole file, with a NUL behind it; NULL when it cannot be read. */
static void *read_file(const char *folder, const char *name, size_t *size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    long end = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
    char *p = end < 0 || fseek(f, 0, SEEK_SET) ? NULL : malloc((size_t)end + 1);
    if (p) {
        *size = fread(p, 1, (size_t)end, f);
        p[*size] = '\0';
    }
    fclose(f);
    return p;
}

/* Cuts one field out of the text in place, unquoting it; *p moves behind it and its comma. */
static char *next_field(char **p) {
    char *in = *p, *out = in, *field = in;
    bool quoted = *in == '"';
    in += quoted;
    while (*in && (quoted || (*in != ',' && *in != '\n' && *in != '\r'))) {
        if (quoted && *in == '"' && *++in != '"') quoted = false;
        if (quoted || (*in && *in != ',' && *in != '\n' && *in != '\r')) *out++ = *in++;
    }
    if (*in == ',') in++;
    *out = '\0';
    *p = in;
    return field;
}

/* What a cast goes to, from its text: x.to(tl.float32). */
static tile_type cast_target(const char *expr) {
    static const struct {
        const char *name;
        tile_type type;
    } names[] = {{"float8e4nv", TILE_FP8E4NV}, {"float8e5", TILE_FP8E5},
                 {"int1)", TILE_I1},           {"int8", TILE_I8},
                 {"int16", TILE_I16},          {"int32", TILE_I32},
                 {"int64", TILE_I64},          {"uint8", TILE_U8},
                 {"uint16", TILE_U16},         {"uint32", TILE_U32},
                 {"uint64", TILE_U64}};
    const char *at = strstr(expr, ".to(tl.");
    for (size_t i = 0; at && i < sizeof names / sizeof *names; i++)
        if (strncmp(at + 7, names[i].name, strlen(names[i].name)) == 0) return names[i].type;
    return TILE_NONE;
}

static bool read_row(Row *r, char *line, size_t data_size) {
    char *field[FIELDS], *p = line;
    for (int i = 0; i < FIELDS; i++) field[i] = next_field(&p);
    r->kind = field[CASE];
    r->expr = field[EXPR];
    r->x = type_find(field[X], strlen(field[X]));
    r->y = type_find(field[Y], strlen(field[Y]));
    r->n = strtoul(field[N], NULL, 10);
    r->x_at = strtoul(field[X_AT], NULL, 10);
    r->y_at = strtoul(field[Y_AT], NULL, 10);
    if (r->x == TILE_NONE || r->y == TILE_NONE || !r->n || r->n > data_size ||
        r->x_at > data_size - r->n * type_size(r->x) ||
        r->y_at > data_size - r->n * type_size(r->y))
        return false;
    if (*field[ERROR]) {
        bool broke_down = strncmp(field[ERROR], "RuntimeError", 12) == 0 ||
                          strstr(field[ERROR], "CompilationError: cannot cast");
        r->expect = broke_down ? EXPECT_EITHER : EXPECT_REFUSAL;
        r->result = cast_target(r->expr);
        if (r->result == TILE_NONE) r->result = r->x;
        return true;
    }
    r->expect = EXPECT_VALUES;
    r->result = type_find(field[RESULT], strlen(field[RESULT]));
    r->out_at = strtoul(field[OUT_AT], NULL, 10);
    return r->result != TILE_NONE && *field[OUT_AT] &&
           r->out_at <= data_size - r->n * type_size(r->result);
}

bool rows_read(Rows *rows, const char *folder, char *why, size_t why_size) {
    size_t size = 0;
    *rows = (Rows){0};
    rows->text = read_file(folder, "index.csv", &size);
    rows->data = read_file(folder, "data.bin", &rows->data_size);
    int lines = 0;
    for (size_t i = 0; i < size; i++) lines += rows->text[i] == '\n';
    rows->row = calloc((size_t)lines + 1, sizeof *rows->row);
    if (!rows->text || !rows->data || !rows->row) {
        snprintf(why, why_size, "%s/index.csv and data.bin cannot be read", folder);
        return false;
    }
    int number = 0;
    for (char *p = rows->text, *next; *p; p = next) {
        char *end = strchr(p, '\n');
        next = end ? end + 1 : p + strlen(p);
        if (end) *end = '\0';
        if (!number++) continue; /* the head */
        Row *r = &rows->row[rows->count++];
        r->line = number;
        if (read_row(r, p, rows->data_size)) continue;
        snprintf(why, why_size, "%s/index.csv:%d: this row is not well formed", folder, number);
        return false;
    }
    return true;
}

void rows_free(Rows *rows) {
    free(rows->text);
    free(rows->row);
    free(rows->data);
}

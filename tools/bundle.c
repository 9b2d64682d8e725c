/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bundle.c: options and files <-> the text of a bundle (see bundle.h). */
#include "tools/bundle.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { BUNDLE_LIMIT_MB = 512 };

typedef enum Kind { KIND_TEXT, KIND_NUMBER, KIND_LIST } Kind;
typedef struct Row {
    const char *name;
    Kind kind;
    size_t offset, count; /* in tile_compile_options; the latter of a list's number */
} Row;

static const Row rows[] = {
#define AT(name) offsetof(tile_compile_options, name)
#define ROW_TEXT(name) {#name, KIND_TEXT, AT(name), 0},
#define ROW_LIST(name) {#name, KIND_LIST, AT(name), AT(n##name)},
#define ROW_INT(name) {#name, KIND_NUMBER, AT(name), 0},
#define ROW_FLAG(name) ROW_INT(name)
#define ROW_WORD(name) ROW_INT(name)
#define ROW_EMIT(name) ROW_INT(name)
#define HOME_FIELD(name) ROW_INT(name)
#define HOME_NAMED(name)
#define FIELD(kind, name, traits) ROW_##kind(name)
#define KERNEL_OPTION(home, name, ...) HOME_##home(name)
#include "ir/options.def"
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert(sizeof(tile_emit) == sizeof(int), "an emit is read and written as a number");

/* ---- out ---- */

void bundle_put(FILE *out, const char *kind, const char *name, const char *data, size_t len) {
    fprintf(out, "%s %zu %zu\n%s\n", kind, strlen(name), len, name);
    if (len) fwrite(data, 1, len, out);
    fputc('\n', out);
}

static void put_row(FILE *out, const Row *r, const tile_compile_options *o) {
    const char *field = (const char *)o + r->offset, *text;
    const char *const *list;
    char digits[16];
    int n;
    if (r->kind == KIND_TEXT) {
        memcpy(&text, field, sizeof text);
        if (text) bundle_put(out, "text", r->name, text, strlen(text));
    } else if (r->kind == KIND_NUMBER) {
        memcpy(&n, field, sizeof n);
        if (n) bundle_put(out, "number", r->name, digits, (size_t)snprintf(digits, 16, "%d", n));
    } else {
        memcpy(&list, field, sizeof list);
        memcpy(&n, (const char *)o + r->count, sizeof n);
        for (int i = 0; i < n; i++) bundle_put(out, "item", r->name, list[i], strlen(list[i]));
    }
}

void bundle_put_options(FILE *out, const tile_compile_options *o) {
    fputs(BUNDLE_MAGIC, out);
    bundle_put(out, "version", "", tile_version(), strlen(tile_version()));
    for (int i = 0; i < ROWS; i++) put_row(out, &rows[i], o);
    bundle_put(out, "source", "", o->source, o->source ? o->source_len : 0);
}

/* ---- in ---- */

typedef struct BundleRecord {
    char *kind, *name, *data; /* NUL-terminated, where the text has a space and newlines */
    size_t len;
} Record;

/* Takes the record at *at, and moves on behind it. False: there is none. */
static bool next_record(char **at, const char *end, Record *r) {
    char *line = memchr(*at, '\n', (size_t)(end - *at)), *stop = *at;
    char *space = line ? memchr(*at, ' ', (size_t)(line - *at)) : NULL;
    if (!space) return false;
    unsigned long long name = strtoull(space, &stop, 10), data = strtoull(stop, &stop, 10);
    size_t rest = (size_t)(end - line) - 1; /* two newlines are part of it */
    if (stop != line || rest < 2 || name > rest - 2 || data > rest - 2 - name) return false;
    *r = (Record){*at, line + 1, line + 1 + name + 1, (size_t)data};
    if (r->name[name] != '\n' || r->data[data] != '\n') return false;
    *space = r->name[name] = r->data[data] = '\0';
    *at = r->data + data + 1;
    return true;
}

static bool is(const Record *r, const char *kind, const char *name) {
    return strcmp(r->kind, kind) == 0 && strcmp(r->name, name) == 0;
}

static tile_status no_memory(char why[BUNDLE_WHY]) {
    snprintf(why, BUNDLE_WHY, "out of memory");
    return TILE_NO_MEMORY;
}

static tile_status read_records(Bundle *b, const char *path, size_t len, char why[BUNDLE_WHY]) {
    char *at = b->text + strlen(BUNDLE_MAGIC), *end = b->text + len;
    int cap = 0;
    while (at < end) {
        if (b->n == cap) {
            cap = cap ? 2 * cap : 64;
            Record *more = realloc(b->record, (size_t)cap * sizeof *more);
            if (!more) return no_memory(why);
            b->record = more;
        }
        if (!next_record(&at, end, &b->record[b->n])) break;
        b->n++;
    }
    if (at == end && b->n && strcmp(b->record[b->n - 1].kind, "message") == 0) return TILE_OK;
    snprintf(why, BUNDLE_WHY, "the bundle '%.300s' is not whole: it was cut off, or changed", path);
    return TILE_INVALID;
}

static tile_status take_row(Bundle *b, const Row *r, int *lists, char why[BUNDLE_WHY]) {
    char *field = (char *)&b->options + r->offset;
    const char **list = NULL;
    int n = 0;
    if (r->kind == KIND_LIST) {
        list = b->list[(*lists)++] = calloc((size_t)b->n + 1, sizeof *list);
        if (!list) return no_memory(why);
        memcpy(field, &list, sizeof list);
    }
    for (int i = 0; i < b->n; i++) {
        const char *data = b->record[i].data;
        if (r->kind == KIND_TEXT && is(&b->record[i], "text", r->name))
            memcpy(field, &data, sizeof data);
        int number = (int)strtol(data, NULL, 10);
        if (r->kind == KIND_NUMBER && is(&b->record[i], "number", r->name))
            memcpy(field, &number, sizeof number);
        if (list && is(&b->record[i], "item", r->name)) list[n++] = data;
    }
    if (list) memcpy((char *)&b->options + r->count, &n, sizeof n);
    return TILE_OK;
}

/* A tile_reader's: what is not in the bundle is not there. */
static tile_status read_kept(void *user, const char *path, size_t limit, char **text, size_t *len) {
    const Bundle *b = user;
    for (int i = 0; i < b->n; i++) {
        const Record *r = &b->record[i];
        bool file = is(r, "file", path);
        if (!text && (file || is(r, "there", path))) return TILE_OK;
        if (!text || !file) continue;
        if (r->len > limit) return TILE_IO;
        if (!(*text = malloc(r->len + 1))) return TILE_NO_MEMORY;
        memcpy(*text, r->data, r->len + 1);
        *len = r->len;
        return TILE_OK;
    }
    return TILE_NOT_FOUND;
}

tile_status bundle_read(Bundle *b, const char *path, char why[BUNDLE_WHY]) {
    FileError error;
    size_t len;
    int lists = 0;
    *b = (Bundle){.version = ""};
    if (!file_read_as(path, BUNDLE_MAGIC, (size_t)BUNDLE_LIMIT_MB << 20, &b->text, &len, &error)) {
        snprintf(why, BUNDLE_WHY, "%s", error.text);
        return error.too_large ? TILE_INVALID : TILE_IO;
    }
    if (strncmp(b->text, BUNDLE_MAGIC, strlen(BUNDLE_MAGIC))) {
        snprintf(why, BUNDLE_WHY, "'%.300s' is no bundle of tilec", path);
        return TILE_INVALID;
    }
    tile_status st = read_records(b, path, len, why);
    for (int i = 0; !st && i < ROWS; i++) st = take_row(b, &rows[i], &lists, why);
    for (int i = 0; !st && i < b->n; i++) {
        const Record *r = &b->record[i];
        if (is(r, "version", "")) b->version = r->data;
        if (is(r, "message", "")) b->message = r->data;
        if (!is(r, "source", "")) continue;
        b->options.source = r->data;
        b->options.source_len = r->len;
    }
    b->reader = (tile_reader){read_kept, b};
    b->options.reader = &b->reader;
    return st;
}

void bundle_free(Bundle *b) {
    for (int i = 0; i < BUNDLE_LISTS; i++) free(b->list[i]);
    free(b->record);
    free(b->text);
}

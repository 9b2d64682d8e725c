/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fields.c: options.def expanded over the fields of tile_compile_options (see fields.h). */
#include "compiler/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The table has the struct's fields, all of them and in their order. */
typedef struct Mirror {
    const char *source;
    size_t source_len;
#define MEMBER_TEXT(name) const char *name;
#define MEMBER_LIST(name)                                                                          \
    const char *const *name;                                                                       \
    int n##name;
#define MEMBER_INT(name) int name;
#define MEMBER_FLAG(name) int name;
#define MEMBER_WORD(name) int name;
#define MEMBER_EMIT(name) tile_emit name;
#define HOME_FIELD(name) int name;
#define HOME_NAMED(name)
#define HANDLE(type, name) type name;
#define FIELD(kind, name, traits) MEMBER_##kind(name)
#define KERNEL_OPTION(home, name, ...) HOME_##home(name)
#include "ir/options.def"
} Mirror;
#undef HOME_FIELD
#undef HOME_NAMED
#define SAME_PLACE(name)                                                                           \
    _Static_assert(offsetof(Mirror, name) == offsetof(tile_compile_options, name),                 \
                   "options.def lists the fields of tile_compile_options in their order");
#define HOME_FIELD(name) SAME_PLACE(name)
#define HOME_NAMED(name)
#define HANDLE(type, name) SAME_PLACE(name)
#define FIELD(kind, name, traits) SAME_PLACE(name)
#define KERNEL_OPTION(home, name, ...) HOME_##home(name)
#include "ir/options.def"
#undef HOME_FIELD
#undef HOME_NAMED
_Static_assert(sizeof(Mirror) == sizeof(tile_compile_options),
               "options.def has a row for every field of tile_compile_options");

const Field field_table[] = {
#define AT(name) offsetof(tile_compile_options, name)
#define ROW_TEXT(name, traits) {#name, FIELD_TEXT, AT(name), 0, traits},
#define ROW_LIST(name, traits) {#name, FIELD_LIST, AT(name), AT(n##name), traits},
#define ROW_INT(name, traits) {#name, FIELD_NUMBER, AT(name), 0, traits},
#define ROW_FLAG(name, traits) ROW_INT(name, traits)
#define ROW_WORD(name, traits) ROW_INT(name, traits)
#define ROW_EMIT(name, traits) ROW_INT(name, traits)
#define FIELD(kind, name, traits) ROW_##kind(name, traits)
#include "ir/options.def"
};
const int field_count = sizeof field_table / sizeof *field_table;

/* ---- the fields ---- */

static int number_at(const tile_compile_options *o, size_t offset) {
    int v;
    memcpy(&v, (const char *)o + offset, sizeof v);
    return v;
}

static const char *text_at(const tile_compile_options *o, const Field *f) {
    const char *text;
    memcpy(&text, (const char *)o + f->offset, sizeof text);
    return text;
}

static const char *const *list_at(const tile_compile_options *o, const Field *f) {
    const char *const *list;
    memcpy(&list, (const char *)o + f->offset, sizeof list);
    return list;
}

bool fields_options(const tile_compile_options *o, OptionValues *values, char why[OPTION_WHY]) {
#define HOME_FIELD(name) o->name
#define HOME_NAMED(name) 0
#define KERNEL_OPTION(home, name, ...) [OPTION_##name] = HOME_##home(name),
    *values = (OptionValues){{
#include "ir/options.def"
    }};
    for (int i = 0; i < OPTIONS; i++)
        if (values->at[i] && !option_check((KernelOption)i, values->at[i], why)) return false;
    return options_read(o->options, values, why);
}

/* ---- keys ---- */

typedef struct Key {
    void (*put)(void *ctx, const char *text, size_t len);
    void *ctx;
} Key;

static void put_number(const Key *k, int v) {
    char digits[16];
    k->put(k->ctx, digits, (size_t)snprintf(digits, sizeof digits, "%d\n", v));
}

/* Its length stands before it, so that no two lists of texts are alike. */
static void put_text(const Key *k, const char *text) {
    put_number(k, text ? (int)strlen(text) : -1);
    if (text) k->put(k->ctx, text, strlen(text));
}

void fields_key(const tile_compile_options *o, unsigned without,
                void (*put)(void *ctx, const char *text, size_t len), void *ctx) {
    Key k = {put, ctx};
    OptionValues values;
    char why[OPTION_WHY];
    for (int i = 0; i < field_count; i++) {
        const Field *f = &field_table[i];
        if (f->traits & without) continue;
        if (f->kind == FIELD_TEXT) put_text(&k, text_at(o, f));
        if (f->kind == FIELD_NUMBER) put_number(&k, number_at(o, f->offset));
        if (f->kind != FIELD_LIST) continue;
        int n = number_at(o, f->count);
        put_number(&k, n);
        for (int t = 0; t < n; t++) put_text(&k, list_at(o, f)[t]);
    }
    fields_options(o, &values, why);
    for (int i = 0; i < OPTIONS; i++) put_number(&k, values.at[i]);
}

typedef struct KeyReader {
    const char *at, *end; /* at NULL: that was no key */
    void (*see)(void *ctx, const char *name, const char *value, size_t n);
    void *ctx;
} KeyReader;

/* The digits of "12\n"; *v: what they are. */
static const char *take_digits(KeyReader *r, int *v) {
    const char *from = r->at, *stop = from ? memchr(from, '\n', (size_t)(r->end - from)) : NULL;
    char digits[16] = "", *after = digits;
    if (stop && stop > from && stop - from < (int)sizeof digits) {
        memcpy(digits, from, (size_t)(stop - from));
        *v = (int)strtol(digits, &after, 10);
    }
    r->at = after > digits && !*after ? stop + 1 : NULL;
    return from;
}

static void take_number(KeyReader *r, const char *name) {
    int v = 0;
    const char *digits = take_digits(r, &v);
    if (r->at && v) r->see(r->ctx, name, digits, (size_t)(r->at - 1 - digits));
}

static void take_text(KeyReader *r, const char *name) {
    int n = 0;
    take_digits(r, &n);
    if (r->at && (n < -1 || n > r->end - r->at)) r->at = NULL;
    if (!r->at || n < 0) return;
    r->see(r->ctx, name, r->at, (size_t)n);
    r->at += n;
}

const char *fields_read_key(const char *text, size_t len, unsigned without,
                            void (*see)(void *ctx, const char *name, const char *value, size_t n),
                            void *ctx) {
    KeyReader r = {text, text + len, see, ctx};
    for (int i = 0; i < field_count && r.at; i++) {
        const Field *f = &field_table[i];
        int n = 0;
        if (f->traits & without) continue;
        if (f->kind == FIELD_TEXT) take_text(&r, f->name);
        if (f->kind == FIELD_NUMBER) take_number(&r, f->name);
        if (f->kind == FIELD_LIST) take_digits(&r, &n);
        for (; n > 0 && r.at; n--) take_text(&r, f->name);
    }
    for (int i = 0; i < OPTIONS && r.at; i++) take_number(&r, option_info[i].name);
    return r.at;
}

const char *fields_given(const tile_compile_options *o, unsigned trait) {
    for (int i = 0; i < field_count; i++) {
        const Field *f = &field_table[i];
        bool given = f->kind == FIELD_TEXT   ? text_at(o, f) != NULL
                     : f->kind == FIELD_LIST ? number_at(o, f->count) != 0
                                             : number_at(o, f->offset) != 0;
        if (f->traits & trait && given) return f->name;
    }
    return NULL;
}

static const char *kept(Arena *a, const char *text) {
    return text ? arena_strdup(a, text) : NULL;
}

void fields_keep(tile_compile_options *o, Arena *a) {
    for (int i = 0; i < field_count; i++) {
        const Field *f = &field_table[i];
        if (f->kind == FIELD_TEXT) {
            const char *copy = kept(a, text_at(o, f));
            memcpy((char *)o + f->offset, &copy, sizeof copy);
        } else if (f->kind == FIELD_LIST) {
            int n = number_at(o, f->count);
            const char **copy = arena_array(a, (size_t)n + 1, sizeof *copy);
            for (int t = 0; t < n; t++) copy[t] = kept(a, list_at(o, f)[t]);
            memcpy((char *)o + f->offset, &copy, sizeof copy);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* func_attrs.c: func_attrs.def expanded into a table, and the fields of a Func by its rows. */
#include "ir/func_attrs.h"

#include <string.h>

const FuncAttr func_attr[] = {
#define FUNC_NUMBER(type, field, word, in_manifest, low, high, powers_, otherwise, doc)            \
    {.kind = FUNC_ATTR_NUMBER,                                                                     \
     .text = word,                                                                                 \
     .offset = offsetof(Func, field),                                                              \
     .size = sizeof(type),                                                                         \
     .manifest = in_manifest,                                                                      \
     .rule = {low, high, powers_},                                                                 \
     .absent = otherwise},
#define FUNC_TEXT(field, word, in_manifest, is_, doc)                                              \
    {.kind = FUNC_ATTR_TEXT,                                                                       \
     .text = word,                                                                                 \
     .offset = offsetof(Func, field),                                                              \
     .manifest = in_manifest,                                                                      \
     .most = 1,                                                                                    \
     .is = FUNC_TEXT_##is_},
#define FUNC_TEXTS(field, word, times, is_, doc)                                                   \
    {.kind = FUNC_ATTR_TEXT,                                                                       \
     .text = word,                                                                                 \
     .offset = offsetof(Func, field),                                                              \
     .most = times,                                                                                \
     .is = FUNC_TEXT_##is_},
#define FUNC_NAMED_JSON(field, number, word, doc)                                                  \
    {.kind = FUNC_ATTR_NAMED_JSON,                                                                 \
     .text = word,                                                                                 \
     .offset = offsetof(Func, field),                                                              \
     .count = offsetof(Func, number)},
#include "ir/func_attrs.def"
};
const int func_attrs = sizeof func_attr / sizeof *func_attr;

static const size_t option_offset[OPTIONS] = {
#define KERNEL_OPTION(home, name, attribute, ...) [OPTION_##name] = offsetof(Func, attribute),
#include "ir/options.def"
};

const FuncAttr *func_attr_find(const char *text) {
    for (int i = 0; i < func_attrs; i++)
        if (strcmp(func_attr[i].text, text) == 0) return &func_attr[i];
    return NULL;
}

int64_t func_number(const Func *f, const FuncAttr *a) {
    int64_t wide;
    int narrow;
    const char *field = (const char *)f + a->offset;
    if (a->size == sizeof wide) return memcpy(&wide, field, sizeof wide), wide;
    return memcpy(&narrow, field, sizeof narrow), narrow;
}

void func_set_number(Func *f, const FuncAttr *a, int64_t v) {
    int narrow = (int)v;
    memcpy((char *)f + a->offset, a->size == sizeof v ? (void *)&v : (void *)&narrow, a->size);
}

const char *func_text(const Func *f, const FuncAttr *a, int i) {
    const char *text;
    memcpy(&text, (const char *)f + a->offset + (size_t)i * sizeof text, sizeof text);
    return text;
}

void func_set_text(Func *f, const FuncAttr *a, int i, const char *text) {
    memcpy((char *)f + a->offset + (size_t)i * sizeof text, &text, sizeof text);
}

const ConstexprInfo *func_json(const Func *f, const FuncAttr *a, int *n) {
    const ConstexprInfo *list;
    memcpy(n, (const char *)f + a->count, sizeof *n);
    return memcpy(&list, (const char *)f + a->offset, sizeof list), list;
}

void func_add_json(Session *s, ConstexprInfo **list, int *n, const char *name, const char *json) {
    bool full = (*n & (*n - 1)) == 0; /* it grows to the next power of two */
    if (full) {
        ConstexprInfo *all = arena_array(&s->arena, *n ? 2 * (size_t)*n : 1, sizeof *all);
        if (*n) memcpy(all, *list, (size_t)*n * sizeof *all);
        *list = all;
    }
    (*list)[(*n)++] = (ConstexprInfo){name, json};
}

void func_set_json(Func *f, const FuncAttr *a, ConstexprInfo *list, int n) {
    memcpy((char *)f + a->count, &n, sizeof n);
    memcpy((char *)f + a->offset, &list, sizeof list);
}

int func_option(const Func *f, KernelOption which) {
    int v;
    memcpy(&v, (const char *)f + option_offset[which], sizeof v);
    return v;
}

void func_set_option(Func *f, KernelOption which, int v) {
    memcpy((char *)f + option_offset[which], &v, sizeof v);
}

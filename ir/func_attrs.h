/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* func_attrs.h: the attributes of a kernel (func_attrs.def) as a table to walk. */
#ifndef TILE_IR_FUNC_ATTRS_H
#define TILE_IR_FUNC_ATTRS_H

#include "ir/ir.h"

typedef enum FuncAttrKind { FUNC_ATTR_NUMBER, FUNC_ATTR_TEXT, FUNC_ATTR_NAMED_JSON } FuncAttrKind;

/* What a text is: an EXPRESSION and CONDITIONS are of base/expr.h. */
typedef enum FuncText { FUNC_TEXT_NAME, FUNC_TEXT_EXPRESSION, FUNC_TEXT_CONDITIONS } FuncText;

typedef struct FuncAttr {
    FuncAttrKind kind;
    const char *text; /* its name in .tir */
    size_t offset;    /* in Func, */
    size_t count;     /* and of the number of JSON texts */
    size_t size;      /* of a number */
    int most;         /* of texts */
    FuncText is;      /* each of them */
    const char *manifest;
    NumberRule rule;
    int64_t absent;
} FuncAttr;
extern const FuncAttr func_attr[];
extern const int func_attrs;

/* NULL when there is none of this name. */
const FuncAttr *func_attr_find(const char *text);
int64_t func_number(const Func *f, const FuncAttr *a);
void func_set_number(Func *f, const FuncAttr *a, int64_t v);
/* The text with this number, below a->most; NULL: there is none. */
const char *func_text(const Func *f, const FuncAttr *a, int i);
void func_set_text(Func *f, const FuncAttr *a, int i, const char *text);
/* JSON texts with names; func_add_json appends one to them, in a Func or not yet. */
const ConstexprInfo *func_json(const Func *f, const FuncAttr *a, int *n);
void func_add_json(Session *s, ConstexprInfo **list, int *n, const char *name, const char *json);
void func_set_json(Func *f, const FuncAttr *a, ConstexprInfo *list, int n);
/* The attribute that an option of kernels is. */
int func_option(const Func *f, KernelOption which);
void func_set_option(Func *f, KernelOption which, int v);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* signature.h: what a signature says of the arguments of a kernel: types, values, and the parts of
 * those that have parts. */
#ifndef TILE_FRONTEND_LOWER_SIGNATURE_H
#define TILE_FRONTEND_LOWER_SIGNATURE_H

#include "frontend/lower/internal.h"

/* ---- signature.c: texts ---- */
typedef struct Text {
    const char *at;
    size_t n;
} Text;

Text text_trim(Text t);
bool text_is(Text t, const char *s);
bool text_starts(Text t, const char *s);
/* The part before the next comma that no bracket and no quotes enclose, which *rest is cut by.
 * False: nothing is left. */
bool text_part(Text *rest, Text *part);

typedef struct Entry {
    Text name, text; /* name.n is 0: positional */
    bool taken;      /* of a part: there is such a part */
} Entry;
typedef VEC(Entry) Entries;

Entry entry_of(Text part); /* "NAME=TEXT", or a text alone */
Entries split_signature(Lower *l);
/* The entry for each parameter of f; false after an error. */
bool match_signature(Lower *l, const AstFunc *f, const Entries *entries, Entry **out);
/* The last entry of a name counts; one that begins with a colon is about the promise alone. */
void take_entry(Lower *l, Entry entry, Entry *out);
const char *colon_of(Text type); /* where the promise begins, or NULL */
Text promise_of(Text type);      /* ":16"; empty when there is none */
/* A type, less what it promises already, and the promise. */
Text with_promise(Lower *l, Text type, Text promise);
/* A number, True, False, a text in quotes, or @NAME: a constant, and no type. */
bool text_is_constant(Text t);

/* ---- argument.c: parts ---- */
typedef enum ArgumentKind { ARGUMENT_LEAF, ARGUMENT_TUPLE, ARGUMENT_DESCRIPTOR } ArgumentKind;

/* An argument of a kernel. A leaf is one argument of a launch, or a constant. */
typedef struct Argument Argument;
struct Argument {
    const char *path; /* interned: "x", "x.0", "x.shape.1" */
    ArgumentKind kind;
    Text text;        /* of a leaf: "*fp16:16", "None", "4"; empty: nothing is said */
    Text said, given; /* of a leaf: by an annotation; by the signature */
    int divisible;    /* of a leaf: what it is a part of promises this */
    Argument *part;
    int nparts;
    const Class *class_; /* of a tuple whose parts have names, or NULL */
    Type block;          /* of a descriptor: a tile of what its tensor is made of */
    bool nan;            /* of a descriptor: what lies outside is read as NaN */
};

/* The parts of a descriptor; shape and strides are tuples. */
enum { DESCRIPTOR_BASE, DESCRIPTOR_SHAPE, DESCRIPTOR_STRIDES, DESCRIPTOR_PARTS };

/* What the texts say of the parameters of f: annotations, their entries, and entries of parts. One
 * for each parameter, that of a constexpr left empty; NULL after an error. */
Argument *read_arguments(Lower *l, const AstFunc *f, const Entry *entry, Entries *entries);
/* A leaf that a launch gives a value, or None. */
bool is_passed(const Argument *a);
/* As the manifest has it: leaves are texts, whatever has parts is an object. */
void argument_json(Lower *l, const Argument *a, Buf *out);

/* ---- descriptor.c ---- */
/* The descriptor that a launch passes as these parts. */
Obj descriptor_argument(Lower *l, const Argument *a, const Obj *part, Span span);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* facts.h: what a report says, as a tree, which is written as text, as JSON or beside another.
 *
 * A fact has a name, a value and, where it can be told, why it is so. A group holds facts, a list
 * holds groups that are alike, each with a title. All three ways to show a report, and comparing
 * two, know nothing but this. */
#ifndef TILE_COMPILER_REPORT_FACTS_H
#define TILE_COMPILER_REPORT_FACTS_H

#include "base/text.h"

typedef enum FactKind { FACT_GROUP, FACT_LIST, FACT_NUMBER, FACT_REAL, FACT_TEXT } FactKind;

typedef struct Fact {
    FactKind kind;
    const char *name; /* a key of JSON, words between underscores; NULL: one of a list */
    const char *text; /* FACT_TEXT; of one of a list its title */
    const char *at;   /* of one of a list: where in the source, or NULL */
    bool place;       /* says no more than where something is: that is not compared */
    int64_t number;
    double real;
    const char *why; /* NULL: that goes without saying */
    uint32_t line;   /* of the tile IR that it is about; 0: of none */
    struct Fact *first, *last, *next;
} Fact;

/* New ones are the last in `in`, which may be NULL. */
Fact *fact_group(Arena *a, Fact *in, const char *name);
Fact *fact_list(Arena *a, Fact *in, const char *name);
Fact *fact_item(Arena *a, Fact *list, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
Fact *fact_number(Arena *a, Fact *in, const char *name, int64_t v);
Fact *fact_real(Arena *a, Fact *in, const char *name, double v);
Fact *fact_text(Arena *a, Fact *in, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A text that says where something is. */
Fact *fact_place(Arena *a, Fact *in, const char *name, const char *text);
void fact_why(Arena *a, Fact *f, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* If one before the last of the list says the same, that is said "times" as often, and the last
 * goes. */
void fact_merge_last(Arena *a, Fact *list);
/* The fact of that name in a group; NULL: none. */
Fact *fact_named(const Fact *in, const char *name);

/* A number, or a text. */
void fact_put_value(const Fact *f, Buf *out);
/* A group's facts, a line each, those inside indented. */
void facts_write_text(const Fact *group, int depth, Buf *out);
/* A group as an object, in one line: numbers, texts, objects, arrays of objects with a "title"; why
 * a fact is so as a text NAME_why behind it, the tile IR's line as NAME_line, or "line". */
void facts_write_json(const Fact *group, Buf *out);
/* A JSON string. */
void facts_json_text(const char *text, size_t len, Buf *out);

/* Two groups beside each other: a row for each fact that either has and that is not the same, what
 * it is in both, and why. `all`: also what is the same. */
void facts_compare_text(const Fact *a, const Fact *b, bool all, Buf *out);
void facts_compare_json(const Fact *a, const Fact *b, Buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rows.h: the rows of triton/index.csv, and whether a result agrees with one. */
#ifndef TILE_TESTS_CONFORMANCE_ROWS_H
#define TILE_TESTS_CONFORMANCE_ROWS_H

#include "tests/run/values.h"

/* What must become of a row's expression. */
typedef enum Expect {
    EXPECT_VALUES,  /* it compiles, and these values come out */
    EXPECT_REFUSAL, /* a diagnostic: the types make no sense */
    EXPECT_EITHER   /* Triton breaks down on it: a diagnostic, or the natural values */
} Expect;

typedef struct Row {
    int line; /* of index.csv */
    Expect expect;
    const char *kind, *expr;      /* "binary", "x + y" */
    tile_type x, y, result;       /* result of EXPECT_EITHER: the natural one */
    size_t n, x_at, y_at, out_at; /* elements; where in the data they lie */
} Row;

typedef struct Rows {
    char *text; /* owns the rows' strings */
    Row *row;
    int count;
    unsigned char *data;
    size_t data_size;
} Rows;

/* Reads index.csv and data.bin below a folder. False, with a line in `why`, when they are not
 * there or not well formed. */
bool rows_read(Rows *rows, const char *folder, char *why, size_t why_size);
void rows_free(Rows *rows);

/* Whether the language says nothing about element i: a quotient by 0, say. */
bool row_leaves_open(const Rows *rows, const Row *r, size_t i);
/* Whether `got` is what the row says. Otherwise text says which element is wrong. */
bool row_agrees(const Rows *rows, const Row *r, const void *got, char *text, size_t size);

#endif

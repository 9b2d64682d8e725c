/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_book.h: the fake driver's books: its calls, which of them fails, and what it has given out.
 * Any thread may write in them. */
#ifndef TILE_TESTS_FAKE_BOOK_H
#define TILE_TESTS_FAKE_BOOK_H

#include "runtime/cuda_api.h"
#include "tests/runtime/fake_cuda.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum Kind {
    CONTEXT,
    MODULE,
    FUNCTION,
    MEMORY,
    POOL,
    STREAM,
    EVENT,
    OPENED,
    GRAPH,
    EXEC
} Kind;

typedef struct Object {
    struct Object *next;
    Kind kind;
    int uses;
    void *memory;
    size_t bytes;
    CuPtr opened;
    struct Object *parent; /* a function's module, a graph's function, what an exec was made of */
    char *text;
    size_t size[32]; /* a function's parameters */
    int nparams, dynamic_shared;
    bool large_clusters, recorded, asked, no_timing;
    bool capture_ended; /* by a call that a captured stream does not take */
    FakeStream is;      /* a stream, or that of an event when it was recorded */
    FakeLaunch launch;  /* that an exec is */
    uint64_t number;    /* a stream's */
    double ms;
} Object;

/* Counts a call; what it has to return at once, if not CU_SUCCESS. */
CuResult book_begin(const char *name);
/* Counts calls from 1 again; number n (0: none) fails with `code`, and with `on` all after it. */
void book_let_fail(long n, int code, bool on);
/* The same once, from FAKE_CUDA_FAIL="n:code". */
void book_read_environment(void);
long book_calls(void);
/* The first that was made to fail, or NULL. */
const char *book_failed(void);

/* NULL when memory runs out. */
Object *book_add(Kind kind, Object *parent);
/* The memory is the book's from now on. */
Object *book_add_memory(void *memory, size_t bytes);
/* An allocation that was opened once more, at its start. */
Object *book_add_opened(CuPtr start);
/* The allocation that p lies in. False: there is none. */
bool book_range(CuPtr p, CuPtr *start, size_t *bytes);
bool book_knows(const void *p, Kind kind);
/* Takes the object `p`, or the memory that starts at p or is opened there, out and frees it. False:
 * there is none. */
bool book_take(const void *p, Kind kind);
void book_take_functions(const Object *module);
/* All of [p, p + bytes) lies in one allocation. */
bool book_inside(CuPtr p, size_t bytes);
/* Objects but functions, which go with their module. */
long book_count(void);
/* From 3 on; none twice. */
uint64_t book_number(void);
void book_clear(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz.h: a fuzz target as a row, and what its function may use of the harness.
 *
 * A target is a file fuzz_NAME.c with one FuzzTarget: where inputs come from, and the function that
 * tries one. The same file becomes three programs: with main.c, which makes inputs by numbers and
 * replays files; with libfuzzer.c; with afl.c. Whatever a function wants to choose it takes from
 * fuzz_choices, so that the bytes of an input are all that repeats it. */
#ifndef TILE_TESTS_FUZZ_H
#define TILE_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct FuzzRandom {
    uint64_t state;
} FuzzRandom;

uint64_t fuzz_next(FuzzRandom *r);
size_t fuzz_below(FuzzRandom *r, size_t n); /* 0 of n = 0 */

typedef struct FuzzFile {
    char *text;
    size_t len;
} FuzzFile;

typedef struct FuzzCorpus {
    FuzzFile *file;
    int nfiles;
    uint64_t hash;    /* of all: which corpus a number makes inputs of */
    const char *root; /* the source tree */
} FuzzCorpus;

typedef struct FuzzTarget {
    const char *name;
    const char *suffix;           /* of an input that is kept */
    size_t most;                  /* bytes of an input */
    const char *word;             /* what words have beyond letters, digits and _; NULL: no text */
    const char *const *corpus;    /* files, as glob() takes them, below the source tree */
    const char *const *pieces;    /* words, numbers and bytes that the format knows */
    const char *const *stages;    /* how far inputs come: what the function does, one by one */
    bool (*begin)(FuzzCorpus *c); /* before the first input; adds what no file has; may be NULL */
    /* An input before mutations; 0: a file of the corpus; may be NULL. */
    size_t (*make)(FuzzRandom *r, const FuzzCorpus *c, char *room, size_t most);
    /* Tries an input, which no NUL follows; the stage that it came to. */
    int (*one)(const uint8_t *data, size_t n);
    void (*end)(void); /* may be NULL */
} FuzzTarget;

extern const FuzzTarget fuzz_target; /* of the program */

/* ---- for targets ---- */

/* Numbers that follow from the input. */
FuzzRandom fuzz_choices(const uint8_t *data, size_t n);
/* What the function is about to do: for the report of a failure, and for --slow. */
void fuzz_stage(int stage);
/* The input shows a bug: says so and aborts. */
_Noreturn void fuzz_wrong(const char *what, const char *detail);
/* A file of the corpus that no file holds. */
bool fuzz_add(FuzzCorpus *c, const char *text, size_t n);

/* ---- for the programs ---- */

bool fuzz_corpus_open(FuzzCorpus *c, const char *root);
void fuzz_corpus_close(FuzzCorpus *c);
/* A file's bytes, up to `most`, into room. */
bool fuzz_read(const char *path, char *room, size_t most, size_t *n);
/* text[0..len) becomes another text, of up to `most` bytes: its length. */
size_t fuzz_mutate(FuzzRandom *r, const FuzzCorpus *c, char *text, size_t len, size_t most);
/* An input by its number, into room. */
size_t fuzz_make(uint64_t seed, const FuzzCorpus *c, char *room, size_t most);

#endif

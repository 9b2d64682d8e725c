/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bits.h: what launches leave in their buffers, as one number for each case -> a file; and whether
 * another device leaves the same.
 *
 * A line is `HASH TARGETS TITLE INSTRUCTIONS`, with tabs between: 16 digits, the targets with
 * commas between, which case it is, and the inexact instructions (inexact.def) of its code, which
 * may be left out. `~` in place of the hash: the bits may differ (docs/ptx.md). `#` begins a
 * comment. */
#ifndef TILE_TESTS_RUN_BITS_H
#define TILE_TESTS_RUN_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct BitsCase {
    char *title;
    uint64_t key, hash; /* key: of the title, without its number */
    uint32_t inexact;
    bool open, ran; /* of a line of the file: `~`; whether its case has run */
} BitsCase;

typedef struct BitsList {
    BitsCase *at;
    size_t n, room;
} BitsList;

typedef struct Bits {
    const char *write, *same; /* the files; NULL: none */
    const char *target;
    BitsList run, known; /* known: by title */
    int held, open, other, missing;
} Bits;

/* Reads the file to compare with, if there is one. False, with a message on stderr, when it cannot
 * be read. */
bool bits_open(Bits *b, const char *program);
/* Whether anything is to be done about cases. */
bool bits_wanted(const Bits *b);

enum { BITS_WHY = 1500 };
#define BITS_START UINT64_C(0xCBF29CE484222325)
/* FNV-1a of what came before and these bytes; the first time of BITS_START. */
uint64_t bits_hash(uint64_t before, const void *data, size_t n);
/* The rows of inexact.def that some instruction is of, a bit each. */
uint32_t bits_inexact(const char *ptx);

typedef enum BitsVerdict { BITS_SAME, BITS_DIFFER, BITS_OPEN } BitsVerdict;
/* A case has run; one of the same title as another gets a number. BITS_DIFFER: the file has another
 * hash, and `why` says so, in BITS_WHY bytes. BITS_OPEN: it says nothing, or `~`. */
BitsVerdict bits_case(Bits *b, const char *title, uint64_t hash, uint32_t inexact, char *why);

/* Writes the file, says what was compared. The number of failures: `whole`: cases that the file
 * does not have, and lines that no case ran for, are some. */
int bits_close(Bits *b, const char *program, bool whole);

#endif

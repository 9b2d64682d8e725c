/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* planted.c: a fuzz target with mistakes, which harness_test.sh has the harness find. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { READ, BEGUN, ENDED };

static bool has(const uint8_t *data, size_t n, const char *word) {
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= n; i++)
        if (memcmp(data + i, word, length) == 0) return true;
    return false;
}

static int one(const uint8_t *data, size_t n) {
    FuzzRandom r = fuzz_choices(data, n);
    fuzz_stage(READ);
    if (n < 5 || memcmp(data, "begin", 5) != 0) return READ;
    fuzz_stage(BEGUN);
    if (has(data, n, "loops"))
        for (volatile int forever = 1; forever;) continue;
    if (has(data, n, "reads")) { /* past the end, which a sanitizer sees */
        volatile uint8_t behind = data[n];
        (void)behind;
    }
    if (has(data, n, "overflows")) {
        volatile int most = 0x7fffffff;
        most = most + data[0];
    }
    if (has(data, n, "chosen") && fuzz_below(&r, 1000) == 7) fuzz_wrong("planted", "chosen");
    if (has(data, n, "aborts")) fuzz_wrong("planted", "aborts");
    return has(data, n, "end") ? ENDED : BEGUN;
}

static size_t make(FuzzRandom *r, const FuzzCorpus *c, char *room, size_t most) {
    static const char text[] = "begin 1 2 3\nsome words\nend\n";
    (void)r, (void)c;
    size_t n = sizeof text - 1 < most ? sizeof text - 1 : most;
    memcpy(room, text, n);
    return n;
}

static const char *const pieces[] = {"aborts", "begin", "end", NULL};
static const char *const stages[] = {"read", "begun", "ended", NULL};

const FuzzTarget fuzz_target = {.name = "planted",
                                .suffix = ".txt",
                                .most = 1 << 10,
                                .word = "",
                                .pieces = pieces,
                                .stages = stages,
                                .make = make,
                                .one = one};

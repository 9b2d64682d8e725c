/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libfuzzer.c: a fuzz target for libFuzzer, which finds inputs by the branches that they take.
 *
 * Half of the mutations are its own, half those of words and lines; the corpus for these is the
 * target's, beside the folder that libFuzzer is given. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static FuzzCorpus corpus;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most);

static void leave(void) {
    fuzz_corpus_close(&corpus);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    if (!fuzz_corpus_open(&corpus, NULL)) fuzz_wrong(fuzz_target.name, "no corpus");
    atexit(leave);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n <= fuzz_target.most) fuzz_target.one(data, n);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    FuzzRandom r = {seed};
    if (most > fuzz_target.most) most = fuzz_target.most;
    if (n > most) n = most;
    if (fuzz_below(&r, 2)) return LLVMFuzzerMutate(data, n, most);
    for (size_t i = 1 + fuzz_below(&r, 3); i > 0; i--)
        n = fuzz_mutate(&r, &corpus, (char *)data, n, most);
    return n;
}

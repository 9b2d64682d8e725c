/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* afl.c: a fuzz target for AFL++: thousands of inputs in a process, handed over in shared memory.
 *
 * Built by afl-clang-fast, which has the macros; run without afl-fuzz it tries standard input. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__AFL_FUZZ_INIT();

enum { INPUTS = 10000 }; /* of a process */

int main(void) {
    FuzzCorpus corpus;
    if (!fuzz_corpus_open(&corpus, NULL)) fuzz_wrong(fuzz_target.name, "no corpus");
    __AFL_INIT();
    const unsigned char *shared = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(INPUTS)) {
        size_t n = (size_t)__AFL_FUZZ_TESTCASE_LEN;
        uint8_t *data = n <= fuzz_target.most ? malloc(n + !n) : NULL; /* reads past it are found */
        if (!data) continue;
        memcpy(data, shared, n);
        fuzz_target.one(data, n);
        free(data);
    }
    fuzz_corpus_close(&corpus);
    return 0;
}

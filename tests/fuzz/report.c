/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report.c: what a target says of the input that it tries: how far it is, that it shows a bug. */
#include "tests/fuzz/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

FuzzProgress fuzz_progress;

FuzzRandom fuzz_choices(const uint8_t *data, size_t n) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
    if (fuzz_progress.fixed) hash = fuzz_progress.choices;
    fuzz_progress.choices = hash;
    return (FuzzRandom){hash};
}

void fuzz_stage(int stage) {
    if (fuzz_progress.timed) {
        clock_t now = clock();
        fuzz_progress.cost[fuzz_progress.stage] +=
            (double)(now - fuzz_progress.entered) / CLOCKS_PER_SEC;
        fuzz_progress.entered = now;
    }
    fuzz_progress.stage = stage;
}

void fuzz_wrong(const char *what, const char *detail) {
    fprintf(stderr, "\n%s: %s\n", what, detail ? detail : "");
    abort();
}

/* Errors of the sanitizers become a signal, which main.c reports with the input. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "abort_on_error=1:handle_segv=1:detect_leaks=1:allocator_may_return_null=1";
}
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) {
    return "abort_on_error=1:print_stacktrace=1";
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* promise.c: promise.def as a table, and questions about its rows. */
#include "ir/promise.h"

#include <string.h>

const PromiseInfo promise_info[PROMISES] = {
#define PROMISE(name, ...) {__VA_ARGS__},
#include "ir/promise.def"
#undef PROMISE
};

Promise promise_find(const char *text, size_t n) {
    int p = 0;
    while (p < PROMISES &&
           (strlen(promise_info[p].text) != n || memcmp(promise_info[p].text, text, n) != 0))
        p++;
    return (Promise)p;
}

bool promise_covers(Promise kept, Promise wanted) {
    int k = promise_info[kept].divisible, w = promise_info[wanted].divisible;
    return k == w || (k && w && k % w == 0);
}

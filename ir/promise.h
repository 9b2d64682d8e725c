/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* promise.h: the table of promises (promise.def), and which of them a value keeps. */
#ifndef TILE_IR_PROMISE_H
#define TILE_IR_PROMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Promise {
#define PROMISE(name, ...) PROMISE_##name,
#include "ir/promise.def"
#undef PROMISE
    PROMISES
} Promise;

typedef struct PromiseInfo {
    const char *text;
    int divisible; /* 0: equal to 1 */
    const char *doc;
} PromiseInfo;

extern const PromiseInfo promise_info[PROMISES];

/* The strongest promise that an integer, or an address, keeps. */
static inline Promise promise_kept(uint64_t value, bool pointer) {
    if (value == 1 && !pointer) return PROMISE_ONE;
    return value % 16 == 0 ? PROMISE_16 : value % 8 == 0 ? PROMISE_8 : PROMISE_NONE;
}
/* ":16" -> PROMISE_16; PROMISES: there is no such promise. */
Promise promise_find(const char *text, size_t n);
/* What keeps `kept` keeps `wanted`, too. */
bool promise_covers(Promise kept, Promise wanted);

#endif

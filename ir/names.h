/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* names.h: a small map from interned names to pointers or numbers, for the IR's printer and parser.
 */
#ifndef TILE_IR_NAMES_H
#define TILE_IR_NAMES_H

#include "base/text.h"

typedef struct NameMap {
    Arena *arena;
    struct NameSlot {
        const char *key;
        void *value;
        int count;
    } * slot;
    size_t used, cap;
} NameMap;

/* The slot of `key` (an interned pointer), made empty if it is new. Valid until the next call. */
struct NameSlot *names_at(NameMap *m, const char *key);

#endif

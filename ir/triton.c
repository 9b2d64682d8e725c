/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* triton.c: the name of a version -> its number (see triton.h). */
#include "ir/triton.h"

#include <string.h>

int triton_find(const char *text) {
    int number = TRITON_OLDEST;
    for (const char *w = TRITON_WORDS; text && *w; number++) {
        size_t n = strcspn(w, " ");
        if (n == strlen(text) && memcmp(w, text, n) == 0) return number;
        w += n + (w[n] == ' ');
    }
    return 0;
}

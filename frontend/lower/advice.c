/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* advice.c: a word that means nothing here -> a note with what to write instead. */
#include <string.h>

#include "frontend/lower/internal.h"

static const struct {
    AdvicePlace place;
    const char *word, *note;
} rows[] = {
#define ADVICE(place_, word_, note_) {ADVICE_##place_, word_, note_},
#include "frontend/advice.def"
#undef ADVICE
};

bool advise(Lower *l, AdvicePlace place, const char *word) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].place != place || strcmp(rows[i].word, word) != 0) continue;
        note(l, (Span){0}, "%s", rows[i].note);
        return true;
    }
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options.h: the options of kernels (options.def) as a table, and values for them. */
#ifndef TILE_IR_OPTIONS_H
#define TILE_IR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which numbers will do. */
typedef struct NumberRule {
    int64_t least, most;
    bool powers; /* of two alone */
} NumberRule;
enum { RULE_TEXT = 64, OPTION_WHY = 200 };
bool rule_allows(const NumberRule *rule, int64_t v);
/* "1, 2, 4 or 8", "between 1 and 16": what goes after "must be". Returns text. */
const char *rule_text(const NumberRule *rule, char text[RULE_TEXT]);

typedef enum KernelOption {
#define KERNEL_OPTION(home, name, ...) OPTION_##name,
#include "ir/options.def"
    OPTIONS
} KernelOption;

enum OptionTraits { OPTION_POWERS = 1, OPTION_LOWERED = 2 };

typedef struct OptionInfo {
    const char *name;
    NumberRule rule;
    int absent;      /* what a kernel has that nobody gives it; 0: none */
    unsigned traits; /* OptionTraits */
    const char *arg; /* of a command line; A|B: the words for its numbers; NULL: a flag */
} OptionInfo;
extern const OptionInfo option_info[OPTIONS];

/* 0: not given. */
typedef struct OptionValues {
    int at[OPTIONS];
} OptionValues;

/* OPTIONS when there is none of this name. */
KernelOption option_find(const char *name, size_t len);
/* The number that a word of the option stands for; 0: it has no such word. */
int option_word(KernelOption which, const char *word, size_t len);
/* The same by a name that says the opposite (enable_fp_fusion): 0 stands for 1, and else for 0. */
KernelOption option_find_opposite(const char *name, size_t len);
extern const char *const option_opposite[OPTIONS]; /* that name of each, or NULL */
/* Whether a kernel may have this value; if not, `why` says which it may. */
bool option_check(KernelOption which, int64_t v, char why[OPTION_WHY]);
/* "num_warps=8,swizzle_grid=4": puts the values in; the last of a name counts. False with the
 * reason in `why`. text NULL: nothing is given. */
bool options_read(const char *text, OptionValues *values, char why[OPTION_WHY]);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options.c: options.def expanded into a table (see options.h).
 */
#include "ir/options.h"

#include <stdio.h>
#include <string.h>

const OptionInfo option_info[OPTIONS] = {
#define KERNEL_OPTION(home, name, attribute, least, most, absent, traits, ...)                     \
    [OPTION_##name] = {#name, {least, most, ((traits)&OPTION_POWERS) != 0}, absent, traits},
#include "ir/options.def"
};

bool rule_allows(const NumberRule *rule, int64_t v) {
    return v >= rule->least && v <= rule->most && !(rule->powers && v & (v - 1));
}

const char *rule_text(const NumberRule *rule, char text[RULE_TEXT]) {
    size_t n = 0;
    if (!rule->powers) {
        snprintf(text, RULE_TEXT, "between %lld and %lld", (long long)rule->least,
                 (long long)rule->most);
        return text;
    }
    for (int64_t v = rule->least; v <= rule->most && n < RULE_TEXT; v *= 2)
        n += (size_t)snprintf(text + n, RULE_TEXT - n, "%s%lld",
                              v == rule->least     ? ""
                              : v * 2 > rule->most ? " or "
                                                   : ", ",
                              (long long)v);
    return text;
}

KernelOption option_find(const char *name, size_t len) {
    for (int i = 0; i < OPTIONS; i++)
        if (strlen(option_info[i].name) == len && memcmp(option_info[i].name, name, len) == 0)
            return (KernelOption)i;
    return OPTIONS;
}

bool option_check(KernelOption which, int64_t v, char why[OPTION_WHY]) {
    char must[RULE_TEXT];
    const OptionInfo *o = &option_info[which];
    if (rule_allows(&o->rule, v)) return true;
    snprintf(why, OPTION_WHY, "%s must be %s, not %lld", o->name, rule_text(&o->rule, must),
             (long long)v);
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options.c: options.def expanded into a table; "NAME=VALUE,NAME=VALUE" -> values (see options.h).
 */
#include "ir/options.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const OptionInfo option_info[OPTIONS] = {
#define KERNEL_OPTION(home, name, attribute, least, most, absent, traits, long_name, arg, help)    \
    [OPTION_##name] = {#name, {least, most, ((traits)&OPTION_POWERS) != 0}, absent, traits, arg},
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

const char *const option_opposite[OPTIONS] = {
#define KERNEL_OPPOSITE(name, option) [OPTION_##option] = #name,
#include "ir/options.def"
};

KernelOption option_find_opposite(const char *name, size_t len) {
    for (int i = 0; i < OPTIONS; i++)
        if (option_opposite[i] && strlen(option_opposite[i]) == len &&
            memcmp(option_opposite[i], name, len) == 0)
            return (KernelOption)i;
    return OPTIONS;
}

static bool has_words(const OptionInfo *o) {
    return o->arg && strchr(o->arg, '|');
}

int option_word(KernelOption which, const char *word, size_t len) {
    const OptionInfo *o = &option_info[which];
    int v = (int)o->rule.least;
    if (!has_words(o)) return 0;
    for (const char *w = o->arg;; v++) {
        size_t n = strcspn(w, "|");
        if (n == len && memcmp(w, word, n) == 0) return v;
        if (!w[n]) return 0;
        w += n + 1;
    }
}

bool option_check(KernelOption which, int64_t v, char why[OPTION_WHY]) {
    char must[RULE_TEXT];
    const OptionInfo *o = &option_info[which];
    if (rule_allows(&o->rule, v)) return true;
    snprintf(why, OPTION_WHY, "%s must be %s, not %lld", o->name, rule_text(&o->rule, must),
             (long long)v);
    return false;
}

static bool unknown(const char *name, size_t len, char why[OPTION_WHY]) {
    const char *names[OPTIONS];
    char word[64];
    for (int i = 0; i < OPTIONS; i++) names[i] = option_info[i].name;
    snprintf(word, sizeof word, "%.*s", (int)(len < 60 ? len : 60), name);
    const char *near = nearest_name(word, names, OPTIONS);
    snprintf(why, OPTION_WHY, "there is no option '%s'%s%s%s", word, near ? "; did you mean '" : "",
             near ? near : "", near ? "'?" : "");
    return false;
}

static bool read_one(const char *item, size_t len, OptionValues *values, char why[OPTION_WHY]) {
    const char *equals = memchr(item, '=', len);
    if (!equals) {
        snprintf(why, OPTION_WHY, "an option is NAME=VALUE, not '%.*s'", (int)(len < 60 ? len : 60),
                 item);
        return false;
    }
    size_t name = (size_t)(equals - item);
    KernelOption which = option_find(item, name), flag = option_find_opposite(item, name);
    if (flag < OPTIONS) which = flag;
    if (which == OPTIONS) return unknown(item, name, why);
    const char *digits = equals + 1;
    values->at[which] = option_word(which, digits, (size_t)(item + len - digits));
    if (values->at[which]) return true;
    char *end;
    errno = 0;
    long v = strtol(digits, &end, 10); /* which takes " +4", too */
    bool number = isdigit((unsigned char)digits[*digits == '-']) && end == item + len;
    if (!number || errno) {
        size_t n = (size_t)(item + len - digits);
        snprintf(why, OPTION_WHY, "%.*s takes %s, not '%.*s'", (int)name, item,
                 has_words(&option_info[which]) ? option_info[which].arg : "a whole number",
                 (int)(n < 60 ? n : 60), digits);
        return false;
    }
    if (flag < OPTIONS) {
        values->at[which] = v == 0;
        if (v == 0 || v == 1) return true;
        snprintf(why, OPTION_WHY, "%.*s must be 0 or 1, not %ld", (int)name, item, v);
        return false;
    }
    values->at[which] = (int)v;
    return option_check(which, v, why);
}

bool options_read(const char *text, OptionValues *values, char why[OPTION_WHY]) {
    for (size_t n; text && *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        if (!read_one(text, n, values, why)) return false;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_compare.c: one command line with --compare -> two; two runs -> what differs: times,
 * rates, and what the compiler made of the kernels. */
#include "tools/tilerun.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char compare[] = "--compare", compare_all[] = "--compare=all";

static bool is_file(const char *word) {
    static const char *const suffix[] = {".tl", ".py", ".tir", ".ptx"};
    size_t n = strlen(word);
    for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++)
        if (word[0] != '-' && !strchr(word, '=') && n > strlen(suffix[i]) &&
            strcmp(word + n - strlen(suffix[i]), suffix[i]) == 0)
            return true;
    return false;
}

/* The first side's words, with the second's file instead of its own, if that has one. */
static int copy_words(char **to, char **from, int n, char *file) {
    for (int i = 0; i < n; i++) {
        bool replaced = file && i && is_file(from[i]);
        to[i] = replaced ? file : from[i];
        if (replaced) file = NULL;
    }
    return n;
}

int pair_read(const Messages *m, Pair *pair, int argc, char **argv) {
    *pair = (Pair){.two = false};
    int at = 1;
    while (at < argc && strcmp(argv[at], compare) && strcmp(argv[at], compare_all)) at++;
    if (at == argc) return -1;
    pair->two = true;
    pair->all = strcmp(argv[at], compare_all) == 0;
    for (int i = 0; i < 2; i++)
        if (!(pair->argv[i] = calloc((size_t)argc + 1, sizeof *pair->argv[i])))
            return complain(m, EXIT_RUN, "out of memory");
    bool other = at + 1 < argc && is_file(argv[at + 1]);
    pair->argc[0] = copy_words(pair->argv[0], argv, at, NULL);
    pair->argc[1] = copy_words(pair->argv[1], argv, at, other ? argv[at + 1] : NULL);
    for (int i = at + 1 + other; i < argc; i++) pair->argv[1][pair->argc[1]++] = argv[i];
    return -1;
}

void pair_free(Pair *pair) {
    for (int i = 0; i < 2; i++) free(pair->argv[i]);
}

/* ---- what differs ---- */

typedef struct Row {
    const char *name, *key;
} Row;

static double number(const Run *r, const char *key) {
    json_t *bench = json_object_get(r->report, "bench"), *v = json_object_get(bench, key);
    return json_is_number(v) ? json_number_value(v) : -1;
}

static const char *entry(const Run *r) {
    const char *name = json_string_value(json_object_get(r->report, "entry"));
    return name ? name : "none";
}

/* Why it is no further entry of the kernel's. */
static void print_not_by(const Run *r, char side) {
    json_t *list = json_object_get(r->report, "not_by");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *o = json_array_get(list, i);
        printf("    %c: not by %s: %s\n", side, json_string_value(json_object_get(o, "entry")),
               json_string_value(json_object_get(o, "why")));
    }
}

static void print_times(const Run *a, const Run *b) {
    static const Row rows[] = {
        {"median time, us", "median_us"},
        {"p10", "p10_us"},
        {"p90", "p90_us"},
        {"TFLOPS", "tflops"},
        {"GB/s", "gb_per_s"},
    };
    printf("%-34s%-26s%-26s%s\n", "", "A", "B", "B / A");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double x = number(a, rows[i].key), y = number(b, rows[i].key);
        if (x < 0 && y < 0) continue;
        printf("%-34s%-26.5g%-26.5g%.3f\n", rows[i].name, x, y, x > 0 ? y / x : 0);
    }
    printf("%-34s%-26s%s\n", "entry", entry(a), entry(b));
    print_not_by(a, 'A');
    print_not_by(b, 'B');
    putchar('\n');
}

/* The facts that differ; NULL: of one there are none, as it was not compiled here, or for the CPU.
 */
static char *facts(const Run *a, const Run *b, bool json, bool all) {
    char *text = NULL;
    tile_report_compare(a->compiled, b->compiled, json ? TILE_REPORT_JSON : TILE_REPORT_TEXT, all,
                        &text, NULL);
    return text;
}

static int print_json(const Run *a, const Run *b, const char *differs) {
    json_t *list = differs ? json_loads(differs, 0, NULL) : json_null();
    json_t *both = json_pack("{s:O, s:O, s:o}", "a", a->report, "b", b->report, "compare", list);
    char *text = both ? json_to_text(both, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(both);
    if (!text) return complain(&a->o.messages, EXIT_RUN, "out of memory");
    puts(text);
    free(text);
    return -1;
}

int report_both(const Run *a, const Run *b, bool json, bool all) {
    char *differs = facts(a, b, json, all);
    int code = -1;
    if (json) {
        code = print_json(a, b, differs);
    } else {
        print_times(a, b);
        fputs(differs ? differs : "no report: one of them was not compiled here, or for the CPU\n",
              stdout);
    }
    free(differs);
    return code;
}

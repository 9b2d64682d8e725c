/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bits.c: cases and their hashes -> a file, and such a file -> whether the cases are the same. */
#include "tests/run/bits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct Inexact {
    const char *id, *name, *words;
} inexact[] = {
#define INEXACT(id, name, words, text, here, gpu) {#id, name, words},
#include "tests/run/inexact.def"
#undef INEXACT
};
enum { NINEXACT = sizeof inexact / sizeof *inexact, LINE = 1024 };
_Static_assert(NINEXACT <= 32, "a bit for each row");

enum Row {
#define INEXACT(id, name, words, text, here, gpu) ROW_##id,
#include "tests/run/inexact.def"
#undef INEXACT
};

static void *need(void *p) {
    if (p) return p;
    fprintf(stderr, "bits: out of memory\n");
    exit(3);
}

uint64_t bits_hash(uint64_t before, const void *data, size_t n) {
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) before = (before ^ p[i]) * UINT64_C(0x100000001B3);
    return before;
}

/* ---- inexact instructions ---- */

/* Whether one of the words between '|', up to the first of `end`, is among the code's, which have a
 * '.' before them. */
static bool has_one(const char *code, size_t len, const char *words, size_t n) {
    for (const char *w = words; w < words + n; w += w < words + n && *w == '|') {
        size_t length = strcspn(w, "| ");
        for (const char *p = code; p + length < code + len; p++)
            if (*p == '.' && memcmp(p + 1, w, length) == 0 &&
                (p + 1 + length == code + len || p[1 + length] == '.'))
                return true;
        w += length;
    }
    return false;
}

static bool is_of(const struct Inexact *row, const char *code, size_t len) {
    size_t name = strlen(row->name);
    if (len < name || memcmp(code, row->name, name) != 0 || (len > name && code[name] != '.'))
        return false;
    for (const char *w = row->words; *w; w += *w == ' ') {
        bool not_one = *w == '!';
        w += not_one;
        size_t n = strcspn(w, " ");
        if (has_one(code + name, len - name, w, n) == not_one) return false;
        w += n;
    }
    return true;
}

/* Of the kind that ptxas makes an fma of, with a product of the row. */
static bool is_sum(const char *code, size_t len) {
    const char *words = inexact[ROW_CONTRACT].words;
    const struct Inexact plus = {"", "add", words}, minus = {"", "sub", words};
    return is_of(&plus, code, len) || is_of(&minus, code, len);
}

uint32_t bits_inexact(const char *ptx) {
    uint32_t found = 0;
    bool sums = false;
    for (const char *line = ptx; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *p = line + strspn(line, " \t{");
        if (*p == '@') p += strcspn(p, " \t\n"), p += strspn(p, " \t");
        size_t len = strcspn(p, " \t\n;");
        for (int i = 0; i < NINEXACT; i++)
            if (is_of(&inexact[i], p, len)) found |= UINT32_C(1) << i;
        sums = sums || is_sum(p, len);
    }
    return sums ? found : found & ~(UINT32_C(1) << ROW_CONTRACT);
}

/* ---- lists ---- */

static BitsCase *add(BitsList *list, const char *title) {
    if (list->n == list->room) {
        list->room = list->room ? 2 * list->room : 1024;
        list->at = need(realloc(list->at, list->room * sizeof *list->at));
    }
    BitsCase *c = &list->at[list->n++];
    *c = (BitsCase){.title = strcpy(need(malloc(strlen(title) + 1)), title)};
    return c;
}

static void list_free(BitsList *list) {
    for (size_t i = 0; i < list->n; i++) free(list->at[i].title);
    free(list->at);
    *list = (BitsList){0};
}

static int by_title(const void *a, const void *b) {
    return strcmp(((const BitsCase *)a)->title, ((const BitsCase *)b)->title);
}

static bool names(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && memcmp(p, word, n) == 0) return true;
    return false;
}

/* ---- the file ---- */

/* Those of its lines that are of the target. */
static bool read_known(Bits *b) {
    char line[LINE];
    FILE *f = fopen(b->same, "r");
    bool ok = f != NULL;
    while (ok && fgets(line, sizeof line, f)) {
        char *field[4] = {line, NULL, NULL, NULL};
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#') continue;
        for (int i = 1; i < 4 && field[i - 1]; i++)
            if ((field[i] = strchr(field[i - 1], '\t'))) *field[i]++ = '\0';
        ok = field[2] != NULL;
        if (!ok || !names(field[1], b->target)) continue;
        BitsCase *c = add(&b->known, field[2]);
        c->open = strcmp(line, "~") == 0;
        c->hash = strtoull(line, NULL, 16);
    }
    if (f) fclose(f);
    if (ok) qsort(b->known.at, b->known.n, sizeof *b->known.at, by_title);
    return ok && b->known.n;
}

bool bits_open(Bits *b, const char *program) {
    if (!b->same || read_known(b)) return true;
    fprintf(stderr, "%s: %s: not there, not of bits, or nothing for %s\n", program, b->same,
            b->target);
    return false;
}

bool bits_wanted(const Bits *b) {
    return b->write || b->same;
}

static bool write_run(Bits *b) {
    FILE *f = fopen(b->write, "w");
    bool ok = f != NULL;
    qsort(b->run.at, b->run.n, sizeof *b->run.at, by_title);
    for (size_t i = 0; ok && i < b->run.n; i++) {
        const BitsCase *c = &b->run.at[i];
        ok = fprintf(f, "%016llx\t%s\t%s", (unsigned long long)c->hash, b->target, c->title) > 0;
        const char *before = "\t";
        for (int k = 0; k < NINEXACT; k++) {
            if (!(c->inexact >> k & 1)) continue;
            fputs(before, f);
            for (const char *p = inexact[k].id; *p; p++) fputc(tolower((unsigned char)*p), f);
            before = ",";
        }
        fputc('\n', f);
    }
    if (f && fclose(f)) ok = false;
    return ok;
}

/* ---- cases ---- */

BitsVerdict bits_case(Bits *b, const char *title, uint64_t hash, uint32_t inexact_rows, char *why) {
    char name[LINE];
    uint64_t key = bits_hash(BITS_START, title, strlen(title));
    int before = 0;
    for (size_t i = 0; i < b->run.n; i++) before += b->run.at[i].key == key;
    snprintf(name, sizeof name, before ? "%s #%d" : "%s", title, before + 1);
    BitsCase *c = add(&b->run, name);
    c->key = key;
    c->hash = hash;
    c->inexact = inexact_rows;
    if (!b->same) return BITS_OPEN;
    BitsCase *known = bsearch(c, b->known.at, b->known.n, sizeof *c, by_title);
    if (!known && b->missing++ < 10) printf("not in %s: %s\n", b->same, name);
    if (!known) return BITS_OPEN;
    known->ran = true;
    if (known->open) b->open++;
    if (known->open) return BITS_OPEN;
    snprintf(why, BITS_WHY, "%s: other bits than %.300s has: %016llx, not %016llx", name, b->same,
             (unsigned long long)hash, (unsigned long long)known->hash);
    bool same = known->hash == hash;
    *(same ? &b->held : &b->other) += 1;
    return same ? BITS_SAME : BITS_DIFFER;
}

int bits_close(Bits *b, const char *program, bool whole) {
    int failed = 0, idle = 0;
    if (b->write && !write_run(b)) {
        fprintf(stderr, "%s: %s cannot be written\n", program, b->write);
        failed = 1;
    }
    for (size_t i = 0; i < b->known.n; i++) {
        if (b->known.at[i].ran) continue;
        if (whole && idle < 10) printf("no such case: %s\n", b->known.at[i].title);
        idle++;
    }
    if (b->same)
        printf("bits of %s: %d the same, %d others, %d open (~); cases that it does not have: %d; "
               "lines without a case: %d\n",
               b->same, b->held, b->other, b->open, b->missing, idle);
    if (b->same && whole) failed += b->missing + idle;
    list_free(&b->run);
    list_free(&b->known);
    return failed;
}

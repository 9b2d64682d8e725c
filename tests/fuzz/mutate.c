/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mutate.c: a number -> an input: a file of the corpus, or what the target makes, with a few words,
 * lines, numbers or bytes dropped, doubled, moved or replaced.
 *
 * Text is changed by words and lines, mostly: what keeps its form comes further than noise. */
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <string.h>

typedef struct Text {
    FuzzRandom *r;
    const FuzzCorpus *c;
    char *at;
    size_t len, most;
} Text;

typedef struct Piece {
    const char *at;
    size_t n;
} Piece;

static const char *const numbers[] = {
    "0",           "1",          "-1",         "2",
    "3",           "4",          "8",          "15",
    "16",          "31",         "32",         "63",
    "64",          "127",        "128",        "255",
    "256",         "1023",       "1024",       "65535",
    "65536",       "1048576",    "2147483647", "2147483648",
    "-2147483648", "4294967295", "4294967296", "9223372036854775807",
    "0.0",         "1e400",      "0x1000000",  "-9223372036854775808",
    "1e9",         "-0.0",       "0f7FC00000", "18446744073709551615"};

uint64_t fuzz_next(FuzzRandom *r) {
    r->state += 0x9e3779b97f4a7c15u;
    uint64_t z = r->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

size_t fuzz_below(FuzzRandom *r, size_t n) {
    return n ? (size_t)(fuzz_next(r) % n) : 0;
}

static size_t below(Text *t, size_t n) {
    return fuzz_below(t->r, n);
}

/* with may be part of the text. */
static void replace(Text *t, size_t at, size_t gone, const char *with, size_t n) {
    char copy[4096];
    if (at > t->len) at = t->len;
    if (gone > t->len - at) gone = t->len - at;
    if (n > sizeof copy) n = sizeof copy;
    if (t->len - gone + n > t->most) return;
    memcpy(copy, with, n);
    memmove(t->at + at + n, t->at + at + gone, t->len - at - gone);
    memcpy(t->at + at, copy, n);
    t->len = t->len - gone + n;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80) ||
           (c && strchr(fuzz_target.word, c));
}

/* ---- words and lines ---- */

/* The word that the place lies in, a newline with the indentation behind it, or one character. */
static Piece word_at(const char *text, size_t len, size_t at) {
    if (at >= len) return (Piece){text + len, 0};
    size_t n = 1;
    if (is_word(text[at])) {
        while (at && is_word(text[at - 1])) at--;
        while (at + n < len && is_word(text[at + n])) n++;
    } else if (text[at] == '\n') {
        while (at + n < len && text[at + n] == ' ') n++;
    }
    return (Piece){text + at, n};
}

/* So many words from a place on. */
static Piece words_at(const char *text, size_t len, size_t at, size_t words) {
    Piece all = word_at(text, len, at);
    for (size_t i = 1; i < words; i++) {
        size_t end = (size_t)(all.at - text) + all.n;
        all.n += word_at(text, len, end).n;
    }
    return all;
}

static Piece line_at(const char *text, size_t len, size_t at) {
    size_t n = 0;
    while (at && text[at - 1] != '\n') at--;
    while (at + n < len && text[at + n] != '\n') n++;
    return (Piece){text + at, at + n < len ? n + 1 : n};
}

static FuzzFile any_file(Text *t) {
    if (!t->c->nfiles) return (FuzzFile){t->at, t->len};
    return t->c->file[below(t, (size_t)t->c->nfiles)];
}

/* A word of the text, or of any file: a name for a name, a number for a number. */
static Piece similar(Text *t, char first, bool anywhere) {
    Piece p = {t->at, 0};
    for (int tries = 0; tries < 30; tries++) {
        FuzzFile file = anywhere ? any_file(t) : (FuzzFile){t->at, t->len};
        p = word_at(file.text, file.len, below(t, file.len));
        if (!p.n) continue;
        if (tries < 10 && !is_digit(first)
                ? *p.at == first
                : is_digit(first) == is_digit(*p.at) && is_word(first) == is_word(*p.at))
            break;
    }
    return p;
}

static size_t place_of(const Text *t, Piece p) {
    return (size_t)(p.at - t->at);
}

static void put(Text *t, Piece gone, Piece with) {
    replace(t, place_of(t, gone), gone.n, with.at, with.n);
}

static void swap(Text *t, Piece a, Piece b) {
    char copy[256];
    if (a.at > b.at) {
        Piece c = a;
        a = b, b = c;
    }
    if (a.at + a.n > b.at || a.n > sizeof copy) return;
    size_t first = place_of(t, a), second = place_of(t, b);
    memcpy(copy, a.at, a.n);
    replace(t, first, a.n, b.at, b.n);
    replace(t, second - a.n + b.n, b.n, copy, a.n);
}

static Piece any_piece(Text *t) {
    size_t n = 0;
    while (fuzz_target.pieces && fuzz_target.pieces[n]) n++;
    if (!n) return (Piece){"", 0};
    const char *text = fuzz_target.pieces[below(t, n)];
    return (Piece){text, strlen(text)};
}

static void change_number(Text *t) {
    size_t at = below(t, t->len), n = 0;
    for (int k = 0; k < 60 && at < t->len && !is_digit(t->at[at]); k++) at = below(t, t->len);
    while (at && is_digit(t->at[at - 1])) at--;
    while (at + n < t->len && is_digit(t->at[at + n])) n++;
    const char *other = numbers[below(t, sizeof numbers / sizeof *numbers)];
    replace(t, at, n, other, strlen(other));
}

static void change_words(Text *t) {
    size_t at = below(t, t->len), n = 1 + below(t, 8);
    Piece here = word_at(t->at, t->len, at), other;
    char first = here.n ? *here.at : ' ';
    FuzzFile file;
    switch (below(t, 15)) {
    case 0: put(t, words_at(t->at, t->len, at, n), (Piece){"", 0}); break;
    case 1: /* doubled */
        other = words_at(t->at, t->len, at, n);
        replace(t, at, 0, other.at, other.n);
        break;
    case 2:
    case 3: swap(t, here, similar(t, first, false)); break;
    case 4:
    case 5: put(t, here, similar(t, first, false)); break;
    case 6: put(t, here, similar(t, first, true)); break;
    case 7: /* some words of another file */
        file = any_file(t);
        other = words_at(file.text, file.len, below(t, file.len), below(t, 2) ? 40 : 6);
        put(t, words_at(t->at, t->len, at, below(t, 3)), other);
        break;
    case 8:
    case 9: change_number(t); break;
    case 10:
    case 11:
        if (!below(t, 2)) here.n = 0;
        put(t, here, any_piece(t));
        break;
    case 12: put(t, line_at(t->at, t->len, at), (Piece){"", 0}); break;
    case 13: /* a line of any file */
        file = any_file(t);
        here = line_at(t->at, t->len, at);
        here.n = 0;
        put(t, here, line_at(file.text, file.len, below(t, file.len)));
        break;
    default: /* a line is also elsewhere */
        here = line_at(t->at, t->len, below(t, t->len));
        here.n = 0;
        put(t, here, line_at(t->at, t->len, at));
    }
}

/* ---- bytes ---- */

static void change_bytes(Text *t) {
    static const uint64_t values[] = {
        0,     1,          0x7f,       0x80,       0xff,   0x7fff,     0x8000,     0xffff,
        65536, 0x7fffffff, 0x80000000, 0xffffffff, 100000, 1ull << 40, 1ull << 63, UINT64_MAX};
    size_t at = below(t, t->len), n = 1 + below(t, 16);
    if (n > t->len - at) n = t->len - at;
    char byte = (char)(below(t, 2) ? fuzz_next(t->r) : 32 + below(t, 95));
    FuzzFile file;
    switch (below(t, 9)) {
    case 0:
        if (t->len) t->at[at] = (char)(t->at[at] ^ 1 << below(t, 8));
        break;
    case 1: replace(t, at, 1, &byte, 1); break;
    case 2: replace(t, at, 0, &byte, 1); break;
    case 3: replace(t, at, n, "", 0); break;
    case 4: replace(t, below(t, t->len + 1), below(t, 2) ? n : 0, t->at + at, n); break;
    case 5: { /* a number, little-endian, of 1, 2, 4 or 8 bytes */
        size_t size = (size_t)1 << below(t, 4);
        uint64_t value = values[below(t, sizeof values / sizeof *values)];
        if (!below(t, 4) && t->len - at >= size) {
            memcpy(&value, t->at + at, size);
            value += below(t, 9) - 4;
        }
        replace(t, at, size, (const char *)&value, size);
        break;
    }
    case 6: /* from another */
        file = any_file(t);
        at = below(t, file.len);
        n = below(t, file.len - at < 64 ? file.len - at + 1 : 64);
        replace(t, below(t, t->len + 1), below(t, 2) ? n : 0, file.text + at, n);
        break;
    case 7: t->len = below(t, 4) ? t->len : at; break; /* cut short */
    default: {
        Piece p = any_piece(t);
        replace(t, at, below(t, 2) ? p.n : 0, p.at, p.n);
    }
    }
}

size_t fuzz_mutate(FuzzRandom *r, const FuzzCorpus *c, char *text, size_t len, size_t most) {
    Text t = {r, c, text, len, most};
    if (fuzz_target.word && fuzz_below(r, 12))
        change_words(&t);
    else
        change_bytes(&t);
    return t.len;
}

size_t fuzz_make(uint64_t seed, const FuzzCorpus *c, char *room, size_t most) {
    FuzzRandom r = {seed};
    size_t len = fuzz_target.make ? fuzz_target.make(&r, c, room, most) : 0;
    if (!len && c->nfiles) {
        const FuzzFile *file = &c->file[fuzz_below(&r, (size_t)c->nfiles)];
        len = file->len < most ? file->len : most;
        memcpy(room, file->text, len);
    }
    for (size_t n = fuzz_below(&r, 3) ? 1 : 2 + fuzz_below(&r, 6); n > 0; n--)
        len = fuzz_mutate(&r, c, room, len, most);
    return len;
}

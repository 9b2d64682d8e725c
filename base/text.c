/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* text.c: growing text, interned names, UTF-8 checks and spelling suggestions (see text.h). */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Buf buf_new(Arena *a) {
    Buf b = {.arena = a, .cap = 64};
    b.data = arena_alloc(a, b.cap);
    return b;
}

static void reserve(Buf *b, size_t more) {
    if (b->cap - b->len > more) return;
    size_t cap = b->cap;
    while (cap - b->len <= more) {
        if (cap > SIZE_MAX / 4) longjmp(*b->arena->oom, 1);
        cap *= 2;
    }
    char *p = arena_alloc(b->arena, cap);
    memcpy(p, b->data, b->len + 1);
    b->data = p;
    b->cap = cap;
}

void buf_write(Buf *b, const char *s, size_t n) {
    reserve(b, n);
    if (n) memcpy(b->data + b->len, s, n);
    b->len += n;
    b->data[b->len] = 0;
}

void buf_putc(Buf *b, char c) {
    buf_write(b, &c, 1);
}
void buf_puts(Buf *b, const char *s) {
    buf_write(b, s, strlen(s));
}

void buf_vprintf(Buf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) longjmp(*b->arena->oom, 1);
    reserve(b, (size_t)n);
    vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
    b->len += (size_t)n;
}

char *text_vformat(const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1);
    if (text) vsnprintf(text, (size_t)n + 1, fmt, ap);
    return text;
}

void buf_printf(Buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_quote(Buf *b, const char *s, size_t n) {
    buf_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') {
            buf_putc(b, '\\');
            buf_putc(b, (char)c);
        } else if (c == '\n') {
            buf_puts(b, "\\n");
        } else if (c == '\t') {
            buf_puts(b, "\\t");
        } else if (c < 32 || c > 126) {
            buf_printf(b, "\\x%02x", c);
        } else {
            buf_putc(b, (char)c);
        }
    }
    buf_putc(b, '"');
}

static size_t hash_bytes(const char *s, size_t n) {
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 1099511628211u;
    return (size_t)(h ^ h >> 29);
}

static const char **find_slot(const char **slot, size_t cap, const char *s, size_t n) {
    for (size_t i = hash_bytes(s, n) & (cap - 1);; i = (i + 1) & (cap - 1))
        if (!slot[i] || (strncmp(slot[i], s, n) == 0 && slot[i][n] == 0)) return &slot[i];
}

const char *intern(Interner *in, const char *s, size_t n) {
    if (in->count * 2 >= in->cap) {
        size_t cap = in->cap ? in->cap * 2 : 256;
        const char **slot = arena_array(in->arena, cap, sizeof *slot);
        for (size_t i = 0; i < in->cap; i++)
            if (in->slot[i]) *find_slot(slot, cap, in->slot[i], strlen(in->slot[i])) = in->slot[i];
        in->slot = slot;
        in->cap = cap;
    }
    const char **at = find_slot(in->slot, in->cap, s, n);
    if (!*at) {
        *at = arena_strndup(in->arena, s, n);
        in->count++;
    }
    return *at;
}

bool text_ends_in(const char *s, const char *suffix) {
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && memcmp(s + n - k, suffix, k) == 0;
}

size_t utf8_valid_prefix(const char *text, size_t n) {
    const unsigned char *s = (const unsigned char *)text;
    size_t i = 0;
    while (i < n) {
        unsigned char c = s[i];
        size_t len = c < 0x80                ? 1
                     : c >= 0xC2 && c < 0xE0 ? 2
                     : (c & 0xF0) == 0xE0    ? 3
                     : c >= 0xF0 && c < 0xF5 ? 4
                                             : 0;
        if (len == 0 || n - i < len) return i;
        for (size_t k = 1; k < len; k++)
            if ((s[i + k] & 0xC0) != 0x80) return i;
        if ((c == 0xE0 && s[i + 1] < 0xA0) || (c == 0xED && s[i + 1] > 0x9F) ||
            (c == 0xF0 && s[i + 1] < 0x90) || (c == 0xF4 && s[i + 1] > 0x8F))
            return i;
        i += len;
    }
    return n;
}

bool text_is_plain(const char *s) {
    while ((unsigned char)*s >= 32 && *s != 127) s++;
    return *s == '\0';
}

enum { LONGEST_NAME = 63 };

/* Insertions, deletions, changes, and swaps of two neighbours, each 1. */
static int edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST_NAME || m > LONGEST_NAME) return LONGEST_NAME;
    int rows[3][LONGEST_NAME + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++) last[j] = before[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            int other = (last[j] < row[j - 1] ? last[j] : row[j - 1]) + 1;
            if (other < best) best = other;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        int *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[m];
}

const char *nearest_name(const char *word, const char *const *names, size_t n) {
    int best = (int)(strlen(word) / 3) + 1;
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!names[i] || strcmp(names[i], word) == 0) continue;
        int d = edit_distance(word, names[i]);
        if (d < best) {
            best = d;
            found = names[i];
        }
    }
    return found;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* text.h: growing text (Buf) and interned names.
 *
 * A Buf is NUL-terminated at all times. Names that come out of intern() are equal exactly when
 * their pointers are. */
#ifndef TILE_BASE_TEXT_H
#define TILE_BASE_TEXT_H

#include "base/arena.h"

typedef struct Buf {
    Arena *arena;
    char *data;
    size_t len, cap;
} Buf;

Buf buf_new(Arena *a);
void buf_putc(Buf *b, char c);
void buf_write(Buf *b, const char *s, size_t n);
void buf_puts(Buf *b, const char *s);
void buf_printf(Buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(Buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Writes s between double quotes with C escapes; every byte outside printable ASCII becomes \xHH,
 * so the result is plain ASCII on one line. */
void buf_quote(Buf *b, const char *s, size_t n);

/* The text of a format in memory of malloc; NULL: there is none. */
char *text_vformat(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

typedef struct Interner {
    Arena *arena;
    const char **slot;
    size_t count, cap; /* cap is 0 or a power of two */
} Interner;

const char *intern(Interner *in, const char *s, size_t n);

bool text_ends_in(const char *s, const char *suffix);

/* Length of the valid UTF-8 prefix of s[0..n); n when all of it is valid. */
size_t utf8_valid_prefix(const char *s, size_t n);
/* No control characters: for texts of files from other people that are shown, on terminals too. */
bool text_is_plain(const char *s);
/* The name in names[0..n) nearest to `word` by edit distance, NULL when none is near enough to
 * suggest (distance over a third of the length). NULL entries are skipped. */
const char *nearest_name(const char *word, const char *const *names, size_t n);

#endif

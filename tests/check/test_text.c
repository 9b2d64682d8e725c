/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_text.c: which bytes are UTF-8, by the numbers of the characters that they would be; escapes
 * of strings. */
#include "base/session.h"
#include "base/text.h"
#include "frontend/syntax/token.h"
#include "tests/run_suite.h"

#include <string.h>

/* How long the character at s is whose number needs this many bytes, and which is one; 0: none. */
static size_t character(const unsigned char *s, size_t n) {
    if (s[0] < 0x80) return 1;
    size_t len = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : s[0] >= 0xC0 ? 2 : 0;
    if (!len || len > n) return 0;
    uint32_t c = s[0] & (0x7Fu >> len);
    if (len == 4 && s[0] >= 0xF8) return 0;
    for (size_t i = 1; i < len; i++) {
        if (s[i] >> 6 != 2) return 0;
        c = c << 6 | (s[i] & 0x3Fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = c >= 0xD800 && c < 0xE000;
    return c >= least[len] && c <= 0x10FFFF && !surrogate ? len : 0;
}

static void compare(const unsigned char *s, size_t n) {
    size_t want = 0, len;
    while (want < n && (len = character(s + want, n - want))) want += len;
    ck_assert_msg(utf8_valid_prefix((const char *)s, n) == want,
                  "%02x %02x %02x %02x: %zu bytes, not %zu", s[0], s[1], s[2], s[3],
                  utf8_valid_prefix((const char *)s, n), want);
}

START_TEST(utf8) {
    static const unsigned char ends[] = {0x00, 0x7F, 0x80, 0x81, 0xBF, 0xC0, 0xFF};
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++)
            for (size_t c = 0; c < sizeof ends; c++)
                for (size_t d = 0; d < sizeof ends; d++) {
                    unsigned char s[4] = {(unsigned char)a, (unsigned char)b, ends[c], ends[d]};
                    compare(s, 4);
                    if (!c && !d)
                        for (size_t n = 0; n < 4; n++) compare(s, n);
                }
}
END_TEST

START_TEST(escapes) {
    static const struct {
        const char *source, *text, *why;
    } row[] = {
        {"a\\n\\t\\\\\\'\\\"\\a\\b\\f\\r\\v", "a\n\t\\'\"\a\b\f\r\v", NULL},
        {"\\x41\\u00e9\\U0001F600", "A\xC3\xA9\xF0\x9F\x98\x80", NULL},
        {"\\101\\7x\\1012",
         "A\ax"
         "A2",
         NULL},
        {"one\\\ntwo\\\r\nthree", "onetwothree", NULL},
        {"one\r\ntwo\rthree", "one\ntwo\rthree", NULL},
        {"\\q\\8", "\\q\\8", NULL},
        {"\\x4", "", "too few hexadecimal digits"},
        {"\\u12G4", "G4", "too few hexadecimal digits"},
        {"\\U00110000", "", "names no character"},
        {"\\uD800", "", "names no character"},
        {"\\uDFFF", "", "names no character"},
        {"\\uE000\\uD7FF", "\xEE\x80\x80\xED\x9F\xBF", NULL},
        {"\\N{DASH}", "{DASH}", "are not supported"},
    };
    Session s;
    if (setjmp(s.bail)) ck_abort_msg("out of memory");
    session_init(&s);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *text, *source = row[i].source;
        size_t len, n = strlen(source);
        const char *why = literal_string(&s.arena, source, n, false, false, &text, &len);
        ck_assert_msg(!why == !row[i].why && (!why || strstr(why, row[i].why)), "%s: %s", source,
                      why ? why : "no error");
        ck_assert_msg(len == strlen(row[i].text) && (!len || !memcmp(text, row[i].text, len)),
                      "%s: %.*s", source, (int)len, text);
        why = literal_string(&s.arena, source, n, true, false, &text, &len);
        ck_assert_ptr_null(why); /* raw: as it stands, but for the ends of lines */
        ck_assert_uint_le(len, n);
    }
    session_free(&s);
}
END_TEST

int main(void) {
    Suite *s = suite_create("text");
    TCase *t = tcase_create("text");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, utf8);
    tcase_add_test(t, escapes);
    return run_suite(s, t);
}

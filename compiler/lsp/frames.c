/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* frames.c: bytes -> messages by their headers (see frames.h). */
#include "compiler/lsp/frames.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

char *frames_room(Frames *f, size_t least, size_t *room) {
    if (f->used) {
        memmove(f->data, f->data + f->used, f->len - f->used);
        f->len -= f->used;
        f->used = 0;
    }
    if (f->cap - f->len < least) {
        size_t cap = f->cap ? f->cap : 4096;
        while (cap - f->len < least) cap *= 2;
        char *data = realloc(f->data, cap);
        if (!data) return NULL;
        f->data = data;
        f->cap = cap;
    }
    *room = f->cap - f->len;
    return f->data + f->len;
}

void frames_filled(Frames *f, size_t n) {
    if (f->skip) { /* they lie at the end, behind nothing that is wanted */
        size_t drop = f->skip < n ? (size_t)f->skip : n;
        memmove(f->data + f->len, f->data + f->len + drop, n - drop);
        f->skip -= drop;
        n -= drop;
    }
    f->len += n;
}

static bool is_header(const char *line, size_t n, const char *name) {
    size_t k = strlen(name);
    return n > k && line[k] == ':' && strncasecmp(line, name, k) == 0;
}

/* Digits with blanks around them, of a number that fits. */
static bool read_length(const char *s, size_t n, uint64_t *out) {
    *out = 0;
    while (n && isspace((unsigned char)*s)) s++, n--;
    while (n && isspace((unsigned char)s[n - 1])) n--;
    if (!n || n > 18) return false;
    for (; n; s++, n--) {
        if (!isdigit((unsigned char)*s)) return false;
        *out = *out * 10 + (uint64_t)(*s - '0');
    }
    return true;
}

/* What stands before the empty line; false: these are no headers. */
static bool read_headers(const char *at, size_t n, uint64_t *length) {
    bool found = false;
    while (n) {
        const char *stop = memchr(at, '\n', n);
        size_t all = stop ? (size_t)(stop - at) + 1 : n, line = all;
        while (line && (at[line - 1] == '\n' || at[line - 1] == '\r')) line--;
        if (is_header(at, line, "Content-Length")) {
            if (found || !read_length(at + 15, line - 15, length)) return false;
            found = true;
        } else if (line && !memchr(at, ':', line)) {
            return false;
        }
        at += all;
        n -= all;
    }
    return found;
}

/* The bytes of the headers with the empty line; 0: not there yet. */
static size_t headers_end(const char *at, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (at[i] != '\n') continue;
        if (i + 1 < n && at[i + 1] == '\n') return i + 2;
        if (i + 2 < n && at[i + 1] == '\r' && at[i + 2] == '\n') return i + 3;
    }
    return 0;
}

FrameState frames_next(Frames *f, const char **message, size_t *len) {
    size_t n = f->len - f->used, seen = n < HEADER_LIMIT ? n : HEADER_LIMIT;
    if (!n) return FRAME_MORE;
    const char *at = f->data + f->used;
    size_t headers = headers_end(at, seen);
    if (!headers) return seen == HEADER_LIMIT ? FRAME_BAD : FRAME_MORE;
    uint64_t length;
    if (!read_headers(at, headers, &length)) return FRAME_BAD;
    if (length > (uint64_t)MESSAGE_LIMIT_MB << 20) {
        uint64_t here = n - headers;
        f->used += headers + (size_t)(here < length ? here : length);
        f->skip = here < length ? length - here : 0;
        if (f->skip) f->len = f->used = 0;
        return FRAME_TOO_LARGE;
    }
    if (n - headers < length) return FRAME_MORE;
    *message = at + headers;
    *len = (size_t)length;
    f->used += headers + (size_t)length;
    return FRAME_MESSAGE;
}

void frames_free(Frames *f) {
    free(f->data);
    *f = (Frames){0};
}

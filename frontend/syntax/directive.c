/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* directive.c: comments `# tile: key = text` -> directives of the function below them, and of the
 * file.
 *
 * The scanner says which texts are comments: a line of a string that looks like one is none. Which
 * keys there are is lower.c's. */
#include "frontend/syntax/parser.h"

#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

/* A comment that begins its line, `# tile:` and more; *at: behind the colon. */
static bool is_directive(const char *text, const Token *comment, const char **at) {
    const char *begin = text + comment->offset, *end = begin + comment->length;
    for (const char *s = begin; s > text && s[-1] != '\n'; s--) {
        if (s - text == 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) break; /* a byte order mark */
        if (!is_blank(s[-1])) return false;
    }
    while (begin < end && (*begin == ' ' || *begin == '\t' || *begin == '#')) begin++;
    *at = begin + 5;
    return end - begin >= 5 && memcmp(begin, "tile:", 5) == 0;
}

static Directive read_directive(Session *s, const Token *comment, const char *at) {
    const char *end = s->source.text + comment->offset + comment->length;
    Directive d = {.span = comment->span, .offset = comment->offset};
    size_t col = (size_t)(at - 5 - (s->source.text + comment->offset)) + comment->span.col;
    if (comment->span.line) {
        d.span.col = (uint16_t)(col < 1000 ? col : 1000);
        d.span.end = SPAN_TO_LINE_END;
    }
    const char *equals = memchr(at, '=', (size_t)(end - at));
    if (!equals) return d;
    const char *key_end = equals, *value = equals + 1;
    while (at < key_end && is_blank(*at)) at++;
    while (key_end > at && is_blank(key_end[-1])) key_end--;
    while (end > value && is_blank(end[-1])) end--;
    while (value < end && is_blank(*value)) value++;
    d.key = intern(&s->names, at, (size_t)(key_end - at));
    d.text = arena_strndup(&s->arena, value, (size_t)(end - value));
    return d;
}

void directives_read(Session *s, const TokenList *comments, Directives *out) {
    for (int i = 0; i < comments->n; i++) {
        const char *at;
        if (!is_directive(s->source.text, &comments->at[i], &at)) continue;
        vec_push(&s->arena, out, read_directive(s, &comments->at[i], at));
    }
}

/* The comment lines directly above the line that holds `offset`, as an offset where they begin. */
static uint32_t comment_top(const char *text, uint32_t *offset) {
    while (*offset > 0 && text[*offset - 1] != '\n') --*offset;
    for (uint32_t top = *offset;;) {
        uint32_t above = top ? top - 1 : 0, i;
        while (above > 0 && text[above - 1] != '\n') above--;
        for (i = above; text[i] == ' ' || text[i] == '\t'; i++) {
        }
        if (!top || text[i] != '#') return top;
        top = above;
    }
}

void directives_of(Session *s, Directives *all, AstFunc *f, uint32_t offset) {
    uint32_t top = comment_top(s->source.text, &offset);
    int low = 0, high = all->n; /* the first that is not above */
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (all->at[middle].offset < top)
            low = middle + 1;
        else
            high = middle;
    }
    Directives own = {.at = f->directive, .n = f->ndirectives, .cap = f->ndirectives};
    for (; low < all->n && all->at[low].offset < offset; low++) {
        Directive *d = &all->at[low];
        d->of_function = true;
        if (d->key)
            vec_push(&s->arena, &own, *d);
        else
            diag(&s->diags, W_DIRECTIVE_LOST, d->span,
                 "this comment is ignored: a directive is written '# tile: key = text'");
    }
    f->directive = own.at;
    f->ndirectives = own.n;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_parser.c: mutated pieces of kernels through the lexer and the parser alone.
 *
 * An input is some lines of a file, so that many are tried in a second. What comes of one is a
 * tree, which prints, and messages, each with a place in the input. */
#include "frontend/syntax/ast.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { READ, PARSED };

enum { INPUT_MAX = 1 << 14, PIECE_MAX = 500, PRINTED = 8 /* one in so many is */ };

static const char jit[] = "@triton.jit";

/* Lines of a file, from a function's head, mostly: other code is parsed on trial. */
static size_t make(FuzzRandom *r, const FuzzCorpus *c, char *room, size_t most) {
    const FuzzFile *file = &c->file[fuzz_below(r, (size_t)c->nfiles)];
    size_t at = fuzz_below(r, file->len), n = 1 + fuzz_below(r, PIECE_MAX);
    if (fuzz_below(r, 8))
        while (at && (file->len - at < sizeof jit || memcmp(file->text + at, jit, sizeof jit - 1)))
            at--;
    if (n > file->len - at) n = file->len - at;
    if (n > most) n = most;
    memcpy(room, file->text + at, n);
    return n;
}

static int one(const uint8_t *data, size_t n) {
    Session s;
    volatile int reached = READ;
    if (setjmp(s.bail)) {
        session_free(&s);
        return reached;
    }
    session_init(&s);
    s.arena.limit = (size_t)256 << 20;
    s.source = (Source){.name = "input.tl", .text = (const char *)data, .len = n};
    FuzzRandom r = fuzz_choices(data, n);
    AstFile *file = ast_parse(&s);
    for (const Diag *d = s.diags.first; d; d = d->next) {
        size_t length;
        if (d->severity != DIAG_NOTE && !d->span.line)
            fuzz_wrong("a message without a place", d->text);
        if (d->span.line && !source_line(&s.source, d->span.line, &length))
            fuzz_wrong("a message on a line that there is not", d->text);
    }
    if (!s.diags.errors && file->nfuncs) reached = PARSED;
    if (!fuzz_below(&r, PRINTED)) {
        Buf tree = buf_new(&s.arena), text = buf_new(&s.arena);
        ast_print(file, &tree);
        diag_render(&s.diags, &s.source, false, &text);
    }
    session_free(&s);
    return reached;
}

static const char *const corpus[] = {"tests/frontend/*.tl",
                                     "tests/frontend/*.py",
                                     "tests/run/*.tl",
                                     "tests/conformance/rules/*.tl",
                                     "tests/modules/*/*.py",
                                     "examples/*.tl",
                                     NULL};
static const char *const pieces[] = {"and ",
                                     "as ",
                                     "assert ",
                                     "async ",
                                     "await ",
                                     "break",
                                     "class C:",
                                     "continue",
                                     "def f(",
                                     "del ",
                                     "elif ",
                                     "else:",
                                     "except:",
                                     "finally",
                                     "for i in ",
                                     "from . ",
                                     "global",
                                     "if ",
                                     "import ",
                                     "in ",
                                     "is ",
                                     "lambda ",
                                     "nonlocal",
                                     "not ",
                                     "or ",
                                     "pass",
                                     "raise ",
                                     "return ",
                                     "try:",
                                     "while ",
                                     "with ",
                                     "yield ",
                                     "match ",
                                     "case ",
                                     "@triton.jit",
                                     "# tile: ",
                                     "\"\"\"",
                                     "'''",
                                     "f\"{x}\"",
                                     "r'\\",
                                     "b'",
                                     "\\\n",
                                     "\n    ",
                                     "\n\t",
                                     "\r\n",
                                     "\f",
                                     "\\N{DASH}",
                                     "\\x4",
                                     "(",
                                     ")",
                                     "[",
                                     "]",
                                     "{",
                                     "}",
                                     "->",
                                     ":=",
                                     "**",
                                     "//",
                                     ">>=",
                                     "@=",
                                     "...",
                                     "!=",
                                     "<>",
                                     "~",
                                     "0x",
                                     "0b1_0",
                                     "1_000",
                                     "1.5e-3",
                                     "1j",
                                     "0o17",
                                     "1__0",
                                     "09",
                                     ";",
                                     "*a, b",
                                     "**k",
                                     "x: int = ",
                                     "\xc3\xa9",
                                     "\xff",
                                     "\xe2\x80\xa8",
                                     "[:, None]",
                                     "((((((((((",
                                     "- - - - -",
                                     "a.b.c.d.e.f",
                                     NULL};
static const char *const stages[] = {"read", "parsed", NULL};

const FuzzTarget fuzz_target = {.name = "parser",
                                .suffix = ".tl",
                                .most = INPUT_MAX,
                                .word = "",
                                .corpus = corpus,
                                .pieces = pieces,
                                .stages = stages,
                                .make = make,
                                .one = one};

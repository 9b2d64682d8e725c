/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expect.h: what a test file says about itself, and whether an output agrees.
 *
 * Directives stand in comments (`#` or `//`) of the test file:
 *
 *   RUN: tilec --emit=tir %s    a command; %s is this file, %t an empty folder (also the working
 *                               directory); several RUN lines run in turn. No shell: words are
 *                               split at spaces, '…' and "…" keep them together. All output, errors
 *                               included, of all commands is what the expectations see
 *   EXIT: 2                     exit code of the last command; default 0, or 1 when errors are
 *                               expected. The others must exit with 0. 77 skips the test.
 *   CHECK: text                 appears after the previous match; {{…}} is an extended regular
 *                               expression; runs of spaces are as one
 *   CHECK-NEXT: text            appears on the line after the previous match
 *   CHECK-NOT: text             appears nowhere between the matches around it
 *   CHECK-COUNT-3: text         appears three times, each after the other
 *   x = y + z  # error: text    a diagnostic of this kind, with this text in it, is reported on
 * this line; likewise warning, perf, note. error@+1, error@-2: so many lines below or above;
 * error@none: without a line. When a test has an `error:`, every error reported must be expected.
 *   EXPECT:                     the comment lines that follow are the output, exactly; paths of the
 *                               file and the folder are written %s and %t. `--bless` rewrites them.
 *
 * Behind what the commands print, the expectations see the text files that the commands have left
 * in the folder, by name: a test of `tilec %s` need not name its output.
 *
 * A test fails, too, when a command leaves a temporary file, or, failing as expected, any file. */
#ifndef TILE_TESTS_EXPECT_H
#define TILE_TESTS_EXPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { MAX_RUNS = 16, MAX_CHECKS = 256, MAX_DIAGS = 128 };

typedef enum CheckKind { CHECK_PLAIN, CHECK_NEXT, CHECK_NOT } CheckKind;

typedef struct Check {
    CheckKind kind;
    int count; /* times it must match; for CHECK_PLAIN */
    int line;  /* of the test file */
    char *text;
} Check;

typedef struct ExpectedDiag {
    const char *severity;
    int line; /* where it must be reported; 0: without a line */
    char *text;
    bool met;
} ExpectedDiag;

typedef struct Expectations {
    char *text; /* the whole file */
    size_t len;
    char *run[MAX_RUNS];
    Check check[MAX_CHECKS];
    ExpectedDiag diag[MAX_DIAGS];
    int nruns, nchecks, ndiags;
    int exit_code;
    bool wants_errors;             /* has an `error:` */
    bool has_exact;                /* has an EXPECT: block */
    size_t exact_begin, exact_end; /* of its lines, as offsets into text */
    char exact_prefix[8];          /* "# " or "// " */
} Expectations;

/* Reads directives out of text (which stays owned by the result). False, with a line on `why`, when
 * they are not well formed. A file without RUN is well formed: nruns is 0. */
bool expect_read(Expectations *e, char *text, size_t len, FILE *why);
/* Compares the output, in which paths have been replaced; reports each difference on `why`. */
bool expect_hold(Expectations *e, const char *output, FILE *why);
/* The test file with its EXPECT block holding `output`. malloc'ed. */
char *expect_bless(const Expectations *e, const char *output);
void expect_free(Expectations *e);

#endif

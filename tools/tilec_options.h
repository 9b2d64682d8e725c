/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_options.h: the options of tilec and the kinds of its output, as tables. */
#ifndef TILE_TOOLS_TILEC_OPTIONS_H
#define TILE_TOOLS_TILEC_OPTIONS_H

#include "tile.h"
#include "tools/options.h"

typedef enum OptionId {
    OPT_OUTPUT = 1,
    OPT_EMIT,
    OPT_VARIANTS,
    OPT_MAKE,
    OPT_MAKE_FILE,
    OPT_EMBED,
    OPT_TUNING,
    OPT_WARNING,
    OPT_COLOR,
    OPT_DIAGNOSTICS,
    OPT_REPORT,
    OPT_COMPARE,
    OPT_EXPLAIN_PTX,
    OPT_EXPLAIN,
    OPT_CACHE,
    OPT_REPRODUCE,
    OPT_LSP,
    OPT_MANUAL,
    OPT_HELP,
    OPT_VERSION
} OptionId;

typedef struct Kind {
    const char *name, *suffix;
    tile_emit emit;
    enum { PLAIN, CUBIN, HEADER, LAUNCHER } artefact; /* what is made of the compiler's output */
} Kind;

extern const OptionRow tilec_rows[];
extern const int tilec_nrows;
extern const Kind tilec_kinds[];
extern const int tilec_nkinds;

enum { STRAY_WHY = 300 };
/* Whether a word has no effect beside one that says to do something else than to compile, such as
 * --cache; which, in `why`. */
bool tilec_stray(int argc, char **argv, char why[STRAY_WHY]);
const Kind *tilec_kind(const char *name); /* NULL: there is none */
/* Prints how the program describes itself; false: no view of manual_print's. */
bool tilec_manual(const char *view);

#endif

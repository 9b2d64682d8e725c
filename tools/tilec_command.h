/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_command.h: tilec's command line -> what is to be done, and where each output goes. */
#ifndef TILE_TOOLS_TILEC_COMMAND_H
#define TILE_TOOLS_TILEC_COMMAND_H

#include "base/file.h"
#include "tile.h"
#include "tools/messages.h"
#include "tools/tilec_artefact.h"
#include "tools/tilec_deps.h"
#include "tools/tilec_options.h"

#include <stdbool.h>

enum ExitCode { EXIT_DONE, EXIT_SOURCE, EXIT_USAGE, EXIT_FILES, EXIT_BUG };
enum { MAX_FACTS = 64, CONFIG_TEXT = 1000 };

typedef struct Input {
    const char *path;
    char *text;
    char *output; /* where to; "-": standard output */
    tile_compiled *compiled;
    char *artefact; /* a header or cubin made of it; NULL: the compiler's output itself */
    size_t artefact_len;
    char *header_path, *header; /* of a launcher; its C file is the artefact */
    size_t header_len;
    FileDraft draft, header_draft;
    Deps deps;
    char *rule_path; /* of -MD; NULL: no rule is written */
    char *rule;
    FileDraft rule_draft;
    char config[CONFIG_TEXT]; /* of --config=auto */
} Input;

typedef struct Command {
    Messages messages;
    tile_compile_options o;
    const char **defines, **include;
    bool make;
    const char *make_file; /* -MF */
    char *options;         /* those of kernels, for o.options */
    char *facts;           /* of all --for, cut into: */
    const char *fact[MAX_FACTS];
    Input *input;
    int ninputs;
    const char *output; /* -o */
    ArtefactOptions artefact;
    const Kind *kind; /* NULL: not chosen yet */
    bool report;      /* instead of code: */
    tile_report_format report_format;
    bool compare, compare_all; /* instead of code; what stood before it: */
    tile_compile_options before;
    char *options_before;
    int inputs_before;
    const char *explain;   /* FILE:LINE */
    const char *reproduce; /* a bundle */
    bool lsp;
    bool native, forecast; /* forecast: --config=auto */
    char native_target[32];
    int worst; /* exit code so far */
} Command;

/* Says what is wrong with the command, and where to look. EXIT_USAGE. */
int command_usage(const Command *c, const char *before, const char *text, const char *after);
/* Says `text`, unless it is NULL, and ends with this code or a worse one. */
void command_complain(Command *c, int code, const char *text);
/* EXIT_DONE, or what to end with: the mistake is told. */
int command_read(Command *c, int argc, char **argv);
/* The command stays the caller's: what it holds goes. */
void command_free(Command *c, int argc);

bool has_variants(const Kind *kind);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_explain.h: --explain: what is behind a code that a message ends in. */
#ifndef TILE_TOOLS_TILEC_EXPLAIN_H
#define TILE_TOOLS_TILEC_EXPLAIN_H

#include "tools/messages.h"

/* A code's page, or of "all" a line for each code, on standard output. TILE_INVALID: there is no
 * such code, and standard error says which is near. */
tile_status explain_command(const Messages *m, const char *what);

#endif

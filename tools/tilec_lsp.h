/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_lsp.h: --lsp: a language server for editors on standard input and output. */
#ifndef TILE_TOOLS_TILEC_LSP_H
#define TILE_TOOLS_TILEC_LSP_H

#include "tools/messages.h"

#include <stdbool.h>

/* Until the client says exit, or its end of the pipe is gone. *orderly: it asked to shut down
 * first. What is wrong with the options is said on standard error. */
tile_status lsp_command(const Messages *m, const tile_compile_options *o, bool *orderly);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_cache.h: --cache: what the JIT keeps on disk, for people and programs who look after it. */
#ifndef TILE_TOOLS_TILEC_CACHE_H
#define TILE_TOOLS_TILEC_CACHE_H

#include "tools/messages.h"

/* list, json, pin:ID, unpin:ID, clear or clear:all; NULL: list. Prints on standard output, and
 * on standard error what is wrong. */
tile_status cache_command(const Messages *m, const char *what);

#endif

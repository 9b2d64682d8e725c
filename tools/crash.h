/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* crash.h: tile_compile, of which a bug in the compiler leaves a bundle (bundle.h): a file in
 * $TILEC_CRASH_DIR, by default the working directory, with all that it takes to see it again.
 * Programs do this, the library does not: its caller's signals are the caller's. */
#ifndef TILE_TOOLS_CRASH_H
#define TILE_TOOLS_CRASH_H

#include "tools/messages.h"

/* As tile_compile. A bug is TILE_INTERNAL, or a signal that ends the process, as it does without.
 */
tile_status crash_compile(const Messages *m, const tile_compile_options *options,
                          tile_compiled **out);

#endif

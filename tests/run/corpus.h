/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* corpus.h: a kernel that a test has compiled -> three files: its PTX, its source, and the
 * arguments with which tilec compiles that again. And back: code for it that somebody else has
 * made. */
#ifndef TILE_TESTS_RUN_CORPUS_H
#define TILE_TESTS_RUN_CORPUS_H

#include "tile.h"

#include <stdbool.h>

/* Writes FOLDER/NAME.ptx, with `title` in its first line, and FOLDER/NAME.tl; and FOLDER/NAME.args:
 * the title, then tilec's arguments, each on a line. False when one cannot be written. */
bool corpus_write(const char *folder, const char *name, const char *title,
                  const tile_compile_options *o, const char *ptx, size_t size);
/* FOLDER/HASH.ptx, to be freed: code to run in place of what tilec makes of the kernel. HASH is the
 * FNV-1a hash of the title, 16 digits. NULL: there is none. */
char *corpus_code(const char *folder, const char *title, size_t *size);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_report.h: what tilec shows of two compilations beside each other, and of one instruction.
 */
#ifndef TILE_TOOLS_TILEC_REPORT_H
#define TILE_TOOLS_TILEC_REPORT_H

#include "tools/messages.h"

#include <stdbool.h>
#include <stddef.h>

/* Compiles the two files, each with its options, whose source and file_name are filled in, and
 * writes what differs into *text, malloc'ed. Prints errors. */
tile_status report_compare_files(const Messages *m, const tile_compile_options option[2],
                                 const char *const path[2], tile_report_format format, bool all,
                                 char **text, size_t *len);
/* What the instruction at FILE:LINE is of, into *text. `path`: the source that the file was made
 * of, with the options; NULL: the file has lines `//~`. Prints errors. */
tile_status report_explain_place(const Messages *m, const char *place,
                                 const tile_compile_options *option, const char *path, char **text,
                                 size_t *len);

/* It says more than `perf:` notes, which a report has. */
bool report_has_news(const tile_compiled *c);

#endif

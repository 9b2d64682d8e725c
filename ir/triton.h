/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* triton.h: the versions of Triton's language. Only source text has one: tile IR means what it
 * says. */
#ifndef TILE_IR_TRITON_H
#define TILE_IR_TRITON_H

#define TRITON_WORDS "3.6 3.7 3.8 3.9" /* all of them, in order */
#define TRITON_LIST "3.6, 3.7, 3.8 or 3.9"
#define TRITON_DEFAULT "3.9"                       /* the newest */
enum { TRITON_OLDEST = 306, TRITON_NEWEST = 309 }; /* as triton_find numbers them */

/* "3.6" -> 306; 0: there is no such version, or text is NULL. */
int triton_find(const char *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* json.h: JSON texts into jansson's values and back, told apart from too little memory. */
#ifndef TILE_BASE_JSON_H
#define TILE_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>

/* The value that the text is; json_decref it. NULL: *starved says that there was no memory, else *e
 * what is wrong with the text. A name may not stand twice in an object. */
json_t *json_of_text(const char *text, size_t len, size_t flags, json_error_t *e, bool *starved);
/* The text of a value, malloc'ed. NULL: there was no memory. */
char *json_to_text(const json_t *value, size_t flags);

#endif

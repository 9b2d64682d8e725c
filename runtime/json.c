/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* json.c: see json.h. */
#include "runtime/json.h"

#include <stdlib.h>

/* jansson says of a string that it could not allocate that it is no string. So a text that it
 * refuses is read again, and is to blame only where there is memory to be had. */
json_t *json_of_text(const char *text, size_t len, size_t flags, json_error_t *e, bool *starved) {
    json_t *root = NULL;
    for (int i = 0; i < 2 && !root; i++)
        root = json_loadb(text, len, JSON_REJECT_DUPLICATES | flags, e);
    void *probe = root ? NULL : malloc(len + 1);
    *starved = !root && (!probe || json_error_code(e) == json_error_out_of_memory);
    free(probe);
    return root;
}

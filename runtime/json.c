/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* json.c: see json.h. */
#include "runtime/json.h"

#include <stdlib.h>

/* jansson says of a string that it could not allocate that it is no string, and leaves out the
 * characters that a longer one had no room for. So each text is read twice: it is to blame only
 * where there is memory to be had, and is what it is read as both times. */
json_t *json_of_text(const char *text, size_t len, size_t flags, json_error_t *e, bool *starved) {
    json_t *first = json_loadb(text, len, JSON_REJECT_DUPLICATES | flags, e);
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | flags, e);
    bool differ = first && root && !json_equal(first, root);
    void *probe = root ? NULL : malloc(len + 1);
    *starved =
        differ || (!root && (first || !probe || json_error_code(e) == json_error_out_of_memory));
    free(probe);
    json_decref(first);
    if (!*starved) return root;
    json_decref(root);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* json.c: see json.h. */
#include "base/json.h"

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

/* json_dumps leaves out what its buffer had no room for when that could not grow. */
char *json_to_text(const json_t *value, size_t flags) {
    size_t n = json_dumpb(value, NULL, 0, flags);
    char *text = n ? malloc(n + 1) : NULL;
    if (text && json_dumpb(value, text, n, flags) == n) {
        text[n] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tuning.c: tuning files: what was measured of a kernel's configs, kept as JSON, shared by many
 * processes, and asked for the fastest.
 *
 *   {"tuning": 1, "entries": [
 *    {"kernel": "matmul", "device": "NVIDIA H200", "target": "sm_90a", "types": "*fp16,…,i32",
 *     "key": "M=4096,N=4096,K=4096", "source": "5f1c…", "configs": [
 *     {"config": "BM=128,BN=128,num_warps=8", "ms": 0.21, "low": 0.209, "high": 0.212, "runs": 90},
 *     {"config": "BM=256,BN=256,num_warps=4", "failed": "more shared memory than the GPU has"}]}]}
 *
 * An entry's configs are sorted, fastest first, failures last. A record is added to what the file
 * holds at that moment, under a lock on the file itself, by a rename: whoever reads sees a whole
 * file, nobody's record is lost, and a process that is killed leaves the file as it was. Fields
 * that this version does not know stay. A file that is not of this form is refused, never replaced.
 */
#include "base/expr.h"
#include "base/file.h"
#include "base/text.h"
#include "base/json.h"
#include "tile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TUNING_VERSION = 1, FILE_LIMIT_MB = 64 };

struct tile_tuning {
    char *path; /* NULL: in memory only */
    json_t *root;
    char error[700];
};

__attribute__((format(printf, 3, 4))) static tile_status fail(tile_tuning *t, tile_status status,
                                                              const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t->error, sizeof t->error, fmt, ap);
    va_end(ap);
    return status;
}

static tile_status no_memory(tile_tuning *t) {
    return fail(t, TILE_NO_MEMORY, "out of memory");
}

static tile_status fail_file(tile_tuning *t, const FileError *error) {
    return fail(t, error->out_of_memory ? TILE_NO_MEMORY : TILE_IO, "%s", error->text);
}

/* ---- checking what a file says ---- */

static const struct {
    const char *name;
    size_t at;
} entry_fields[] = {
    {"kernel", offsetof(tile_tuned, kernel)}, {"device", offsetof(tile_tuned, device)},
    {"target", offsetof(tile_tuned, target)}, {"types", offsetof(tile_tuned, types)},
    {"key", offsetof(tile_tuned, key)},       {"source", offsetof(tile_tuned, source)},
};
enum { ENTRY_FIELDS = sizeof entry_fields / sizeof *entry_fields, IDENTITY_FIELDS = 5 };

static const char *field_of(const tile_tuned *r, int i) {
    const char *text;
    memcpy(&text, (const char *)r + entry_fields[i].at, sizeof text);
    return text;
}

/* Why it is no entry, or NULL. */
static const char *check_config(const json_t *c) {
    if (!json_is_string(json_object_get(c, "config"))) return "'config' must be a string";
    if (!text_is_plain(json_string_value(json_object_get(c, "config"))))
        return "'config' has a control character";
    const json_t *failed = json_object_get(c, "failed");
    if (failed) return json_is_string(failed) ? NULL : "'failed' must be a string";
    static const char *const times[] = {"ms", "low", "high"};
    for (int i = 0; i < 3; i++) {
        const json_t *v = json_object_get(c, times[i]);
        if (!json_is_number(v) || !(json_number_value(v) >= 0))
            return "'ms', 'low' and 'high' must be numbers, not below 0";
    }
    const json_t *runs = json_object_get(c, "runs");
    if (!json_is_integer(runs) || json_integer_value(runs) < 1 ||
        json_integer_value(runs) > INT32_MAX)
        return "'runs' must be a number from 1 on";
    return NULL;
}

static const char *check_entry(const json_t *e) {
    for (int i = 0; i < ENTRY_FIELDS; i++)
        if (!json_is_string(json_object_get(e, entry_fields[i].name)))
            return "'kernel', 'device', 'target', 'types', 'key' and 'source' must be strings";
    for (int i = 0; i < ENTRY_FIELDS; i++)
        if (!text_is_plain(json_string_value(json_object_get(e, entry_fields[i].name))))
            return "a text has a control character";
    const json_t *configs = json_object_get(e, "configs");
    if (!json_is_array(configs)) return "'configs' must be a list";
    for (size_t i = 0; i < json_array_size(configs); i++) {
        const char *why = check_config(json_array_get(configs, i));
        if (why) return why;
    }
    return NULL;
}

static tile_status check_root(tile_tuning *t, const json_t *root) {
    const json_t *version = json_object_get(root, "tuning");
    const json_t *entries = json_object_get(root, "entries");
    if (!json_is_integer(version) || json_integer_value(version) < 1)
        return fail(t, TILE_IO, "'%.300s' is not a tuning file: 'tuning' must be its version",
                    t->path);
    if (json_integer_value(version) > TUNING_VERSION)
        return fail(t, TILE_IO,
                    "'%.300s' is a tuning file of version %lld, and this library reads version %d",
                    t->path, (long long)json_integer_value(version), TUNING_VERSION);
    if (!json_is_array(entries))
        return fail(t, TILE_IO, "'%.300s' is not a tuning file: 'entries' must be a list", t->path);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const char *why = check_entry(json_array_get(entries, i));
        if (why)
            return fail(t, TILE_IO, "'%.300s' is not a tuning file: entry %zu: %s", t->path, i,
                        why);
    }
    return TILE_OK;
}

static json_t *empty_root(void) {
    return json_pack("{s:i, s:[]}", "tuning", TUNING_VERSION, "entries");
}

/* What the file holds; a file that is empty or not there holds nothing. */
static tile_status read_root(tile_tuning *t, json_t **out) {
    struct stat st;
    char *text = NULL;
    size_t len = 0;
    FileError error;
    bool there = stat(t->path, &st) == 0 || errno != ENOENT;
    if (there && !file_read(t->path, (size_t)FILE_LIMIT_MB << 20, &text, &len, &error))
        return fail_file(t, &error);
    json_error_t wrong = {.line = -1};
    bool starved = true;
    json_t *root = len ? json_of_text(text, len, 0, &wrong, &starved) : empty_root();
    free(text);
    if (!root && starved) return no_memory(t);
    if (!root)
        return fail(t, TILE_IO, "'%.300s' is not a tuning file: line %d: %s", t->path, wrong.line,
                    wrong.text);
    tile_status status = check_root(t, root);
    if (status) {
        json_decref(root);
        return status;
    }
    *out = root;
    return TILE_OK;
}

/* ---- changing ---- */

static const char *text_of(const json_t *o, const char *field) {
    const char *text = json_string_value(json_object_get(o, field));
    return text ? text : "";
}

static json_t *find_entry(const json_t *root, const tile_tuned *r) {
    const json_t *entries = json_object_get(root, "entries");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        json_t *e = json_array_get(entries, i);
        int k = 0;
        while (k < IDENTITY_FIELDS && strcmp(text_of(e, entry_fields[k].name), field_of(r, k)) == 0)
            k++;
        if (k == IDENTITY_FIELDS) return e;
    }
    return NULL;
}

static json_t *new_entry(json_t *root, const tile_tuned *r) {
    json_t *e = json_object();
    bool ok = e != NULL;
    for (int i = 0; ok && i < ENTRY_FIELDS; i++)
        ok = json_object_set_new(e, entry_fields[i].name, json_string(field_of(r, i))) == 0;
    ok = ok && json_object_set_new(e, "configs", json_array()) == 0;
    if (ok && json_array_append(json_object_get(root, "entries"), e)) ok = false;
    json_decref(e); /* the list holds it */
    return ok ? e : NULL;
}

static json_t *config_of(const tile_tuned *r) {
    if (r->failure) return json_pack("{s:s, s:s}", "config", r->config, "failed", r->failure);
    return json_pack("{s:s, s:f, s:f, s:f, s:i}", "config", r->config, "ms", r->median_ms, "low",
                     r->low_ms, "high", r->high_ms, "runs", r->runs);
}

/* False when memory runs out. */
static bool put_record(json_t *root, const tile_tuned *r) {
    json_t *e = find_entry(root, r);
    if (!e && !(e = new_entry(root, r))) return false;
    /* Times of another version of the source say nothing of this one. */
    if (strcmp(text_of(e, "source"), r->source) != 0 &&
        (json_object_set_new(e, "source", json_string(r->source)) ||
         json_object_set_new(e, "configs", json_array())))
        return false;
    json_t *configs = json_object_get(e, "configs"), *made = config_of(r);
    if (!made) return false;
    size_t place = 0;
    for (size_t i = 0; i < json_array_size(configs); i++)
        if (strcmp(text_of(json_array_get(configs, i), "config"), r->config) == 0)
            json_array_remove(configs, i--);
    for (; place < json_array_size(configs); place++) {
        const json_t *c = json_array_get(configs, place);
        const json_t *ms = json_object_get(c, "ms");
        if (!r->failure && (!ms || json_number_value(ms) > r->median_ms)) break;
    }
    return json_array_insert_new(configs, place, made) == 0;
}

/* ---- writing ---- */

typedef struct Text {
    char *data;
    size_t len, cap;
    bool failed; /* no memory, once: jansson does not look at what every call returns */
} Text;

static int append(const char *s, size_t n, void *to) {
    Text *t = to;
    if (n > t->cap - t->len) {
        size_t cap = t->cap * 2 + n + 256;
        char *more = t->failed ? NULL : realloc(t->data, cap);
        if (!more) {
            t->failed = true;
            return -1;
        }
        t->data = more;
        t->cap = cap;
    }
    memcpy(t->data + t->len, s, n);
    t->len += n;
    return 0;
}

static bool put(Text *t, const char *s) {
    return append(s, strlen(s), t) == 0;
}

static bool put_json(Text *t, const json_t *v) {
    size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(7);
    return json_dump_callback(v, append, t, flags) == 0;
}

/* The object's fields, but for the list that comes last, whose elements get a line each. */
static bool put_object(Text *t, json_t *o, const char *list, const char *indent,
                       bool (*element)(Text *t, json_t *v)) {
    bool ok = put(t, "{");
    for (void *it = json_object_iter(o); ok && it; it = json_object_iter_next(o, it)) {
        if (strcmp(json_object_iter_key(it), list) == 0) continue;
        json_t *name = json_string(json_object_iter_key(it));
        ok = name && put_json(t, name) && put(t, ": ") && put_json(t, json_object_iter_value(it)) &&
             put(t, ", ");
        json_decref(name);
    }
    ok = ok && put(t, "\"") && put(t, list) && put(t, "\": [");
    json_t *all = json_object_get(o, list);
    for (size_t i = 0; ok && i < json_array_size(all); i++)
        ok = put(t, i ? ",\n" : "\n") && put(t, indent) && element(t, json_array_get(all, i));
    return ok && put(t, "]}");
}

static bool put_config(Text *t, json_t *c) {
    return put_json(t, c);
}

static bool put_entry(Text *t, json_t *e) {
    return put_object(t, e, "configs", "  ", put_config);
}

static tile_status write_root(tile_tuning *t, json_t *root) {
    Text text = {0};
    FileError error;
    tile_status st = TILE_OK;
    bool done = put_object(&text, root, "entries", " ", put_entry) && put(&text, "\n");
    if (!done || text.failed)
        st = no_memory(t);
    else if (!file_write(t->path, text.data, text.len, &error))
        st = fail_file(t, &error);
    free(text.data);
    return st;
}

/* The file, opened and locked; closing unlocks. A file that was replaced while this process waited
 * for its lock is not the one that others lock now. */
static int lock(tile_tuning *t) {
    for (;;) {
        struct stat mine, now;
        int fd = open(t->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        int code = fd < 0 ? errno : 0;
        if (fd >= 0 && fstat(fd, &mine)) code = errno;
        if (!code && !S_ISREG(mine.st_mode)) code = EINVAL;
        while (!code && flock(fd, LOCK_EX))
            if (errno != EINTR) code = errno;
        bool there = !code && stat(t->path, &now) == 0;
        if (!code && !there && errno != ENOENT) code = errno;
        if (code) {
            if (fd >= 0) close(fd);
            fail(t, TILE_IO, "cannot lock '%.300s': %s", t->path, strerror(code));
            return -1;
        }
        if (there && now.st_ino == mine.st_ino && now.st_dev == mine.st_dev) return fd;
        close(fd);
    }
}

/* ---- the public functions ---- */

tile_status tile_tuning_open(const char *path, tile_tuning **out) {
    if (!out) return TILE_INVALID;
    tile_tuning *t = *out = calloc(1, sizeof *t);
    if (!t) return TILE_NO_MEMORY;
    t->path = path ? strdup(path) : NULL;
    if (path && t->path) return read_root(t, &t->root);
    t->root = empty_root();
    return t->root && !path ? TILE_OK : no_memory(t);
}

void tile_tuning_close(tile_tuning *t) {
    if (!t) return;
    json_decref(t->root);
    free(t->path);
    free(t);
}

const char *tile_tuning_error(const tile_tuning *t) {
    return t ? t->error : "out of memory";
}

static bool is_utf8(const char *s) {
    return utf8_valid_prefix(s, strlen(s)) == strlen(s);
}

tile_status tile_tuning_add(tile_tuning *t, const tile_tuned *record) {
    if (!t || !record) return TILE_INVALID;
    if (!t->root) return t->path ? TILE_IO : TILE_NO_MEMORY; /* opening failed: so it still says */
    bool whole = record->config && (record->failure || record->runs > 0);
    for (int i = 0; i < ENTRY_FIELDS; i++) whole = whole && field_of(record, i);
    double ms[] = {record->median_ms, record->low_ms, record->high_ms};
    for (int i = 0; !record->failure && i < 3; i++) whole = whole && isfinite(ms[i]) && ms[i] >= 0;
    if (!whole) return fail(t, TILE_INVALID, "the record is not complete");
    bool utf8 = is_utf8(record->config) && (!record->failure || is_utf8(record->failure));
    for (int i = 0; i < ENTRY_FIELDS; i++) utf8 = utf8 && is_utf8(field_of(record, i));
    if (!utf8) return fail(t, TILE_INVALID, "a text of the record is not UTF-8");
    bool plain = text_is_plain(record->config);
    for (int i = 0; i < ENTRY_FIELDS; i++) plain = plain && text_is_plain(field_of(record, i));
    if (!plain) return fail(t, TILE_INVALID, "a text of the record has a control character");
    if (!t->path) return put_record(t->root, record) ? TILE_OK : no_memory(t);
    int fd = lock(t);
    if (fd < 0) return TILE_IO;
    json_t *root = NULL;
    tile_status st = read_root(t, &root);
    if (!st && !put_record(root, record)) st = no_memory(t);
    if (!st) st = write_root(t, root);
    close(fd);
    if (!st) { /* what could not be written is not known here, either */
        json_decref(t->root);
        t->root = root;
    } else {
        json_decref(root);
    }
    return st;
}

static void fill(const json_t *e, const json_t *c, tile_tuned *out) {
    const char *failed = json_string_value(json_object_get(c, "failed"));
    *out = (tile_tuned){
        .kernel = text_of(e, "kernel"),
        .device = text_of(e, "device"),
        .target = text_of(e, "target"),
        .types = text_of(e, "types"),
        .key = text_of(e, "key"),
        .source = text_of(e, "source"),
        .config = text_of(c, "config"),
        .failure = failed,
    };
    if (failed) return;
    out->median_ms = json_number_value(json_object_get(c, "ms"));
    out->low_ms = json_number_value(json_object_get(c, "low"));
    out->high_ms = json_number_value(json_object_get(c, "high"));
    out->runs = (int)json_integer_value(json_object_get(c, "runs"));
}

int tile_tuning_count(const tile_tuning *t) {
    const json_t *entries = t ? json_object_get(t->root, "entries") : NULL;
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(entries); i++)
        n += json_array_size(json_object_get(json_array_get(entries, i), "configs"));
    return n > INT32_MAX ? INT32_MAX : (int)n;
}

tile_status tile_tuning_get(const tile_tuning *t, int index, tile_tuned *out) {
    if (!t || !out || index < 0) return TILE_INVALID;
    const json_t *entries = json_object_get(t->root, "entries");
    size_t left = (size_t)index;
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *e = json_array_get(entries, i), *configs = json_object_get(e, "configs");
        if (left < json_array_size(configs)) {
            fill(e, json_array_get(configs, left), out);
            return TILE_OK;
        }
        left -= json_array_size(configs);
    }
    return TILE_INVALID;
}

/* ---- the nearest bucket ---- */

/* One NAME=NUMBER of a key, up to the comma; false at its end or when it is of another form. */
static bool next_pair(const char **s, const char **name, size_t *len, double *value) {
    const char *equals = strchr(*s, '=');
    char *end;
    if (!equals) return false;
    *name = *s;
    *len = (size_t)(equals - *s);
    *value = strtod(equals + 1, &end);
    if (end == equals + 1 || (*end && *end != ',')) return false;
    *s = end + (*end == ',');
    return true;
}

/* How many doublings lie between the sizes of two keys, infinity when they cannot be compared; -1:
 * they are the same text, which is nearer than the same sizes in other words (`4096.`). */
static double key_distance(const char *a, const char *b) {
    double sum = 0, x, y;
    const char *name, *other;
    size_t n, m;
    if (strcmp(a, b) == 0) return -1;
    while (*a && *b) {
        if (!next_pair(&a, &name, &n, &x) || !next_pair(&b, &other, &m, &y)) return INFINITY;
        if (n != m || memcmp(name, other, n) != 0 || !(x >= 0) || !(y >= 0)) return INFINITY;
        sum += expr_doublings(x, y);
    }
    return *a || *b || isnan(sum) ? INFINITY : sum;
}

tile_status tile_tuning_find(const tile_tuning *t, const tile_tuned *like, tile_tuned *out) {
    if (!t || !like || !out || !like->kernel) return TILE_INVALID;
    const json_t *entries = json_object_get(t->root, "entries"), *best = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *e = json_array_get(entries, i);
        const json_t *fastest = json_array_get(json_object_get(e, "configs"), 0);
        bool fits = fastest && !json_object_get(fastest, "failed");
        for (int k = 0; fits && k < IDENTITY_FIELDS - 1; k++) /* all but the key */
            fits = !field_of(like, k) ||
                   strcmp(text_of(e, entry_fields[k].name), field_of(like, k)) == 0;
        if (!fits) continue;
        double far = like->key ? key_distance(text_of(e, "key"), like->key) : 0;
        if (far >= least) continue;
        least = far;
        best = e;
    }
    if (!best) return TILE_NOT_FOUND;
    fill(best, json_array_get(json_object_get(best, "configs"), 0), out);
    return TILE_OK;
}

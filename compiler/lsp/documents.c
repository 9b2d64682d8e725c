/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* documents.c: texts of open documents, their changes, and the diagnostics published of them (see
 * server.h). */
#include "compiler/lsp/server.h"

#include <stdlib.h>
#include <string.h>

/* ---- the store ---- */

Document *document_find(Server *v, const char *uri) {
    for (int i = 0; uri && i < v->ndocuments; i++)
        if (strcmp(v->document[i].uri, uri) == 0) return &v->document[i];
    return NULL;
}

static void free_document(Document *d) {
    analysis_free(d->whole);
    analysis_free(d->analysis);
    free(d->uri);
    free(d->path);
    free(d->text);
}

void documents_free(Server *v) {
    for (int i = 0; i < v->ndocuments; i++) free_document(&v->document[i]);
    free(v->document);
    v->document = NULL;
    v->ndocuments = 0;
}

/* Modules that are open have the text that they have there. */
tile_status documents_read(void *user, const char *path, size_t limit, char **text, size_t *len) {
    Server *v = user;
    const tile_reader *files = tile_file_reader();
    for (int i = 0; i < v->ndocuments; i++) {
        const Document *d = &v->document[i];
        if (strcmp(d->path, path)) continue;
        if (!text) return TILE_OK;
        if (d->len > limit) return TILE_IO;
        *text = malloc(d->len + 1);
        if (!*text) return TILE_NO_MEMORY;
        memcpy(*text, d->text, d->len + 1);
        *len = d->len;
        return TILE_OK;
    }
    return files->read(files->user, path, limit, text, len);
}

/* Documents that have asked for this one are to be looked at once more. */
static void touch_readers(Server *v, const char *path) {
    for (int i = 0; i < v->ndocuments; i++) {
        Document *d = &v->document[i];
        if (d->analysis && analysis_asked_for(d->analysis, path)) d->dirty = true;
    }
}

void documents_touch(Server *v) {
    for (int i = 0; i < v->ndocuments; i++) {
        const Analysis *a = v->document[i].analysis;
        if (a && a->reading.looked.len) v->document[i].dirty = true;
    }
}

/* ---- notifications of the client ---- */

static const char *uri_of(const json_t *params) {
    return json_string_value(json_object_get(json_object_get(params, "textDocument"), "uri"));
}

static void take_version(Document *d, const json_t *document) {
    const json_t *version = json_object_get(document, "version");
    d->has_version = json_is_integer(version);
    d->version = json_integer_value(version);
}

/* Takes text over. */
static void set_text(Server *v, Document *d, char *text, size_t len) {
    free(d->text);
    d->text = text;
    d->len = len;
    d->dirty = true;
    touch_readers(v, d->path);
}

static void say_refused(Server *v, const char *uri, const char *why) {
    char text[400];
    snprintf(text, sizeof text, "tilec does not look at %.200s: %s", uri, why);
    server_notify(v, "window/showMessage",
                  json_pack("{s:i, s:o}", "type", 1, "message", text_json(text, strlen(text))));
}

static char *copy_text(const json_t *value, size_t *len) {
    *len = json_string_length(value);
    char *text = malloc(*len + 1);
    if (text) memcpy(text, json_string_value(value), *len + 1);
    return text;
}

static Document *new_document(Server *v, const char *uri) {
    if (v->ndocuments == DOCUMENTS_LIMIT) {
        say_refused(v, uri, "more than 1000 documents are open");
        return NULL;
    }
    Document *all = realloc(v->document, ((size_t)v->ndocuments + 1) * sizeof *all);
    if (all) {
        v->document = all;
        Document *d = &all[v->ndocuments];
        *d = (Document){.uri = strdup(uri), .path = uri_path(uri), .text = calloc(1, 1)};
        if (d->uri && d->path && d->text) return v->ndocuments++, d;
        free_document(d);
    }
    v->status = TILE_NO_MEMORY;
    return NULL;
}

void document_open(Server *v, const json_t *params) {
    const json_t *item = json_object_get(params, "textDocument");
    const json_t *value = json_object_get(item, "text");
    const char *uri = uri_of(params);
    if (!uri || !json_is_string(value)) return;
    Document *d = document_find(v, uri);
    if (!d) d = new_document(v, uri);
    if (!d) return;
    take_version(d, item);
    size_t len;
    char *text = copy_text(value, &len);
    if (text)
        set_text(v, d, text, len);
    else
        v->status = TILE_NO_MEMORY; /* what follows changes this text, not the one before */
}

static bool read_position(const json_t *at, Position *out) {
    const json_t *line = json_object_get(at, "line"), *c = json_object_get(at, "character");
    if (!json_is_integer(line) || !json_is_integer(c)) return false;
    json_int_t n = json_integer_value(line), k = json_integer_value(c);
    if (n < 0 || k < 0) return false;
    *out = (Position){(size_t)n, (size_t)k};
    return true;
}

/* One change: all of the text, or a range of it. False: it is none. */
static bool apply(Server *v, Document *d, const json_t *change) {
    const json_t *value = json_object_get(change, "text");
    const json_t *range = json_object_get(change, "range");
    if (!json_is_string(value)) return false;
    size_t from = 0, to = d->len, n = json_string_length(value);
    if (range) {
        Position start, end;
        if (!read_position(json_object_get(range, "start"), &start) ||
            !read_position(json_object_get(range, "end"), &end))
            return false;
        from = position_offset(d->text, d->len, start);
        to = position_offset(d->text, d->len, end);
        if (to < from) return false;
    }
    size_t len = from + n + (d->len - to);
    char *text = malloc(len + 1);
    if (!text) {
        v->status = TILE_NO_MEMORY;
        return true;
    }
    memcpy(text, d->text, from);
    memcpy(text + from, json_string_value(value), n);
    memcpy(text + from + n, d->text + to, d->len - to + 1);
    free(d->text);
    d->text = text;
    d->len = len;
    return true;
}

void document_change(Server *v, const json_t *params) {
    Document *d = document_find(v, uri_of(params));
    const json_t *changes = json_object_get(params, "contentChanges"), *change;
    size_t i;
    if (!d) return;
    json_array_foreach(changes, i, change) {
        if (apply(v, d, change)) continue;
        say_refused(v, d->uri, "a change of it is none: close it and open it again");
        break;
    }
    take_version(d, json_object_get(params, "textDocument"));
    d->dirty = true;
    touch_readers(v, d->path);
}

void document_close(Server *v, const json_t *params) {
    Document *d = document_find(v, uri_of(params));
    if (!d) return;
    server_notify(
        v, "textDocument/publishDiagnostics",
        json_pack("{s:o, s:[]}", "uri", text_json(d->uri, strlen(d->uri)), "diagnostics"));
    Document gone = *d;
    *d = v->document[--v->ndocuments];
    touch_readers(v, gone.path);
    free_document(&gone);
}

/* ---- what is published ---- */

static json_t *related_json(Reply *r, const Analysis *a, const Finding *f) {
    json_t *all = json_array();
    for (int i = 0; i < f->nrelated; i++) {
        const Related *x = &f->related[i];
        if (!x->span.line) continue; /* part of the message */
        reply_add(r, all,
                  json_pack("{s:o, s:o}", "location", location_json(&a->lines, x->span), "message",
                            text_json(x->text, strlen(x->text))));
    }
    return all;
}

/* Notes without a place belong to the message: editors show that first. */
static json_t *message_json(Analysis *a, const Finding *f) {
    Buf b = buf_new(&a->s.arena);
    buf_puts(&b, f->text);
    for (int i = 0; i < f->nrelated; i++)
        if (!f->related[i].span.line) buf_printf(&b, "\n%s", f->related[i].text);
    return text_json(b.data, b.len);
}

static json_t *finding_json(Reply *r, Analysis *a, const Finding *f) {
    json_t *message = message_json(a, f); /* first: it may jump */
    return json_pack("{s:o, s:i, s:s, s:o, s:o}", "range", range_json(&a->lines, f->span),
                     "severity", (int)f->severity, "source", "tilec", "message", message,
                     "relatedInformation", related_json(r, a, f));
}

static void publish(Server *v, const Document *d) {
    json_t *all = json_array();
    Analysis *a = d->analysis;
    Reply r = {0};
    if (a && setjmp(a->s.bail))
        v->status = TILE_NO_MEMORY;
    else
        for (int i = 0; a && i < a->findings.n && i < FINDINGS_LIMIT; i++)
            reply_add(&r, all, finding_json(&r, a, &a->findings.at[i]));
    if (!a || a->starved)
        reply_add(&r, all,
                  json_pack("{s:o, s:i, s:s, s:s}", "range",
                            json_pack("{s:o, s:o}", "start", position_json(0, 0), "end",
                                      position_json(0, 0)),
                            "severity", 1, "source", "tilec", "message",
                            "looking at this file needs too much memory"));
    json_t *params =
        json_pack("{s:o, s:o}", "uri", text_json(d->uri, strlen(d->uri)), "diagnostics", all);
    if (d->has_version) reply_set(&r, params, "version", json_integer(d->version));
    if (r.starved) v->status = TILE_NO_MEMORY; /* less than all of it would be wrong */
    server_notify(v, "textDocument/publishDiagnostics", params);
}

/* Keeps the last one without a syntax error: while a line is typed, its names are what is known. */
static void analyse(Server *v, Document *d) {
    Analysis *before = d->analysis;
    Analysis *a = analysis_make(v->options, &v->reader, d->path, d->text, d->len);
    bool keep = a && a->broken && before && !before->broken;
    d->dirty = false;
    d->analysis = a;
    if (keep || (a && !a->broken)) {
        analysis_free(d->whole);
        d->whole = keep ? before : NULL;
    }
    if (!keep) analysis_free(before);
    publish(v, d);
}

bool documents_work(Server *v) {
    for (int i = 0; i < v->ndocuments; i++)
        if (v->document[i].dirty) {
            analyse(v, &v->document[i]);
            return true;
        }
    return false;
}

/* ---- what requests are about ---- */

Document *document_asked(Server *v, const json_t *params, Reply *r) {
    const char *uri = uri_of(params);
    if (!uri) {
        reply_error(r, INVALID_PARAMS, "textDocument.uri is missing");
        return NULL;
    }
    Document *d = document_find(v, uri);
    if (!d) {
        reply_error(r, INVALID_PARAMS, "this document is not open");
        return NULL;
    }
    const Analysis *a = d->analysis;
    if (a && a->s.arena.used - a->first_used > (size_t)STALE_ARENA_MB << 20) d->dirty = true;
    if (d->dirty) analyse(v, d);
    if (d->analysis) return d;
    reply_error(r, REQUEST_FAILED, "looking at this file needs too much memory");
    return NULL;
}

bool document_place(const Document *d, const json_t *params, Reply *r, uint32_t *line,
                    uint32_t *col) {
    Position at;
    if (!read_position(json_object_get(params, "position"), &at)) {
        reply_error(r, INVALID_PARAMS, "position is missing, or no position");
        return false;
    }
    position_place(d->text, d->len, at, line, col);
    return true;
}

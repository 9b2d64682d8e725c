/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* server.c: a stream of messages -> who handles each, and the answers: tile_language_server of
 * tile.h, a server of the language server protocol (LSP 3.17, JSON-RPC 2.0).
 *
 * Requests are answered in order. A request may be cancelled while it waits in the queue. Mistakes
 * of the client are answered with the protocol's codes and change nothing else; notifications that
 * are not known are left alone, as the protocol has it. */
#include "compiler/lsp/server.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

json_t *reply_error(Reply *r, ErrorCode code, const char *message) {
    r->code = code;
    r->message = message;
    return NULL;
}

void reply_add(Reply *r, json_t *list, json_t *item) {
    if (json_array_append_new(list, item)) r->starved = true;
}

void reply_set(Reply *r, json_t *object, const char *name, json_t *item) {
    if (json_object_set_new(object, name, item)) r->starved = true;
}

/* Takes the message. */
static void send_message(Server *v, json_t *message) {
    char *text = message ? json_to_text(message, JSON_COMPACT) : NULL, head[64];
    json_decref(message);
    if (!text) {
        v->status = TILE_NO_MEMORY;
        return;
    }
    size_t n = strlen(text);
    int k = snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", n);
    if (v->status == TILE_OK && (v->stream->write(v->stream->user, head, (size_t)k) ||
                                 v->stream->write(v->stream->user, text, n)))
        v->status = TILE_IO;
    free(text);
}

void server_notify(Server *v, const char *method, json_t *params) {
    send_message(
        v, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

/* id NULL: of a message that could not be read. */
static void send_error(Server *v, json_t *id, ErrorCode code, const char *message) {
    send_message(v,
                 json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id",
                           id ? id : json_null(), "error", "code", (int)code, "message", message));
}

static void send_result(Server *v, json_t *id, json_t *result) {
    send_message(v, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

/* ---- the life of a session ---- */

static json_t *initialize(Server *v, const json_t *params, Reply *r) {
    (void)params;
    if (v->state != FRESH) return reply_error(r, INVALID_REQUEST, "initialize came before");
    v->state = RUNNING;
    return json_pack(
        "{s:{s:{s:b, s:i}, s:b, s:b, s:b, s:b, s:b, s:{s:[s]}, s:{s:[s, s]}, s:s}, s:{s:s, s:s}}",
        "capabilities", "textDocumentSync", "openClose", 1, "change", 2, "hoverProvider", 1,
        "definitionProvider", 1, "referencesProvider", 1, "documentHighlightProvider", 1,
        "documentSymbolProvider", 1, "completionProvider", "triggerCharacters", ".",
        "signatureHelpProvider", "triggerCharacters", "(", ",", "positionEncoding", "utf-16",
        "serverInfo", "name", "tilec", "version", tile_version());
}

static json_t *shut_down(Server *v, const json_t *params, Reply *r) {
    (void)params, (void)r;
    v->state = SHUT_DOWN;
    return json_null();
}

static void leave(Server *v, const json_t *params) {
    (void)params;
    v->left = true;
}

static void touch_all(Server *v, const json_t *params) {
    (void)params;
    documents_touch(v);
}

static const struct {
    const char *method;
    json_t *(*answer)(Server *v, const json_t *params, Reply *r);
} requests[] = {
    {"initialize", initialize},
    {"shutdown", shut_down},
    {"textDocument/hover", feature_hover},
    {"textDocument/definition", feature_definition},
    {"textDocument/references", feature_references},
    {"textDocument/documentHighlight", feature_highlight},
    {"textDocument/documentSymbol", feature_symbols},
    {"textDocument/completion", feature_completion},
    {"textDocument/signatureHelp", feature_signature},
};

static const struct {
    const char *method;
    void (*take)(Server *v, const json_t *params);
} notifications[] = {
    {"exit", leave},
    {"textDocument/didOpen", document_open},
    {"textDocument/didChange", document_change},
    {"textDocument/didClose", document_close},
    {"textDocument/didSave", touch_all},
    {"workspace/didChangeWatchedFiles", touch_all},
};

/* ---- one message ---- */

static void answer(Server *v, json_t *id, const char *method, const json_t *params) {
    bool first = strcmp(method, "initialize") == 0;
    if (v->state == FRESH && !first) {
        send_error(v, id, NOT_INITIALIZED, "initialize comes first");
        return;
    }
    if (v->state == SHUT_DOWN) {
        send_error(v, id, INVALID_REQUEST, "the server was shut down: only exit may follow");
        return;
    }
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (strcmp(requests[i].method, method)) continue;
        Reply r = {INTERNAL_ERROR, "out of memory", false};
        json_t *result = requests[i].answer(v, params, &r);
        if (result && !r.starved)
            send_result(v, id, json_incref(result));
        else
            send_error(v, id, r.code, r.message);
        json_decref(result);
        return;
    }
    send_error(v, id, METHOD_NOT_FOUND, "there is no such method");
}

static void take(Server *v, const char *method, const json_t *params) {
    bool leaves = strcmp(method, "exit") == 0;
    if (v->state != RUNNING && !leaves) return;
    for (size_t i = 0; i < sizeof notifications / sizeof *notifications; i++)
        if (strcmp(notifications[i].method, method) == 0) notifications[i].take(v, params);
}

static bool is_id(const json_t *id) {
    return json_is_integer(id) || json_is_string(id);
}

static void handle(Server *v, json_t *message) {
    json_t *id = json_object_get(message, "id");
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");
    const char *version = json_string_value(json_object_get(message, "jsonrpc"));
    bool answers =
        id && !method && (json_object_get(message, "result") || json_object_get(message, "error"));
    if (answers) return; /* to a request that was never sent */
    if (!json_is_object(message) || !version || strcmp(version, "2.0") || !method ||
        (id && !is_id(id)))
        send_error(v, is_id(id) ? id : NULL, INVALID_REQUEST, "this is no message of JSON-RPC 2.0");
    else if (json_object_get(message, "cancelled"))
        send_error(v, id, REQUEST_CANCELLED, "the request was cancelled");
    else if (id)
        answer(v, id, method, params);
    else
        take(v, method, params);
}

/* ---- the queue ---- */

/* Marks a request that waits. Of another one nothing is left to do. */
static void cancel(Server *v, const json_t *message) {
    const json_t *id = json_object_get(json_object_get(message, "params"), "id");
    json_t *other;
    size_t i;
    json_array_foreach(v->queue, i, other) {
        const json_t *its = json_object_get(other, "id");
        if (is_id(its) && json_equal(its, id) &&
            json_object_set_new(other, "cancelled", json_true()))
            v->status = TILE_NO_MEMORY;
    }
}

static void take_text(Server *v, const char *text, size_t len) {
    json_error_t error;
    bool starved;
    json_t *message = json_of_text(text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error, &starved);
    if (starved) {
        v->status = TILE_NO_MEMORY;
        return;
    }
    if (!message) {
        send_error(v, NULL, PARSE_ERROR, "the message is no JSON");
        return;
    }
    json_object_del(message, "cancelled"); /* ours */
    const char *method = json_string_value(json_object_get(message, "method"));
    if (method && strcmp(method, "$/cancelRequest") == 0) {
        cancel(v, message);
        json_decref(message);
    } else if (json_array_append_new(v->queue, message)) {
        v->status = TILE_NO_MEMORY;
    }
}

static bool has_room(const Server *v) {
    return json_array_size(v->queue) < QUEUE_LIMIT && v->queued < (size_t)MESSAGE_LIMIT_MB << 20;
}

/* Messages that are there become part of the queue. */
static void read_messages(Server *v) {
    const char *text;
    size_t len;
    if (!json_array_size(v->queue)) v->queued = 0;
    while (v->status == TILE_OK && has_room(v)) {
        switch (frames_next(&v->frames, &text, &len)) {
        case FRAME_MESSAGE:
            take_text(v, text, len);
            v->queued += len;
            break;
        case FRAME_TOO_LARGE:
            send_error(v, NULL, INVALID_REQUEST, "the message is larger than 64 MB, the limit");
            break;
        case FRAME_BAD:
            send_error(v, NULL, PARSE_ERROR,
                       "these are no headers of a message: Content-Length: BYTES, an empty line");
            v->status = TILE_IO;
            break;
        case FRAME_NO_MEMORY: v->status = TILE_NO_MEMORY; break;
        case FRAME_MORE: return;
        }
    }
}

/* Reads what is there, or waits for it. False: there is nothing now. */
static bool read_stream(Server *v, bool wait) {
    enum { CHUNK = 16384 };
    size_t room;
    char *to = frames_room(&v->frames, CHUNK, &room);
    if (!to) {
        v->status = TILE_NO_MEMORY;
        return false;
    }
    ptrdiff_t n = v->stream->read(v->stream->user, to, room, wait);
    if (n > 0) frames_filled(&v->frames, (size_t)n);
    if (n == 0) v->at_end = true;
    if (n < 0 && wait) v->status = TILE_IO;
    return n > 0;
}

static void serve(Server *v) {
    while (v->status == TILE_OK && !v->left) {
        read_messages(v);
        bool more = !v->at_end && has_room(v);
        if (more && read_stream(v, false)) continue;
        if (v->status != TILE_OK) return;
        json_t *message = json_incref(json_array_get(v->queue, 0));
        if (message) {
            json_array_remove(v->queue, 0);
            handle(v, message);
            json_decref(message);
        } else if (v->at_end) {
            return;
        } else if (!documents_work(v)) {
            read_stream(v, true);
        }
    }
}

/* ---- the entry ---- */

/* What is wrong with the options is told once, by whom it is wrong for everyone. */
static tile_status check_options(const tile_compile_options *options, tile_compiled **out) {
    tile_compile_options o = *options;
    o.source = "";
    o.source_len = 0;
    o.emit = TILE_EMIT_AST;
    return tile_compile(&o, out);
}

tile_status tile_language_server(const tile_compile_options *options, const tile_stream *stream,
                                 int *shut_down_first, tile_compiled **why) {
    static const tile_compile_options none;
    tile_compiled *checked = NULL;
    if (why) *why = NULL;
    if (shut_down_first) *shut_down_first = 0;
    if (!stream || !stream->read || !stream->write) return TILE_INVALID;
    Server v = {.options = options ? options : &none, .stream = stream};
    v.status = check_options(v.options, &checked);
    if (why)
        *why = checked;
    else
        tile_compiled_free(checked);
    if (v.status != TILE_OK) return v.status;
    v.reader = (tile_reader){documents_read, &v};
    v.queue = json_array();
    if (!v.queue) return TILE_NO_MEMORY;
    serve(&v);
    if (shut_down_first) *shut_down_first = v.state == SHUT_DOWN;
    documents_free(&v);
    frames_free(&v.frames);
    json_decref(v.queue);
    return v.status;
}

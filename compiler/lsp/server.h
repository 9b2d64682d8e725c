/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* server.h: what the files of the language server share: the server, its documents, and who answers
 * what.
 *
 *   frames.c     bytes -> messages             position.c  places <-> positions, paths <-> URIs
 *   server.c     messages -> whose they are; the life of a session; the queue
 *   documents.c  texts, their changes, and what is published of them
 *   analysis.c   a text -> findings, symbols, layouts
 *   hover.c      what stands at a place         navigate.c  where its symbol is, too
 *   complete.c   what may be written there      outline.c   what a file defines
 *
 * One thread does one thing at a time. What is typed while it works is read before the next text is
 * analysed, so that of a burst of changes only the last is. */
#ifndef TILE_COMPILER_LSP_SERVER_H
#define TILE_COMPILER_LSP_SERVER_H

#include "compiler/lsp/analysis.h"
#include "compiler/lsp/frames.h"
#include "compiler/lsp/position.h"

#include <jansson.h>

enum {
    DOCUMENTS_LIMIT = 1000,  /* open at a time */
    QUEUE_LIMIT = 256,       /* messages read and not yet handled */
    FINDINGS_LIMIT = 200,    /* published of one document */
    PLACES_LIMIT = 5000,     /* of one answer: references, completions */
    STALE_ARENA_MB = 64,     /* what questions may take of an analysis before it is made anew */
    JSON_DEPTH_LIMIT = 2048, /* jansson's own, of arrays and objects inside each other */
};

/* Codes of JSON-RPC and of LSP. */
typedef enum ErrorCode {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    INTERNAL_ERROR = -32603,
    NOT_INITIALIZED = -32002,
    REQUEST_FAILED = -32803,
    REQUEST_CANCELLED = -32800,
} ErrorCode;

typedef struct Document {
    char *uri;
    char *path; /* what modules and messages know it by: of a URI that is no file's, "<URI>" */
    char *text;
    size_t len;
    json_int_t version;
    bool has_version;
    bool dirty;         /* the analysis is of another text, or modules have changed */
    Analysis *analysis; /* or NULL */
    Analysis *whole;    /* where that has a syntax error: the last one without; or NULL */
} Document;

typedef struct Server {
    const tile_compile_options *options;
    const tile_stream *stream;
    tile_reader reader; /* of open documents, then of files */
    Frames frames;
    json_t *queue; /* an array of messages */
    size_t queued; /* bytes of those read since it was empty */
    Document *document;
    int ndocuments;
    enum { FRESH, RUNNING, SHUT_DOWN } state;
    bool at_end; /* of the stream */
    bool left;   /* the client said exit */
    tile_status status;
} Server;

/* An answer to a request: an object of JSON, or NULL after set_error. */
typedef struct Reply {
    ErrorCode code;
    const char *message;
    bool starved; /* something is missing in the answer: it is the error, too little memory */
} Reply;
json_t *reply_error(Reply *r, ErrorCode code, const char *message);
/* Puts an item, which may be NULL for want of memory, into an answer's list or object; takes it. */
void reply_add(Reply *r, json_t *list, json_t *item);
void reply_set(Reply *r, json_t *object, const char *name, json_t *item);

/* ---- server.c ---- */
void server_notify(Server *v, const char *method, json_t *params); /* takes params */

/* ---- documents.c ---- */
Document *document_find(Server *v, const char *uri);
/* That of params.textDocument.uri, analysed; NULL after an error. */
Document *document_asked(Server *v, const json_t *params, Reply *r);
/* Its place of params.position. */
bool document_place(const Document *d, const json_t *params, Reply *r, uint32_t *line,
                    uint32_t *col);
void document_open(Server *v, const json_t *params);
void document_change(Server *v, const json_t *params);
void document_close(Server *v, const json_t *params);
/* Files have changed on disk: whatever read modules is looked at once more. */
void documents_touch(Server *v);
/* Analyses one that needs it, and publishes. False: none does. */
bool documents_work(Server *v);
void documents_free(Server *v);
tile_status documents_read(void *user, const char *path, size_t limit, char **text, size_t *len);

/* ---- the features: params and a place of the document -> the result ---- */
json_t *feature_hover(Server *v, const json_t *params, Reply *r);
json_t *feature_definition(Server *v, const json_t *params, Reply *r);
json_t *feature_references(Server *v, const json_t *params, Reply *r);
json_t *feature_highlight(Server *v, const json_t *params, Reply *r);
json_t *feature_symbols(Server *v, const json_t *params, Reply *r);
json_t *feature_completion(Server *v, const json_t *params, Reply *r);
json_t *feature_signature(Server *v, const json_t *params, Reply *r);

/* ---- texts of functions: hover.c ---- */
/* "def f(a, b=1) -> None" in one line, of the source; in the arena. */
const char *function_header(Analysis *a, const AstFunc *f);

#endif

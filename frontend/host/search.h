/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* search.h: the name of a module -> its file and text, as Python would find it.
 *
 * Nothing is read but through the caller's reader, and nothing but files that the search path can
 * name: ROOT/a/b.py for `a.b`. The roots are the first folder above the first source that is no
 * package, then the folders of -I, then those in which a folder `a` has the first source in it: it
 * may be of a package whose folders have no __init__.py. What was asked for and is not there is
 * remembered too: a cache that keeps results has to know it. */
#ifndef TILE_FRONTEND_HOST_SEARCH_H
#define TILE_FRONTEND_HOST_SEARCH_H

#include "base/session.h"

enum {
    MODULES_LIMIT = 2000,     /* files that one compilation reads */
    MODULES_LIMIT_MB = 64,    /* their text in all */
    IMPORT_CHAIN_LIMIT = 64,  /* modules that hand on one name to each other */
    MODULE_NAME_LIMIT = 1000, /* bytes of a dotted name */
};

typedef enum ReadResult {
    READ_DONE,
    READ_ABSENT, /* there is no such file */
    READ_FAILED, /* there is one, and it cannot be read */
    READ_NO_MEMORY
} ReadResult;

/* Reads a whole file into *text, malloc'ed, if it is not longer than limit; text NULL: only looks
 * whether it is there. */
typedef struct SourceReader {
    ReadResult (*read)(void *user, const char *path, size_t limit, char **text, size_t *len);
    void *user; /* read NULL: no file is ever read */
} SourceReader;

/* Where a module's file lies. */
typedef struct Place {
    const char *folder; /* "" for the current one; no slash at its end */
    int below;          /* so many folders below its root */
} Place;

typedef VEC(Place) Places;

typedef struct FoundFile {
    const char *path;
    Place place;     /* the folder that relative names begin at */
    bool is_package; /* an __init__.py: its modules are in place.folder */
} FoundFile;

typedef struct LookedFor { /* a file that was asked for */
    const char *path;
    bool there;
} LookedFor;

typedef struct SearchPath {
    Session *s;
    SourceReader reader;
    Places roots;   /* of every name */
    Place first;    /* of the first source */
    bool has_first; /* it is a file */
    size_t bytes;
    int files;
    VEC(LookedFor) looked; /* each path once */
} SearchPath;

/* file_name: of the first source; "<…>" when it is none. */
void search_open(SearchPath *p, Session *s, SourceReader reader, const char *file_name,
                 const char *const *include, int ninclude);
/* Where the module of a dotted name is looked for. */
Places search_roots(SearchPath *p, const char *name);
/* The module of a dotted name. */
bool search_module(SearchPath *p, const char *name, FoundFile *out);
/* The module `name` (or "": the package itself) `dots` steps up from a file in `from`: one dot is
 * its own folder. *above: it would be above the root. */
bool search_relative(SearchPath *p, Place from, int dots, const char *name, FoundFile *out,
                     bool *above);
/* A module of a package. */
bool search_in(SearchPath *p, const FoundFile *package, const char *name, FoundFile *out);
/* Reads it, as one more source of the session; NULL with the reason in *why. */
const Source *search_read(SearchPath *p, const FoundFile *file, const char **why);

#endif

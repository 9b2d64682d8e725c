/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* search.c: dotted names -> files (see search.h).
 *
 * A name is walked part by part. A folder with an __init__.py is a package, and the rest of the
 * name is looked for in it alone; a file ends the walk; anything else may be a folder without an
 * __init__.py, of which several roots may have one, so all of them stay candidates. */
#include "frontend/host/search.h"

#include "frontend/syntax/ast.h"

#include <stdlib.h>
#include <string.h>

static const char *join(SearchPath *p, const char *folder, const char *name, const char *suffix) {
    return arena_printf(&p->s->arena, "%s%s%s%s", folder, *folder && strcmp(folder, "/") ? "/" : "",
                        name, suffix);
}

static bool is_there(SearchPath *p, const char *path) {
    if (!p->reader.read) return false;
    for (int i = 0; i < p->looked.n; i++)
        if (strcmp(p->looked.at[i].path, path) == 0) return p->looked.at[i].there;
    bool there = p->reader.read(p->reader.user, path, 0, NULL, NULL) != READ_ABSENT;
    vec_push(&p->s->arena, &p->looked, ((LookedFor){path, there}));
    return there;
}

static bool is_package(SearchPath *p, const char *folder) {
    return is_there(p, join(p, folder, "__init__.py", ""));
}

/* The folder above; of "" and of "..", which have no name here, by another "..". */
static Place parent(SearchPath *p, Place at) {
    const char *slash = strrchr(at.folder, '/');
    const char *last = slash ? slash + 1 : at.folder;
    Place up = {.below = at.below - 1};
    if (!*at.folder)
        up.folder = "..";
    else if (strcmp(last, "..") == 0 || strcmp(last, ".") == 0)
        up.folder = join(p, at.folder, "..", "");
    else if (!slash)
        up.folder = "";
    else
        up.folder = slash == at.folder
                        ? "/"
                        : arena_strndup(&p->s->arena, at.folder, (size_t)(slash - at.folder));
    return up;
}

static const char *folder_of(SearchPath *p, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return "";
    return slash == path ? "/" : arena_strndup(&p->s->arena, path, (size_t)(slash - path));
}

void search_open(SearchPath *p, Session *s, SourceReader reader, const char *file_name,
                 const char *const *include, int ninclude) {
    enum { HIGHEST = 64 };
    *p = (SearchPath){.s = s, .reader = reader, .has_first = *file_name != '<'};
    if (p->has_first) {
        p->first.folder = folder_of(p, file_name);
        Place root = p->first;
        for (int i = 0; i < HIGHEST && is_package(p, root.folder); i++) root = parent(p, root);
        p->first.below = -root.below;
        root.below = 0;
        vec_push(&s->arena, &p->roots, root);
    }
    for (int i = 0; i < ninclude; i++) {
        size_t n = strlen(include[i]);
        while (n > 1 && include[i][n - 1] == '/') n--;
        bool here = n == 1 && include[i][0] == '.';
        Place root = {here ? "" : arena_strndup(&s->arena, include[i], n), 0};
        vec_push(&s->arena, &p->roots, root);
    }
}

/* NAME/__init__.py, NAME.py or NAME.tl in a folder. */
static bool find_part(SearchPath *p, Place in, const char *name, FoundFile *out) {
    Place inside = {join(p, in.folder, name, ""), in.below + 1};
    const char *package = join(p, inside.folder, "__init__.py", "");
    if (is_there(p, package)) {
        *out = (FoundFile){package, inside, true};
        return true;
    }
    static const char *const suffixes[] = {".py", ".tl"};
    for (int i = 0; i < 2; i++) {
        const char *path = join(p, in.folder, name, suffixes[i]);
        if (!is_there(p, path)) continue;
        *out = (FoundFile){path, in, false};
        return true;
    }
    return false;
}

/* The name, part by part, from these folders on. */
static bool walk(SearchPath *p, Places from, const char *name, FoundFile *out) {
    if (strlen(name) > MODULE_NAME_LIMIT) return false;
    for (;;) {
        size_t n = strcspn(name, ".");
        const char *part = arena_strndup(&p->s->arena, name, n);
        bool found = false;
        if (!n) return false;
        for (int i = 0; i < from.n && !found; i++) found = find_part(p, from.at[i], part, out);
        if (!name[n]) return found;
        name += n + 1;
        if (found && !out->is_package) return false;
        Places next = {0};
        for (int i = 0; i < from.n && !found; i++) {
            Place inside = {join(p, from.at[i].folder, part, ""), from.at[i].below + 1};
            vec_push(&p->s->arena, &next, inside);
        }
        if (found) vec_push(&p->s->arena, &next, out->place);
        from = next;
    }
}

static void add_root(SearchPath *p, Places *roots, const char *folder) {
    for (int i = 0; i < roots->n; i++)
        if (strcmp(roots->at[i].folder, folder) == 0) return;
    vec_push(&p->s->arena, roots, ((Place){folder, 0}));
}

Places search_roots(SearchPath *p, const char *name) {
    Places roots = {0};
    size_t n = strcspn(name, ".");
    for (int i = 0; i < p->roots.n; i++) vec_push(&p->s->arena, &roots, p->roots.at[i]);
    const char *path = p->has_first ? p->first.folder : "", *end = path + strlen(path);
    while (end > path) { /* the innermost one first */
        const char *at = end;
        while (at > path && at[-1] != '/') at--;
        if ((size_t)(end - at) == n && memcmp(at, name, n) == 0)
            add_root(p, &roots,
                     folder_of(p, arena_strndup(&p->s->arena, path, (size_t)(end - path))));
        end = at - (at > path);
    }
    return roots;
}

bool search_module(SearchPath *p, const char *name, FoundFile *out) {
    return walk(p, search_roots(p, name), name, out);
}

bool search_relative(SearchPath *p, Place from, int dots, const char *name, FoundFile *out,
                     bool *above) {
    *above = dots - 1 > from.below;
    if (*above) return false;
    for (int i = 1; i < dots; i++) from = parent(p, from);
    if (!*name) {
        const char *package = join(p, from.folder, "__init__.py", "");
        *out = (FoundFile){package, from, true};
        return is_there(p, package);
    }
    Places start = {0};
    vec_push(&p->s->arena, &start, from);
    return walk(p, start, name, out);
}

bool search_in(SearchPath *p, const FoundFile *package, const char *name, FoundFile *out) {
    return package->is_package && find_part(p, package->place, name, out);
}

const Source *search_read(SearchPath *p, const FoundFile *file, const char **why) {
    size_t len = 0, limit = (size_t)SOURCE_LIMIT_MB << 20;
    if (p->files >= MODULES_LIMIT) {
        *why =
            arena_printf(&p->s->arena, "more than %d modules are read (the limit)", MODULES_LIMIT);
        return NULL;
    }
    char **text = session_own(p->s);
    ReadResult result = p->reader.read(p->reader.user, file->path, limit, text, &len);
    p->files++;
    if (result == READ_NO_MEMORY) longjmp(p->s->bail, 1);
    if (result != READ_DONE || !*text) {
        *why = arena_printf(&p->s->arena, "'%s' cannot be read, or is larger than %d MB",
                            file->path, SOURCE_LIMIT_MB);
        return NULL;
    }
    p->bytes += len;
    if (p->bytes > (size_t)MODULES_LIMIT_MB << 20) {
        *why = arena_printf(&p->s->arena, "the modules have more than %d MB (the limit)",
                            MODULES_LIMIT_MB);
        return NULL;
    }
    return session_add_source(p->s, file->path, *text, len);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* modules.c: imports -> modules that are read, parsed and looked into.
 *
 * A module is read when the first name of it is asked for, once, whoever asks; modules may import
 * each other. It is parsed in silence: of a library most is none of a kernel's business. What did
 * not parse becomes an error when it is needed, and an error in a module is followed by the imports
 * that led there. */
#include "frontend/lower/internal.h"

#include "base/file.h"

#include <string.h>

/* ---- whose names are looked up ---- */

Visit enter_module(Lower *l, SourceModule *m) {
    Visit before = {l->here, l->at};
    if (m == l->here) return before;
    l->here = m;
    l->at = INT32_MAX;
    return before;
}

Visit enter_file(Lower *l, const AstFile *file) {
    return enter_module(l, file->module);
}

void leave_module(Lower *l, Visit before) {
    l->here = before.here;
    l->at = before.at;
}

Obj obj_source(SourceModule *m) {
    Obj o = {.kind = OBJ_SOURCE};
    o.source = m;
    return o;
}

/* ---- reading ---- */

SourceModule *add_module(Lower *l, const char *name, AstFile *file) {
    SourceModule *m = arena_alloc(&l->s->arena, sizeof *m);
    *m = (SourceModule){.next = l->modules, .name = name, .file = file};
    m->global = arena_array(&l->s->arena, (size_t)file->nglobals + 1, sizeof *m->global);
    m->triton = version_said(file);
    file->module = m;
    return l->modules = m;
}

/* pkg/ops/rope.py, of which pkg is the topmost package: "pkg.ops.rope". */
static const char *dotted_name(Lower *l, const char *path, int below) {
    const char *from = path + strlen(path), *dot = strrchr(file_base_name(path), '.');
    for (int i = 0; i <= below && from > path; i++) do
            from--;
        while (from > path && from[-1] != '/');
    char *name = arena_strndup(&l->s->arena, from, dot ? (size_t)(dot - from) : strlen(from));
    for (char *c = name; *c; c++)
        if (*c == '/') *c = '.';
    return name;
}

SourceModule *add_first_module(Lower *l, AstFile *file) {
    const char *name = l->s->source.name;
    search_open(&l->path, l->s, l->options->reader, name, l->options->include,
                l->options->ninclude);
    SourceModule *m = add_module(l, dotted_name(l, name, l->path.first.below), file);
    m->found = (FoundFile){name, l->path.first, strcmp(file_base_name(name), "__init__.py") == 0};
    m->source = &l->s->source;
    return m;
}

/* Parses a source in place of the first one; what it says goes to *said. */
static AstFile *parse_aside(Session *s, const Source *source, Diags *said) {
    Source first = s->source;
    Diags diags = s->diags;
    s->source = *source;
    s->diags = (Diags){.arena = &s->arena, .no_warnings = diags.no_warnings};
    AstFile *file = ast_parse(s);
    *said = s->diags;
    s->diags = diags;
    s->source = first;
    return file;
}

static SourceModule *known_file(const Lower *l, const char *path) {
    SourceModule *m = l->modules;
    while (m && (!m->found.path || strcmp(m->found.path, path) != 0)) m = m->next;
    return m;
}

/* The module of a file that is there, read if it was not. */
static SourceModule *open_module(Lower *l, const FoundFile *found, const char *name, Span span) {
    SourceModule *m = known_file(l, found->path);
    if (m) return m;
    const char *why = NULL;
    const Source *source = search_read(&l->path, found, &why);
    if (!source) {
        abandon(l, E_MODULE_NOT_READ, span, "%s", why);
        return NULL;
    }
    Diags said;
    AstFile *file = parse_aside(l->s, source, &said);
    m = add_module(l, name, file);
    m->found = *found;
    m->source = source;
    m->said = said;
    m->import = span;
    m->importer = l->here;
    check_version(l, m);
    return m;
}

static bool find_module(Lower *l, const char *name, FoundFile *out) {
    return !is_known_module(name) && is_searched(name) && search_module(&l->path, name, out);
}

bool module_there(Lower *l, const char *name) {
    FoundFile found;
    return find_module(l, name, &found);
}

SourceModule *module_named(Lower *l, const char *name, Span span) {
    FoundFile found;
    return find_module(l, name, &found) ? open_module(l, &found, name, span) : NULL;
}

SourceModule *submodule(Lower *l, SourceModule *m, const char *name, Span span) {
    FoundFile found;
    if (!search_in(&l->path, &m->found, name, &found)) return NULL;
    const char *inner = arena_printf(&l->s->arena, "%s.%s", m->name, name);
    return open_module(l, &found, inner, span);
}

static bool find_import(Lower *l, const char *name, FoundFile *out, bool *above) {
    size_t dots = strspn(name, ".");
    *above = false;
    if (dots && l->here == l->first && !l->path.has_first) return false;
    if (dots)
        return search_relative(&l->path, l->here->found.place, (int)dots, name + dots, out, above);
    return find_module(l, name, out);
}

/* "..utils" in pkg.ops.rope is pkg.utils. */
static const char *full_name(Lower *l, const char *name) {
    size_t dots = strspn(name, "."), n = strlen(l->here->name), up = dots;
    if (!dots) return name;
    if (l->here->found.is_package) up--;
    for (; up; up--) {
        while (n && l->here->name[n - 1] != '.') n--;
        if (n) n--;
    }
    return arena_printf(&l->s->arena, "%.*s%s%s", (int)n, l->here->name, n && name[dots] ? "." : "",
                        name + dots);
}

SourceModule *imported_module(Lower *l, const AstImport *im) {
    FoundFile found;
    bool above;
    if (!find_import(l, im->module, &found, &above)) return NULL;
    return open_module(l, &found, full_name(l, im->module), im->span);
}

SourceModule *imported_member(Lower *l, const AstImport *im) {
    FoundFile found;
    bool above;
    size_t dots = strspn(im->module, ".");
    const char *name =
        arena_printf(&l->s->arena, "%s%s%s", im->module, im->module[dots] ? "." : "", im->member);
    if (!find_import(l, name, &found, &above)) return NULL;
    return open_module(l, &found, full_name(l, name), im->span);
}

/* ---- errors ---- */

/* Where modules are looked for, as the person at the command line would write it. */
static const char *roots_text(Lower *l, const char *name) {
    Buf b = buf_new(&l->s->arena);
    Places roots = search_roots(&l->path, name);
    for (int i = 0; i < roots.n; i++)
        buf_printf(&b, "%s'%s'",
                   i == 0             ? ""
                   : i + 1 == roots.n ? " and "
                                      : ", ",
                   *roots.at[i].folder ? roots.at[i].folder : ".");
    return b.len ? b.data : "no folder";
}

Obj module_missing(Lower *l, const AstImport *im, Span span) {
    FoundFile found;
    bool above, relative = im->module[0] == '.';
    find_import(l, im->module, &found, &above);
    l->lacking = true;
    if (!l->path.reader.read || (relative && l->here == l->first && !l->path.has_first))
        fail(l, E_MODULE_NOT_READ, span, "'%s' comes from module '%s', which is not read", im->as,
             im->module);
    else if (above)
        fail(l, E_MODULE_NOT_READ, span,
             "'%s' comes from '%s', which is above the root of its package", im->as, im->module);
    else
        fail(l, E_MODULE_NOT_FOUND, span, "'%s' comes from module '%s', which is not found", im->as,
             im->module);
    note(l, im->span,
         "imported here: put the definition of '%s' into this file; a constant may be "
         "given by -D %s=VALUE",
         im->member ? im->member : im->as, im->as);
    if (above && l->path.reader.read)
        note(l, (Span){0}, "the root is the first folder above this file without an __init__.py");
    else if (l->path.reader.read && !relative)
        note(l, (Span){0}, "it was looked for in %s; -I DIR adds a folder",
             roots_text(l, im->module));
    return poison();
}

Obj folder_missing(Lower *l, const char *path, const char *name, Span span) {
    fail(l, E_MODULE_NOT_FOUND, span, "module '%s' is not found", path);
    note(l, (Span){0},
         "it was looked for in %s; -I DIR adds a folder; -D %s.%s=VALUE gives '%s' a value",
         roots_text(l, path), path, name, name);
    return poison();
}

bool report_parse(Lower *l, SourceModule *m) {
    Diags *to = &l->s->diags, *from = &m->said;
    if (!from->errors) return false;
    l->failed |= !to->muted;
    if (to->muted || !from->first) return true; /* said already, or not now */
    flush_call_notes(l);
    if (to->last)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    to->errors += from->errors;
    to->warnings += from->warnings;
    from->first = from->last = NULL;
    l->chain_module = m;
    l->suppressed = false;
    return true;
}

Obj name_missing(Lower *l, SourceModule *m, const char *name, Span span) {
    l->lacking = true;
    if (m->said.first && report_parse(l, m)) return poison(); /* perhaps it is what is missing */
    fail(l, E_NOT_IN_MODULE, span, "module '%s' has no '%s'", m->name, name);
    Names names = {0};
    for (int i = 0; i < m->file->nfuncs; i++)
        vec_push(&l->s->arena, &names, m->file->func[i]->name);
    for (int i = 0; i < m->file->nglobals; i++)
        vec_push(&l->s->arena, &names, m->file->global[i].name);
    for (int i = 0; i < m->file->nimports; i++)
        vec_push(&l->s->arena, &names, m->file->import[i].as);
    suggest(l, name, names.at, names.n);
    note(l, (Span){0}, "it is '%s'", m->found.path);
    return poison();
}

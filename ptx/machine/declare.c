/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* declare.c: declarations of PTX -> registers with numbers, variables with addresses in their
 * memory, the file's own with what they begin as; and the pieces of text that all of decoding is
 * made of. */
#include "ir/target.h"
#include "ptx/machine/decode.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const PtxTypeInfo ptx_type[PT_TYPES] = {
    {"", 0, ' '},
#define TYPE(id, name, bits, class) {name, bits, class},
#include "ptx/machine/types.def"
#undef TYPE
};

static uint32_t line_of(const char *text, const char *place) {
    uint32_t n = 1;
    for (; text < place; text++) n += *text == '\n';
    return n;
}

uint32_t ptx_line(const PtxProgram *p, const PtxCode *c) {
    return line_of(p->text, c->inst->op.text);
}

/* So much of a word is shown. */
static int shown(int len) {
    enum { MOST = 80 };
    return len > MOST ? MOST : len;
}

void decode_fail(Decoder *d, const char *what, PtxWord word) {
    const PtxInst *inst = d->inst;
    d->failed = true;
    if (d->s->diags.errors >= MOST_ERRORS) return;
    uint32_t line = line_of(d->m->text, inst ? inst->op.text : word.text);
    if (inst)
        diag(&d->s->diags, E_PTX_REFUSED, (Span){0}, "PTX line %u: %s '%.*s' in '%.*s %.*s'", line,
             what, shown(word.len), word.text, shown(inst->op.len), inst->op.text,
             shown(inst->args.len), inst->args.text);
    else
        diag(&d->s->diags, E_PTX_REFUSED, (Span){0}, "PTX line %u: %s '%.*s'", line, what,
             shown(word.len), word.text);
}

bool word_same(PtxWord a, PtxWord b) {
    return a.len == b.len && memcmp(a.text, b.text, (size_t)a.len) == 0;
}

/* ---- pieces of text ---- */

PtxWord word_trim(PtxWord w) {
    while (w.len && isspace((unsigned char)w.text[0])) w.text++, w.len--;
    while (w.len && isspace((unsigned char)w.text[w.len - 1])) w.len--;
    return w;
}

/* The next piece of *rest up to a character that stands outside all brackets. */
PtxWord word_piece(PtxWord *rest, char stop) {
    int depth = 0, n = 0;
    for (; n < rest->len; n++) {
        char c = rest->text[n];
        if (c == stop && depth == 0) break;
        depth += (c == '[' || c == '{' || c == '(') - (c == ']' || c == '}' || c == ')');
    }
    PtxWord piece = {rest->text, n};
    int skip = n < rest->len ? n + 1 : n;
    rest->text += skip;
    rest->len -= skip;
    return word_trim(piece);
}

PtxWord word_token(PtxWord *rest) {
    *rest = word_trim(*rest);
    int n = 0;
    while (n < rest->len && !isspace((unsigned char)rest->text[n])) n++;
    PtxWord w = {rest->text, n};
    rest->text += n;
    rest->len -= n;
    *rest = word_trim(*rest);
    return w;
}

/* 12, 0x1F, 0b1, 0f3F800000, 0d…, -1, 12U; the bits. */
bool word_number(PtxWord w, int64_t *out) {
    char text[48], *end = text, *at = text;
    if (!w.len || w.len >= (int)sizeof text) return false;
    memcpy(text, w.text, (size_t)w.len);
    text[w.len] = '\0';
    bool negative = *at == '-';
    if (negative) at++;
    if (!isdigit((unsigned char)at[*at == '.'])) return false;
    if (at[0] == '0' && at[1] && strchr("fFdD", at[1])) {
        size_t digits = at[1] == 'f' || at[1] == 'F' ? 8 : 16;
        *out = (int64_t)strtoull(at + 2, &end, 16);
        return !*end && !negative && strlen(at + 2) == digits && isxdigit((unsigned char)at[2]);
    }
    bool binary = at[0] == '0' && (at[1] == 'b' || at[1] == 'B');
    if (binary && !isdigit((unsigned char)at[2])) return false;
    errno = 0;
    uint64_t v = binary ? strtoull(at + 2, &end, 2) : strtoull(at, &end, 0);
    if (*end && strchr(".eE", *end)) { /* 1.5: a double */
        double x = strtod(text, &end);
        memcpy(out, &x, sizeof x);
        return !*end;
    }
    if (*end == 'U') end++;
    if (errno == ERANGE) return false;
    *out = (int64_t)(negative ? 0 - v : v);
    return !*end;
}

PtxType word_type(PtxWord w) {
    for (int t = 1; t < PT_TYPES; t++)
        if (ptx_is(w, ptx_type[t].name)) return (PtxType)t;
    return PT_NONE;
}

/* ---- declarations ---- */

typedef struct Declared {
    PtxSpace space;
    PtxType type;
    uint32_t align;
    PtxWord name, init;
    int64_t count; /* elements; registers of a name; 0: [] */
    bool many;     /* it has <n> or [n] */
} Declared;

/* Text between brackets of this kind, without them. */
bool word_brackets(PtxWord *w, char open) {
    char close = open == '<' ? '>' : open == '[' ? ']' : open == '{' ? '}' : ')';
    if (w->len < 2 || w->text[0] != open || w->text[w->len - 1] != close) return false;
    *w = word_trim((PtxWord){w->text + 1, w->len - 2});
    return true;
}

static PtxSpace space_named(PtxWord w) {
    return ptx_is(w, ".shared")   ? IN_SHARED
           : ptx_is(w, ".local")  ? IN_LOCAL
           : ptx_is(w, ".param")  ? IN_PARAM
           : ptx_is(w, ".const")  ? IN_CONST
           : ptx_is(w, ".global") ? IN_GLOBAL
                                  : IN_GENERIC;
}

/* One declarator, the directives before it read already. */
static bool read_declarator(PtxWord w, Declared *d) {
    PtxWord rest = w, name = word_piece(&rest, '=');
    d->init = word_trim(rest);
    d->count = 1;
    d->many = false;
    int n = 0;
    while (n < name.len && name.text[n] != '<' && name.text[n] != '[') n++;
    d->name = word_trim((PtxWord){name.text, n});
    if (n == name.len) return d->name.len > 0;
    PtxWord inside = {name.text + n, name.len - n};
    d->many = true;
    d->count = 0;
    if (!d->name.len || !word_brackets(&inside, name.text[n])) return false;
    return !inside.len ||
           (word_number(inside, &d->count) && d->count > 0 && d->count <= MOST_BYTES);
}

/* The directives of a declaration; *rest: the declarators. */
static bool read_directives(PtxWord text, Declared *d, PtxWord *rest) {
    *d = (Declared){.align = 0};
    *rest = word_trim(text);
    bool first = true;
    while (rest->len && rest->text[0] == '.') {
        PtxWord w = word_token(rest), behind_dot = {w.text + 1, w.len - 1};
        int64_t n;
        if (first) {
            d->space = space_named(w);
        } else if (ptx_is(w, ".align")) {
            if (!word_number(word_token(rest), &n) || n < 1 || n > 4096 || (n & (n - 1)))
                return false;
            d->align = d->align ? d->align : (uint32_t)n;
            if (d->type) d->align = 0; /* of what it points to */
        } else if (!d->type && word_type(behind_dot)) {
            d->type = word_type(behind_dot);
        } else if (!d->type || (!ptx_is(w, ".ptr") && !space_named(w))) {
            return false;
        }
        first = false;
    }
    return d->type != PT_NONE;
}

static bool is_register_type(PtxType t) {
    unsigned bits = ptx_type[t].bits;
    return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static void declare_registers(Decoder *d, PtxDeclaration decl) {
    Declared r;
    PtxWord rest;
    if (!read_directives(decl.text, &r, &rest)) {
        decode_fail(d, "a declaration that is not understood:", decl.text);
        return;
    }
    while (rest.len && !d->failed) {
        PtxWord one = word_piece(&rest, ',');
        if (!read_declarator(one, &r) || r.init.len || !r.count || !is_register_type(r.type)) {
            decode_fail(d, "a declaration that is not understood:", decl.text);
            return;
        }
        if (r.count + d->p->nregisters > MOST_REGISTERS || d->registers.n == MOST_NAMES) {
            decode_fail(d, "a kernel has 65536 registers at most, of 4096 names:", decl.text);
            return;
        }
        Register reg = {r.name, r.many ? (int)r.count : 0, decl.scope, d->p->nregisters, r.type};
        vec_push(&d->s->arena, &d->registers, reg);
        d->p->nregisters += (int)r.count;
    }
}

static uint64_t round_up(uint64_t n, uint64_t to) {
    return (n + to - 1) / to * to;
}

/* Each kind of memory has its own end, from which the next variable goes on. */
static void declare_variable(Decoder *d, PtxDeclaration decl, int scope, uint64_t *end,
                             uint32_t most) {
    Declared r;
    PtxWord rest;
    if (!read_directives(decl.text, &r, &rest) || !read_declarator(rest, &r) || r.type == PT_PRED) {
        decode_fail(d, "a declaration that is not understood:", decl.text);
        return;
    }
    if (d->p->variables.n == MOST_NAMES) {
        decode_fail(d, "a kernel has 4096 variables at most:", decl.text);
        return;
    }
    uint64_t size = ptx_type[r.type].bits / 8u;
    PtxVariable v = {.name = r.name,
                     .scope = scope,
                     .space = r.space,
                     .align = r.align ? r.align : (uint32_t)(size ? size : 1),
                     .bytes = size * (uint64_t)r.count};
    *end = round_up(*end, v.align);
    v.address = *end;
    *end += v.bytes;
    if (*end > most)
        decode_fail(d, arena_printf(&d->s->arena, "more than %u bytes:", most), decl.text);
    vec_push(&d->s->arena, &d->p->variables, v);
}

const PtxVariable *variable_named(const Decoder *d, int scope, PtxWord name) {
    for (; scope >= -2; scope = scope < 0 ? scope - 1 : d->k->outer.at[scope])
        for (int i = 0; i < d->p->variables.n; i++) {
            const PtxVariable *v = &d->p->variables.at[i];
            if (v->scope == scope && word_same(v->name, name)) return v;
        }
    return NULL;
}

/* Another name for the caller's variable, in the function's braces. */
static void declare_binding(Decoder *d, const Binding *b) {
    Declared r;
    PtxWord rest;
    const PtxVariable *v = variable_named(d, b->caller, b->actual);
    if (!read_directives(b->formal.text, &r, &rest) || !read_declarator(rest, &r) ||
        r.space != IN_PARAM) {
        decode_fail(d, "a declaration that is not understood:", b->formal.text);
    } else if (!v || v->scope < 0 || v->space != IN_PARAM ||
               v->bytes != ptx_type[r.type].bits / 8u * (uint64_t)r.count) {
        decode_fail(d, "not what the function takes:", b->actual);
    } else if (d->p->variables.n == MOST_NAMES) {
        decode_fail(d, "a kernel has 4096 variables at most:", b->formal.text);
    } else {
        PtxVariable alias = *v;
        alias.name = r.name;
        alias.scope = b->formal.scope;
        vec_push(&d->s->arena, &d->p->variables, alias);
    }
}

void declare_all(Decoder *d) {
    PtxProgram *p = d->p;
    char target[32];
    PtxWord named = d->m->file.target;
    snprintf(target, sizeof target, "%.*s", named.len, named.len ? named.text : "");
    const Target *t = target_find(target);
    p->most_shared = t ? (uint32_t)t->max_shared : MOST_SHARED;
    uint64_t shared = PTX_SHARED_BASE, local = 0;
    uint32_t most = PTX_SHARED_BASE + p->most_shared;
    for (int i = 0; i < d->k->params.n; i++)
        declare_variable(d, d->k->params.at[i], -2, &p->param_bytes, MOST_PARAM);
    p->nparams = p->variables.n;
    for (int i = 0; i < d->k->declarations.n; i++) {
        PtxDeclaration decl = d->k->declarations.at[i];
        PtxWord rest = decl.text;
        PtxSpace space = space_named(word_token(&rest));
        if (space == IN_GENERIC)
            declare_registers(d, decl);
        else /* parameters of calls are memory of a thread's own, too */
            declare_variable(d, decl, decl.scope, space == IN_SHARED ? &shared : &local,
                             space == IN_SHARED ? most : MOST_LOCAL);
    }
    for (int i = 0; i < d->bindings.n && !d->failed; i++) declare_binding(d, &d->bindings.at[i]);
    PtxVariable *dynamic = NULL;
    for (int i = 0; i < d->m->file.declarations.n; i++) {
        PtxDeclaration decl = d->m->file.declarations.at[i];
        int at = p->variables.n;
        PtxWord rest = decl.text;
        PtxSpace space = space_named(word_token(&rest));
        uint64_t ignored = 0;
        declare_variable(d, decl, -1, space == IN_SHARED ? &shared : &ignored,
                         space == IN_SHARED ? most : MOST_BYTES);
        if (d->failed) return;
        PtxVariable *v = &p->variables.at[at];
        if (space == IN_SHARED && !v->bytes && (!dynamic || v->align > dynamic->align)) dynamic = v;
        if (space == IN_GLOBAL || space == IN_CONST)
            v->address = (uint64_t)(uintptr_t)d->m->global[i].base;
    }
    if (dynamic) { /* behind all others */
        shared = round_up(shared, dynamic->align);
        for (int i = 0; i < p->variables.n; i++) {
            PtxVariable *v = &p->variables.at[i];
            if (v->space == IN_SHARED && !v->bytes) v->address = shared;
        }
    }
    p->static_shared = shared - PTX_SHARED_BASE;
    p->local_bytes = local;
}

/* Memory for the file's own variables, with what they begin as. */
bool declare_globals(Decoder *d) {
    PtxModule *m = d->m;
    uint64_t all = 0;
    m->nglobals = m->file.declarations.n;
    m->global = arena_array(&d->s->arena, (size_t)m->nglobals + 1, sizeof *m->global);
    for (int i = 0; i < m->nglobals; i++) {
        Declared r;
        PtxWord rest;
        if (!read_directives(m->file.declarations.at[i].text, &r, &rest) ||
            !read_declarator(rest, &r)) {
            decode_fail(d,
                        "a declaration that is not understood:", m->file.declarations.at[i].text);
            return false;
        }
        if (r.space != IN_GLOBAL && r.space != IN_CONST) continue;
        size_t size = ptx_type[r.type].bits / 8u, align = r.align > 16 ? r.align : 16;
        size_t bytes = size * (size_t)r.count;
        if (!size || size > sizeof(int64_t) || (all += bytes) > MOST_BYTES) {
            decode_fail(d, "a variable too large, or of a type that memory has not:",
                        m->file.declarations.at[i].text);
            return false;
        }
        uint8_t *base = arena_alloc(&d->s->arena, bytes + align);
        base += (align - (uintptr_t)base % align) % align;
        m->global[i] =
            (PtxBuffer){.name = arena_strndup(&d->s->arena, r.name.text, (size_t)r.name.len),
                        .base = base,
                        .bytes = bytes};
        PtxWord list = r.init;
        word_brackets(&list, '{');
        for (size_t at = 0; list.len && at < bytes; at += size) {
            int64_t v;
            PtxWord one = word_piece(&list, ',');
            if (!word_number(one, &v)) {
                decode_fail(d, "an initial value that is not understood:", one);
                return false;
            }
            memcpy(base + at, &v, size);
        }
    }
    return true;
}

void name_registers(Decoder *d) {
    PtxProgram *p = d->p;
    p->register_name = arena_array(&d->s->arena, (size_t)p->nregisters + 1, sizeof(char *));
    p->register_type = arena_alloc(&d->s->arena, (size_t)p->nregisters + 1);
    for (int i = 0; i < d->registers.n; i++) {
        const Register *r = &d->registers.at[i];
        for (int k = 0; k < (r->count ? r->count : 1); k++) {
            p->register_type[r->first + k] = (uint8_t)r->type;
            p->register_name[r->first + k] =
                r->count ? arena_printf(&d->s->arena, "%.*s%d", r->name.len, r->name.text, k)
                         : arena_strndup(&d->s->arena, r->name.text, (size_t)r->name.len);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse.c: text of tile IR -> Module. The inverse of print.c, for .tir files and tests.
 *
 * One pass, one token of lookahead, no backtracking. The first mistake ends it (session_bail is not
 * used: ir_parse returns NULL), for a .tir file is written by programs and an error means damage.
 */
#include "ir/func_attrs.h"
#include "ir/token.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 200, MAX_OPERANDS = 100000, MAX_REGIONS = 16 };

/* ---- types, layouts, values ---- */

static Type parse_type(Parser *p) {
    Type t = {0};
    if (is_word(p, space_text[SPACE_TOKEN])) {
        token_next(p);
        return type_token();
    }
    if (is_word(p, space_text[SPACE_BARRIER])) {
        int slices = 0;
        token_next(p);
        if (take_punct(p, '<')) {
            slices = (int)want_int_in(p, 1, TYPE_MAX_SLICES);
            want_punct(p, '>');
        }
        return type_barrier(slices);
    }
    for (int space = SPACE_SHARED; space <= SPACE_DESC; space++) {
        if (space == SPACE_BARRIER || !is_word(p, space_text[space])) continue;
        int slices = 0;
        token_next(p);
        want_punct(p, '<');
        if (p->tok == T_NUMBER && space != SPACE_DESC) {
            slices = (int)want_int_in(p, 1, TYPE_MAX_SLICES);
            if (!is_word(p, "x")) token_fail(p, "expected 'x'");
            token_next(p);
        }
        t = parse_type(p);
        if (t.space)
            token_fail(p, type_is_buffer(t)  ? "a buffer of a buffer"
                          : type_is_token(t) ? "a buffer of tokens"
                                             : "a buffer of descriptors");
        want_punct(p, '>');
        t = type_in_space(t, (Space)space);
        t.slices = (uint16_t)slices;
        return t;
    }
    int depth = 0;
    while (is_word(p, "ptr") && depth < POINTER_MAX_DEPTH) {
        token_next(p);
        want_punct(p, '<');
        depth++;
    }
    Elem e = EL_I1;
    if (is_word(p, "ptr")) token_fail(p, "more than %d levels of pointer", POINTER_MAX_DEPTH);
    if (p->tok != T_WORD || !elem_from_name(p->text, strlen(p->text), &e))
        token_fail(p, "expected a type");
    token_next(p);
    for (int i = 0; i < depth; i++) want_punct(p, '>');
    t.elem = (uint8_t)e;
    t.depth = (uint8_t)depth;
    int total = 0;
    if (take_punct(p, '[')) do {
            int64_t d = want_int_in(p, 1, 1 << TILE_MAX_LOG2);
            if (!p->failed && (d & (d - 1)))
                token_fail(p, "dimension %lld is not a power of two", (long long)d);
            if (t.rank == TILE_MAX_RANK) {
                token_fail(p, "more than %d dimensions", TILE_MAX_RANK);
                break;
            }
            while (((int64_t)1 << t.log2[t.rank]) < d) t.log2[t.rank]++;
            total += t.log2[t.rank++];
        } while (take_punct(p, ','));
    if (t.rank) want_punct(p, ']');
    if (total > TILE_MAX_LOG2) token_fail(p, "the tile has more than 2^%d elements", TILE_MAX_LOG2);
    return t;
}

static const Layout *opt_layout_ref(Parser *p, Type t) {
    if (p->tok != T_SYMBOL) return NULL;
    char *end;
    long n = p->text[0] == 'L' ? strtol(p->text + 1, &end, 10) : -1;
    if (n < 0 || *end || n >= p->nlayouts) {
        token_fail(p, "no layout @%s", p->text);
        return NULL;
    }
    if (p->layout[n]->out != type_log2_numel(t)) {
        token_fail(p, "layout @%s does not fit a tile of this size", p->text);
        return NULL;
    }
    token_next(p);
    return p->layout[n];
}

static void define(Parser *p, const char *name, Value *v) {
    struct NameSlot *slot = names_at(&p->values, name);
    if (slot->value) token_fail(p, "%%%s is defined twice", name);
    slot->value = v;
    v->name = isdigit((unsigned char)name[0]) ? NULL : name;
}

static Value *want_value(Parser *p) {
    if (p->tok != T_VALUE) {
        token_fail(p, "expected a value");
        return NULL;
    }
    Value *v = names_at(&p->values, p->text)->value;
    if (!v) token_fail(p, "%%%s is not defined here", p->text);
    token_next(p);
    return v;
}

/* `%name: type@layout`, into a list. */
typedef struct NewValue {
    const char *name;
    Type type;
    const Layout *layout;
} NewValue;

static NewValue parse_new_value(Parser *p) {
    NewValue v = {0};
    if (p->tok != T_VALUE) token_fail(p, "expected a value");
    v.name = p->text;
    token_next(p);
    want_punct(p, ':');
    v.type = parse_type(p);
    v.layout = opt_layout_ref(p, v.type);
    return v;
}

static void parse_layout(Parser *p) {
    token_next(p);
    Arena *a = &p->s->arena;
    if (p->tok != T_SYMBOL || p->text[0] != 'L' || strtol(p->text + 1, NULL, 10) != p->nlayouts) {
        token_fail(p, "layouts are numbered from @L0 in order");
        return;
    }
    token_next(p);
    Layout l = {0};
    static const char *const part[IN_DIMS] = {"reg", "lane", "warp", "block"};
    for (int in = 0; in < IN_DIMS; in++) {
        if (!is_word(p, part[in])) token_fail(p, "expected '%s='", part[in]);
        token_next(p);
        want_punct(p, '=');
        want_punct(p, '[');
        while (!p->failed && !is_punct(p, ']')) {
            if (l.bits[in] == LAYOUT_MAX_BITS)
                token_fail(p, "more than %d bits", LAYOUT_MAX_BITS);
            else
                l.basis[in][l.bits[in]++] = (uint32_t)want_int_in(p, 0, (1 << TILE_MAX_LOG2) - 1);
            if (!is_punct(p, ']')) want_punct(p, ',');
        }
        want_punct(p, ']');
    }
    if (!is_word(p, "out")) token_fail(p, "expected 'out='");
    token_next(p);
    want_punct(p, '=');
    l.out = (uint8_t)want_int_in(p, 0, TILE_MAX_LOG2);
    for (int in = 0; in < IN_DIMS && !p->failed; in++) /* else `out` may be any number */
        for (int i = 0; i < l.bits[in]; i++)
            if (l.basis[in][i] >> l.out) token_fail(p, "a basis vector lies outside the tile");
    const Layout **all = arena_array(a, (size_t)p->nlayouts + 1, sizeof *all);
    if (p->nlayouts) memcpy(all, p->layout, (size_t)p->nlayouts * sizeof *all);
    all[p->nlayouts++] = intern_layout(p->s, l);
    p->layout = all;
}

/* ---- operations ---- */

static double parse_float(Parser *p) {
    if (is_word(p, "inf")) return INFINITY;
    char digits[64];
    if (p->tok != T_NUMBER || p->len >= sizeof digits) {
        token_fail(p, "expected a number");
        return 0;
    }
    memcpy(digits, p->text, p->len);
    digits[p->len] = 0;
    char *end;
    double v = strtod(digits, &end);
    if (*end) token_fail(p, "'%s' is not a number", digits);
    return v;
}

static int64_t parse_bits(Parser *p, Type t) {
    if (!type_is_float(t)) {
        int64_t v = !t.depth && t.elem == EL_U64 ? want_uint(p) : want_int(p);
        if (!type_is_pointer(t) && elem_wrap((Elem)t.elem, v) != v)
            token_fail(p, "%lld does not fit %s", (long long)v, elem_info[t.elem].text);
        return v;
    }
    if (is_word(p, "nan")) {
        token_next(p);
        want_punct(p, '(');
        char digits[32] = {0};
        if (p->tok == T_NUMBER && p->len < sizeof digits) memcpy(digits, p->text, p->len);
        char *end;
        uint64_t bits = strtoull(digits, &end, 16);
        bool fits = bits >> (type_elem_bits(t) - 1) <= 1;
        if (!digits[0] || *end || !fits || !isnan(elem_to_double((Elem)t.elem, bits)))
            token_fail(p, "expected the bits of a NaN");
        token_next(p);
        want_punct(p, ')');
        return (int64_t)bits;
    }
    double v = parse_float(p);
    token_next(p);
    return (int64_t)elem_from_double((Elem)t.elem, v);
}

static bool attr_allowed(OpCode code, const char *name) {
    size_t n = strlen(name);
    for (const char *a = op_info[code].attrs; *a;) {
        size_t k = strcspn(a, " ?");
        if (k == n && memcmp(a, name, n) == 0) return true;
        a += k;
        a += strspn(a, " ?");
    }
    return false;
}

static void parse_attr(Parser *p, Op *op) {
    int id = 0;
    while (id < ATTRS && strcmp(attr_info[id].text, p->text) != 0) id++;
    if (id == ATTRS || !(attr_is_of_schedule((AttrId)id) || attr_allowed(op->code, p->text))) {
        token_fail(p, "'%s' has no attribute '%s'", op_info[op->code].text, p->text);
        return;
    }
    if (ir_attr(op, (AttrId)id)) {
        token_fail(p, "attribute '%s' is given twice", p->text);
        return;
    }
    token_next(p);
    want_punct(p, '=');
    AttrId at = (AttrId)id;
    switch (attr_info[id].kind) {
    case ATTR_INT: ir_set_attr(p->s, op, at, want_int(p)); break;
    case ATTR_BITS:
        if (op->nresults != 1)
            token_fail(p, "a constant has one result");
        else
            ir_set_attr(p->s, op, at, parse_bits(p, op->result[0]->type));
        break;
    case ATTR_WORD: {
        const char *const *words = attr_words(at);
        int i = 0;
        while (words[i] && !is_word(p, words[i])) i++;
        if (!words[i]) token_fail(p, "'%s' takes no such value", attr_info[id].text);
        ir_set_attr(p->s, op, at, i);
        token_next(p);
        break;
    }
    case ATTR_TEXT:
        if (p->tok != T_STRING || strlen(p->text) != p->len)
            token_fail(p, "expected a string without NUL");
        else
            ir_set_text(p->s, op, at, p->text);
        token_next(p);
        break;
    case ATTR_DIMS: {
        int dims[TILE_MAX_RANK], n = 0;
        want_punct(p, '[');
        while (!p->failed && !is_punct(p, ']')) {
            if (n == TILE_MAX_RANK)
                token_fail(p, "more than %d dimensions", TILE_MAX_RANK);
            else
                dims[n++] = (int)want_int_in(p, 0, UINT8_MAX);
            if (!is_punct(p, ']')) want_punct(p, ',');
        }
        want_punct(p, ']');
        ir_set_dims(p->s, op, at, dims, n);
        break;
    }
    }
}

static void parse_block(Parser *p, Block *b);

static void parse_region(Parser *p, Op *op) {
    Block **all = arena_array(&p->s->arena, (size_t)op->nregions + 1, sizeof *all);
    if (op->nregions) memcpy(all, op->region, (size_t)op->nregions * sizeof *all);
    Block *b = all[op->nregions++] = ir_block(p->s, op);
    op->region = all;
    if (op->nregions > MAX_REGIONS) token_fail(p, "more than %d regions", MAX_REGIONS);
    want_punct(p, '{');
    if (take_punct(p, '(')) {
        do {
            NewValue v = parse_new_value(p);
            if (p->failed) return;
            Value *arg = ir_block_arg(p->s, p->f, b, v.type, NULL);
            arg->layout = v.layout;
            define(p, v.name, arg);
        } while (take_punct(p, ','));
        want_punct(p, ')');
    }
    if (++p->depth > MAX_DEPTH) token_fail(p, "regions are nested more than %d deep", MAX_DEPTH);
    parse_block(p, b);
    p->depth--;
    want_punct(p, '}');
}

/* The value at hand is defined here, by another operation on the next line: a colon follows. */
static bool defines_value(const Parser *p) {
    const char *at = p->p;
    while (at < p->end && (*at == ' ' || *at == '\t')) at++;
    return at < p->end && *at == ':';
}

/* Where the op was in the source; else its own place in the text, as long as that may be what is
 * meant (settle_places). */
static void place_op(Parser *p, Op *op, Span at) {
    op->span = opt_span(p);
    if (op->span.line) return;
    op->span = at;
    vec_push(&p->s->arena, &p->own_places, &op->span);
}

static void parse_op(Parser *p, Block *b) {
    Arena *a = &p->s->arena;
    VEC(NewValue) results = {0};
    VEC(Value *) operands = {0};
    if (p->tok == T_VALUE) {
        do {
            vec_push(a, &results, parse_new_value(p));
        } while (!p->failed && take_punct(p, ','));
        want_punct(p, '=');
    }
    if (p->tok != T_WORD) {
        token_fail(p, "expected an operation");
        return;
    }
    Span at = p->at;
    int code = 0;
    while (code < OPS && strcmp(op_info[code].text, p->text) != 0) code++;
    if (code == OPS) {
        token_fail(p, "unknown operation '%s'", p->text);
        return;
    }
    token_next(p);
    if (p->tok == T_VALUE && !defines_value(p)) {
        do {
            vec_push(a, &operands, want_value(p));
            if (operands.n > MAX_OPERANDS) token_fail(p, "more than %d operands", MAX_OPERANDS);
        } while (!p->failed && take_punct(p, ','));
    }
    if (p->failed) return;
    Type *types = arena_array(a, (size_t)results.n, sizeof *types);
    for (int i = 0; i < results.n; i++) types[i] = results.at[i].type;
    Builder build = {.s = p->s, .f = p->f, .block = b};
    Op *op = ir_op(&build, (OpCode)code, operands.at, operands.n, types, results.n, 0);
    while (p->tok == T_WORD && p->p < p->end && *p->p == '=' && !p->failed) parse_attr(p, op);
    place_op(p, op, at);
    /* Results are visible only after the op: its regions must not see them. */
    while (is_punct(p, '{') && !p->failed) parse_region(p, op);
    for (int i = 0; i < results.n && !p->failed; i++) {
        op->result[i]->layout = results.at[i].layout;
        define(p, results.at[i].name, op->result[i]);
    }
}

static void parse_block(Parser *p, Block *b) {
    while (!p->failed && p->tok != T_END && !is_punct(p, '}')) parse_op(p, b);
}

/* ---- functions ---- */

/* Strings that are kept as C's. */
static void want_plain_string(Parser *p) {
    if (p->tok == T_STRING && memchr(p->text, 0, p->len)) token_fail(p, "a NUL in a name");
}

static void parse_param(Parser *p) {
    Param a = {.divisible = 1};
    bool named = p->tok == T_VALUE;
    Span at = p->at;
    if (!named && p->tok != T_WORD && p->tok != T_STRING) token_fail(p, "expected a parameter");
    want_plain_string(p);
    if (p->failed) return;
    a.name = p->tok == T_STRING ? intern(&p->s->names, p->text, p->len) : p->text;
    token_next(p);
    want_punct(p, ':');
    a.type = parse_type(p);
    if (a.type.rank || a.type.space) token_fail(p, "a parameter is a scalar");
    if (a.type.elem == EL_F8E4B15 && !a.type.depth)
        token_fail(p, "no host has f8e4b15: take a pointer to it");
    while (p->tok == T_WORD && !p->failed) {
        if (is_word(p, "one"))
            a.is_one = true;
        else if (is_word(p, "none"))
            a.is_none = true;
        else if (is_word(p, "small") || is_word(p, "large"))
            a.size = is_word(p, "small") ? SIZE_SMALL : SIZE_LARGE;
        else if (!is_word(p, "divisible"))
            token_fail(p, "a parameter has no '%s'", p->text);
        bool number = is_word(p, "divisible");
        token_next(p);
        if (number) {
            want_punct(p, '=');
            a.divisible = (int)want_int_in(p, 1, 1 << 20);
            if (a.divisible & (a.divisible - 1)) token_fail(p, "divisible must be a power of two");
        }
    }
    a.span = opt_span(p);
    if (named == (a.is_one || a.is_none))
        token_fail(p, "parameter '%s': one and none go without %%, others with it", a.name);
    for (int i = 0; i < p->f->nparams; i++)
        if (p->f->param[i].name == a.name) {
            p->at = at;
            token_fail(p, "parameter '%s' is there twice", a.name);
        }
    if (p->failed) return;
    Value *v = ir_param(p->s, p->f, &a);
    if (v) {
        define(p, a.name, v);
        v->name = a.name;
    }
}

static void parse_number(Parser *p, Func *f, const FuncAttr *a) {
    char must[RULE_TEXT];
    Span at = p->at;
    int64_t v = want_int(p);
    if (rule_allows(&a->rule, v)) {
        func_set_number(f, a, v);
    } else if (!p->failed) {
        p->at = at;
        token_fail(p, "%s must be %s, not %lld", a->text, rule_text(&a->rule, must), (long long)v);
    }
}

static void parse_text(Parser *p, Func *f, const FuncAttr *a) {
    int i = 0;
    while (i < a->most - 1 && func_text(f, a, i)) i++;
    want_plain_string(p);
    if (p->tok != T_STRING)
        token_fail(p, "expected a string");
    else if (a->most > 1 && func_text(f, a, i))
        token_fail(p, "a kernel has '%s' at most %d times", a->text, a->most);
    else
        func_set_text(f, a, i, p->text);
    token_next(p);
}

static void parse_json(Parser *p, Func *f, const FuncAttr *a) {
    int n;
    ConstexprInfo c = {0}, *list = (ConstexprInfo *)func_json(f, a, &n);
    if (p->tok != T_WORD && p->tok != T_STRING) token_fail(p, "expected a name");
    want_plain_string(p);
    c.name = p->text;
    token_next(p);
    want_punct(p, '=');
    if (p->tok != T_STRING) token_fail(p, "expected a string");
    want_plain_string(p);
    c.json = p->text;
    token_next(p);
    if (p->failed) return;
    func_add_json(p->s, &list, &n, c.name, c.json);
    func_set_json(f, a, list, n);
}

static void parse_header(Parser *p, Func *f) {
    while (p->tok == T_WORD && !p->failed) {
        const FuncAttr *a = func_attr_find(p->text);
        if (!a) {
            token_fail(p, "a kernel has no '%s'", p->text);
            return;
        }
        token_next(p);
        if (a->kind != FUNC_ATTR_NAMED_JSON) want_punct(p, '=');
        switch (a->kind) {
        case FUNC_ATTR_NUMBER: parse_number(p, f, a); break;
        case FUNC_ATTR_TEXT: parse_text(p, f, a); break;
        case FUNC_ATTR_NAMED_JSON: parse_json(p, f, a); break;
        }
    }
    f->span = opt_span(p);
}

static void parse_func(Parser *p) {
    token_next(p);
    if (p->tok != T_SYMBOL) {
        token_fail(p, "expected the kernel's name");
        return;
    }
    Span at = p->at;
    for (const Func *f = p->module->funcs; f; f = f->next)
        if (strcmp(f->name, p->text) == 0) token_fail(p, "kernel @%s is there twice", p->text);
    if (p->failed) return;
    Func *f = p->f = ir_func(p->module, p->text);
    p->values = (NameMap){.arena = &p->s->arena};
    p->layout = NULL;
    p->nlayouts = 0;
    token_next(p);
    want_punct(p, '(');
    if (!is_punct(p, ')')) do {
            parse_param(p);
        } while (!p->failed && take_punct(p, ','));
    want_punct(p, ')');
    parse_header(p, f);
    want_punct(p, '{');
    while (is_word(p, "layout") && !p->failed) parse_layout(p);
    parse_block(p, f->body);
    want_punct(p, '}');
    if (p->failed) return;
    Span where = at;
    const char *bad = ir_verify(p->s, f, &where);
    if (!bad) return;
    diag(&p->s->diags, E_TIR_UNSOUND, where.line ? where : at, "kernel @%s: %s", f->name, bad);
    p->failed = true;
    p->tok = T_END;
}

static void parse_source(Parser *p) {
    token_next(p);
    Buf text = buf_new(&p->s->arena);
    if (p->tok != T_STRING) token_fail(p, "expected the source's name");
    want_plain_string(p);
    const char *name = p->text;
    token_next(p);
    want_punct(p, '{');
    while (p->tok == T_STRING && !p->failed) {
        buf_write(&text, p->text, p->len);
        token_next(p);
    }
    want_punct(p, '}');
    Source *last = &p->module->source;
    const char *lines = text.data ? text.data : "";
    if (!last->text) {
        *last = (Source){.name = name, .text = lines, .len = text.len};
        return;
    }
    while (last->next) last = last->next;
    last->next = arena_alloc(&p->s->arena, sizeof *last->next);
    *last->next = (Source){name, lines, text.len, source_lines_up_to(last), NULL};
}

/* Tile IR that was written by hand is its own source; what was made of another and does not say
 * where has no places. */
static void settle_places(Parser *p, const char *text, size_t len) {
    Module *m = p->module;
    m->own_source = !p->placed && !m->source.text;
    for (int i = 0; !m->own_source && i < p->own_places.n; i++) *p->own_places.at[i] = (Span){0};
    if (m->own_source)
        m->source = (Source){
            .name = p->s->source.name, .text = arena_strndup(&p->s->arena, text, len), .len = len};
}

Module *ir_parse(Session *s, const char *text, size_t len) {
    Parser p = {.s = s, .p = text, .end = text + len, .line_start = text, .line = 1};
    p.module = ir_module(s);
    token_next(&p);
    while (!p.failed && p.tok != T_END) {
        if (is_word(&p, "kernel"))
            parse_func(&p);
        else if (is_word(&p, "source"))
            parse_source(&p);
        else
            token_fail(&p, "expected 'kernel' or 'source'");
    }
    if (!p.failed && !p.module->funcs) token_fail(&p, "there is no kernel in this file");
    settle_places(&p, text, len);
    return p.failed ? NULL : p.module;
}

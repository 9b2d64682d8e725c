/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* argument.c: what a signature and an annotation say of one parameter -> the parts of its argument.
 *
 *   (*fp32:16, i32, (i1, 4))          a tuple; parts are called x.0, x.1, x.2.0 …
 *   (ptr=*fp32, shape=(i32, i32))     one whose parts have names: x.ptr, x.shape.0 …
 *   Size(i32, i32)                    a NamedTuple of the source
 *   tensordesc<fp16[128, 64], nan>    a tensor descriptor: x.base, x.shape.0 …, x.strides.0 …
 *
 * Only leaves are passed: the list of a launch's arguments is flat. An entry that names a part says
 * more of it; entries of parts alone make a tuple. */
#include "frontend/lower/signature.h"
#include "ir/desc.h"

#include <ctype.h>
#include <string.h>

typedef struct Reader {
    Lower *l;
    const AstParam *param;
    Entries *entries;
    int leaves;
    bool annotated; /* the texts are an annotation's */
} Reader;

static bool read_part(Reader *r, const char *path, Text text, Argument *out);

static const char *part_path(Reader *r, const char *path, const char *part) {
    const char *text = arena_printf(&r->l->s->arena, "%s.%s", path, part);
    return intern(&r->l->s->names, text, strlen(text));
}

static const char *number_path(Reader *r, const char *path, int i) {
    return part_path(r, path, arena_printf(&r->l->s->arena, "%d", i));
}

/* ---- what a text is ---- */

static size_t word_length(Text t) {
    size_t n = 0;
    while (n < t.n && (isalnum((unsigned char)t.at[n]) || t.at[n] == '_' || t.at[n] & 0x80)) n++;
    return n;
}

static bool is_tuple(Text t) {
    size_t word = word_length(t);
    return word < t.n && t.at[word] == '(' && t.at[t.n - 1] == ')';
}

static bool is_descriptor(Text t) {
    return text_starts(t, "tensordesc<") && t.at[t.n - 1] == '>';
}

/* The part of its name that follows `path.`; n is 0 when the entry is of something else. */
static Text name_behind(Entry e, const char *path) {
    size_t n = strlen(path);
    if (e.name.n <= n + 1 || memcmp(e.name.at, path, n) != 0 || e.name.at[n] != '.')
        return (Text){"", 0};
    return (Text){e.name.at + n + 1, e.name.n - n - 1};
}

static bool has_parts(const Reader *r, const char *path) {
    for (int i = 0; i < r->entries->n; i++)
        if (name_behind(r->entries->at[i], path).n) return true;
    return false;
}

/* ---- leaves ---- */

/* "*fp16:16"; empty when there is no annotation that is a text. */
static Text annotation_of(const AstParam *p) {
    if (!p->annotation || p->annotation->kind != EXPR_STRING) return (Text){"", 0};
    return text_trim((Text){p->annotation->string, p->annotation->string_len});
}

/* What an annotation and an entry come to. */
static Text leaf_text(Lower *l, Text said, Entry entry) {
    bool promise = entry.text.n && *entry.text.at == ':';
    bool hold = l->options->annotations_hold && entry.text.n && !text_is(entry.text, "None");
    if (!said.n || (!promise && !hold && (entry.text.n || l->options->ignore_annotations)))
        return entry.text;
    if (hold) entry.text = promise_of(entry.text);
    Type t;
    if (hold && parse_type(said.at, said.n, &t) && type_is_float(t)) return said;
    return promise || entry.text.n ? with_promise(l, said, entry.text) : said;
}

static bool make_leaf(Reader *r, const char *path, Text said, Entry entry, Argument *out) {
    if (++r->leaves > TILE_MAX_PARAMS) {
        fail(r->l, E_PARAMETER_LIMIT, r->param->span, "'%s' has more than %d parts", r->param->name,
             TILE_MAX_PARAMS);
        return false;
    }
    *out = (Argument){.path = path,
                      .kind = ARGUMENT_LEAF,
                      .said = said,
                      .given = entry.text,
                      .text = leaf_text(r->l, said, entry),
                      .divisible = 1};
    return true;
}

/* A part that text describes, and entries of its name. */
static bool read_leaf(Reader *r, const char *path, Text text, Argument *out) {
    Text none = {"", 0};
    Entry entry = {.text = r->annotated ? none : text};
    for (int i = 0; i < r->entries->n; i++)
        if (text_is(r->entries->at[i].name, path)) {
            r->entries->at[i].taken = true;
            take_entry(r->l, r->entries->at[i], &entry);
        }
    bool constant = r->annotated && !entry.text.n && text_is_constant(text);
    if (constant) entry.text = text;
    return make_leaf(r, path, r->annotated && !constant ? text : none, entry, out);
}

/* ---- tuples ---- */

static bool misread(Reader *r, const char *path, Text text, const char *why) {
    fail(r->l, E_PARAMETER_TYPE, r->param->span, "'%.*s' is no type for '%s': %s", (int)text.n,
         text.at, path, why);
    return false;
}

/* The fields that a NamedTuple of this name has; NULL after an error. */
static const Class *find_named_tuple(Reader *r, const char *path, Text name) {
    Lower *l = r->l;
    Obj o = poison();
    const char *word = intern(&l->s->names, name.at, name.n);
    bool there = lookup_top(l, word, r->param->span, &o);
    if (there && o.kind == OBJ_CLASS && o.class_->kind == CLASS_NAMED_TUPLE) return o.class_;
    if (!there || !obj_is_poison(o))
        fail(l, E_PARAMETER_TYPE, r->param->span,
             "'%s', the type of '%s', is no NamedTuple of this file", word, path);
    return NULL;
}

static const Class *class_of_names(Reader *r, const Names *names) {
    Lower *l = r->l;
    Obj *at = arena_array(&l->s->arena, (size_t)names->n + 1, sizeof *at);
    for (int i = 0; i < names->n; i++) at[i] = obj_string(l, names->at[i]);
    Obj o = named_tuple_class(l, "tuple", obj_tuple(l, at, names->n), r->param->span);
    return o.kind == OBJ_CLASS && o.class_->nfields == names->n ? o.class_ : NULL;
}

static int field_number(const Class *c, const char *name) {
    for (int i = 0; i < c->nfields; i++)
        if (c->field[i].name == name) return i;
    return -1;
}

/* What stands between the parentheses, in order; names stay empty where there are none. */
static bool split_tuple(Reader *r, const char *path, Text text, Entries *parts, Names *names) {
    Lower *l = r->l;
    size_t open = word_length(text);
    Text rest = {text.at + open + 1, text.n - open - 2}, part;
    while (text_part(&rest, &part)) {
        if (!part.n && !rest.at) break; /* nothing stands behind the last comma */
        Entry e = entry_of(part);
        if (e.name.n && (word_length(e.name) != e.name.n || isdigit((unsigned char)*e.name.at)))
            return misread(r, path, text, "a part's name is no name");
        bool alone = !rest.at && !parts->n && !e.name.n && !open;
        if (alone) return misread(r, path, text, "a tuple of one part is written (i32,)");
        if (e.name.n) vec_push(&l->s->arena, names, intern(&l->s->names, e.name.at, e.name.n));
        vec_push(&l->s->arena, parts, e);
    }
    if (names->n && names->n != parts->n)
        return misread(r, path, text, "all parts of a tuple have names, or none");
    return true;
}

static bool read_tuple(Reader *r, const char *path, Text text, Argument *out) {
    Entries parts = {0};
    Names names = {0};
    Text word = {text.at, word_length(text)};
    if (!split_tuple(r, path, text, &parts, &names)) return false;
    *out = (Argument){.path = path, .kind = ARGUMENT_TUPLE, .nparts = parts.n};
    if (word.n)
        out->class_ = find_named_tuple(r, path, word);
    else if (names.n)
        out->class_ = class_of_names(r, &names);
    const Class *c = out->class_;
    if (!c && word.n) return false;
    if (!c && names.n) return misread(r, path, text, "two parts have the same name");
    if (c && c->nfields != parts.n)
        return misread(r, path, text,
                       arena_printf(&r->l->s->arena, "'%s' has %d fields", c->name, c->nfields));
    out->part = arena_array(&r->l->s->arena, (size_t)parts.n + 1, sizeof *out->part);
    for (int i = 0; i < parts.n; i++) {
        int at = names.n ? field_number(c, names.at[i]) : i;
        if (at < 0 || out->part[at].path)
            return misread(r, path, text,
                           arena_printf(&r->l->s->arena, "'%s' has no field '%s', or has it twice",
                                        c->name, names.at[i]));
        const char *name = c ? part_path(r, path, c->field[at].name) : number_path(r, path, at);
        if (!read_part(r, name, parts.at[i].text, &out->part[at])) return false;
    }
    return true;
}

/* A tuple of which only parts are told: x.0=i32, x.1=*fp32. */
static bool gather_tuple(Reader *r, const char *path, Argument *out) {
    Lower *l = r->l;
    Names names = {0};
    bool numbers = true;
    for (int i = 0; i < r->entries->n; i++) {
        Text name = name_behind(r->entries->at[i], path);
        const char *dot = name.n ? memchr(name.at, '.', name.n) : NULL;
        if (dot) name.n = (size_t)(dot - name.at);
        if (!name.n) continue;
        const char *word = intern(&l->s->names, name.at, name.n);
        bool known = false;
        for (int k = 0; k < names.n && !known; k++) known = names.at[k] == word;
        if (known) continue;
        if (names.n == TILE_MAX_PARAMS) {
            fail(l, E_PARAMETER_LIMIT, r->param->span, "'%s' has more than %d parts", path,
                 TILE_MAX_PARAMS);
            return false;
        }
        numbers = numbers && isdigit((unsigned char)*word);
        vec_push(&l->s->arena, &names, word);
    }
    *out = (Argument){.path = path, .kind = ARGUMENT_TUPLE, .nparts = names.n};
    if (!numbers && !(out->class_ = class_of_names(r, &names))) return false;
    out->part = arena_array(&l->s->arena, (size_t)names.n + 1, sizeof *out->part);
    for (int i = 0; i < names.n; i++) {
        const char *name = numbers ? number_path(r, path, i) : part_path(r, path, names.at[i]);
        if (!read_part(r, name, (Text){"", 0}, &out->part[i])) return false;
        if (out->part[i].kind != ARGUMENT_LEAF || out->part[i].given.n) continue;
        fail(l, E_SIGNATURE, r->param->span,
             "the signature has %d parts of '%s', and '%s' is none of them", names.n, path, name);
        return false;
    }
    return true;
}

/* ---- descriptors ---- */

static bool read_sizes(Reader *r, const char *path, Text whole, Text sizes, Type elem, Type *out) {
    int64_t dim[TILE_MAX_RANK];
    int n = 0;
    Text part;
    while (text_part(&sizes, &part)) {
        int64_t size = 0;
        for (size_t i = 0; i < part.n && size <= 1 << TILE_MAX_LOG2; i++)
            size = isdigit((unsigned char)part.at[i]) ? size * 10 + part.at[i] - '0' : INT32_MAX;
        if (n == DESC_MAX_RANK)
            return misread(r, path, whole, "a tensor descriptor has at most 5 dimensions");
        if (size < 1 || size > 1 << TILE_MAX_LOG2 || (size & (size - 1)))
            return misread(r, path, whole, "the sizes of a block are powers of two");
        dim[n++] = size;
    }
    int log2 = 0;
    for (int i = 0; i < n; i++) log2 += __builtin_ctzll((unsigned long long)dim[i]);
    if (!n || log2 > TILE_MAX_LOG2)
        return misread(r, path, whole, "a block has 1 to 1048576 elements");
    *out = type_with_shape(elem, type_tile(EL_I1, n, dim));
    return true;
}

/* fp16[128, 64] or fp16[128, 64], nan */
static bool read_block(Reader *r, const char *path, Text text, Argument *out) {
    static const size_t head = sizeof "tensordesc<" - 1;
    Text rest = {text.at + head, text.n - head - 1}, block, padding = {"zero", 4};
    Type elem;
    if (!text_part(&rest, &block)) return misread(r, path, text, "it names no block");
    const char *open = memchr(block.at, '[', block.n);
    if (!open || block.at[block.n - 1] != ']' ||
        !parse_type(block.at, (size_t)(open - block.at), &elem) || elem.depth)
        return misread(r, path, text, "a block is written fp16[128, 64]");
    Text sizes = {open + 1, (size_t)(block.at + block.n - open - 2)};
    if (!read_sizes(r, path, text, sizes, elem, &out->block)) return false;
    if (text_part(&rest, &padding) &&
        (rest.at || (!text_is(padding, "nan") && !text_is(padding, "zero"))))
        return misread(r, path, text, "behind the block stands zero or nan, what lies outside");
    out->nan = text_is(padding, "nan");
    if (out->nan && !type_is_float(elem))
        return misread(r, path, text, "padding with NaN needs floats");
    return true;
}

/* n integers, of which the last may be known to be 1. */
static bool read_numbers(Reader *r, const char *path, int n, const char *type, bool dense,
                         Argument *out) {
    *out = (Argument){.path = path, .kind = ARGUMENT_TUPLE, .nparts = n};
    out->part = arena_array(&r->l->s->arena, (size_t)n + 1, sizeof *out->part);
    for (int i = 0; i < n; i++) {
        const char *text = dense && i + 1 == n ? "i64:1" : type;
        if (!read_leaf(r, number_path(r, path, i), (Text){text, strlen(text)}, &out->part[i]))
            return false;
    }
    return true;
}

/* The address and all strides but the last are multiples of 16 bytes, as the copy engine needs and
 * Triton's TensorDescriptor asserts. */
static bool read_descriptor(Reader *r, const char *path, Text text, Argument *out) {
    *out = (Argument){.path = path, .kind = ARGUMENT_DESCRIPTOR, .nparts = DESCRIPTOR_PARTS};
    if (!read_block(r, path, text, out)) return false;
    int rank = out->block.rank, bytes = type_elem_bytes(out->block);
    out->part = arena_array(&r->l->s->arena, DESCRIPTOR_PARTS, sizeof *out->part);
    Argument *base = &out->part[DESCRIPTOR_BASE], *strides = &out->part[DESCRIPTOR_STRIDES];
    const char *pointer =
        arena_printf(&r->l->s->arena, "*%s", elem_signature_name((Elem)out->block.elem));
    if (!read_leaf(r, part_path(r, path, "base"), (Text){pointer, strlen(pointer)}, base) ||
        !read_numbers(r, part_path(r, path, "shape"), rank, "i32", false,
                      &out->part[DESCRIPTOR_SHAPE]) ||
        !read_numbers(r, part_path(r, path, "strides"), rank, "i64", true, strides))
        return false;
    base->divisible = DESC_ALIGN;
    for (int i = 0; i + 1 < rank && bytes < DESC_ALIGN; i++)
        strides->part[i].divisible = DESC_ALIGN / bytes;
    return true;
}

/* ---- arguments ---- */

static bool read_part(Reader *r, const char *path, Text text, Argument *out) {
    if (!enter(r->l, r->param->span)) return false;
    bool ok;
    if (is_descriptor(text))
        ok = read_descriptor(r, path, text, out);
    else if (is_tuple(text))
        ok = read_tuple(r, path, text, out);
    else if (!text.n && has_parts(r, path))
        ok = gather_tuple(r, path, out);
    else
        ok = read_leaf(r, path, text, out);
    leave(r->l);
    return ok;
}

static bool read_argument(Lower *l, const AstParam *p, Entry entry, Entries *entries,
                          Argument *out) {
    Text said = annotation_of(p);
    Reader r = {.l = l, .param = p, .entries = entries};
    bool parts = is_tuple(entry.text) || is_descriptor(entry.text);
    if (!parts && !entry.text.n && (is_tuple(said) || is_descriptor(said))) {
        r.annotated = parts = true;
        entry.text = said;
    }
    parts = parts || (!entry.text.n && has_parts(&r, p->name));
    return parts ? read_part(&r, p->name, entry.text, out)
                 : make_leaf(&r, p->name, said, entry, out);
}

/* An entry of a part that its argument does not have is an error. */
static bool check_parts(Lower *l, const AstFunc *f, const Entries *entries) {
    bool ok = true;
    for (int i = 0; i < entries->n; i++) {
        const Entry *e = &entries->at[i];
        for (int k = 0; k < f->nparams && !e->taken; k++) {
            if (!name_behind(*e, f->param[k].name).n) continue;
            fail(l, E_SIGNATURE, f->param[k].span, "signature: '%s' has no part '%.*s'",
                 f->param[k].name, (int)e->name.n, e->name.at);
            ok = false;
        }
    }
    return ok;
}

Argument *read_arguments(Lower *l, const AstFunc *f, const Entry *entry, Entries *entries) {
    Argument *all = arena_array(&l->s->arena, (size_t)f->nparams + 1, sizeof *all);
    bool ok = true;
    for (int i = 0; i < f->nparams; i++)
        if (!annotated_constexpr(&f->param[i]))
            ok = read_argument(l, &f->param[i], entry[i], entries, &all[i]) && ok;
    return ok && check_parts(l, f, entries) ? all : NULL;
}

bool is_passed(const Argument *a) {
    return a->kind == ARGUMENT_LEAF && !text_is_constant(a->text);
}

static void list_json(Lower *l, const Argument *a, Buf *out) {
    buf_putc(out, '[');
    for (int i = 0; i < a->nparts; i++) {
        if (i) buf_puts(out, ", ");
        argument_json(l, &a->part[i], out);
    }
    buf_putc(out, ']');
}

static void tuple_json(Lower *l, const Argument *a, Buf *out) {
    buf_puts(out, "{\"kind\": \"tuple\", ");
    for (int i = 0; a->class_ && i < a->nparts; i++) {
        buf_puts(out, i ? ", " : "\"fields\": [");
        obj_json(obj_string(l, a->class_->field[i].name), out);
        if (i + 1 == a->nparts) buf_puts(out, "], ");
    }
    buf_puts(out, "\"parts\": ");
    list_json(l, a, out);
    buf_putc(out, '}');
}

void argument_json(Lower *l, const Argument *a, Buf *out) {
    switch (a->kind) {
    case ARGUMENT_LEAF: obj_json(obj_string(l, a->path), out); break;
    case ARGUMENT_TUPLE: tuple_json(l, a, out); break;
    case ARGUMENT_DESCRIPTOR:
        buf_printf(out, "{\"kind\": \"tensordesc\", \"type\": \"%s\", \"block\": [",
                   elem_signature_name((Elem)a->block.elem));
        for (int i = 0; i < a->block.rank; i++)
            buf_printf(out, "%s%lld", i ? ", " : "", (long long)type_dim(a->block, i));
        buf_printf(out, "], \"padding\": \"%s\", \"base\": ", a->nan ? "nan" : "zero");
        argument_json(l, &a->part[DESCRIPTOR_BASE], out);
        buf_puts(out, ", \"shape\": ");
        list_json(l, &a->part[DESCRIPTOR_SHAPE], out);
        buf_puts(out, ", \"strides\": ");
        list_json(l, &a->part[DESCRIPTOR_STRIDES], out);
        buf_putc(out, '}');
        break;
    }
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* manifest.c: what a launcher must know of each kernel, from a module's manifest or its tile IR.
 *
 * A manifest is JSON in the comment lines at the head of a .ptx (design: fields are only ever
 * added, so unknown ones are skipped). It may come from anywhere, so every field's type and range
 * is checked, and a mistake comes back as one sentence that names the field. */
#include "base/text.h"
#include "ir/expression.h"
#include "ir/roles.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANIFEST_VERSION = 1,
    MAX_STAGES = 1000,
    MAX_CLUSTER = 16,
    MAX_CONSTEXPRS = 4096,
    MAX_SHARED = 1 << 24,
    MAX_ENTRIES = 16 /* of a kernel, beside its own */
};

/* ---- reading with checks ---- */

typedef struct Reader {
    Session *s;
    const char *error; /* the first mistake */
    const char *where; /* what is being read, for messages */
} Reader;

static void bad(Reader *r, const char *field, const char *must) {
    if (!r->error)
        r->error = arena_printf(&r->s->arena, "the manifest is damaged: %s: '%s' must be %s",
                                r->where, field, must);
}

static const char *read_text(Reader *r, const json_t *o, const char *field) {
    const json_t *v = json_object_get(o, field);
    size_t n = json_string_length(v);
    if (n == 0 || strlen(json_string_value(v)) != n || !text_is_plain(json_string_value(v))) {
        bad(r, field, "a string of plain characters, not empty");
        return "";
    }
    return arena_strndup(&r->s->arena, json_string_value(v), n);
}

static int64_t read_int(Reader *r, const json_t *o, const char *field, int64_t lo, int64_t hi) {
    const json_t *v = json_object_get(o, field);
    int64_t i = json_integer_value(v);
    if (json_is_integer(v) && i >= lo && i <= hi) return i;
    bad(r, field,
        arena_printf(&r->s->arena, "an integer from %lld to %lld", (long long)lo, (long long)hi));
    return lo;
}

static const json_t *read_array(Reader *r, const json_t *o, const char *field, size_t max) {
    const json_t *v = json_object_get(o, field);
    if (json_is_array(v) && json_array_size(v) <= max) return v;
    bad(r, field, arena_printf(&r->s->arena, "a list of at most %zu", max));
    return NULL;
}

/* ---- parts of a kernel ---- */

/* "*fp16", "i32" -> element and levels of pointer. */
static bool parse_type(const char *text, Elem *elem, int *depth) {
    *depth = 0;
    while (*text == '*') {
        text++;
        ++*depth;
    }
    /* What stands behind fp64 no host has: there are pointers to it. */
    return *depth <= POINTER_MAX_DEPTH && elem_from_name(text, strlen(text), elem) &&
           (*depth || *elem <= EL_F64);
}

static void read_param(Reader *r, const json_t *o, KernelParam *p) {
    p->name = read_text(r, o, "name");
    p->type_text = read_text(r, o, "type");
    if (!r->error && !parse_type(p->type_text, &p->elem, &p->depth))
        bad(r, "type", "a type such as *fp16 or i32");
    p->divisible = 1;
    if (json_object_get(o, "divisible"))
        p->divisible = read_int(r, o, "divisible", 1, (int64_t)1 << 31);
    if (json_object_get(o, "equals")) {
        p->has_equals = true;
        p->equals = read_int(r, o, "equals", INT64_MIN, INT64_MAX);
        if (p->depth || elem_info[p->elem].class_ == ELEM_F) bad(r, "equals", "on an integer");
    }
    const json_t *none = json_object_get(o, "none");
    if (none && !json_is_boolean(none)) bad(r, "none", "true or false");
    p->none = json_is_true(none);
}

static void read_constexprs(Reader *r, const json_t *o, tile_kernel *k) {
    const json_t *all = json_object_get(o, "constexprs");
    if (!all) return;
    if (!json_is_object(all) || json_object_size(all) > MAX_CONSTEXPRS) {
        bad(r, "constexprs", arena_printf(&r->s->arena, "an object of at most %d", MAX_CONSTEXPRS));
        return;
    }
    k->constexpr_ = arena_array(&r->s->arena, json_object_size(all), sizeof *k->constexpr_);
    /* The iterator reads only; jansson's declaration asks for a pointer it could write through. */
    json_t *walk = (json_t *)all;
    for (void *it = json_object_iter(walk); it; it = json_object_iter_next(walk, it)) {
        const json_t *v = json_object_iter_value(it);
        KernelConstexpr *c = &k->constexpr_[k->nconstexprs++];
        c->name = arena_strdup(&r->s->arena, json_object_iter_key(it));
        c->is_int = json_is_integer(v) || json_is_boolean(v);
        c->value = json_is_boolean(v) ? json_is_true(v) : json_integer_value(v);
    }
}

/* Up to three expressions, kept as one text joined by ", ". */
static void read_grid(Reader *r, const json_t *o, tile_kernel *k) {
    if (!json_object_get(o, "grid")) return;
    const json_t *list = read_array(r, o, "grid", 3);
    Buf text = buf_new(&r->s->arena);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *e = json_string_value(json_array_get(list, i));
        if (e)
            buf_printf(&text, "%s%s", i ? ", " : "", e);
        else
            bad(r, "grid", "a list of strings");
    }
    if (text.len) k->grid = text.data;
}

/* The expressions in a list of n, behind those in `text`. */
static void read_expressions(Reader *r, const json_t *o, const char *field, size_t n, Buf *text) {
    const json_t *list = read_array(r, o, field, n);
    for (size_t i = 0; list && i < n; i++) {
        const char *e = json_string_value(json_array_get(list, i));
        if (e && *e && !strchr(e, ','))
            buf_printf(text, "%s%s", text->len ? ", " : "", e);
        else
            bad(r, field, "a list of an expression for each dimension");
    }
}

static void read_map(Reader *r, const json_t *o, tile_kernel *k, KernelMap *m) {
    enum { MOST_SWIZZLE = 128 };
    Buf text = buf_new(&r->s->arena);
    const char *base = read_text(r, o, "base");
    const json_t *box = read_array(r, o, "box", RT_MAP_RANK);
    int depth = 0;
    m->base = -1;
    for (int i = 0; i < k->nparams; i++)
        if (strcmp(k->param[i].name, base) == 0 && k->param[i].depth) m->base = i;
    if (m->base < 0) bad(r, "base", "a pointer among the parameters");
    if (!r->error && (!parse_type(read_text(r, o, "type"), &m->elem, &depth) || depth))
        bad(r, "type", "a type such as fp16");
    m->rank = (int)json_array_size(box);
    if (m->rank < 1) bad(r, "box", "a list of 1 to 5 sizes");
    for (int i = 0; i < m->rank; i++) {
        int64_t n = json_integer_value(json_array_get(box, (size_t)i));
        if (n < 1 || n > DESC_BOX_MAX) bad(r, "box", "of sizes from 1 to 256");
        m->box[i] = (uint32_t)n;
    }
    read_expressions(r, o, "sizes", (size_t)m->rank, &text);
    read_expressions(r, o, "strides", (size_t)m->rank, &text);
    buf_printf(&text, ", %s", read_text(r, o, "offset"));
    m->text = text.data;
    m->swizzle = (int)read_int(r, o, "swizzle", 0, MOST_SWIZZLE);
    m->stored = json_is_true(json_object_get(o, "stored"));
}

/* The next of the parameters of kernels whose programs share out iterations: stream_k is three.
 * False: it is none. */
static bool read_split(Reader *r, const json_t *o, const char *kind, tile_kernel *k) {
    static const char *const kinds[] = {"workspace", "mark", "stream_k"};
    enum { MOST_BYTES = 1 << 24 };
    if (k->nsplit > 2 || strcmp(kind, kinds[k->nsplit]) != 0) return false;
    if (k->nsplit == 0) k->split.bytes = read_int(r, o, "bytes", 16, MOST_BYTES);
    k->nsplit++;
    if (k->nsplit < 3) return true;
    k->split.iterations = read_text(r, o, "iterations");
    for (int i = 0; i < SPLIT_CLOCKS; i++)
        k->split.clocks[i] =
            read_int(r, o, attr_info[AT_ITERATION_CLOCKS + i].text, 0, MOST_CLOCKS);
    k->nsplit = RT_SPLIT;
    k->nhidden += STREAM_K_SHARES - 1;
    return true;
}

/* False: it is of a type that nobody here knows. */
static bool read_number(Reader *r, const json_t *o, KernelNumber *n) {
    int depth = 0;
    n->text = read_text(r, o, "value");
    const char *type = read_text(r, o, "type");
    return parse_type(type, &n->elem, &depth) && !depth && (n->elem == EL_I32 || n->elem == EL_I64);
}

/* What is made for the kernel, up to the first kind that is not known, or is not made at all. */
static void read_hidden(Reader *r, const json_t *o, tile_kernel *k) {
    const json_t *hidden = read_array(r, o, "hidden", RT_MAX_PARAMS);
    int n = k->nhidden = (int)json_array_size(hidden);
    k->map = arena_array(&r->s->arena, RT_MAX_MAPS, sizeof *k->map);
    k->number = arena_array(&r->s->arena, RT_MAX_NUMBERS, sizeof *k->number);
    k->hidden = arena_alloc(&r->s->arena, (size_t)n + 1);
    for (int i = 0; i < n && !r->error; i++) {
        const json_t *x = json_array_get(hidden, (size_t)i);
        const char *kind = json_string_value(json_object_get(x, "kind"));
        HiddenKind is;
        if (!kind) return;
        if (read_split(r, x, kind, k)) {
            if (k->nsplit == RT_SPLIT) k->hidden[k->nkinds++] = HIDDEN_SPLIT;
            continue;
        }
        if (k->nsplit) return;
        if (strcmp(kind, "grid") == 0 && k->naxes < 3) {
            is = HIDDEN_AXIS;
            read_int(r, x, "axis", k->naxes, k->naxes);
            k->naxes++;
        } else if (strcmp(kind, "tensor_map") == 0 && k->nmaps < RT_MAX_MAPS) {
            is = HIDDEN_MAP;
            read_map(r, x, k, &k->map[k->nmaps++]);
        } else if (strcmp(kind, "number") == 0 && k->nnumbers < RT_MAX_NUMBERS) {
            is = HIDDEN_NUMBER;
            if (!read_number(r, x, &k->number[k->nnumbers])) return;
            k->nnumbers++;
        } else {
            return;
        }
        k->hidden[k->nkinds++] = (uint8_t)is;
    }
}

static void read_cluster(Reader *r, const json_t *o, tile_kernel *k) {
    for (int i = 0; i < 3; i++) k->cluster[i] = 1;
    if (!json_object_get(o, "cluster")) return;
    const json_t *list = read_array(r, o, "cluster", 3);
    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t n = json_integer_value(json_array_get(list, i));
        k->cluster[i] = n >= 1 && n <= MAX_CLUSTER ? (uint32_t)n : 0;
    }
    unsigned size = rt_cluster_size(k);
    if (size < 1 || size > MAX_CLUSTER) bad(r, "cluster", "a list of sizes, 16 programs at most");
}

/* What the entries of a kernel differ in. */
static void read_entry(Reader *r, const json_t *o, tile_kernel *k) {
    k->entry = read_text(r, o, "entry");
    k->num_warps = (int)read_int(r, o, "num_warps", 1, MAX_WARPS);
    k->num_stages = (int)read_int(r, o, "num_stages", 0, MAX_STAGES);
    k->shared = read_int(r, o, "shared", 0, MAX_SHARED);
    if (json_object_get(o, "shared_single_cta"))
        k->shared_single_cta = read_int(r, o, "shared_single_cta", k->shared, MAX_SHARED);
    if (json_object_get(o, "persistent")) k->persistent = (int)read_int(r, o, "persistent", 1, 3);
    if (json_object_get(o, "dependent_launch"))
        k->dependent_launch = read_int(r, o, "dependent_launch", 1, 1) == 1;
    if (json_object_get(o, "min_places")) k->min_places = (int)read_int(r, o, "min_places", 1, 2);
    if (json_object_get(o, "worth_places")) k->worth_places = read_text(r, o, "worth_places");
    if (json_object_get(o, "max_cluster"))
        k->max_cluster = (int)read_int(r, o, "max_cluster", 2, PORTABLE_CLUSTER);
    if (json_object_get(o, "cluster_when")) k->cluster_when = read_text(r, o, "cluster_when");
    read_cluster(r, o, k);
    if (json_object_get(o, "hidden")) read_hidden(r, o, k);
}

static void read_kernel(Reader *r, const json_t *o, tile_kernel *k) {
    Arena *a = &r->s->arena;
    k->name = read_text(r, o, "name");
    r->where = arena_printf(a, "kernel '%.200s'", k->name);
    const json_t *params = read_array(r, o, "params", RT_MAX_PARAMS);
    k->nparams = (int)json_array_size(params);
    k->param = arena_array(a, (size_t)k->nparams, sizeof *k->param);
    for (int i = 0; i < k->nparams && !r->error; i++)
        read_param(r, json_array_get(params, (size_t)i), &k->param[i]);
    read_constexprs(r, o, k);
    const json_t *cooperative = json_object_get(o, "cooperative");
    if (cooperative && !json_is_boolean(cooperative)) bad(r, "cooperative", "true or false");
    k->cooperative = json_is_true(cooperative);
    read_grid(r, o, k);
    if (json_object_get(o, "flops")) k->flops = read_text(r, o, "flops");
    if (json_object_get(o, "bytes")) k->bytes = read_text(r, o, "bytes");
    read_entry(r, o, k);
}

/* Kernel k's, behind it: what is not said anew is k's. */
static void read_further(Reader *r, const json_t *list, tile_kernel *k) {
    for (size_t i = 0; i < json_array_size(list) && !r->error; i++) {
        const json_t *o = json_array_get(list, i);
        tile_kernel *e = k + ++k->nfurther;
        *e = (tile_kernel){.of = k,
                           .name = read_text(r, o, "name"),
                           .param = k->param,
                           .nparams = k->nparams,
                           .constexpr_ = k->constexpr_,
                           .nconstexprs = k->nconstexprs,
                           .grid = k->grid,
                           .flops = k->flops,
                           .bytes = k->bytes};
        Buf text = buf_new(&r->s->arena);
        if (json_object_get(o, "conditions"))
            read_expressions(r, o, "conditions", json_array_size(json_object_get(o, "conditions")),
                             &text);
        if (text.len) e->conditions = text.data;
        r->where = arena_printf(&r->s->arena, "kernel '%.200s'", e->name);
        read_entry(r, o, e);
    }
}

const char *manifest_kernels(Session *s, const json_t *root, tile_kernel **kernel, int *n,
                             const char **target) {
    Reader r = {.s = s, .where = "the module"};
    *n = 0;
    int64_t version = read_int(&r, root, "manifest", 1, INT32_MAX);
    if (!r.error && version > MANIFEST_VERSION)
        return arena_printf(&s->arena,
                            "the manifest is of version %lld, and this runtime reads version %d",
                            (long long)version, MANIFEST_VERSION);
    *target = read_text(&r, root, "target");
    const json_t *kernels = read_array(&r, root, "kernels", RT_MAX_KERNELS);
    if (kernels && json_array_size(kernels) == 0) bad(&r, "kernels", "a list of one or more");
    size_t count = json_array_size(kernels), all = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *k = json_array_get(kernels, i);
        if (json_object_get(k, "entries"))
            all += json_array_size(read_array(&r, k, "entries", MAX_ENTRIES));
    }
    *kernel = arena_array(&s->arena, all, sizeof **kernel);
    tile_kernel *next = *kernel;
    for (size_t i = 0; i < count && !r.error; i++, next += 1 + next->nfurther) {
        const json_t *k = json_array_get(kernels, i);
        r.where = arena_printf(&s->arena, "kernel %zu", i);
        read_kernel(&r, k, next);
        if (!r.error) read_further(&r, json_object_get(k, "entries"), next);
    }
    if (r.error) return r.error;
    *n = (int)all;
    return NULL;
}

/* ---- the same out of tile IR ---- */

static void param_of_ir(Arena *a, const Param *from, KernelParam *p) {
    Buf type = buf_new(a);
    for (int d = 0; d < from->type.depth; d++) buf_putc(&type, '*');
    buf_puts(&type, elem_signature_name((Elem)from->type.elem));
    *p = (KernelParam){
        .name = from->name,
        .type_text = type.data,
        .elem = (Elem)from->type.elem,
        .depth = from->type.depth,
        .divisible = from->divisible > 1 ? from->divisible : 1,
        .has_equals = from->is_one,
        .equals = from->is_one,
        .none = from->is_none,
    };
}

/* Only integers and bools matter for a grid. */
static void constexpr_of_ir(const ConstexprInfo *from, KernelConstexpr *c) {
    char *end;
    c->name = from->name;
    if (strcmp(from->json, "true") == 0 || strcmp(from->json, "false") == 0) {
        c->is_int = true;
        c->value = from->json[0] == 't';
        return;
    }
    errno = 0;
    long long value = strtoll(from->json, &end, 10);
    c->is_int = end != from->json && *end == '\0' && errno == 0;
    c->value = c->is_int ? value : 0;
}

/* Of a kernel on the CPU, too, iterations are an expression. It shares out what it can, whatever
 * that costs: it is there to find mistakes. */
typedef struct Split {
    Arena *arena;
    KernelSplit *to;
} Split;

static void look_for_split(Op *op, void *ctx) {
    Split *s = ctx;
    Buf text = buf_new(s->arena);
    if (op->code == OP_WORKSPACE) s->to->bytes = ir_attr_int(op, AT_BYTES, 0);
    if (op->code == OP_STREAM_K && !s->to->iterations &&
        ir_expression(op->operand[0].value, WITH_QUOTIENTS, &text))
        s->to->iterations = text.data;
    s->to->clocks[ITERATION_CLOCKS] = MOST_CLOCKS;
}

const char *module_kernels(Session *s, const Module *m, tile_kernel **kernel, int *n) {
    Arena *a = &s->arena;
    int count = 0;
    for (const Func *f = m->funcs; f; f = f->next) count++;
    *kernel = arena_array(a, (size_t)count, sizeof **kernel);
    *n = 0;
    for (const Func *f = m->funcs; f; f = f->next) {
        tile_kernel *k = &(*kernel)[(*n)++];
        if (f->nparams > RT_MAX_PARAMS)
            return arena_printf(a, "kernel '%s' has more than %d parameters", f->name,
                                RT_MAX_PARAMS);
        k->func = f;
        k->name = k->entry = f->name;
        k->num_warps = warps_of_program(f);
        k->num_stages = f->num_stages;
        k->shared = f->shared_bytes > 0 ? f->shared_bytes : 0;
        k->shared_single_cta = f->shared_single_cta;
        k->persistent = f->persistent;
        k->max_cluster = f->max_cluster;
        k->cluster_when = f->cluster_when;
        ir_walk(f->body, look_for_split, &(Split){a, &k->split});
        for (tile_kernel *of = *kernel; f->entry_of && of < k && !k->of; of++)
            if (strcmp(of->name, f->entry_of) == 0) k->of = of;
        for (int i = 0; i < 3; i++) k->cluster[i] = 1;
        k->nparams = f->nparams;
        k->param = arena_array(a, (size_t)f->nparams, sizeof *k->param);
        for (int i = 0; i < f->nparams; i++) param_of_ir(a, &f->param[i], &k->param[i]);
        k->nconstexprs = f->nconstexprs;
        k->constexpr_ = arena_array(a, (size_t)f->nconstexprs, sizeof *k->constexpr_);
        for (int i = 0; i < f->nconstexprs; i++)
            constexpr_of_ir(&f->constexpr_[i], &k->constexpr_[i]);
        Buf grid = buf_new(a);
        for (int i = 0; i < 3 && f->grid[i]; i++)
            buf_printf(&grid, "%s%s", i ? ", " : "", f->grid[i]);
        if (grid.len) k->grid = grid.data;
        k->flops = f->flops;
        k->bytes = f->bytes;
    }
    return NULL;
}

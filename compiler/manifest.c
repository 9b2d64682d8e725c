/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* manifest.c: a module's launch facts into JSON, alone or as the comment at the head of a .ptx or
 * .tir (see manifest.h).
 *
 * Keys come in one fixed order, a parameter on a line, and all text is escaped to ASCII, so that
 * equal kernels give equal bytes, a diff shows what changed, and ptxas, which refuses other bytes
 * even in comments, accepts it. */
#include "compiler/manifest.h"

#include "base/json.h"
#include "ir/analysis/alias.h"
#include "ir/desc.h"
#include "ir/expression.h"
#include "ir/func_attrs.h"
#include "ir/roles.h"

#include <string.h>

enum { MANIFEST_VERSION = 1 };

/* One character of valid UTF-8, and how many bytes it takes. */
static unsigned decode_utf8(const char *s, int *bytes) {
    unsigned char c = (unsigned char)s[0];
    *bytes = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    static const unsigned char lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    unsigned code = c & lead_bits[*bytes];
    for (int i = 1; i < *bytes; i++) code = code << 6 | ((unsigned char)s[i] & 0x3F);
    return code;
}

static void put_string(Buf *out, const char *s) {
    if (utf8_valid_prefix(s, strlen(s)) < strlen(s)) { /* only a hand-made .tir has such names */
        buf_quote(out, "?", 1);
        return;
    }
    buf_putc(out, '"');
    for (int n; *s; s += n) {
        unsigned c = decode_utf8(s, &n);
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", (char)c);
        else if (c >= 0x20 && c < 0x7F)
            buf_putc(out, (char)c);
        else if (c < 0x10000)
            buf_printf(out, "\\u%04x", c);
        else
            buf_printf(out, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
    }
    buf_putc(out, '"');
}

static void put_param(Buf *out, const Func *f, const Param *p) {
    buf_puts(out, "   {\"name\": ");
    put_string(out, p->name);
    buf_puts(out, ", \"type\": \"");
    for (int i = 0; i < p->type.depth; i++) buf_putc(out, '*');
    buf_printf(out, "%s\"", elem_signature_name((Elem)p->type.elem));
    if (p->divisible > 1) buf_printf(out, ", \"divisible\": %d", p->divisible);
    if (p->is_one) buf_puts(out, ", \"equals\": 1");
    if (p->is_none) buf_puts(out, ", \"none\": true");
    if (p->type.depth == 1 && p->value && alias_only_reads(f, p->value))
        buf_puts(out, ", \"read_only\": true");
    buf_putc(out, '}');
}

/* The value comes as JSON text from lowering, but as any text from a .tir: read and written anew.
 */
static bool put_constexpr(Session *s, const Func *f, const ConstexprInfo *c, Buf *out) {
    json_error_t error;
    bool starved;
    char **text = session_own(s);
    json_t *value =
        json_of_text(c->json, strlen(c->json), JSON_DECODE_ANY | JSON_ALLOW_NUL, &error, &starved);
    bool is_json = value != NULL;
    *text = is_json ? json_to_text(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    json_decref(value);
    if (starved || (is_json && !*text)) session_starve(s);
    if (!is_json) {
        diag(&s->diags, E_TIR_UNSOUND, f->span, "what is said of '%s' is not JSON", c->name);
        return false;
    }
    put_string(out, c->name);
    buf_printf(out, ": %s", *text);
    return true;
}

/* What the source's parameters with parts are made of; nothing where there are none. */
static bool put_arguments(Session *s, const Func *f, Buf *out) {
    for (int i = 0; i < f->narguments; i++) {
        buf_puts(out, i ? ", " : "\"arguments\": {");
        if (!put_constexpr(s, f, &f->argument[i], out)) return false;
    }
    if (f->narguments) buf_puts(out, "},\n   ");
    return true;
}

/* An expression for how much a launch does, where the source states one. */
static void put_work(Buf *out, const char *key, const char *expression) {
    if (!expression) return;
    buf_printf(out, "\"%s\": ", key);
    put_string(out, expression);
    buf_puts(out, ", ");
}

/* What is known, has a default, or is 0 until it is known. */
static void put_numbers(const Func *f, Buf *out) {
    for (int i = 0; i < func_attrs; i++) {
        const FuncAttr *a = &func_attr[i];
        if (a->kind != FUNC_ATTR_NUMBER || !a->manifest) continue;
        int64_t v =
            a->offset == offsetof(Func, num_warps) ? warps_of_program(f) : func_number(f, a);
        if (v != 0 || a->absent != 0)
            buf_printf(out, "\"%s\": %lld, ", a->manifest, (long long)(v > 0 ? v : 0));
    }
}

/* ---- hidden parameters ---- */

/* Operands from `first` on, as many as the descriptor has dimensions; with front those that go on
 * there are larger. */
static bool put_sizes(const Op *desc, const char *key, int first, bool front, Buf *out) {
    int n = desc->result[0]->type.rank;
    buf_printf(out, ", \"%s\": [", key);
    for (int i = 0; i < n; i++) {
        Buf text = buf_new(out->arena);
        bool more = front && desc_goes_on(desc, i);
        if (more) buf_putc(&text, '(');
        if (!ir_expression(desc->operand[first + i].value, WITHOUT_QUOTIENTS, &text)) return false;
        if (more) buf_printf(&text, " + %d)", DESC_FRONT);
        if (i) buf_puts(out, ", ");
        put_string(out, text.data);
    }
    buf_putc(out, ']');
    return true;
}

/* The pointer as a parameter and, behind it, elements: with front less what lies there. */
static bool put_base(const Op *desc, bool front, Buf *out) {
    const Value *v = desc->operand[0].value;
    Buf offset = buf_new(out->arena);
    if (front) buf_putc(&offset, '(');
    if (op_is(v, OP_ADDPTR) && !ir_attr_int(v->def, AT_BYTES, 0)) {
        if (!ir_expression(v->def->operand[1].value, WITHOUT_QUOTIENTS, &offset)) return false;
        v = v->def->operand[0].value;
    } else {
        buf_putc(&offset, '0');
    }
    if (v->def || v->block->parent || !v->name) return false;
    for (int i = 0; front && i < desc->result[0]->type.rank; i++) {
        if (!desc_goes_on(desc, i)) continue;
        buf_printf(&offset, " - %d * ", DESC_FRONT);
        if (!ir_expression(desc_stride(desc, i), WITHOUT_QUOTIENTS, &offset)) return false;
    }
    if (front) buf_putc(&offset, ')');
    buf_puts(out, "\"base\": ");
    put_string(out, v->name);
    buf_puts(out, ", \"offset\": ");
    put_string(out, offset.data);
    return true;
}

typedef struct Hidden {
    Session *s;
    Buf *out;
    int n;
} Hidden;

/* With front of a tensor that begins earlier. */
static void put_map(Hidden *h, const Op *op, bool front) {
    Type t = op->result[0]->type;
    const Layout *l = op->result[0]->layout;
    DescBox box;
    /* Without a layout it is not a GPU's; code generation has said what no box is. */
    if (!l || desc_boxes(op, l, &box)) return;
    buf_puts(h->out, h->n++ ? ",\n    " : "\n    ");
    buf_puts(h->out, "{\"kind\": \"tensor_map\", ");
    if (!put_base(op, front, h->out) ||
        (buf_printf(h->out, ", \"type\": \"%s\"", elem_signature_name((Elem)t.elem)),
         !put_sizes(op, "sizes", 1, front, h->out)) ||
        !put_sizes(op, "strides", 1 + t.rank, false, h->out)) {
        diag(&h->s->diags, E_LAUNCH_FORM, op->span,
             "a launch cannot make this descriptor: its address must be a parameter and an offset, "
             "sizes and strides sums and products of parameters");
        return;
    }
    buf_puts(h->out, ", \"box\": [");
    for (int i = 0; i < t.rank; i++) buf_printf(h->out, "%s%d", i ? ", " : "", box.dim[i]);
    buf_printf(h->out, "], \"swizzle\": %d%s}", box.swizzle,
               desc_is_stored(op) ? ", \"stored\": true" : "");
}

static void put_desc(Op *op, void *ctx) {
    Hidden *h = ctx;
    if (op->code != OP_MAKE_DESC) return;
    put_map(h, op, false);
    if (desc_has_front(op)) put_map(h, op, true);
}

static void put_number(Hidden *h, const char *type, const char *value) {
    buf_printf(h->out, "%s{\"kind\": \"number\", \"type\": \"%s\", \"value\": ",
               h->n++ ? ",\n    " : "\n    ", type);
    put_string(h->out, value);
    buf_putc(h->out, '}');
}

static void put_launch_number(Op *op, void *ctx) {
    Hidden *h = ctx;
    Buf text = buf_new(h->out->arena);
    if (op->code != OP_LAUNCH_NUMBER) return;
    ir_expression(op->operand[0].value, WITH_DIVISORS, &text);
    put_number(h, elem_signature_name((Elem)op->result[0]->type.elem), text.data);
}

/* 1 where the tensor has as many bytes as `streamed` says, else 0. */
static void put_is_large(Op *op, void *ctx) {
    Hidden *h = ctx;
    const Attr *least = ir_attr(op, AT_STREAMED);
    if (op->code != OP_MAKE_DESC || !least || !op->result[0]->layout) return;
    long long bytes = least->i > 0 ? least->i : 1;
    Type t = op->result[0]->type;
    Buf text = buf_new(h->out->arena);
    for (int d = 0; d < t.rank; d++) buf_puts(&text, "min(");
    buf_printf(&text, "%d", type_elem_bytes(t));
    for (int d = 0; d < t.rank; d++) {
        buf_puts(&text, " * ");
        if (!ir_expression(desc_size(op, d), WITHOUT_QUOTIENTS, &text))
            return; /* put_map says it */
        buf_printf(&text, ", %lld)", bytes);
    }
    buf_printf(&text, " // %lld", bytes);
    put_number(h, "i32", text.data);
}

/* What programs share out iterations by; these come together. */
typedef struct Split {
    const Op *workspace, *places; /* the latter: any STREAM_K, best the one with clocks */
} Split;

static void find_split(Op *op, void *ctx) {
    Split *s = ctx;
    if (op->code == OP_WORKSPACE) s->workspace = op;
    if (op->code == OP_STREAM_K && (!s->places || ir_attr(op, AT_ITERATION_CLOCKS))) s->places = op;
}

static void put_split(Hidden *h, const Func *f) {
    Split x = {0};
    Buf text = buf_new(h->out->arena);
    ir_walk(f->body, find_split, &x);
    if (!x.workspace && !x.places) return;
    if (!x.workspace || !x.places ||
        !ir_expression(x.places->operand[0].value, WITH_QUOTIENTS, &text)) {
        diag(&h->s->diags, E_LAUNCH_FORM, x.places ? x.places->span : f->span,
             "a launch cannot make a workspace: iterations must be sums, products and quotients of "
             "parameters");
        return;
    }
    buf_printf(h->out,
               "%s{\"kind\": \"workspace\", \"bytes\": %lld},\n    {\"kind\": \"mark\"},\n    "
               "{\"kind\": \"stream_k\", \"iterations\": ",
               h->n++ ? ",\n    " : "\n    ", (long long)ir_attr_int(x.workspace, AT_BYTES, 0));
    put_string(h->out, text.data);
    for (AttrId id = AT_ITERATION_CLOCKS; id <= AT_MEET_CLOCKS; id++)
        buf_printf(h->out, ", \"%s\": %lld", attr_info[id].text,
                   (long long)ir_attr_int(x.places, id, 0));
    buf_puts(h->out, "}");
    h->n += 1 + STREAM_K_SHARES;
}

static void put_texts(Buf *out, const char *key, const char *const *text, size_t most) {
    buf_printf(out, "\"%s\": [", key);
    for (size_t i = 0; i < most && text[i]; i++) {
        if (i) buf_puts(out, ", ");
        put_string(out, text[i]);
    }
    buf_puts(out, "]");
}

static void put_expressions(const Func *f, Buf *out) {
    for (int i = 0; i < func_attrs; i++) {
        const FuncAttr *a = &func_attr[i];
        const char *text = a->kind == FUNC_ATTR_TEXT && a->manifest ? func_text(f, a, 0) : NULL;
        if (!text) continue;
        buf_printf(out, "\"%s\": ", a->manifest);
        put_string(out, text);
        buf_puts(out, ", ");
    }
}

/* What the entries of a kernel differ in. */
static void put_numbers_of_entry(const Func *f, Buf *out) {
    put_numbers(f, out);
    put_expressions(f, out);
    buf_puts(out, "\"cluster\": [1, 1, 1],\n   ");
}

/* In the order of GenHidden (codegen/gen.h). */
static void put_hidden(Session *s, const Func *f, Buf *out) {
    Hidden h = {.s = s, .out = out};
    buf_puts(out, "\"hidden\": [");
    for (int i = 0; i < f->persistent; i++)
        buf_printf(out, "%s{\"kind\": \"grid\", \"axis\": %d}", h.n++ ? ",\n    " : "\n    ", i);
    ir_walk(f->body, put_launch_number, &h);
    if (f->persistent) ir_walk(f->body, put_is_large, &h);
    ir_walk(f->body, put_desc, &h);
    put_split(&h, f);
    buf_puts(out, "]");
}

/* The entry that stands for f's in launches that keep its conditions. */
static void put_further(Session *s, const Func *f, const char *entry, Buf *out) {
    buf_puts(out, "   {\"name\": ");
    put_string(out, f->name);
    buf_puts(out, ", \"entry\": ");
    put_string(out, entry);
    buf_puts(out, ", ");
    put_texts(out, "conditions", f->conditions, sizeof f->conditions / sizeof *f->conditions);
    buf_puts(out, ",\n   ");
    put_numbers_of_entry(f, out);
    put_hidden(s, f, out);
    buf_putc(out, '}');
}

/* Those of f that stand behind it in the module. */
static void put_entries(Session *s, const Func *f, const char *const *entry, Buf *out) {
    int n = 0;
    const Func *e = f;
    for (int i = 1; (e = e->next) && e->entry_of && strcmp(e->entry_of, f->name) == 0; i++) {
        buf_puts(out, n++ ? ",\n" : ",\n   \"entries\": [\n");
        put_further(s, e, entry ? entry[i] : e->name, out);
    }
    if (n) buf_putc(out, ']');
}

static bool put_kernel(Session *s, const Func *f, const char *const *entry, Buf *out) {
    buf_puts(out, "  {\"name\": ");
    put_string(out, f->name);
    buf_puts(out, ", \"entry\": ");
    put_string(out, entry ? *entry : f->name);
    buf_puts(out, ", \"params\": [");
    for (int i = 0; i < f->nparams; i++) {
        buf_puts(out, i ? ",\n" : "\n");
        put_param(out, f, &f->param[i]);
    }
    buf_puts(out, "],\n   \"constexprs\": {");
    for (int i = 0; i < f->nconstexprs; i++) {
        if (i) buf_puts(out, ", ");
        if (!put_constexpr(s, f, &f->constexpr_[i], out)) return false;
    }
    buf_puts(out, "},\n   ");
    if (!put_arguments(s, f, out)) return false;
    int errors = s->diags.errors;
    put_numbers_of_entry(f, out);
    put_texts(out, "grid", f->grid, sizeof f->grid / sizeof *f->grid);
    buf_puts(out, ", ");
    put_work(out, "flops", f->flops);
    put_work(out, "bytes", f->bytes);
    put_hidden(s, f, out);
    put_entries(s, f, entry, out);
    buf_putc(out, '}');
    return s->diags.errors == errors;
}

bool manifest_write(const Module *m, const char *target, const char *const *entry, Buf *out) {
    buf_printf(
        out, "{\"manifest\": %d, \"tilec\": \"" TILE_VERSION "\", \"target\": ", MANIFEST_VERSION);
    put_string(out, target);
    buf_puts(out, ", \"kernels\": [");
    int i = 0, n = 0;
    const Func *own = NULL; /* of which further entries may follow */
    for (const Func *f = m->funcs; f; f = f->next, i++) {
        if (f->entry_of && own && strcmp(f->entry_of, own->name) == 0) continue;
        if (f->entry_of) {
            diag(&m->session->diags, E_TIR_UNSOUND, f->span,
                 "'%s' is an entry of kernel '%s', behind which it does not stand", f->name,
                 f->entry_of);
            return false;
        }
        own = f;
        buf_puts(out, n++ ? ",\n" : "\n");
        if (!put_kernel(m->session, f, entry ? entry + i : NULL, out)) return false;
    }
    buf_puts(out, "]}\n");
    return true;
}

bool manifest_write_comment(const Module *m, const char *target, const char *const *entry,
                            Buf *out) {
    Buf json = buf_new(out->arena);
    if (!manifest_write(m, target, entry, &json)) return false;
    buf_puts(out, "// tilec manifest begin\n");
    for (const char *line = json.data; *line;) {
        const char *end = strchr(line, '\n');
        buf_puts(out, "// ");
        buf_write(out, line, (size_t)(end - line));
        buf_putc(out, '\n');
        line = end + 1;
    }
    buf_puts(out, "// tilec manifest end\n");
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* text.c: objects as text: as Python's str() writes them, for messages, and as JSON. */
#include "frontend/lower/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_float(Buf *b, double v) {
    if (isnan(v))
        buf_puts(b, "nan");
    else if (isinf(v))
        buf_puts(b, v < 0 ? "-inf" : "inf");
    else {
        char text[40];
        int digits = 1; /* the shortest text that reads back */
        for (; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*e", digits - 1, v);
            if (strtod(text, NULL) == v) break;
        }
        int exponent = atoi(strchr(text, 'e') + 1), after = digits - 1 - exponent;
        if (exponent >= -4 && exponent < 16) /* else Python writes the exponent */
            snprintf(text, sizeof text, "%.*f", after > 1 ? after : 1, v);
        buf_puts(b, text);
    }
}

static void put_int(Buf *b, Obj o) {
    if (o.big)
        buf_printf(b, "%llu", (unsigned long long)o.i);
    else
        buf_printf(b, "%lld", (long long)o.i);
}

/* As Python writes a string: in double quotes if there are single ones alone in it. */
static void put_quoted(Buf *b, const char *s, size_t n) {
    char quote = memchr(s, '\'', n) && !memchr(s, '"', n) ? '"' : '\'';
    buf_putc(b, quote);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\n' || c == '\t' || c == '\r')
            buf_printf(b, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        else if (c < 0x20 || c == 0x7f)
            buf_printf(b, "\\x%02x", c);
        else {
            if (c == '\\' || c == (unsigned char)quote) buf_putc(b, '\\');
            buf_putc(b, (char)c);
        }
    }
    buf_putc(b, quote);
}

static void put_obj(Lower *l, Buf *b, Obj o, bool quoted);

static void put_elements(Lower *l, Buf *b, Obj o, const char *open, const char *close) {
    buf_puts(b, open);
    for (int i = 0; i < o.seq.n; i++) {
        bool value = o.kind == OBJ_DICT && i % 2;
        if (i) buf_puts(b, value ? ": " : ", ");
        put_obj(l, b, o.seq.at[i], true);
    }
    buf_puts(b, close);
}

static void put_obj(Lower *l, Buf *b, Obj o, bool quoted) {
    Arena *a = &l->s->arena;
    if (obj_is_descriptor(o)) {
        buf_puts(b, descriptor_text(o));
        return;
    }
    switch (o.kind) {
    case OBJ_POISON: buf_puts(b, "?"); break;
    case OBJ_NONE: buf_puts(b, "None"); break;
    case OBJ_BOOL: buf_puts(b, o.i ? "True" : "False"); break;
    case OBJ_INT: put_int(b, o); break;
    case OBJ_FLOAT: put_float(b, o.f); break;
    case OBJ_STRING:
        if (quoted)
            put_quoted(b, o.text.at, o.text.n);
        else
            buf_write(b, o.text.at, o.text.n);
        break;
    case OBJ_DTYPE: buf_puts(b, type_user_text(a, *o.type)); break;
    case OBJ_CONSTEXPR_TYPE:
        buf_puts(b, "constexpr_type[");
        put_obj(l, b, *o.of, true);
        buf_putc(b, ']');
        break;
    case OBJ_TUPLE:
    case OBJ_TUPLE_TYPE: put_elements(l, b, o, "(", o.seq.n == 1 ? ",)" : ")"); break;
    case OBJ_CONFIG: put_elements(l, b, o, "Config(", ")"); break;
    case OBJ_SLICE: put_elements(l, b, o, "slice(", ")"); break;
    case OBJ_DICT: put_elements(l, b, o, "{", "}"); break;
    case OBJ_SET: put_elements(l, b, o, o.seq.n ? "{" : "set(", o.seq.n ? "}" : ")"); break;
    case OBJ_INSTANCE:
        buf_printf(b, "%s(", class_name(l, o));
        for (int i = 0; i < o.seq.n; i++) {
            buf_printf(b, "%s%s=", i ? ", " : "", field_name(l, o, i));
            put_obj(l, b, o.seq.at[i], true);
        }
        buf_putc(b, ')');
        break;
    case OBJ_CLASS: buf_printf(b, "class %s", o.class_->name); break;
    case OBJ_METHOD: buf_printf(b, "method %s", o.method.func->name); break;
    case OBJ_UNSET: buf_puts(b, "unset"); break;
    case OBJ_RANGE: buf_puts(b, "a range"); break;
    case OBJ_FUNC: buf_printf(b, "function %s", o.func->name); break;
    case OBJ_BUILTIN: buf_puts(b, builtin_text(l, o.builtin.row)); break;
    case OBJ_MODULE: buf_printf(b, "module %s", o.path); break;
    case OBJ_SOURCE: buf_printf(b, "module %s", o.source->name); break;
    case OBJ_FOREIGN: buf_printf(b, "'%s', of a module that is not read", o.path); break;
    case OBJ_VALUE: buf_puts(b, type_user_text(a, o.value->type)); break;
    case OBJ_LAMBDA: buf_puts(b, "a lambda"); break;
    case OBJ_ARGS: buf_puts(b, "the arguments of the kernel"); break;
    case OBJ_UNKNOWN: buf_printf(b, "the argument '%s', known at launch only", o.path); break;
    }
}

const char *obj_text(Lower *l, Obj o) {
    Buf b = buf_new(&l->s->arena);
    put_obj(l, &b, o, false);
    return b.data;
}

const char *obj_repr(Lower *l, Obj o) {
    Buf b = buf_new(&l->s->arena);
    put_obj(l, &b, o, true);
    return b.data;
}

const char *obj_what(Lower *l, Obj o) {
    Buf b = buf_new(&l->s->arena);
    if (o.kind == OBJ_STRING) buf_puts(&b, "the string ");
    if (o.kind == OBJ_DTYPE) buf_puts(&b, "the dtype ");
    if (o.kind == OBJ_TUPLE && !obj_is_descriptor(o)) buf_puts(&b, "the tuple ");
    put_obj(l, &b, o, true);
    if (b.len > SHOWN_BYTES) { /* before the first byte of a character that goes beyond */
        size_t n = SHOWN_BYTES;
        while (n && ((unsigned char)b.data[n] & 0xc0) == 0x80) n--;
        return arena_printf(&l->s->arena, "%.*s…", (int)n, b.data);
    }
    return b.data;
}

/* The value that the field `name`, n bytes, of a format stands for: of a keyword, of the argument
 * with that number, or of the next one. NULL: there is none. */
static const Obj *field_value(const Call *c, const char *name, size_t n, int *next) {
    size_t digits = strspn(name, "0123456789");
    if (!n) return *next < c->nargs ? &c->arg[(*next)++] : NULL;
    if (digits >= n) {
        char *end;
        long i = strtol(name, &end, 10);
        return i < c->nargs ? &c->arg[i] : NULL;
    }
    for (int i = 0; i < c->nkeywords; i++)
        if (strlen(c->keyword[i].name) == n && memcmp(c->keyword[i].name, name, n) == 0)
            return &c->keyword_value[i];
    return NULL;
}

/* "{a} {0} {} {{".format(…), without specifications; poison for what is none of these. */
Obj format_string(Lower *l, Obj self, const Call *c) {
    Buf b = buf_new(&l->s->arena);
    int next = 0;
    for (const char *s = self.text.at; *s && b.len <= STRING_LIMIT;) {
        size_t n = strcspn(s, "{}");
        buf_write(&b, s, n);
        s += n;
        if (!*s) break;
        if (s[1] == *s) {
            buf_putc(&b, *s);
            s += 2;
            continue;
        }
        n = strcspn(s + 1, "{}");
        const Obj *value = *s == '{' && s[n + 1] == '}' ? field_value(c, s + 1, n, &next) : NULL;
        if (!value || obj_is_poison(*value)) return poison();
        put_obj(l, &b, *value, false);
        s += n + 2;
    }
    return checked(l, obj_string(l, b.data ? b.data : ""), c->span);
}

/* ---- JSON ---- */

static void json_string(Buf *b, const char *s, size_t n) {
    buf_putc(b, '"');
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else if (c >= 0x20 && c < 0x7f)
            buf_putc(b, (char)c);
        else if (c < 0x80)
            buf_printf(b, "\\u%04x", c);
        else { /* one UTF-8 sequence; the parser has checked the file, -D values may be anything */
            int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
            if (n - i <= (size_t)more ||
                utf8_valid_prefix(s + i, (size_t)more + 1) != (size_t)more + 1) {
                buf_puts(b, "\\ufffd");
                i++;
                continue;
            }
            uint32_t code = c & (0x3fu >> more);
            for (int k = 1; k <= more; k++)
                code = code << 6 | ((unsigned char)s[i + (size_t)k] & 0x3f);
            if (code >= 0x10000) {
                buf_printf(b, "\\u%04x", 0xd800 + ((code - 0x10000) >> 10));
                code = 0xdc00 + ((code - 0x10000) & 0x3ff);
            }
            buf_printf(b, "\\u%04x", code);
            i += (size_t)more;
        }
        i++;
    }
    buf_putc(b, '"');
}

bool obj_json(Obj o, Buf *out) {
    switch (o.kind) {
    case OBJ_NONE: buf_puts(out, "null"); return true;
    case OBJ_BOOL: buf_puts(out, o.i ? "true" : "false"); return true;
    case OBJ_INT: put_int(out, o); return true;
    case OBJ_FLOAT: /* JSON has no infinities: they are strings */
        if (isfinite(o.f))
            put_float(out, o.f);
        else
            buf_puts(out, isnan(o.f) ? "\"nan\"" : o.f < 0 ? "\"-inf\"" : "\"inf\"");
        return true;
    case OBJ_STRING: json_string(out, o.text.at, o.text.n); return true;
    case OBJ_DTYPE:
        buf_putc(out, '"');
        for (int i = 0; i < o.type->depth; i++) buf_putc(out, '*');
        buf_printf(out, "%s\"", elem_signature_name((Elem)o.type->elem));
        return true;
    case OBJ_TUPLE:
        buf_putc(out, '[');
        for (int i = 0; i < o.seq.n; i++) {
            if (i) buf_puts(out, ", ");
            if (!obj_json(o.seq.at[i], out)) return false;
        }
        buf_putc(out, ']');
        return true;
    case OBJ_FUNC: json_string(out, o.func->name, strlen(o.func->name)); return true;
    default: return false;
    }
}

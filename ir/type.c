/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* type.c: building, comparing and printing types (see type.h). */
#include "ir/type.h"

#include <string.h>

const ElemInfo elem_info[ELEM_NAMES] = {
#define ELEM(id, text, triton, bits, bytes, class_)                                                \
    [EL_##id] = {text, triton, bits, bytes, ELEM_##class_},
#define FOREIGN_ELEM(id, triton, bits) [EL_##id] = {triton, triton, bits, (bits) / 8, ELEM_F},
#include "ir/elem.def"
#undef ELEM
};

Type type_scalar(Elem e) {
    return (Type){.elem = (uint8_t)e};
}

Type type_tile(Elem e, int rank, const int64_t *dims) {
    Type t = {.elem = (uint8_t)e, .rank = (uint8_t)rank};
    for (int i = 0; i < rank; i++) {
        while (((int64_t)1 << t.log2[i]) < dims[i]) t.log2[i]++;
        int64_t missing = type_dim(t, i) - dims[i];
        t.log2[i] |= (uint8_t)(missing * DIM_SIXTEENTHS / type_dim(t, i) << DIM_MISSING);
    }
    return t;
}

bool type_fits_dim(int64_t n) {
    enum { UNIT = 8 };
    int64_t up = 1;
    while (up < n && up <= (int64_t)1 << TILE_MAX_LOG2) up *= 2;
    return n > 0 && (n == up || (n % UNIT == 0 && n > UNIT && up % DIM_SIXTEENTHS == 0 &&
                                 n % (up / DIM_SIXTEENTHS) == 0));
}

bool type_is_short(Type t) {
    for (int i = 0; i < t.rank; i++)
        if (t.log2[i] >> DIM_MISSING) return true;
    return false;
}

Type type_padded(Type t) {
    for (int i = 0; i < t.rank; i++) t.log2[i] &= DIM_LOG2;
    return t;
}

Type type_pointer_to(Type t) {
    t.depth++;
    return t;
}

Type type_pointee(Type t) {
    t.depth--;
    t.constant = 0;
    return t;
}

Type type_with_elem(Type t, Elem e) {
    t.elem = (uint8_t)e;
    t.depth = 0;
    t.constant = 0;
    return t;
}

Type type_with_shape(Type t, Type shape_of) {
    t.rank = shape_of.rank;
    memcpy(t.log2, shape_of.log2, sizeof t.log2);
    return t;
}

Type type_without_dim(Type t, int dim) {
    for (int d = dim; d + 1 < t.rank; d++) t.log2[d] = t.log2[d + 1];
    t.log2[--t.rank] = 0;
    return t;
}

Type type_element(Type t) {
    return (Type){.elem = t.elem, .depth = t.depth, .constant = t.constant};
}

bool type_same_shape(Type a, Type b) {
    return a.rank == b.rank && memcmp(a.log2, b.log2, sizeof a.log2) == 0;
}

bool type_equal(Type a, Type b) {
    a.constant = b.constant;
    return memcmp(&a, &b, sizeof a) == 0;
}

int type_log2_numel(Type t) {
    int n = 0;
    for (int i = 0; i < t.rank; i++) n += t.log2[i] & DIM_LOG2;
    return n;
}

int64_t type_numel(Type t) {
    return (int64_t)1 << type_log2_numel(t);
}
int type_elem_bits(Type t) {
    return t.depth ? 64 : elem_info[t.elem].bits;
}
int type_elem_bytes(Type t) {
    return t.depth ? 8 : elem_info[t.elem].bytes;
}

int64_t type_bytes(Type t) {
    return type_numel(t) * type_elem_bytes(t);
}

const char *const space_text[SPACES] = {"register", "shared", "tensor", "barrier", "desc", "token"};

Type type_token(void) {
    return type_in_space(type_scalar(EL_U64), SPACE_TOKEN);
}

Type type_barrier(int slices) {
    Type t = type_in_space(type_scalar(EL_U64), SPACE_BARRIER);
    t.slices = (uint16_t)slices;
    return t;
}

Type type_in_space(Type t, Space space) {
    t.space = (uint8_t)space;
    t.slices = 0;
    return t;
}

void type_print(Buf *b, Type t) {
    if (type_is_token(t) || t.space == SPACE_BARRIER) {
        buf_puts(b, space_text[t.space]);
        if (t.slices) buf_printf(b, "<%d>", t.slices);
        return;
    }
    if (t.space) buf_printf(b, "%s<", space_text[t.space]);
    if (t.slices) buf_printf(b, "%d x ", t.slices);
    for (int i = 0; i < t.depth; i++) buf_puts(b, "ptr<");
    buf_puts(b, elem_info[t.elem].text);
    for (int i = 0; i < t.depth; i++) buf_putc(b, '>');
    if (t.rank) {
        for (int i = 0; i < t.rank; i++)
            buf_printf(b, "%s%lld", i ? "," : "[", (long long)type_size(t, i));
        buf_putc(b, ']');
    }
    if (t.space) buf_putc(b, '>');
}

char *type_text(Arena *a, Type t) {
    Buf b = buf_new(a);
    type_print(&b, t);
    return b.data;
}

char *type_user_text(Arena *a, Type t) {
    Buf b = buf_new(a);
    if (t.constant) buf_puts(&b, "const ");
    for (int i = 0; i < t.depth; i++) buf_putc(&b, '*');
    buf_puts(&b, elem_info[t.elem].triton);
    if (t.rank) {
        for (int i = 0; i < t.rank; i++)
            buf_printf(&b, "%s%lld", i ? ", " : "[", (long long)type_size(t, i));
        buf_putc(&b, ']');
    }
    return b.data;
}

static const struct {
    const char *name;
    Elem elem;
} aliases[] = {
    {"float16", EL_F16}, {"bfloat16", EL_BF16},     {"float32", EL_F32},
    {"float64", EL_F64}, {"float8e4nv", EL_F8E4M3}, {"float8e5", EL_F8E5M2},
    {"u1", EL_I1},       {"bool", EL_I1},           {"float8e4b15", EL_F8E4B15},
};

bool elem_from_name(const char *name, size_t n, Elem *out) {
    for (int e = 0; e < ELEMS; e++)
        for (int k = 0; k < 2; k++) {
            const char *s = k ? elem_info[e].triton : elem_info[e].text;
            if (strlen(s) == n && memcmp(s, name, n) == 0) return *out = (Elem)e, true;
        }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strlen(aliases[i].name) == n && memcmp(aliases[i].name, name, n) == 0)
            return *out = aliases[i].elem, true;
    return false;
}

/* "fp8e4b8", "float8e4b8" */
bool elem_from_foreign_name(const char *name, size_t n, Elem *out) {
    for (int e = ELEMS; e < ELEM_NAMES; e++) {
        const char *format = elem_info[e].triton + 2; /* behind fp */
        size_t prefix = n > 5 && memcmp(name, "float", 5) == 0 ? 5 : 2;
        if (n < 2 || (prefix == 2 && memcmp(name, "fp", 2) != 0)) continue;
        if (strlen(format) == n - prefix && memcmp(format, name + prefix, n - prefix) == 0)
            return *out = (Elem)e, true;
    }
    return false;
}

const char *elem_signature_name(Elem e) {
    return elem_info[e].class_ == ELEM_F ? elem_info[e].triton : elem_info[e].text;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_print.c: print and assert: calls into what every CUDA program has, vprintf and __assertfail.
 *
 * A line is `pid (x, y, z) idx (i, j) prefix: value`, one for each element, as Triton prints, an
 * index as wide as the largest; of replicas the owner prints. The arguments of a line travel in a
 * struct in local memory, with floats as doubles and small integers as 32 bits, as C's varargs
 * would. */
#include "codegen/gen.h"

#include <string.h>

static LLVMValueRef text_pointer(Gen *g, const char *text) {
    size_t n = strlen(text);
    LLVMValueRef v = LLVMConstStringInContext2(g->c, text, n, 0);
    LLVMValueRef at = LLVMAddGlobalInAddressSpace(g->mod, LLVMTypeOf(v), "tile_text", 1);
    LLVMSetInitializer(at, v);
    LLVMSetLinkage(at, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(at, 1);
    LLVMSetAlignment(at, 1);
    return LLVMConstAddrSpaceCast(at, LLVMPointerTypeInContext(g->c, 0));
}

/* A function of the CUDA run time, of pointers and integers. */
static void call_outside(Gen *g, const char *name, LLVMTypeRef ret, LLVMValueRef *args, int n) {
    LLVMTypeRef types[8];
    for (int i = 0; i < n; i++) types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef t = LLVMFunctionType(ret, types, (unsigned)n, 0);
    LLVMValueRef f = LLVMGetNamedFunction(g->mod, name);
    if (!f) f = LLVMAddFunction(g->mod, name, t);
    LLVMBuildCall2(g->b, t, f, args, (unsigned)n, "");
}

/* A prefix begins with a space; before values it ends in ": ". */
static const char *prefix_of(Gen *g, const char *text, bool values) {
    Buf b = buf_new(&g->s->arena);
    size_t n = strlen(text);
    while (n && text[n - 1] == ' ') n--;
    if (n && text[n - 1] == ':') n--;
    if (n && text[0] != ' ') buf_putc(&b, ' ');
    for (size_t i = 0; i < n; i++) buf_puts(&b, text[i] == '%' ? "%%" : (char[]){text[i], '\0'});
    if (values) buf_puts(&b, ": ");
    return b.len ? b.data : "";
}

typedef struct Line { /* one call of vprintf in the making */
    Buf format;
    LLVMValueRef arg[3 + TILE_MAX_RANK + 1];
    int n;
} Line;

static void add(Line *l, const char *format, LLVMValueRef v) {
    buf_puts(&l->format, format);
    l->arg[l->n++] = v;
}

static void add_value(Gen *g, const Op *op, Line *l, Type t, LLVMValueRef x) {
    bool hex = ir_attr_int(op, AT_HEX, 0) != 0;
    if (type_is_pointer(t)) {
        add(l, "0x%016llx", LLVMBuildPtrToInt(g->b, x, g->i64, ""));
        return;
    }
    int bits = elem_info[t.elem].bits;
    if (hex && bits == 8 && type_is_float(t)) {
        t = type_scalar(EL_U8);
        x = LLVMBuildBitCast(g->b, x, gen_elem_type(g, t), "");
    }
    if (type_is_float(t)) {
        add(l, hex ? "%a" : "%f", gen_convert(g, x, t, type_scalar(EL_F64), false));
        return;
    }
    bool is_signed = type_is_signed(t) && !hex;
    LLVMTypeRef to = bits > 32 ? g->i64 : g->i32;
    if (bits < 32) x = is_signed ? LLVMBuildSExt(g->b, x, to, "") : LLVMBuildZExt(g->b, x, to, "");
    if (hex)
        add(l, arena_printf(&g->s->arena, "0x%%0%d%s", (bits + 3) / 4, bits > 32 ? "llx" : "x"), x);
    else if (bits > 32)
        add(l, is_signed ? "%lld" : "%llu", x);
    else
        add(l, is_signed ? "%d" : "%u", x);
}

static void emit_line(Gen *g, Line *l) {
    LLVMTypeRef types[sizeof l->arg / sizeof *l->arg];
    for (int i = 0; i < l->n; i++) types[i] = LLVMTypeOf(l->arg[i]);
    LLVMTypeRef all = LLVMStructTypeInContext(g->c, types, (unsigned)l->n, 0);
    LLVMValueRef at = LLVMBuildAlloca(g->entry, all, "");
    LLVMSetAlignment(at, 8);
    for (int i = 0; i < l->n; i++)
        LLVMBuildStore(g->b, l->arg[i], LLVMBuildStructGEP2(g->b, all, at, (unsigned)i, ""));
    LLVMValueRef args[] = {text_pointer(g, l->format.data), at};
    call_outside(g, "vprintf", g->i32, args, 2);
}

static void begin_line(Gen *g, Line *l) {
    static const char *const formats[] = {"pid (%u", ", %u", ", %u)"};
    *l = (Line){.format = buf_new(&g->s->arena)};
    for (int i = 0; i < 3; i++)
        add(l, formats[i], gen_intrinsic(g, INTRINSIC_CTAID_X + (Intrinsic)i, NULL, 0, NULL, 0));
}

static int decimal_digits(uint32_t x) {
    int n = 1;
    while (x /= 10) n++;
    return n;
}

static void add_index(Gen *g, Line *l, const Value *v, int r) {
    buf_puts(&l->format, " idx (");
    for (int d = 0; d < v->type.rank; d++) {
        LLVMValueRef i = v->layout ? gen_index(g, v->layout, r) : gen_i32(g, 0);
        i = LLVMBuildLShr(g->b, i, gen_i32(g, (uint32_t)type_dim_shift(v->type, d)), "");
        i = LLVMBuildAnd(g->b, i, gen_i32(g, ((uint32_t)1 << v->type.log2[d]) - 1), "");
        const char *format = arena_printf(&g->s->arena, "%s%%%du", d ? ", " : "",
                                          decimal_digits((uint32_t)type_dim(v->type, d) - 1));
        add(l, format, i);
    }
    buf_putc(&l->format, ')');
}

static LLVMBasicBlockRef block(Gen *g, const char *name) {
    return LLVMAppendBasicBlockInContext(g->c, g->func, name);
}

/* Code up to leave() is run where c holds. */
static LLVMBasicBlockRef enter(Gen *g, LLVMValueRef c, const char *name) {
    LLVMBasicBlockRef in = block(g, name), done = block(g, "done");
    LLVMBuildCondBr(g->b, c, in, done);
    LLVMPositionBuilderAtEnd(g->b, in);
    return done;
}

static void leave(Gen *g, LLVMBasicBlockRef done) {
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderAtEnd(g->b, done);
}

static LLVMValueRef is_first_thread(Gen *g) {
    return LLVMBuildICmp(g->b, LLVMIntEQ, g->tid, gen_i32(g, 0), "");
}

static void print_tile(Gen *g, const Op *op, const Value *v, const char *prefix) {
    Tile x = gen_tile(g, v);
    uint32_t broadcast = v->layout ? layout_broadcast_bits(v->layout, IN_REG) : 0;
    LLVMValueRef mine = v->layout ? gen_owner_predicate(g, v->layout) : is_first_thread(g);
    LLVMBasicBlockRef done = mine ? enter(g, mine, "print") : NULL;
    for (int r = 0; r < x.n; r++) {
        if ((uint32_t)r & broadcast) continue;
        Line l;
        begin_line(g, &l);
        add_index(g, &l, v, r);
        buf_puts(&l.format, prefix);
        add_value(g, op, &l, type_element(v->type), x.at[r]);
        buf_putc(&l.format, '\n');
        emit_line(g, &l);
    }
    if (done) leave(g, done);
}

void gen_print(Gen *g, const Op *op) {
    const Attr *text = ir_attr(op, AT_TEXT);
    const char *prefix = prefix_of(g, text && text->text ? text->text : "", op->noperands > 0);
    for (int i = 0; i < op->noperands; i++) {
        const char *which =
            op->noperands > 1 ? arena_printf(&g->s->arena, "%s(operand %d) ", prefix, i) : prefix;
        print_tile(g, op, op->operand[i].value, which);
    }
    if (op->noperands) return;
    LLVMBasicBlockRef done = enter(g, is_first_thread(g), "print");
    Line l;
    begin_line(g, &l);
    buf_printf(&l.format, "%s\n", prefix);
    emit_line(g, &l);
    leave(g, done);
}

/* Pairs, then pairs of these: of a chain LLVM takes time that grows with its square. */
static LLVMValueRef gen_all(Gen *g, Tile x) {
    LLVMValueRef *at = arena_array(&g->s->arena, (size_t)x.n, sizeof *at);
    memcpy(at, x.at, (size_t)x.n * sizeof *at);
    for (int step = 1; step < x.n; step *= 2)
        for (int i = 0; i + step < x.n; i += 2 * step)
            at[i] = LLVMBuildAnd(g->b, at[i], at[i + step], "");
    return at[0];
}

/* Only in a debug build, as in Triton: a check per element costs registers and time. */
void gen_assert(Gen *g, const Op *op) {
    if (!g->o->debug && !g->f->debug) return;
    Tile x = gen_tile(g, op->operand[0].value);
    LLVMValueRef all = gen_all(g, x);
    const Attr *text = ir_attr(op, AT_TEXT);
    const Source *first = g->o->source, *source = source_at(first, op->span.line);
    LLVMBasicBlockRef done = enter(g, LLVMBuildNot(g->b, all, ""), "failed");
    LLVMValueRef args[] = {text_pointer(g, text && text->text ? text->text : ""),
                           text_pointer(g, source ? source_shown_name(first, source) : ""),
                           gen_i32(g, source_line_number(first, op->span.line)),
                           text_pointer(g, g->f->name), LLVMConstInt(g->i64, 1, 0)};
    call_outside(g, "__assertfail", LLVMVoidTypeInContext(g->c), args, 5);
    leave(g, done);
}

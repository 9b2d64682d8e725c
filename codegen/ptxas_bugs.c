/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ptxas_bugs.c: LLVM IR, and PTX, that ptxas would translate wrongly -> the same values computed
 * otherwise.
 *
 * A choice between 1 and -0.0 by a comparison of floats ptxas 13.0 makes FSET.BF of, which gives
 * 0.0: tests/conformance has found it. Of their bits it makes a choice of bits. ptxas 12.8 and 13.0
 * do seven things wrong with integers:
 *  - of max(max(a, -b), c) in 32 or 16 bits they make one VIMNMX3, for sm_90 and sm_100, and drop
 * the negation of its second operand; min likewise;
 *  - neg.s16 and abs.s16 they compute in 32 bits and take the result for a 16-bit number: the
 * smallest one, which is its own negation, is 32768 where it is widened or compared. LLVM's back
 * end makes negations of its own (of products by -4, of what is sign-extended), so neg and abs are
 * replaced in the PTX: all of 16 bits, and neg.s32 in kernels with a signed min or max; what comes
 * instead, ~(b - 1), ptxas leaves alone. In a loop that ptxas unrolls, i - b and i * b are
 * negations, too, in the turn where the counter i is 0 or -1: these are replaced in the IR, by
 * ~(b + ~i) and ~(-i * b - 1); of ~i LLVM's back end may make c - j, with j the counter of the turn
 * before, so it is hidden, too;
 *  - abs.s32 and abs.s64 they take for no less than 0, which that of the smallest integer is: a
 * remainder or a high product of it becomes one of unsigned numbers, and min(-abs(a), -50) no
 * minimum at all. (a ^ s) - s, with s the sign of a, they leave alone;
 *  - of mul.hi.u32, widened, less another number they make one IMAD.HI.U32 with a carry, which is
 * not there when the low half of the other number is 0: the result is less by 2^32. The high half
 * of mul.wide.u32 is subtracted as it should be;
 *  - whether a min or max of 16 bits with 0 is 0 they take from a predicate that VIMNMX.U16x2 gives
 * for both of its halves, and get the upper one's. Of 32 bits they compare. LLVM compares with 0
 * otherwise, but a counter may be 0 in a turn of a loop, so all of 16 bits are computed in 32;
 *  - (x << n) - (x >> (64 - n)) of 64 bits they make a rotation, and (x << n) + (x >> (64 - n)) one
 * also where the second shift is signed: of 32 bits, and with |, they do not;
 *  - of max(c - b, a), with a constant c that they find behind their first passes (a shuffle of
 * constants gives one), they make max(b - c, a): c counts like a counter above.
 * tests/fuzz/integers.c has found these, and looks for more. */
#include "codegen/gen.h"

#include <string.h>

/* ---- in LLVM IR: negations by counters of loops ---- */

enum { MOST_SEEN = 64 }; /* values looked at for one question; beyond, the answer is the safe one */

typedef VEC(LLVMValueRef) Values;

/* False when v is there already. */
static bool add_new(Gen *g, Values *seen, LLVMValueRef v) {
    for (int i = 0; i < seen->n; i++)
        if (seen->at[i] == v) return false;
    vec_push(&g->s->arena, seen, v);
    return true;
}

static LLVMOpcode opcode_of(LLVMValueRef v) {
    return LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : 0;
}

/* llvm.smax and the like, which ptxas works out of numbers that it knows; of a shuffle that comes
 * late, and 1 - b for the maximum of it and another number is then b - 1. */
static bool is_function_of_numbers(Gen *g, LLVMValueRef call) {
    switch (gen_intrinsic_of(g, call)) {
    case INTRINSIC_SMAX:
    case INTRINSIC_SMIN:
    case INTRINSIC_UMAX:
    case INTRINSIC_UMIN:
    case INTRINSIC_ABS:
    case INTRINSIC_FSHL:
    case INTRINSIC_FSHR:
    case INTRINSIC_CTLZ:
    case INTRINSIC_SHUFFLE_BFLY:
    case INTRINSIC_SHUFFLE_IDX: return true;
    default: return false;
    }
}

static bool is_counted(Gen *g, LLVMValueRef v, Values *seen);

/* Whether all operands that are no constants are counted, or any is. */
static bool operands_counted(Gen *g, LLVMValueRef v, bool all, Values *seen) {
    int n = LLVMIsACallInst(v) ? (int)LLVMGetNumArgOperands(v) : LLVMGetNumOperands(v);
    for (int k = 0; k < n; k++) {
        LLVMValueRef x = LLVMGetOperand(v, (unsigned)k);
        if (LLVMIsAConstant(x) ? false : is_counted(g, x, seen) != all) return !all;
    }
    return all;
}

/* v is computed of loop counters, so that ptxas knows its value in a turn of a loop that it
 * unrolls: of them and constants alone, or as something that is 0 where a counter is. No constant
 * itself. */
static bool is_counted(Gen *g, LLVMValueRef v, Values *seen) {
    if (LLVMIsAConstant(v)) return false;
    if (!add_new(g, seen, v) || seen->n >= MOST_SEEN) return true;
    switch (opcode_of(v)) {
    case LLVMPHI:
        for (unsigned k = 0; k < LLVMCountIncoming(v); k++) {
            LLVMValueRef x = LLVMGetIncomingValue(v, k);
            if (!LLVMIsAConstant(x) && !is_counted(g, x, seen)) return false;
        }
        return true;
    case LLVMMul:
    case LLVMAnd:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMSDiv:
    case LLVMUDiv:
    case LLVMSRem:
    case LLVMURem: return operands_counted(g, v, false, seen);
    case LLVMAdd:
    case LLVMSub:
    case LLVMOr:
    case LLVMXor:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMTrunc:
    case LLVMICmp:
    case LLVMSelect: return operands_counted(g, v, true, seen);
    case LLVMCall: return is_function_of_numbers(g, v) && operands_counted(g, v, true, seen);
    default: return false;
    }
}

static bool counts(Gen *g, LLVMValueRef v) {
    Values seen = {0};
    return is_counted(g, v, &seen);
}

/* v is a sum with a counter in it. */
static bool has_counter(Gen *g, LLVMValueRef v, int deep) {
    LLVMOpcode code = opcode_of(v);
    if (code != LLVMAdd && code != LLVMSub) return false;
    for (unsigned k = 0; k < 2; k++)
        if (counts(g, LLVMGetOperand(v, k)) ||
            (deep && has_counter(g, LLVMGetOperand(v, k), deep - 1)))
            return true;
    return false;
}

static bool is_ones(LLVMValueRef v) {
    return LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == -1;
}

/* v is a counter, or a sum with one in it. */
static bool may_count(Gen *g, LLVMValueRef v) {
    return counts(g, v) || has_counter(g, v, 4);
}

/* The operand of v, a sub, mul or xor, that may make it a negation of the other one; -1: none. Of
 * c - (b + i) LLVM's back end makes (c - i) - b, which counts, and of ~(i + c) it makes ~c - i; in
 * c - i the counter may be that of the turn before, with 1 added. */
static int negating_operand(Gen *g, LLVMValueRef v) {
    LLVMOpcode code = opcode_of(v);
    if (code == LLVMSub && counts(g, LLVMGetOperand(v, 0))) return 0;
    if (code == LLVMSub && LLVMIsAConstant(LLVMGetOperand(v, 0)) &&
        may_count(g, LLVMGetOperand(v, 1)))
        return 0;
    if (code == LLVMXor && is_ones(LLVMGetOperand(v, 1)) && may_count(g, LLVMGetOperand(v, 0)))
        return 1;
    for (int k = 0; code == LLVMMul && k < 2; k++)
        if (counts(g, LLVMGetOperand(v, (unsigned)k))) return k;
    return -1;
}

static bool is_signed_extreme(Gen *g, LLVMValueRef v) {
    Intrinsic i = gen_intrinsic_of(g, v);
    return i == INTRINSIC_SMAX || i == INTRINSIC_SMIN;
}

/* v comes to a signed min or max, perhaps through phi and select. */
static bool meets_extreme(Gen *g, LLVMValueRef v) {
    Values seen = {0};
    vec_push(&g->s->arena, &seen, v);
    for (int i = 0; i < seen.n; i++) {
        if (i == MOST_SEEN) return true;
        for (LLVMUseRef u = LLVMGetFirstUse(seen.at[i]); u; u = LLVMGetNextUse(u)) {
            LLVMValueRef user = LLVMGetUser(u);
            if (is_signed_extreme(g, user)) return true;
            LLVMOpcode code = opcode_of(user);
            if (code == LLVMPHI || code == LLVMSelect) add_new(g, &seen, user);
        }
    }
    return false;
}

static int bits_of(LLVMValueRef v) {
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMIntegerTypeKind ? (int)LLVMGetIntTypeWidth(t) : 0;
}

/* v, a sub, mul or xor that operand `by` may make a negation of the other one; ~a is -1 - a. */
static void hide_negation(Gen *g, LLVMValueRef v, int by) {
    static const char sub[] =
        "{\n.reg .b%d t;\nnot.b%d t, $1;\nadd.s%d t, t, $2;\nnot.b%d $0, t;\n}";
    static const char mul[] = "{\n.reg .b%d t;\nneg.s%d t, $1;\nmad.lo.s%d t, t, $2, -1;\n"
                              "not.b%d $0, t;\n}";
    LLVMValueRef args[] = {LLVMGetOperand(v, (unsigned)by), LLVMGetOperand(v, (unsigned)!by)};
    int n = bits_of(v);
    const char *text = arena_printf(&g->s->arena, opcode_of(v) == LLVMMul ? mul : sub, n, n, n, n);
    LLVMPositionBuilderBefore(g->b, v);
    LLVMValueRef with =
        gen_asm(g, text, n == 16 ? "=h,h,h" : "=r,r,r", LLVMTypeOf(v), args, 2, ASM_PURE);
    gen_replace(v, with);
}

static void avoid(Gen *g, LLVMValueRef v) {
    int bits = bits_of(v), by = negating_operand(g, v);
    if (by < 0 || (bits != 16 && bits != 32)) return;
    if (bits == 16 || meets_extreme(g, v)) hide_negation(g, v, by);
}

void gen_avoid_ptxas_bugs(Gen *g) {
    gen_each_instruction(g, avoid);
}

/* ---- in PTX ---- */

typedef struct Line { /* "\t@%p1 neg.s16 \t%rs3, %rs2;" */
    const char *at;   /* the instruction: behind the predicate */
    int predicate;    /* bytes of it before that, from the line's begin */
    const char *operands;
    size_t n; /* of the whole line, newline included */
} Line;

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    return p;
}

static Line read_line(const char *p, const char *end) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    Line l = {.n = stop ? (size_t)(stop - p) + 1 : (size_t)(end - p)};
    end = p + l.n;
    l.at = skip_blanks(p, end);
    if (l.at < end && *l.at == '@') {
        while (l.at < end && *l.at != ' ' && *l.at != '\t') l.at++;
        l.at = skip_blanks(l.at, end);
    }
    l.predicate = (int)(l.at - p);
    l.operands = l.at;
    while (l.operands < end && *l.operands != ' ' && *l.operands != '\t') l.operands++;
    l.operands = skip_blanks(l.operands, end);
    return l;
}

static bool begins(const char *p, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

/* "%rs3, %rs2;" as names, `count` of them; false: something else. */
static bool operands(Line l, const char *end, int count, const char **name, int *n) {
    const char *p = l.operands;
    for (int i = 0; i < count; i++) {
        p = skip_blanks(p, end);
        name[i] = p;
        while (p < end && *p != ',' && *p != ';' && *p != '\n') p++;
        n[i] = (int)(p - name[i]);
        if (p == end || !n[i] || *p != (i + 1 < count ? ',' : ';')) return false;
        p++;
    }
    return true;
}

typedef struct Name { /* of a register */
    const char *at;
    int n;
} Name;

typedef struct Shift {
    Name name, of;
    bool is_signed;
} Shift;

typedef struct Entry {      /* what a function has */
    bool extreme;           /* a signed min or max */
    VEC(Name) wider;        /* what is widened to an unsigned number of 64 bits */
    VEC(Shift) left, right; /* of 64 bits */
} Entry;

static bool same_name(Name a, Name b) {
    return a.n == b.n && memcmp(a.at, b.at, (size_t)a.n) == 0;
}

static void look_at_shift(Arena *a, Line l, const char *end, Entry *e) {
    bool left = begins(l.at, end, "shl.b64"), is_signed = begins(l.at, end, "shr.s64");
    const char *name[3];
    int n[3];
    if (!left && !is_signed && !begins(l.at, end, "shr.u64")) return;
    if (!operands(l, end, 3, name, n)) return;
    Shift s = {{name[0], n[0]}, {name[1], n[1]}, is_signed};
    if (left)
        vec_push(a, &e->left, s);
    else
        vec_push(a, &e->right, s);
}

static void look_at_entry(Arena *a, const char *p, const char *end, Entry *e) {
    e->extreme = false;
    e->wider.n = e->left.n = e->right.n = 0;
    for (bool first = true; p < end; first = false) {
        Line l = read_line(p, end);
        const char *name[2];
        int n[2];
        if (!first && begins(p, end, ".visible .entry")) return;
        if (begins(l.at, end, "max.s") || begins(l.at, end, "min.s")) e->extreme = true;
        if (begins(l.at, end, "cvt.u64.u32") && operands(l, end, 2, name, n))
            vec_push(a, &e->wider, ((Name){name[1], n[1]}));
        look_at_shift(a, l, end, e);
        p += l.n;
    }
}

static bool is_widened(const Entry *e, Name name) {
    for (int i = 0; i < e->wider.n; i++)
        if (same_name(e->wider.at[i], name)) return true;
    return false;
}

/* a + b, or a - b, of one number shifted both ways, that is taken for a rotation and is none. */
static bool looks_rotated(const Entry *e, bool add, Name a, Name b) {
    for (int r = 0; r < e->right.n; r++) {
        const Shift *right = &e->right.at[r];
        bool first = same_name(right->name, a);
        if ((!first && !same_name(right->name, b)) || (add && !right->is_signed)) continue;
        for (int i = 0; i < e->left.n; i++) {
            const Shift *left = &e->left.at[i];
            if (same_name(left->name, first ? b : a) && same_name(left->of, right->of)) return true;
        }
    }
    return false;
}

/* ---- what comes instead ---- */

/* Of up to four operands, the result first; `if_` is the predicate, with its blank. */
typedef struct Inst {
    const char *if_, *name[4];
    int nif, n[4];
} Inst;

static void put_neg(Buf *out, const Inst *i, int bits) {
    buf_printf(out, "%.*sadd.s%d \t%.*s, %.*s, -1;\n%.*snot.b%d \t%.*s, %.*s;\n", i->nif, i->if_,
               bits, i->n[0], i->name[0], i->n[1], i->name[1], i->nif, i->if_, bits, i->n[0],
               i->name[0], i->n[0], i->name[0]);
}

static void put_abs16(Buf *out, const Inst *i) {
    buf_printf(out,
               "\t{\n\t.reg .b32 \tt;\n\tcvt.s32.s16 \tt, %.*s;\n\tabs.s32 \tt, t;\n"
               "%.*scvt.u16.u32 \t%.*s, t;\n\t}\n",
               i->n[1], i->name[1], i->nif, i->if_, i->n[0], i->name[0]);
}

static void put_abs(Buf *out, const Inst *i, int bits) {
    buf_printf(out,
               "\t{\n\t.reg .b%d \ts, t;\n\tshr.s%d \ts, %.*s, %d;\n\txor.b%d \tt, %.*s, s;\n"
               "%.*ssub.s%d \t%.*s, t, s;\n\t}\n",
               bits, bits, i->n[1], i->name[1], bits - 1, bits, i->n[1], i->name[1], i->nif, i->if_,
               bits, i->n[0], i->name[0]);
}

static void put_high_product(Buf *out, const Inst *i) {
    buf_printf(out,
               "\t{\n\t.reg .b64 \tt;\n\tmul.wide.u32 \tt, %.*s, %.*s;\n\tshr.u64 \tt, t, 32;\n"
               "%.*scvt.u32.u64 \t%.*s, t;\n\t}\n",
               i->n[1], i->name[1], i->n[2], i->name[2], i->nif, i->if_, i->n[0], i->name[0]);
}

/* ~(~a - b) and ~(~a + b) for a + b and a - b. */
static void put_shifted(Buf *out, const Inst *i, bool add) {
    buf_printf(out,
               "\t{\n\t.reg .b64 \tt;\n\tnot.b64 \tt, %.*s;\n\t%s.s64 \tt, t, %.*s;\n"
               "%.*snot.b64 \t%.*s, t;\n\t}\n",
               i->n[1], i->name[1], add ? "sub" : "add", i->n[2], i->name[2], i->nif, i->if_,
               i->n[0], i->name[0]);
}

/* A number of 32 bits as PTX writes it, of integers. */
static void put_bits(Buf *out, const char *name, int n) {
    bool number = n > 2 && name[0] == '0' && name[1] == 'f';
    buf_printf(out, number ? ", 0x%.*s" : ", %.*s", number ? n - 2 : n, number ? name + 2 : name);
}

/* A choice of floats of which one may be 1 and the other -0 is one of bits; false: it may stay. */
static bool put_choice(Buf *out, const Inst *i) {
    static const char one[] = "0f3F800000", zero[] = "0f80000000";
    bool odd = false;
    for (int k = 1; k <= 2; k++) {
        bool number = i->n[k] == 10 && i->name[k][0] == '0';
        odd |= number && (memcmp(i->name[k], zero, 10) == 0 ||
                          (memcmp(i->name[k], one, 10) == 0 && i->name[3 - k][0] == '%'));
    }
    if (!odd) return false;
    buf_printf(out, "%.*sselp.b32 \t%.*s", i->nif, i->if_, i->n[0], i->name[0]);
    put_bits(out, i->name[1], i->n[1]);
    put_bits(out, i->name[2], i->n[2]);
    buf_printf(out, ", %.*s;\n", i->n[3], i->name[3]);
    return true;
}

/* `what` is "max.u16" or one of its kind. */
static void put_extreme(Buf *out, const Inst *i, const char *what) {
    char is = what[4];
    buf_puts(out, "\t{\n\t.reg .b16 \tn;\n\t.reg .b32 \ts, t;\n");
    for (int k = 1; k <= 2; k++) /* a number has no type of its own: a register does */
        buf_printf(out, "\tmov.b16 \tn, %.*s;\n\tcvt.%c32.%c16 \t%c, n;\n", i->n[k], i->name[k], is,
                   is, k == 1 ? 's' : 't');
    buf_printf(out, "\t%.3s.%c32 \ts, s, t;\n%.*scvt.u16.u32 \t%.*s, s;\n\t}\n", what, is, i->nif,
               i->if_, i->n[0], i->name[0]);
}

static bool is_extreme16(Line l, const char *end) {
    static const char *const names[] = {"max.u16", "min.u16", "max.s16", "min.s16"};
    for (int i = 0; i < 4; i++)
        if (begins(l.at, end, names[i])) return true;
    return false;
}

/* Writes the line otherwise; false: it may stay. */
static bool replaced(const char *text, const char *end, Line l, const Entry *e, Buf *out) {
    Inst i = {.if_ = text, .nif = l.predicate};
    bool high = begins(l.at, end, "mul.hi.u32"), extreme16 = is_extreme16(l, end);
    bool add = begins(l.at, end, "add.s64"), sum = add || begins(l.at, end, "sub.s64");
    bool three = high || extreme16 || sum, choice = begins(l.at, end, "selp.f32");
    if (!three && !choice && !begins(l.at, end, "neg.s") && !begins(l.at, end, "abs.s"))
        return false;
    if (!operands(l, end, choice ? 4 : three ? 3 : 2, i.name, i.n)) return false;
    if (choice) return put_choice(out, &i);
    if (sum) {
        if (!looks_rotated(e, add, (Name){i.name[1], i.n[1]}, (Name){i.name[2], i.n[2]}))
            return false;
        put_shifted(out, &i, add);
    } else if (extreme16)
        put_extreme(out, &i, l.at);
    else if (high && is_widened(e, (Name){i.name[0], i.n[0]}))
        put_high_product(out, &i);
    else if (begins(l.at, end, "neg.s16") || (e->extreme && begins(l.at, end, "neg.s32")))
        put_neg(out, &i, begins(l.at, end, "neg.s16") ? 16 : 32);
    else if (begins(l.at, end, "abs.s16"))
        put_abs16(out, &i);
    else if (begins(l.at, end, "abs.s32") || begins(l.at, end, "abs.s64"))
        put_abs(out, &i, begins(l.at, end, "abs.s32") ? 32 : 64);
    else
        return false;
    return true;
}

void ptx_avoid_ptxas_bugs(const char *text, size_t len, Buf *out) {
    const char *end = text + len;
    Entry entry = {0};
    bool foreign = false; /* inline assembly is its writer's */
    while (text < end) {
        Line l = read_line(text, end);
        if (begins(text, end, ".visible .entry")) look_at_entry(out->arena, text, end, &entry);
        if (begins(l.at, end, "// begin inline asm")) foreign = true;
        if (begins(l.at, end, "// end inline asm")) foreign = false;
        if (foreign || !replaced(text, end, l, &entry, out)) buf_write(out, text, l.n);
        text += l.n;
    }
}

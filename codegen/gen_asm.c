/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_asm.c: inline assembly of a kernel's writer, an instance per element or per few elements.
 *
 * Constraints are Triton's, which are LLVM's: `=r,r,r`. Elements of less than 32 bits travel
 * several to a register, as many as `pack` and the register allow. LLVM ends the process when
 * assembly names an operand that is not there or a register class it does not have, so both are
 * checked here first. */
#include "codegen/gen.h"

#include <ctype.h>
#include <string.h>

enum { MAX_ASM_OPERANDS = 24 };

typedef struct Template {
    const char *text, *constraints;
    char letter[MAX_ASM_OPERANDS]; /* register class of each operand: results, then inputs */
    int outputs, inputs;
    int pack;
} Template;

static int group_of(Type t, int pack) { /* elements in a register */
    int bits = type_elem_bytes(t) * 8, per = bits < 32 ? 32 / bits : 1;
    return per < pack ? per : pack;
}

static LLVMTypeRef register_type(Gen *g, char letter) {
    switch (letter) {
    case 'h': return g->i16;
    case 'r': return g->i32;
    case 'l': return g->i64;
    case 'f': return g->f32;
    default: return g->f64;
    }
}

static int register_bits(char letter) {
    return letter == 'h' ? 16 : letter == 'r' || letter == 'f' ? 32 : 64;
}

/* ---- what LLVM would end the process for ---- */

static bool read_constraints(Gen *g, const Op *op, Template *t) {
    const char *p = t->constraints;
    while (*p) {
        size_t n = strcspn(p, ",");
        const char *c = p, *end = p + n;
        p = *end ? end + 1 : end;
        if (n > 2 && c[0] == '~' && c[1] == '{') continue; /* a clobber */
        bool output = *c == '=';
        if (output) c++;
        if (output && *c == '&') c++;
        char letter = *c;
        bool one = end - c == 1;
        if (one && !output && isdigit((unsigned char)letter) && letter - '0' < t->outputs)
            letter = t->letter[letter - '0'];
        if (t->outputs + t->inputs == MAX_ASM_OPERANDS) {
            gen_error(g, E_ASM, op, "inline assembly: more than %d operands in the constraints",
                      MAX_ASM_OPERANDS);
            return false;
        }
        if (!one || !strchr("hrlfd", letter) || (output && t->inputs)) {
            gen_error(g, E_ASM, op,
                      "inline assembly: '%.*s' in the constraints \"%s\" is none of =h =r =l "
                      "=f =d, h r l f d, the number of a result, ~{clobber}",
                      (int)n, end - n, t->constraints);
            return false;
        }
        t->letter[t->outputs + t->inputs] = letter;
        if (output)
            t->outputs++;
        else
            t->inputs++;
    }
    return true;
}

static bool text_is_sound(Gen *g, const Op *op, const Template *t) {
    for (const char *p = t->text; *p; p++) {
        if ((unsigned char)*p >= 0x80) {
            gen_error(g, E_ASM, op, "inline assembly takes ASCII characters only");
            return false;
        }
        if (*p != '$') continue;
        if (p[1] == '$' || strncmp(p, "${:uid}", 7) == 0) {
            p++;
            continue;
        }
        const char *q = p + 1 + (p[1] == '{');
        int number = 0, digits = 0;
        for (; isdigit((unsigned char)*q) && digits < 4; q++, digits++)
            number = number * 10 + (*q - '0');
        if (!digits || number >= t->outputs + t->inputs || (p[1] == '{' && *q != '}')) {
            gen_error(g, E_ASM, op, "inline assembly: '%.*s' names none of the %d operands",
                      (int)(q - p + (*q == '}')), p, t->outputs + t->inputs);
            return false;
        }
    }
    return true;
}

static int registers_of(Type t, int pack) {
    return (pack + group_of(t, pack) - 1) / group_of(t, pack);
}

static bool counts_fit(Gen *g, const Op *op, const Template *t) {
    int in = 0, out = 0;
    for (int i = 0; i < op->noperands; i++) in += registers_of(op->operand[i].value->type, t->pack);
    for (int i = 0; i < op->nresults; i++) out += registers_of(op->result[i]->type, t->pack);
    if (in == t->inputs && out == t->outputs) return true;
    gen_error(
        g, E_ASM, op,
        "inline assembly: the constraints \"%s\" have %d results and %d inputs, and %d and %d "
        "registers are needed",
        t->constraints, t->outputs, t->inputs, out, in);
    return false;
}

/* ---- registers ---- */

static LLVMValueRef to_register(Gen *g, Type t, const LLVMValueRef *elem, int n, char letter) {
    int bits = type_elem_bytes(t) * 8 * n, have = register_bits(letter);
    LLVMValueRef word;
    gen_pack(g, t, elem, n, bits, &word);
    LLVMTypeRef as = LLVMIntTypeInContext(g->c, (unsigned)have);
    if (bits < have) word = LLVMBuildZExt(g->b, word, as, "");
    if (bits > have) word = LLVMBuildTrunc(g->b, word, as, "");
    return LLVMBuildBitCast(g->b, word, register_type(g, letter), "");
}

static void from_register(Gen *g, Type t, LLVMValueRef x, char letter, LLVMValueRef *elem, int n) {
    int bits = type_elem_bytes(t) * 8 * n, have = register_bits(letter);
    LLVMTypeRef as = LLVMIntTypeInContext(g->c, (unsigned)bits);
    LLVMValueRef word = LLVMBuildBitCast(g->b, x, LLVMIntTypeInContext(g->c, (unsigned)have), "");
    if (bits < have) word = LLVMBuildTrunc(g->b, word, as, "");
    if (bits > have) word = LLVMBuildZExt(g->b, word, as, "");
    gen_unpack(g, t, &word, bits, elem, n);
}

/* ---- the op ---- */

/* Elements [at, at + pack) of every tile; where there are fewer, the last stands for the rest. */
static void one_instance(Gen *g, const Op *op, const Template *t, int at, int n) {
    LLVMValueRef args[MAX_ASM_OPERANDS];
    LLVMTypeRef fields[MAX_ASM_OPERANDS];
    int nargs = 0;
    for (int i = 0; i < op->noperands; i++) {
        Type type = op->operand[i].value->type;
        Tile x = gen_tile(g, op->operand[i].value);
        int per = group_of(type, t->pack);
        for (int k = 0; k < t->pack; k += per) {
            LLVMValueRef elem[4];
            for (int e = 0; e < per; e++) elem[e] = x.at[at + k + e < n ? at + k + e : n - 1];
            args[nargs] = to_register(g, type, elem, per, t->letter[t->outputs + nargs]);
            nargs++;
        }
    }
    for (int i = 0; i < t->outputs; i++) fields[i] = register_type(g, t->letter[i]);
    LLVMTypeRef ret = t->outputs == 0 ? LLVMVoidTypeInContext(g->c)
                      : t->outputs == 1
                          ? fields[0]
                          : LLVMStructTypeInContext(g->c, fields, (unsigned)t->outputs, 0);
    bool pure = ir_attr_int(op, AT_PURE, 0) != 0;
    LLVMValueRef v =
        gen_asm(g, t->text, t->constraints, ret, args, nargs, pure ? ASM_PURE : ASM_ORDERED);
    int reg = 0;
    for (int i = 0; i < op->nresults; i++) {
        Type type = op->result[i]->type;
        Tile out = gen_tile(g, op->result[i]);
        int per = group_of(type, t->pack);
        for (int k = 0; k < t->pack; k += per, reg++) {
            LLVMValueRef elem[4],
                x = t->outputs == 1 ? v : LLVMBuildExtractValue(g->b, v, (unsigned)reg, "");
            from_register(g, type, x, t->letter[reg], elem, per);
            for (int e = 0; e < per && at + k + e < n; e++) out.at[at + k + e] = elem[e];
        }
    }
}

void gen_inline_asm(Gen *g, const Op *op) {
    const Attr *text = ir_attr(op, AT_TEXT), *constraints = ir_attr(op, AT_CONSTRAINTS);
    int n = 1;
    for (int i = 0; i < op->nresults; i++) {
        Tile out = gen_new_tile(g, op->result[i]);
        n = out.n;
        for (int k = 0; k < n; k++)
            out.at[k] = LLVMGetPoison(gen_elem_type(g, op->result[i]->type));
    }
    if (op->noperands) n = gen_registers(op->operand[0].value);
    Template t = {.text = text ? text->text : "", .constraints = ""};
    if (constraints) t.constraints = constraints->text;
    t.pack = (int)ir_attr_int(op, AT_PACK, 1);
    if (t.pack < 1 || t.pack > MAX_ASM_OPERANDS) {
        gen_error(g, E_ASM, op, "inline assembly: pack is %d and must be from 1 to %d", t.pack,
                  MAX_ASM_OPERANDS);
        return;
    }
    if (!read_constraints(g, op, &t) || !counts_fit(g, op, &t) || !text_is_sound(g, op, &t)) return;
    for (int at = 0; at < n; at += t.pack) one_instance(g, op, &t, at, n);
}

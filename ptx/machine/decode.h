/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* decode.h: what the two halves of the decoder share: pieces of text and declarations (declare.c),
 * instructions (decode.c). */
#ifndef TILE_PTX_DECODE_H
#define TILE_PTX_DECODE_H

#include "ptx/machine/warp.h"

typedef struct Register { /* %p<8>: eight of them, or one with this name */
    PtxWord name;
    int count; /* 0: its name has no number */
    int scope, first;
    PtxType type;
} Register;

typedef struct Binding { /* a parameter of a function is what its caller gives */
    PtxDeclaration formal;
    PtxWord actual;
    int caller; /* braces of the call */
} Binding;

typedef struct Decoder {
    Session *s;
    PtxModule *m;
    PtxProgram *p;
    const PtxKernel *k;
    const PtxInst *inst;
    VEC(Register) registers;
    VEC(PtxOperand) operands;
    VEC(Binding) bindings;
    bool failed;
} Decoder;

enum {
    MOST_TEXT = 1 << 28,
    MOST_BYTES = 1 << 30,
    MOST_PARAM = 32764,       /* PTX ISA, "Kernel Function Parameter Attributes" */
    MOST_SHARED = 227 * 1024, /* of a target that is not known */
    MOST_LOCAL = 1 << 19,     /* CUDA C++ Programming Guide, "Technical Specifications" */
    MOST_REGISTERS = 1 << 16,
    MOST_NAMES = 1 << 12,
    MOST_DEPTH = 64,
    MOST_INSTS = 1 << 20,
    MOST_LABELS = 1 << 16,
    MOST_ERRORS = 20
};

void decode_fail(Decoder *d, const char *what, PtxWord word);
bool word_same(PtxWord a, PtxWord b);
PtxWord word_trim(PtxWord w);
/* The next piece of *rest up to a character that stands outside all brackets. */
PtxWord word_piece(PtxWord *rest, char stop);
PtxWord word_token(PtxWord *rest);
/* 12, 0x1F, 0b1, 0f3F800000, 0d…, -1, 12U; the bits. */
bool word_number(PtxWord w, int64_t *out);
PtxType word_type(PtxWord w);
/* Text between brackets of this kind, without them. */
bool word_brackets(PtxWord *w, char open);
void declare_all(Decoder *d);
/* What the name means in these braces; NULL: nothing. */
const PtxVariable *variable_named(const Decoder *d, int scope, PtxWord name);
/* The kernel with the file's functions behind their calls. NULL after a diagnostic. */
const PtxKernel *inline_calls(Decoder *d, const PtxKernel *k);
/* Memory for the file's own variables, with what they begin as. */
bool declare_globals(Decoder *d);
void name_registers(Decoder *d);

#endif

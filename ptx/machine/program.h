/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program.h: a kernel of PTX as the machine runs it: instructions with what their words mean looked
 * up, registers numbered, variables with addresses. */
#ifndef TILE_PTX_PROGRAM_H
#define TILE_PTX_PROGRAM_H

#include "ptx/read.h"

typedef enum PtxType {
    PT_NONE,
#define TYPE(id, name, bits, class) PT_##id,
#include "ptx/machine/types.def"
#undef TYPE
    PT_TYPES
} PtxType;

typedef struct PtxTypeInfo {
    const char *name;
    uint8_t bits;
    char class; /* B bits, S signed, U unsigned, F float, P predicate */
} PtxTypeInfo;
extern const PtxTypeInfo ptx_type[PT_TYPES];

typedef enum PtxSpace {
    IN_GENERIC,
    IN_GLOBAL,
    IN_SHARED,
    IN_SHARED_CLUSTER,
    IN_LOCAL,
    IN_PARAM,
    IN_CONST
} PtxSpace;

/* The words behind an instruction's first, by the field that they set (words.def). */
typedef enum PtxField {
#define FIELD(id) FIELD_##id,
#define WORD(name, field, value)
#include "ptx/machine/words.def"
#undef WORD
#undef FIELD
    PTX_FIELDS
} PtxField;
enum { /* values of fields: from 1, so that 0 is: not said */
#define FIELD(id)
#define WORD(name, field, value) WORD_##field##_##value,
       WORD_FIRST,
#include "ptx/machine/words.def"
#undef WORD
#undef FIELD
       WORD_LAST
};

typedef enum OperandKind {
    OPERAND_NONE,
    OPERAND_REGISTER,
    OPERAND_NUMBER,
    OPERAND_SPECIAL,
    OPERAND_SYMBOL,  /* the address of a variable, in its space */
    OPERAND_ADDRESS, /* [ ]: register, if it has one, + value */
    OPERAND_VECTOR,  /* { } */
    OPERAND_SINK,    /* _ */
    OPERAND_LABEL
} OperandKind;

typedef struct PtxOperand {
    uint8_t kind;
    uint8_t space; /* of the symbol in it; IN_GENERIC: of none */
    bool negated;
    uint8_t n;  /* of a vector, or of the coordinates behind an address */
    int reg;    /* -1: none; of a label, where it leads; of a special register, which */
    int second; /* of a pair %p|%q; -1: none */
    int first;  /* of the vector's elements, or the coordinates, in the program's list */
    int64_t value;
    PtxWord word; /* its text */
} PtxOperand;

typedef struct PtxCode PtxCode;
struct Warp;
typedef enum PtxOutcome {
    OUTCOME_NEXT,   /* on to the instruction behind it */
    OUTCOME_YIELD,  /* the same, but other warps go on first: it asked for what they do */
    OUTCOME_JUMPED, /* the threads' places have been set */
    OUTCOME_WAIT,   /* it has done nothing, and is to be tried again when something has changed */
    OUTCOME_FAIL    /* after a diagnostic */
} PtxOutcome;
/* Does it for the threads of the mask, one at least. */
typedef PtxOutcome PtxExec(struct Warp *w, const PtxCode *c, uint32_t mask);

enum { PTX_MOST_OPERANDS = 8, PTX_MOST_TYPES = 4, PTX_MOST_SHAPES = 2 };

struct PtxCode {
    PtxExec *exec;
    uint16_t traits;              /* TRAIT_… of its row in insts.def */
    uint16_t field[PTX_FIELDS];   /* WORD_…; 0: not said */
    uint8_t type[PTX_MOST_TYPES]; /* in their order */
    uint8_t ntypes, vector;       /* .v2: 2; 1 where it does not say */
    uint16_t m, n, k;             /* .m64n256k16 */
    bool guard_not;
    int guard; /* a register; -1: always */
    const PtxOperand *operand;
    int noperands;
    const PtxInst *inst;
};

typedef struct PtxVariable {
    PtxWord name;
    int scope; /* of braces; -1: the file's, -2: parameter */
    PtxSpace space;
    uint32_t align;
    uint64_t bytes;   /* 0 of extern shared memory: the dynamic one */
    uint64_t address; /* in its space */
} PtxVariable;

typedef struct PtxProgram {
    const char *name, *text; /* of the file, for line numbers */
    const PtxKernel *kernel;
    PtxCode *code;
    int ncode;
    PtxOperand *operands; /* elements of vectors */
    int nregisters;
    const char **register_name;
    uint8_t *register_type; /* PtxType */
    VEC(PtxVariable) variables;
    int nparams;                                      /* of the variables, the first */
    uint64_t param_bytes, local_bytes, static_shared; /* without the dynamic one */
    uint32_t most_shared;                             /* that the file's target has */
    PtxVariable *global; /* in the file's order; they live as long as the module */
} PtxProgram;

enum {
    PTX_SHARED_BASE = 1024 /* where shared memory begins: 0 is no address of anything */
};

typedef struct PtxBuffer { /* of global memory; its addresses are this process's */
    const char *name;      /* NULL: unnamed */
    uint8_t *base;
    uint64_t bytes;
    uint8_t *written; /* one byte per byte, nonzero once written; NULL: all written */
    bool foreign;     /* other launches, of other threads or processes, may write to it meanwhile */
} PtxBuffer;

typedef struct PtxModule {
    Session *s;
    PtxFile file;
    const char *text;
    PtxProgram *program;
    int nprograms;
    PtxBuffer *global; /* memory of the file's variables, of the session */
    int nglobals;
} PtxModule;

/* NULL after diagnostics: what the machine does not know. */
PtxModule *ptx_load(Session *s, const char *text, size_t len);
uint32_t ptx_line(const PtxProgram *p, const PtxCode *c);

#endif
